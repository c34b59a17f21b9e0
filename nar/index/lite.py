"""Milvus Lite: an index in a directory, served by threads of this process or by a child process.

The child runs this module as a program. Milvus Lite would go on with fewer rows where a file is
damaged, and waits for no disk: damage is found before its files are read, and writes reach the
disk.
"""

import fcntl
import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final

import grpc

from nar.base.children import Child, answer_parent, task_of_parent
from nar.base.errors import IndexInUseError, IndexUnavailableError, NarError
from nar.base.files import Stamp, stamp
from nar.base.waiting import retried
from nar.index.settings import is_lite

if TYPE_CHECKING:
    from milvus_lite.db import MilvusLite

_AGAIN: Final = "build the index again or restore a snapshot of it"
WAY_OUT: Final = f"delete that directory, then {_AGAIN}"

# Milvus Lite would take a manifest without these keys for a manifest of other rows, or of no rows.
_KEYS: Final = frozenset(
    {"version", "current_seq", "active_wal_number", "partitions", "index_specs"}
)
_KINDS: Final = frozenset({"data_files", "delta_files"})
# The keys that say how vectors are indexed. A search of vectors that are indexed otherwise finds
# nothing.
_INDEX: Final = frozenset({"field_name", "index_type", "metric_type"})


class DamagedIndexError(IndexUnavailableError):
    """A row reads back otherwise than it was written, or a file of Milvus Lite is broken."""


def way_out(uri: str) -> str:
    """What to do where rows of an index are damaged: a directory of Milvus Lite has to be deleted.

    Example:
        >>> way_out("http://127.0.0.1:19530")
        'build the index again or restore a snapshot of it'
    """
    return WAY_OUT if is_lite(uri) else _AGAIN


def check_files(database: Path) -> None:
    """Check that the files of published collections, to which an alias leads, are whole.

    In place of a manifest that it cannot read, Milvus Lite takes the manifest before, which has
    fewer rows, and it ignores that files of rows are missing. A collection to which no alias
    leads may be incomplete, because a build or a drop was killed.

    Args:
        database: Directory of a Milvus Lite index; no process writes there.

    Raises:
        DamagedIndexError: Names the file and the way out.
    """
    names = database / "aliases.json"
    aliases = _json(names) if names.exists() else {}
    for name in sorted(set(aliases.values())):
        collection = database / "collections" / name
        _json(collection / "schema.json")
        _check_indexes(collection)
        for file in _listed(collection):
            if not file.is_file():
                raise _damaged(database, f"{file.relative_to(database)} is missing")


def remove_unmade(database: Path) -> None:
    """Remove the files of collections that were not made to the end: killed, or out of room.

    Milvus Lite sees no collection there, but cannot make a collection of that name either.

    Args:
        database: Directory of a Milvus Lite index that this process holds; `check_files` passed.
    """
    for schema in (path / "schema.json" for path in (database / "collections").iterdir()):
        if not schema.exists():
            shutil.rmtree(schema.parent)


def _check_indexes(collection: Path) -> None:
    """Check that the manifest of a collection says how its vectors are indexed."""
    indexes = _json(collection / "manifest.json", _KEYS)["index_specs"]
    if not (
        isinstance(indexes, dict)
        and indexes
        and all(isinstance(each, dict) and each.keys() >= _INDEX for each in indexes.values())
    ):
        raise _damaged(collection.parents[1], f"{collection.name} has no index of its vectors")


def _listed(collection: Path) -> Iterator[Path]:
    """The files of rows that the manifest of a collection names."""
    for name, files in _json(collection / "manifest.json", _KEYS)["partitions"].items():
        if not (isinstance(files, dict) and files.keys() >= _KINDS):
            raise _damaged(collection.parents[1], f"{collection.name} has no lists of files")
        for kind in _KINDS:
            yield from (collection / "partitions" / name / file for file in files[kind])


def _json(path: Path, keys: Set[str] = frozenset()) -> dict[str, Any]:
    """The content of a file of Milvus Lite, which must have these keys and may have others."""
    database = path.parent if path.name == "aliases.json" else path.parents[2]
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(database, f"{path.relative_to(database)}: {error}") from error
    if not (isinstance(content, dict) and content.keys() >= keys):
        raise _damaged(database, f"{path.relative_to(database)} lacks what it should say")
    return content


