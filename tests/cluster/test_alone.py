"""A job that is submitted twice runs once."""

import errno
import fcntl
import subprocess
import sys

import pytest

from cluster.session import JobRunsError, alone
from nar.base.errors import ConfigError
from nar.base.workspace import Workspace

HOLDING = """
import sys
from pathlib import Path
from cluster.session import alone
from nar.base.workspace import Workspace

with alone(Workspace(Path(sys.argv[1])), "corpus"):
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the corpus of a workspace."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "holds\n"
        yield process
        process.stdin.close()


def test_the_second_job_is_told_who_is_at_it(holder, tmp_path):
    workspace = Workspace(tmp_path)
    told = f"process {holder.pid} on .*changes the corpus of"
    with pytest.raises(JobRunsError, match=told), alone(workspace, "corpus"):
        pass
    with alone(workspace, "index"):
        pass


def test_a_job_that_was_killed_holds_nothing(holder, tmp_path):
    holder.kill()
    holder.wait()
    with alone(Workspace(tmp_path), "corpus"):
        pass


def test_storage_without_locks_is_said(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(ConfigError, match=r"without locks \(No locks available\)"),
        alone(Workspace(tmp_path), "index"),
    ):
        pass
