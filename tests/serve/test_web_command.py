"""`nar web` as a person starts it: it says where the page is, and the page is there."""

import subprocess
import sys
import urllib.request

import pytest

NAR = [sys.executable, "-c", "from nar.cli.app import app; app()"]


@pytest.mark.slow
def test_it_says_where_the_page_is(workspace):
    command = [*NAR, "web", "--port", "0", "--work", str(workspace.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            home = process.stdout.readline().strip()
            with urllib.request.urlopen(home) as answer:
                assert b"NAR" in answer.read()
            with urllib.request.urlopen(f"{home}page/names?text=residual") as answer:
                assert b"timm:residual" in answer.read()
            with urllib.request.urlopen(f"{home}page/map") as answer:
                assert answer.status == 200
        finally:
            process.terminate()
    assert process.returncode == 0