def _damaged(database: Path, reason: str) -> DamagedIndexError:
    return DamagedIndexError(f"the index at {database} is damaged ({reason}); {WAY_OUT}")


class Synced:
    """The directory of a Milvus Lite index, whichever process writes there.

    Args:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced: dict[Path, Stamp] = {}

    def sync(self) -> None:
        """Return when everything that was written is on the disk.

        Raises:
            IndexUnavailableError: The disk refuses.
        """
        for path in self._path.rglob("*"):
            try:
                current = stamp(path)
                if self._synced.get(path) != current:
                    _sync(path)
                    self._synced[path] = current
            except FileNotFoundError:
                continue  # Milvus Lite compacts in the background
            except OSError as error:
                reason = f"{path} cannot be written to its disk: {error.strerror}"
                raise IndexUnavailableError(reason) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


LOOPBACK: Final = "127.0.0.1"
# The number of threads that milvus-lite's own server has.
LITE_THREADS: Final = 10
_MODULE: Final = "nar.index.lite"
_LOCK_FILE: Final = "LOCK"
_UNBOUNDED: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # pymilvus pings every 10 s; by default grpc cuts off a client that does so for half a minute,
    # and with it a call that takes as long.
    ("grpc.http2.max_ping_strikes", 0),
)
# Loggers of Milvus Lite that log, as an exception, every call of pymilvus that it does not know,
# and a full disk with a traceback, beside the answer that names the fault.
_NOISY: Final = ("grpc._server", "milvus_lite.adapter.grpc.servicer")
# Chosen: how long a child whose server was killed may take to let go of the directory.
_LETTING_GO_S: Final = 5.0
# Chosen: time between two attempts to open the directory, a small part of what a start takes.
_LOOK_S: Final = 0.05


class LiteServer(Synced):
    """Milvus Lite, run by threads of this process on a loopback port of its own.

    Args:
        path: Directory ending in ``.db``; made if missing.
        port: Where to listen; 0 takes a free one.

    Attributes:
        port: Where it listens.

    Raises:
        IndexUnavailableError: Another process has it open, or it cannot be read.
        DamagedIndexError: A file of it is broken or missing.
    """

    def __init__(self, path: Path, port: int = 0) -> None:
        super().__init__(path)
        # Here, because a server whose index is apart does without them.
        from milvus_lite.adapter.grpc.servicer import MilvusServicer
        from pymilvus.grpc_gen.milvus_pb2_grpc import add_MilvusServiceServicer_to_server

        for noisy in _NOISY:
            logging.getLogger(noisy).setLevel(logging.CRITICAL)
        self._database = _opened(path)
        try:
            check_files(path)
            remove_unmade(path)
        except DamagedIndexError:
            self._database.close()
            raise
        # Not milvus-lite's own starter: its threads outlive the server.
        self._threads = ThreadPoolExecutor(LITE_THREADS, thread_name_prefix="milvus-lite")
        self._server = grpc.server(self._threads, options=_UNBOUNDED)
        add_MilvusServiceServicer_to_server(MilvusServicer(self._database), self._server)
        self.port: int = self._server.add_insecure_port(f"{LOOPBACK}:{port}")
        self._server.start()

    def keep_alive(self) -> None:
        """It lives as long as this process."""

    def close(self) -> None:
        """Stop serving and release the directory."""
        self._server.stop(grace=1).wait()
        self._threads.shutdown()
        self._database.close()


class LiteProcess(Synced):
    """Milvus Lite, run by a child process: a query server spends neither time nor memory on it.

    Args:
        path: Directory ending in ``.db``; made if missing.

    Attributes:
        port: Where the child listens; a new child takes the same port.

    Raises:
        IndexUnavailableError: Another process has it open, or it cannot be read.
        DamagedIndexError: A file of it is broken or missing.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.port = 0
        self._lock = Lock()
        self._child = self._started()

    def _started(self) -> Child:
        child = Child(_MODULE, {"path": str(self._path), "port": self.port})
        answer = child.answer(Event())
        if answer is None:
            child.close()
            raise IndexUnavailableError(f"the process that opens {self._path} has died")
        if "fault" in answer:
            child.close()
            raise of_answer(answer)
        self.port = answer["port"]
        return child

    def keep_alive(self) -> None:
        """Start another child if the last has died.

        Raises:
            IndexUnavailableError: The new child cannot open the index.
        """
        with self._lock:
            if not self._child.is_alive:
                self._child.close()
                self._child = self._started()

    def close(self) -> None:
        """Release the directory."""
        with self._lock:
            self._child.close()


