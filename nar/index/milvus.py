"""One connection to Milvus: the embedded one of a `.db` directory, or a server by its URI.

Everything that pymilvus or gRPC can raise leaves here as an error of NAR, within a bounded time.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Final

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import LOCK_FILENAME, MilvusLite
from milvus_lite.exceptions import DataDirLockedError, MilvusLiteError
from pymilvus import MilvusClient, MilvusException
from pymilvus.grpc_gen.milvus_pb2_grpc import add_MilvusServiceServicer_to_server

from nar.config import IndexConfig
from nar.errors import ConfigError, IndexUnavailableError
from nar.files import Stamp, stamp
from nar.index.damage import WAY_OUT, DamagedIndexError, check_files

# Building and loading an index takes longer than a call; a dead server is still noticed.
PATIENCE_S: Final = 120.0
LOOPBACK: Final = "127.0.0.1"
LITE_THREADS: Final = 10
CONNECT_FAILED: Final = 2  # the code of pymilvus for it
# Milvus could not do it, or did not answer.
ERRORS: Final = ("refused", "unreachable")
# The purposes that a damaged file stands in the way of.
READING: Final = frozenset({"look for a collection", "load the collection", "read", "search"})

_UNBOUNDED: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # pymilvus pings every 10 s; by default grpc cuts off who does so for half a minute, and with it
    # the call that takes as long.
    ("grpc.http2.max_ping_strikes", 0),
)
# gRPC's own bound is two minutes, in which a server that is back is not tried.
_RECONNECT: Final = {
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
}


class RefusedError(IndexUnavailableError):
    """Milvus answered, but refused: most often, the collection was replaced meanwhile."""


class EmbeddedServer:
    """Milvus Lite, run by threads of this process on a loopback port of its own.

    Args:
        path: Directory ending in ``.db``; made if missing.

    Raises:
        IndexUnavailableError: Another process has it open, or it cannot be read.
        DamagedIndexError: A file of it is broken or missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced: dict[Path, Stamp] = {}
        try:
            self._database = MilvusLite(str(path))
        except DataDirLockedError as error:
            raise IndexUnavailableError(_in_use(path)) from error
        except (OSError, ValueError, MilvusLiteError) as error:
            raise IndexUnavailableError(f"{path} cannot be opened as an index: {error}") from error
        try:
            check_files(path)
        except DamagedIndexError:
            self._database.close()
            raise
        # Not milvus-lite's own starter: its threads outlive the server.
        self._threads = ThreadPoolExecutor(LITE_THREADS, thread_name_prefix="milvus-lite")
        self._server = grpc.server(self._threads, options=_UNBOUNDED)
        add_MilvusServiceServicer_to_server(MilvusServicer(self._database), self._server)
        self.uri = f"http://{LOOPBACK}:{self._server.add_insecure_port(f'{LOOPBACK}:0')}"
        self._server.start()

    def sync(self) -> None:
        """Return when the disk has what was written: Milvus Lite itself does not wait for that.

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

    def close(self) -> None:
        """Stop serving and release the directory."""
        self._server.stop(grace=1).wait()
        self._threads.shutdown()
        self._database.close()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _in_use(path: Path) -> str:
    pid = _holder(path / LOCK_FILENAME)
    holder = "another process" if pid is None else f"process {pid}"
    return (
        f"{path} is in use by {holder}, and an embedded index has one owner at a time: "
        "wait for it or end it, or give the URI of a Milvus server, which many may share"
    )


def _holder(lock: Path) -> int | None:
    """The process that holds a lock file, where the system tells (Linux)."""
    try:
        inode = lock.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    held = (line.split() for line in lines if "FLOCK" in line and "->" not in line)
    pids = [int(words[4]) for words in held if words[5].endswith(f":{inode}")]
    return pids[0] if pids and pids[0] > 0 else None


class Milvus:
    """The calls that NAR makes, with bounded time and errors of its own.

    Args:
        config: Where, as whom, and how long to wait.

    Attributes:
        uri: Where.
        session: Tells this connection from all others.

    Raises:
        ConfigError: The URI is neither a ``.db`` path nor an address.
        IndexUnavailableError: Nothing answers there, or the directory is in use.
    """

    def __init__(self, config: IndexConfig) -> None:
        # pymilvus logs each error with its traceback before it raises it; ours says it once.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        # The embedded server logs, as an exception, every call of pymilvus that it does not know,
        # and a full disk with a traceback beside the answer that says so.
        for noisy in ("grpc._server", "milvus_lite.adapter.grpc.servicer"):
            logging.getLogger(noisy).setLevel(logging.CRITICAL)
        self.uri = config.uri
        self.session = token_hex(8)
        self._timeout_s = config.timeout_s
        self._closed = False
        self._counting = Lock()
        self._errors = dict.fromkeys(ERRORS, 0)
        self._embedded: EmbeddedServer | None = None
        if config.uri.endswith(".db"):
            self._embedded = EmbeddedServer(Path(config.uri))
        elif not config.uri.startswith(("http://", "https://")):
            raise ConfigError(
                f"index uri: wanted a path ending in .db or an http:// address, came {config.uri!r}"
            )
        try:
            self._client = self._connect(config)
        except BaseException:
            self._stop_embedded()
            raise

    def _connect(self, config: IndexConfig) -> MilvusClient:
        uri = self._embedded.uri if self._embedded else config.uri
        token = config.token or ""
        with self.reaching("connect"):
            return MilvusClient(
                uri,
                token=token,
                timeout=self._timeout_s,
                dedicated=True,
                grpc_options=_RECONNECT,
            )

    def close(self) -> None:
        """End the connection; an embedded index is released for other processes."""
        self._closed = True
        self._client.close()
        self._stop_embedded()

    def _stop_embedded(self) -> None:
        if self._embedded:
            self._embedded.close()
            self._embedded = None

    @property
    def embedded(self) -> EmbeddedServer | None:
        """The server inside of this process, if it is that: no other process can reach it."""
        return self._embedded

    @property
    def client(self) -> MilvusClient:
        """The client itself, to be called inside `reaching`."""
        return self._client

    @property
    def timeout_s(self) -> float:
        """How long one call may take."""
        return self._timeout_s

    @contextmanager
    def reaching(self, purpose: str) -> Iterator[None]:
        """Turn whatever the client raises into IndexUnavailableError.

        Raises:
            RefusedError: Milvus runs, but could not do it.
            IndexUnavailableError: It cannot be reached.
        """
        if self._closed:
            raise IndexUnavailableError(f"the index at {self.uri} was closed; open it again")
        try:
            yield
        except grpc.RpcError as error:
            self._count("unreachable")
            code = error.code().name if isinstance(error, grpc.Call) else type(error).__name__
            raise IndexUnavailableError(self._unreachable(purpose, code)) from error
        except MilvusException as error:
            if _is_refusal(error):
                self._count("refused")
                raise RefusedError(self._refused(purpose, error.message)) from error
            self._count("unreachable")
            raise IndexUnavailableError(self._unreachable(purpose, error.message)) from error
        except ValueError as error:  # gRPC's way to say that the channel is closed
            self._count("unreachable")
            raise IndexUnavailableError(self._unreachable(purpose, str(error))) from error

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls have failed so far, by kind: each of `ERRORS`."""
        return dict(self._errors)

    def _count(self, kind: str) -> None:
        with self._counting:
            self._errors[kind] += 1

    def _refused(self, purpose: str, reason: str) -> str:
        said = f"the index at {self.uri} refused to {purpose}: {reason}"
        may_be_damaged = self.embedded is not None and purpose in READING
        return f"{said}; if its files are damaged, {WAY_OUT}" if may_be_damaged else said

    def _unreachable(self, purpose: str, reason: str) -> str:
        return (
            f"the index at {self.uri} did not {purpose} within {self._timeout_s:g} s ({reason}); "
            "check that Milvus runs there"
        )


def _is_refusal(error: MilvusException) -> bool:
    """Whether Milvus itself said no; pymilvus puts gRPC's own codes in the same place."""
    return isinstance(error.code, int) and error.code != CONNECT_FAILED
