"""Steps that fail: the n-th write, rename or call of a process, from outside of what it runs.

A process takes what it is to suffer from its environment, so that workers of Ray do, too. The first
step that fails leaves a file behind: a fault that never came proves nothing.
"""

import errno
import os
import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, NoReturn

VARIABLE: Final = "BROKEN_"
# Of a service that no machine runs.
NO_PORT: Final = 1
WRITING: Final = os.O_WRONLY | os.O_RDWR


@dataclass(frozen=True, slots=True)
class Broken:
    """What fails in a process.

    Attributes:
        step: Key of `STEPS`.
        at: Which of these steps, from 1; of ``disk``, how many bytes a file may have.
        below: Only files below this directory count.
        mark: File that appears when a step fails.
    """

    step: str
    at: int
    below: str
    mark: str

    def environment(self) -> dict[str, str]:
        """The same for a process to come."""
        return {f"{VARIABLE}{name}": str(value) for name, value in asdict(self).items()}

    def install(self) -> None:
        """Let this process suffer it from here on."""
        STEPS[self.step](self)


class Counter:
    """Counts steps, and lets one fail."""

    def __init__(self, broken: Broken) -> None:
        self._broken, self._seen = broken, 0

    def is_due(self, path: object) -> bool:
        """Whether this step fails; one whose file lies elsewhere does not count."""
        if not str(path).startswith(self._broken.below):
            return False
        self._seen += 1
        return self._seen == self._broken.at

    def fail(self, path: object) -> NoReturn:
        """Leave the mark and fail as a full disk does."""
        leave(self._broken.mark)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def leave(mark: str) -> None:
    """Say that a step has failed."""
    os.close(os.open(mark, os.O_CREAT | os.O_WRONLY))


def install_from_environment() -> None:
    """Let this process suffer what its environment says."""
    names = ("step", "at", "below", "mark")
    step, at, below, mark = (os.environ[f"{VARIABLE}{name}"] for name in names)
    Broken(step, int(at), below, mark).install()


def _break_writes(broken: Broken) -> None:
    """A file cannot be written; one of Parquet ends in the middle."""
    import pyarrow.parquet as pq

    counter, write_table = Counter(broken), pq.write_table

    @wraps(write_table)
    def write(table: object, where: object, *arguments: Any, **named: Any) -> None:
        write_table(table, where, *arguments, **named)
        if counter.is_due(where):
            os.truncate(str(where), Path(str(where)).stat().st_size // 2)
            counter.fail(where)

    def opened(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments[2] & WRITING and counter.is_due(arguments[0]):
            counter.fail(arguments[0])

    pq.write_table = write
    sys.addaudithook(opened)


def _break_renames(broken: Broken) -> None:
    """A file that was written does not come into its place."""
    counter = Counter(broken)

    def renamed(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename" and counter.is_due(arguments[0]):
            counter.fail(arguments[0])

    sys.addaudithook(renamed)


def _break_calls(broken: Broken) -> None:
    """Milvus does not answer a call."""
    _break_grpc(broken, lasts=False)


def _break_calls_for_good(broken: Broken) -> None:
    """Milvus answers no call from here on."""
    _break_grpc(broken, lasts=True)


def _break_grpc(broken: Broken, *, lasts: bool) -> None:
    """Calls that fail go where nobody listens: what comes back is what grpc says of that."""
    import grpc
    from grpc import _channel as channel

    nobody = grpc.insecure_channel(f"127.0.0.1:{NO_PORT}")
    seen = 0

    def failing(call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def asked(asks: Any, *arguments: Any, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == broken.at or (lasts and seen > broken.at):
                leave(broken.mark)
                how = (asks._request_serializer, asks._response_deserializer)
                asks = nobody.unary_unary(asks._method.decode(), *how)
            return call(asks, *arguments, **named)

        return asked

    kind = channel._UnaryUnaryMultiCallable
    for name in ("__call__", "future", "with_call"):
        setattr(kind, name, failing(getattr(kind, name)))


def _fill_disk(broken: Broken) -> None:
    """No file may have more bytes: stands in for a disk that is full, and needs no rights."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (broken.at, broken.at))
    # Whether a file grew so far is not seen from here.
    leave(broken.mark)


STEPS: Final[Mapping[str, Callable[[Broken], None]]] = {
    "write": _break_writes,
    "rename": _break_renames,
    "call": _break_calls,
    "calls": _break_calls_for_good,
    "disk": _fill_disk,
}