@contextmanager
def holding(path: Path) -> Iterator[bool]:
    """Take the lock that a process needs to open the index; yields whether the lock was free.

    Args:
        path: Directory of the index.

    Raises:
        OSError: The lock file cannot be opened or locked.
    """
    with (path / _LOCK_FILE).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = True
        except BlockingIOError:
            is_held = False
        yield is_held


def _opened(path: Path) -> "MilvusLite":
    """The database of a directory.

    Raises:
        IndexInUseError: Another process has it open.
        IndexUnavailableError: It cannot be read.
    """
    from milvus_lite.db import MilvusLite
    from milvus_lite.exceptions import DataDirLockedError, MilvusLiteError

    def may_pass(error: Exception) -> bool:
        """Whether the holder of the directory is a child or a process that ends."""
        if not isinstance(error, DataDirLockedError):
            return False
        pid = _holder(path / _LOCK_FILE)
        return pid is None or _is_child(pid) or _is_ending(pid)

    try:
        return retried(
            partial(MilvusLite, str(path)), may_pass, limit_s=_LETTING_GO_S, pause_s=_LOOK_S
        )
    except DataDirLockedError as error:
        raise IndexInUseError(_in_use(path)) from error
    except (OSError, ValueError, MilvusLiteError) as error:
        raise IndexUnavailableError(f"{path} cannot be opened as an index: {error}") from error


def _in_use(path: Path) -> str:
    pid = _holder(path / _LOCK_FILE)
    holder = "another process" if pid is None else f"process {_owner(pid)}"
    return (
        f"{path} is in use by {holder}, and an index in a file has one owner at a time: "
        "wait for it or end it, or give the URI of a Milvus server, which many may share"
    )


def _holder(lock: Path) -> int | None:
    """The process that holds a lock file; None where the system cannot say (Linux can)."""
    try:
        inode = lock.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
        locks = (line.split() for line in lines if "FLOCK" in line and "->" not in line)
        pids = [int(words[4]) for words in locks if words[5].endswith(f":{inode}")]
        return pids[0] if pids and pids[0] > 0 else None
    except OSError:
        return None


def _is_child(pid: int) -> bool:
    """Whether a process only keeps the index for its parent."""
    return _MODULE.encode() in _command(pid)


def _is_ending(pid: int) -> bool:
    """Whether a process has given up its memory: it loses its locks a moment later."""
    return not any(_command(pid))


def _command(pid: int) -> list[bytes]:
    """The command line of a process: nothing, if it is ending or cannot be read."""
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _owner(pid: int) -> int:
    """The process itself, or its parent if the process only keeps the index for its parent."""
    try:
        status = (Path("/proc") / str(pid) / "stat").read_text()
    except OSError:
        return pid
    return int(status.rpartition(")")[2].split()[1]) if _is_child(pid) else pid


def as_answer(error: NarError) -> dict[str, object]:
    """An error in the form in which a child sends it to its parent."""
    return {"fault": str(error), "kind": type(error).__name__}


def of_answer(answer: Mapping[str, Any]) -> IndexUnavailableError:
    """The error that a child has sent.

    Example:
        >>> of_answer(as_answer(DamagedIndexError("a file is missing")))
        DamagedIndexError('a file is missing')
    """
    kinds = {kind.__name__: kind for kind in (DamagedIndexError, IndexInUseError)}
    return kinds.get(answer["kind"], IndexUnavailableError)(answer["fault"])


def main() -> None:
    """Serve a directory until the parent ends."""
    task, ending = task_of_parent()
    try:
        server = LiteServer(Path(task["path"]), task["port"])
    except IndexUnavailableError as error:
        answer_parent(as_answer(error))
        return
    answer_parent({"port": server.port})
    ending.wait()
    server.close()


if __name__ == "__main__":
    main()
