"""One connection to Milvus: Milvus Lite in a `.db` directory, or a server by its URI.

Everything that pymilvus or gRPC can raise leaves here as an error of NAR, within a bounded time.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Final

import grpc
from pymilvus import MilvusClient, MilvusException

from nar.base.errors import ConfigError, IndexFullError, IndexUnavailableError
from nar.index.lite import LOOPBACK, WAY_OUT, LiteProcess, LiteServer
from nar.index.rows import ERRORS
from nar.index.settings import IndexConfig

# Chosen: building and loading an index takes longer than a call, and a dead server is still
# noticed.
PATIENCE_S: Final = 120.0
# How Milvus Lite and a server say that there is no room: the system's words for a full disk, a
# limit of a file or of a user, and the server's own bound.
_FULL: Final = re.compile(r"\[Errno (27|28|122)\]|No space left|[Dd]isk ?[Qq]uota")
CONNECT_FAILED: Final = 2  # pymilvus' code of a connection that failed
# The purposes of calls that fail where a file is damaged.
READING: Final = frozenset({"look for a collection", "load the collection", "read", "search"})

# Bounds on gRPC's pause between two attempts to connect: by its own bound of two minutes, it would
# not try a server that is back.
_RECONNECT: Final = {
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
}


# What `make milvus` installs, the newest on the package index, and every test of a server runs on.
TESTED: Final = "2.3.5"
_UNKNOWN: Final = "unknown"

log = logging.getLogger(__name__)


@cache
def warn_of_untested(version: str) -> None:
    """Say once in a process that nobody has tested a version of the server."""
    if version != TESTED:
        log.warning("Milvus %s was never tested with NAR, Milvus %s was", version, TESTED)


class MilvusRefusedError(IndexUnavailableError):
    """Milvus answered, but refused: most often, the collection was replaced meanwhile."""


class MilvusFullError(MilvusRefusedError, IndexFullError):
    """Milvus has no room for rows."""


class MilvusTimeoutError(IndexUnavailableError):
    """Milvus gave no answer in time: it hangs, or is not yet done with starting."""


class Milvus:
    """The calls that NAR makes, with bounded time and errors of its own.

    Args:
        config: The address, the token, and how long to wait.

    Attributes:
        uri: The address or the directory.
        session: Tells this connection from all others.
        version: Of the server; empty for Milvus Lite, and ``unknown`` where it does not say.

    Raises:
        ConfigError: The URI is neither a ``.db`` path nor an address.
        IndexUnavailableError: Nothing answers there, or the directory is in use.
    """

    def __init__(self, config: IndexConfig) -> None:
        # pymilvus logs each error with its traceback before it raises it; ours says it once.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        self.uri = config.uri
        self.session = token_hex(8)
        self._timeout_s = config.call_timeout_s
        self._closed = False
        self._counting = Lock()
        self._errors = dict.fromkeys(ERRORS, 0)
        self._lite: LiteServer | LiteProcess | None = None
        if config.is_lite:
            start = LiteProcess if config.is_apart else LiteServer
            self._lite = start(Path(config.uri))
        elif not config.uri.startswith(("http://", "https://")):
            raise ConfigError(
                f"index uri: wanted a path ending in .db or an http:// address, came {config.uri!r}"
            )
        try:
            self._client = self._connect(config)
        except BaseException:
            self._stop_lite()
            raise
        self.version = "" if self._lite else self._asked_version()

    def _connect(self, config: IndexConfig) -> MilvusClient:
        uri = f"http://{LOOPBACK}:{self._lite.port}" if self._lite else config.uri
        token = config.token or ""
        with self.reaching("connect"):
            return MilvusClient(
                uri,
                token=token,
                timeout=self._timeout_s,
                dedicated=True,
                grpc_options=_RECONNECT,
            )

    def _asked_version(self) -> str:
        """The version of the server; an untested version is logged once."""
        try:
            with self.reaching("say its version"):
                version = str(self._client.get_server_version(timeout=self._timeout_s))
        except IndexUnavailableError:
            # Readers do not need it, and a server that may come back is asked again.
            return _UNKNOWN
        warn_of_untested(version.removeprefix("v"))
        return version.removeprefix("v")

    def close(self) -> None:
        """End the connection; a Milvus Lite index is released for other processes."""
        self._closed = True
        self._client.close()
        self._stop_lite()

    def _stop_lite(self) -> None:
        if self._lite:
            self._lite.close()
            self._lite = None

    @property
    def lite(self) -> LiteServer | LiteProcess | None:
        """The server of Milvus Lite, which no other process can reach; None for a Milvus server."""
        return self._lite

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
            MilvusRefusedError: Milvus runs, but could not do it.
            MilvusTimeoutError: It gave no answer within the time of a call.
            IndexUnavailableError: It cannot be reached.
        """
        if self._closed:
            raise IndexUnavailableError(f"the index at {self.uri} was closed; open it again")
        self._keep_alive()
        try:
            yield
        except grpc.RpcError as error:
            self._count("unreachable")
            code = error.code().name if isinstance(error, grpc.Call) else type(error).__name__
            is_late = code == grpc.StatusCode.DEADLINE_EXCEEDED.name
            failure = MilvusTimeoutError if is_late else IndexUnavailableError
            raise failure(self._unreachable(purpose, code)) from error
        except MilvusException as error:
            if _is_refusal(error):
                is_full = bool(_FULL.search(error.message or ""))
                self._count("full" if is_full else "refused")
                refused = MilvusFullError if is_full else MilvusRefusedError
                raise refused(self._refused(purpose, error.message)) from error
            self._count("unreachable")
            raise IndexUnavailableError(self._unreachable(purpose, error.message)) from error
        except ValueError as error:  # gRPC's way to say that the channel is closed
            self._count("unreachable")
            raise IndexUnavailableError(self._unreachable(purpose, str(error))) from error

    def _keep_alive(self) -> None:
        if not self._lite:
            return
        try:
            self._lite.keep_alive()
        except IndexUnavailableError:
            self._count("unreachable")
            raise

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls have failed so far, by kind: each of `ERRORS`."""
        return dict(self._errors)

    def _count(self, kind: str) -> None:
        with self._counting:
            self._errors[kind] += 1

    def _refused(self, purpose: str, reason: str) -> str:
        refusal = f"the index at {self.uri} refused to {purpose}: {reason}"
        # A collection that is not loaded yet, as after a restart, is loaded by the next call.
        is_unloaded = "call load()" in reason
        may_be_damaged = self.lite is not None and purpose in READING and not is_unloaded
        return f"{refusal}; if its files are damaged, {WAY_OUT}" if may_be_damaged else refusal

    def _unreachable(self, purpose: str, reason: str) -> str:
        way_out = (
            "where this machine is busy, a larger `index.timeout_s` gives Milvus Lite more time"
            if self._lite
            else "check that Milvus runs there"
        )
        late = f"the index at {self.uri} did not {purpose} within {self._timeout_s:g} s"
        return f"{late} ({reason}); {way_out}"


def _is_refusal(error: MilvusException) -> bool:
    """Whether Milvus itself said no; pymilvus puts gRPC's own codes in the same place."""
    return isinstance(error.code, int) and error.code != CONNECT_FAILED
