"""Milvus Lite in a process of its own: the same index, whatever happens to either process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from backends import ENCODER
from oracle import DIM, row
from waiting import wait_for

from nar.base.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.lite import DamagedIndexError, _is_ending
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig

EAST = np.eye(1, DIM, dtype=np.float32)

HOLD = """
import sys
from nar.config import IndexConfig
from nar.index.architecture_index import ArchitectureIndex
index = ArchitectureIndex(IndexConfig(uri=sys.argv[1], is_apart=True))
print("open", flush=True)
sys.stdin.read()
"""


def children_of(pid):
    """Processes that were begun by one, and run."""
    stats = [path.read_text().rpartition(")") for path in Path("/proc").glob("[0-9]*/stat")]
    started = [(head.split()[0], *tail.split()[:2]) for head, _, tail in stats]
    return [int(one) for one, state, parent in started if int(parent) == pid and state != "Z"]


@pytest.fixture
def config(tmp_path):
    return IndexConfig(uri=str(tmp_path / "index.db"), timeout_s=5).apart


@pytest.fixture
def index(config):
    with ArchitectureIndex(config) as index:
        with index.build(ENCODER, DIM) as build:
            build.upsert([row("east", 1)])
            build.publish()
        yield index


@pytest.mark.slow
def test_it_answers_as_one_of_this_process_and_leaves_nothing_behind(config):
    before = children_of(os.getpid())
    with ArchitectureIndex(config) as index:
        with index.build(ENCODER, DIM) as build:
            build.upsert([row("east", 1), row("north", 0, 1)])
            build.publish()
        index.upsert([row("west", -1)])
        [child] = set(children_of(os.getpid())) - set(before)
        assert os.getpriority(os.PRIO_PROCESS, child) > os.getpriority(os.PRIO_PROCESS, 0)
    assert children_of(os.getpid()) == before
    with ArchitectureIndex(config.model_copy(update={"is_apart": False})) as index:
        assert [hit.name for hit in index.search(EAST, 9)[0]] == ["east", "north", "west"]


@pytest.mark.slow
def test_who_is_told_that_it_is_in_use_learns_the_process_that_wants_it(config, index):
    with pytest.raises(IndexUnavailableError, match=f"is in use by process {os.getpid()}, and"):
        ArchitectureIndex(config)


@pytest.mark.slow
def test_an_index_that_is_late_on_a_busy_machine_is_not_said_to_be_away(config):
    before = children_of(os.getpid())
    with ArchitectureIndex(config) as index:
        [child] = set(children_of(os.getpid())) - set(before)
        os.kill(child, signal.SIGSTOP)
        try:
            with pytest.raises(IndexUnavailableError, match=r"a larger `index\.timeout_s`"):
                index.count()
        finally:
            os.kill(child, signal.SIGCONT)


def test_milvus_lite_has_more_time_than_a_server_unless_it_is_told():
    lite, server = IndexConfig(uri="mine.db"), IndexConfig(uri="http://127.0.0.1:19530")
    assert lite.call_timeout_s > server.call_timeout_s
    assert IndexConfig(uri="mine.db", timeout_s=0.5).call_timeout_s == 0.5


@pytest.mark.slow
def test_what_cannot_be_opened_is_said(tmp_path):
    (tmp_path / "old.db").write_text("an index of Milvus Lite 2")
    with pytest.raises(IndexUnavailableError, match=r"old.db cannot be opened as an index"):
        ArchitectureIndex(IndexConfig(uri=str(tmp_path / "old.db")).apart)


@pytest.mark.slow
@pytest.mark.parametrize("is_apart", [False, True])
def test_what_is_damaged_is_said_in_the_same_words(config, index, is_apart):
    index.close()
    [manifest] = Path(config.uri).rglob("manifest.json")
    manifest.write_text("{")
    with pytest.raises(DamagedIndexError, match=rf"{config.uri} is damaged .*manifest\.json"):
        ArchitectureIndex(config.model_copy(update={"is_apart": is_apart}))


@pytest.mark.slow
@pytest.mark.parametrize("is_apart", [False, True])
def test_writes_wait_for_the_disk(config, monkeypatch, is_apart):
    synced, fsync = set(), os.fsync

    def recorded(descriptor):
        synced.add(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    with ArchitectureIndex(config.model_copy(update={"is_apart": is_apart})) as index:
        with index.build(ENCODER, DIM) as build:
            build.upsert([row("east", 1)])
            build.publish()
        monkeypatch.setattr(os, "fsync", recorded)
        index.upsert([row("west", -1)])
        [log] = Path(config.uri).rglob("wal_data_*.arrow")
        assert {log, log.parent} <= synced
        synced.clear()
        index.delete([architecture_id("east")])
        [log] = Path(config.uri).rglob("wal_delta_*.arrow")
        assert {log, log.parent} <= synced


@pytest.mark.slow
def test_one_that_was_killed_is_begun_again(index):
    index.upsert([row("north", 0, 1)])
    [child] = [pid for pid in children_of(os.getpid()) if is_lite(pid)]
    os.kill(child, 9)
    wait_for(lambda: counts(index, 2))
    assert [hit.name for hit in index.search(EAST, 9)[0]] == ["east", "north"]


def is_lite(pid):
    command = Path(f"/proc/{pid}/cmdline")
    # An ended process has no command, even before anybody has asked how it ended.
    return command.exists() and b"nar.index.lite" in command.read_bytes()


def counts(index, rows):
    try:
        return index.count() == rows
    except IndexUnavailableError:
        return False


@pytest.mark.slow
def test_it_ends_with_a_parent_that_is_killed_and_who_comes_next_waits_for_that(config):
    command = [sys.executable, "-c", HOLD, config.uri]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as parent:
        assert parent.stdout.readline()
        [child] = children_of(parent.pid)
        parent.kill()
    with ArchitectureIndex(config):
        assert not is_lite(child)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="only Linux tells")
def test_a_process_that_is_ending_is_known_from_one_that_works():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        wait_for(lambda: not _is_ending(process.pid), or_ended=process)
        process.kill()
        # Nobody has asked how it ended: the system keeps it, without its memory.
        wait_for(lambda: _is_ending(process.pid))
    finally:
        process.communicate()
