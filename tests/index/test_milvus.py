"""The connection: one owner of an embedded index, bounded waits for a server, nothing left over."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from backends import ENCODER
from milvus_server import free_port
from oracle import DIM, row
from waiting import wait_for

from nar.base.errors import ConfigError, IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.milvus import MilvusTimeoutError
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig

EAST = np.eye(1, DIM, dtype=np.float32)
TIMEOUT_S = 2.0

HOLD = """
import sys, time
from nar.config import IndexConfig
from nar.index.architecture_index import ArchitectureIndex
index = ArchitectureIndex(IndexConfig(uri=sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""

WRITE_FOREVER = """
import sys
sys.path.insert(0, sys.argv[2])
from oracle import DIM, row
from nar.config import IndexConfig
from nar.index.architecture_index import ArchitectureIndex
index = ArchitectureIndex(IndexConfig(uri=sys.argv[1]))
with index.build("e" * 64, DIM) as build:
    build.publish()
for number in range(1_000_000):
    index.upsert([row(f"row {number}", 1, number)])
    print(number, flush=True)
"""

# A server of the same protocol that starts at once: Milvus Lite on a port of its own.
SERVE = """
import sys
from milvus_lite.adapter.grpc.server import start_server_in_thread
server, database, port = start_server_in_thread(sys.argv[1], "127.0.0.1", int(sys.argv[2]))
print("open", flush=True)
sys.stdin.read()
"""


def start(program, *arguments):
    """A Python process, after its first line; it ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline()
    return process


def end(process):
    process.kill()
    process.communicate()


def load(index, rows):
    with index.build(ENCODER, DIM) as build:
        build.upsert(rows)
        build.publish()


@pytest.fixture
def config(tmp_path):
    return IndexConfig(uri=str(tmp_path / "index.db"))


@pytest.fixture
def served(tmp_path):
    """A published row behind a port, and the process that serves it."""
    directory, port = tmp_path / "served.db", free_port()
    process = start(SERVE, directory, port)
    config = IndexConfig(uri=f"http://127.0.0.1:{port}", timeout_s=TIMEOUT_S)
    with ArchitectureIndex(config) as index:
        load(index, [row("east", 1)])
        yield index, process, lambda: start(SERVE, directory, port)
    end(process)


@pytest.mark.slow
def test_an_embedded_index_has_one_owner(config):
    process = start(HOLD, config.uri)
    with pytest.raises(IndexUnavailableError, match=f"is in use by process {process.pid}, and"):
        ArchitectureIndex(config)
    end(process)
    with ArchitectureIndex(config):
        pass


@pytest.mark.slow
def test_writes_wait_for_the_disk(config, monkeypatch):
    synced, fsync = set(), os.fsync

    def recorded(descriptor):
        synced.add(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    with ArchitectureIndex(config) as index:
        load(index, [row("east", 1)])
        monkeypatch.setattr(os, "fsync", recorded)
        index.upsert([row("west", -1)])
        [log] = Path(config.uri).rglob("wal_data_*.arrow")
        assert {log, log.parent} <= synced
        synced.clear()
        index.delete([architecture_id("east")])
        [log] = Path(config.uri).rglob("wal_delta_*.arrow")
        assert {log, log.parent} <= synced


@pytest.mark.slow
def test_closing_leaves_no_thread_and_no_lock(config):
    before = set(threading.enumerate())
    for _ in range(2):
        with ArchitectureIndex(config) as index:
            load(index, [row("east", 1)])
            index.search(EAST, 1)
    # One of grpc's ends on its own, a moment later.
    wait_for(lambda: {each for each in threading.enumerate() if each.is_alive()} <= before)


@pytest.mark.slow
def test_a_closed_index_says_so(config):
    index = ArchitectureIndex(config)
    load(index, [row("east", 1)])
    index.close()
    with pytest.raises(IndexUnavailableError, match="was closed"):
        index.search(EAST, 1)


FILL = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from oracle import DIM, row
from nar.config import IndexConfig
from nar.base.errors import IndexFullError
from nar.index.architecture_index import ArchitectureIndex
with ArchitectureIndex(IndexConfig(uri=sys.argv[1])) as index:
    with index.build("e" * 64, DIM, job="full") as build:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        try:
            build.load(row(f"row {number}", 1, number) for number in range(5_000))
        except IndexFullError as error:
            print(error, index.errors)
"""


@pytest.mark.slow
def test_a_disk_that_takes_no_more_is_said_without_a_traceback(config):
    command = [sys.executable, "-c", FILL, config.uri, str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"the index at {config.uri} refused to upsert: [Errno 27]" in done.stdout
    assert "'full': 1" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("uri", ["index", "milvus:19530", "", "ftp://127.0.0.1/index"])
def test_other_uris_are_refused(uri):
    with pytest.raises(ConfigError, match=r"wanted a path ending in .db or an http:// address"):
        ArchitectureIndex(IndexConfig(uri=uri))


def test_a_file_in_the_place_of_the_directory_is_left_alone(tmp_path):
    path = tmp_path / "old.db"
    path.write_text("an index of Milvus Lite 2")
    with pytest.raises(IndexUnavailableError, match=r"old.db cannot be opened as an index"):
        ArchitectureIndex(IndexConfig(uri=str(path)))
    assert path.read_text() == "an index of Milvus Lite 2"


def test_nothing_there_is_said_in_time():
    started = time.monotonic()
    config = IndexConfig(uri=f"http://127.0.0.1:{free_port()}", timeout_s=TIMEOUT_S)
    with pytest.raises(IndexUnavailableError, match="check that Milvus runs there"):
        ArchitectureIndex(config)
    assert time.monotonic() - started < TIMEOUT_S + 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "failure"),
    [(signal.SIGKILL, IndexUnavailableError), (signal.SIGSTOP, MilvusTimeoutError)],
    ids=["dead", "hung"],
)
def test_a_server_that_went_away_is_noticed_in_time_by_all_threads(served, fault, failure):
    index, process, _ = served

    def ask(_):
        started = time.monotonic()
        with pytest.raises(failure):
            index.search(EAST, 1)
        return time.monotonic() - started

    os.kill(process.pid, fault)
    wait_for(lambda: is_still(process.pid))
    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(ask, range(16))) < TIMEOUT_S + 2
    assert index.errors["unreachable"] >= 16


