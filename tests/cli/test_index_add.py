"""Models of one's own beside the atlas, in an index that the atlas is stored in once."""

import json
import subprocess
import sys
import urllib.request

import pytest
from milvus_server import free_port
from typer.testing import CliRunner
from waiting import wait_for

from nar.cli import index_commands, search_command
from nar.cli.app import app

MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.Tanh(), torch.nn.Conv2d(8, 8, 3)]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""

# `nar` with another atlas than the shipped one.
NAR = """
import sys
from pathlib import Path
from nar.answers.atlas import Atlas
from nar.cli import serve_command
serve_command.shipped_atlas = lambda: Atlas(Path(sys.argv[1]), Path(sys.argv[2]))
from nar.cli.app import app
app(sys.argv[3:])
"""


@pytest.fixture
def at_home(tmp_path, small_atlas, monkeypatch):
    for module in (search_command, index_commands):
        monkeypatch.setattr(module, "shipped_atlas", lambda: small_atlas)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)


def run(*arguments):
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("where", [["--uri", "mine.db"], []])
def test_an_own_model_is_found_beside_the_atlas(at_home, where):
    for _ in range(2):
        told, _ = run("index", "add", "model.py:factory", *where)
        assert told["added"] == ["model.py:factory"]
        assert told["rows"] == 21
    told, said = run("search", "model.py:factory", "-k", "3", *where)
    assert "asking the index at" in said
    assert told["hits"][0]["name"] == "model.py:factory"
    assert told["same_network"] == ["model.py:factory"]
    assert len(told["hits"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("command", "where"), [("serve", []), ("web", ["--uri", "mine.db"])])
def test_an_own_model_is_served_beside_the_atlas(at_home, small_atlas, command, where):
    run("index", "add", "model.py:factory", *where)
    port = free_port()
    asked = {
        "serve": ["--port", "0", "--metrics-port", "0", "--web-port", str(port)],
        "web": ["--port", str(port)],
    }
    atlas = [str(small_atlas.directory), str(small_atlas.corpus)]
    line = [sys.executable, "-c", NAR, *atlas, command, *asked[command], *where]
    page = f"http://127.0.0.1:{port}/page/names?text=model.py"
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        try:
            wait_for(lambda: b"model.py:factory" in read(page), or_ended=process)
        finally:
            process.terminate()


def read(page):
    """What is there, and nothing while nobody listens."""
    try:
        with urllib.request.urlopen(page) as answer:
            return answer.read()
    except OSError:
        return b""
