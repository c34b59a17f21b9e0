"""A job that is submitted twice runs once."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest
from typer import Exit

from cluster.resources import NoRoomError, WorkerStartError
from cluster.session import JobRunsError, alone, reporting_job_errors, unchanged
from nar.base.errors import ConfigError, CorpusError, IndexInUseError, IndexUnavailableError
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


@pytest.mark.slow
def test_the_second_job_is_told_who_is_at_it(holder, tmp_path):
    workspace = Workspace(tmp_path)
    told = f"at the corpus of .*: process {holder.pid} on .* changes it; wait"
    for hold in (alone, unchanged):
        with pytest.raises(JobRunsError, match=told), hold(workspace, "corpus"):
            pass
    with alone(workspace, "index"):
        pass


def test_jobs_read_together_what_none_may_change_meanwhile(tmp_path):
    workspace = Workspace(tmp_path)
    with unchanged(workspace, "corpus"), unchanged(workspace, "corpus"):
        told = f"process {os.getpid()} on .* reads it, process {os.getpid()} on .* reads it; wait"
        with pytest.raises(JobRunsError, match=told), alone(workspace, "corpus"):
            pass
    with alone(workspace, "corpus"):
        told = f"corpus of [^,]*: process {os.getpid()} on [^,]* changes it; wait"
        with pytest.raises(JobRunsError, match=told), unchanged(workspace, "corpus"):
            pass


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("no such setting"), 2),
        (NoRoomError("no node"), 2),
        (JobRunsError("another"), 5),
        (IndexInUseError("held"), 5),
        (IndexUnavailableError("gone"), 6),
        (WorkerStartError("not yet"), 6),
        (CorpusError("damaged"), 1),
    ],
)
def test_the_exit_code_says_what_to_do(error, code):
    def fails():
        raise error

    with pytest.raises(Exit) as ended:
        reporting_job_errors(fails)()
    assert ended.value.exit_code == code


@pytest.mark.slow
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