@pytest.mark.slow
def test_what_milvus_refuses_is_counted(config):
    with ArchitectureIndex(config) as index:
        load(index, [row("east", 1)])
        assert index.errors == {"refused": 0, "full": 0, "unreachable": 0}
        index.live.drop()
        with pytest.raises(IndexUnavailableError):
            index.live.count()
        assert index.errors == {"refused": 1, "full": 0, "unreachable": 0}


def is_still(pid):
    """Whether a signal has reached every thread of a process: stopped, dead, or gone."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    try:
        return all(stat.read_text().rpartition(")")[2].split()[0] in "TtXZ" for stat in threads)
    except OSError:  # it is dying while it is looked at
        return False


@pytest.mark.slow
def test_a_server_that_comes_back_is_used_again(served):
    index, process, restart = served
    end(process)
    with pytest.raises(IndexUnavailableError):
        index.count()
    successor = restart()
    try:
        wait_for(lambda: answers(index))
        assert [hit.name for hit in index.search(EAST, 1)[0]] == ["east"]
    finally:
        end(successor)


def answers(index):
    try:
        return index.count() == 1
    except IndexUnavailableError:
        return False


@pytest.mark.slow
def test_acknowledged_rows_outlive_a_killed_writer(config):
    process = start(WRITE_FOREVER, config.uri, Path(__file__).parents[1])
    acknowledged = [int(process.stdout.readline()) for _ in range(100)][-1]
    end(process)
    with ArchitectureIndex(config) as index:
        names = [f"row {number}" for number in range(acknowledged + 1)]
        rows = index.get(names)
        assert [rows[name].embedding[1] for name in names] == list(range(acknowledged + 1))
        assert index.count() in (len(names), len(names) + 1, len(names) + 2)


@pytest.mark.slow
def test_many_readers_beside_one_writer(config):
    with ArchitectureIndex(config) as index, ThreadPoolExecutor(4) as pool:
        load(index, [row("east", 1)])
        writer = pool.submit(
            lambda: [index.upsert([row(f"row {number}", 0, 1)]) for number in range(60)]
        )
        readers = [pool.submit(read_until, index, writer) for _ in range(3)]
        writer.result()
        assert all(reader.result() for reader in readers)
        assert index.count() == 61


def read_until(index, writer):
    """Whether every read, until the writer ends, finds the row that was there before."""
    answers = []
    while not writer.done():
        [[hit]] = index.search(EAST, 1)
        answers.append(hit.name == "east")
        answers.append(bool(index.contains([architecture_id("east")])))
    return all(answers)
