"""What the page leaves to processes beside: files from outside, and comparisons of large models."""

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final

from nar.base.children import Child
from nar.base.errors import InvalidQueryError
from nar.base.model_files import READ, TORCHSCRIPT, file_text, kind_of_file, program_text
from nar.serve.status import GivenUpError, OverloadedError, SlowUploadError
from nar.v1.retrieval_pb2 import Graph

# The module that works. It is never imported here: a server need not load what captures models.
_MODULE: Final = "nar.web.reading"
# Chosen: so long a person waits for a file to come, and as long for it to be read.
_MAX_S: Final = 100.0
# Chosen: of the room that is left where temporary files lie, what one file may take.
_DISK_SHARE: Final = 0.5


class TurnQueue:
    """Few requests work at a time and as many further ones wait; more are refused.

    Args:
        at_a_time: How many requests work at a time.
        retry_s: When a refused caller may come again.
    """

    def __init__(self, at_a_time: int, retry_s: float) -> None:
        self._turns = asyncio.Semaphore(at_a_time)
        # A request that waits has one turn ahead, and none waits for two turns.
        self._places = asyncio.Semaphore(2 * at_a_time)
        self._retry_s = retry_s

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a turn, and hold it.

        Raises:
            OverloadedError: As many wait already as may.
        """
        if self._places.locked():
            raise OverloadedError("others are at it; try again in a minute", self._retry_s)
        async with self._places, self._turns:
            yield


class Files:
    """Reads models from files that strangers may have made.

    Args:
        at_a_time: Files read at a time; as many further ones wait, and more are refused.
    """

    def __init__(self, at_a_time: int) -> None:
        self._turns = TurnQueue(at_a_time, _MAX_S)

    async def graph(
        self,
        name: str,
        parts: AsyncIterator[bytes],
        watched: Callable[[], AbstractAsyncContextManager[Event]],
    ) -> Graph:
        """The graph of the model in a file.

        Args:
            name: Name of the file; its ending says what kind it is.
            parts: Its content.
            watched: Once the content has come, an event that ends the reading when it is set.

        Raises:
            InvalidQueryError: Files of that kind are not read, or no model could be read.
            OversizedError: The file is too large.
            OverloadedError: One file is read and another waits.
        """
        suffix = Path(name).suffix.lower()
        if suffix not in READ:
            raise InvalidQueryError("name", _not_taken(Path(name)))
        async with self._turns.taken(), aclosing(parts) as coming:  # type: ignore[type-var]
            with TemporaryDirectory(prefix="nar-page-") as directory:
                path = Path(directory) / f"model{suffix}"
                await _write(path, coming)
                async with watched() as ending:
                    return await asyncio.to_thread(_read, name, path, ending)


def _not_taken(path: Path) -> str:
    """Why the page does not take a file of some name, with the way out."""
    wanted = f"wanted {', '.join(f'{kind} ({end})' for end, kind in READ.items())}"
    kind = kind_of_file(Path(path.name))
    if kind is None:
        return f"{wanted}; {path.name} is of no kind that NAR knows"
    if kind.reading == "none":
        return f"{wanted}; {file_text(path, kind.what, kind.way_out)}"
    if kind is TORCHSCRIPT:
        return f"{wanted}; {program_text(path, kind)}"
    return f"{wanted}; `nar search {path.name}` in a shell reads {kind.what}"


async def _write(path: Path, parts: AsyncIterator[bytes]) -> None:
    # Other programs write to the volume of temporary files, too, and need room.
    most = int(_DISK_SHARE * shutil.disk_usage(path.parent).free)
    came = 0
    try:
        async with asyncio.timeout(_MAX_S):
            with path.open("wb") as file:
                async for part in parts:
                    came += len(part)
                    if came > most:
                        raise OverloadedError(f"there is room for {most:,} bytes here; try later")
                    await asyncio.to_thread(file.write, part)
    except TimeoutError:
        raise SlowUploadError(f"the file did not come within {_MAX_S:.0f} s") from None


def _read(name: str, path: Path, ending: Event) -> Graph:
    task = {"kind": "file", "path": str(path)}
    try:
        return Graph.FromString(answer_apart(task, path.with_name("graph"), _MAX_S, ending))
    except InvalidQueryError as error:
        raise InvalidQueryError(name, error.reason) from None
    except GivenUpError as error:
        way_out = "`nar search FILE` in a shell has no limits"
        raise InvalidQueryError(name, f"{error}; {way_out}") from None


def answer_apart(
    task: Mapping[str, object], answer: Path, limit_s: float, ending: Event | None = None
) -> bytes:
    """What a process beside answers.

    Args:
        task: What it shall do.
        answer: A path that it may write to.
        limit_s: How long it may take.
        ending: Ends it once it is set: nobody waits any more.

    Raises:
        InvalidQueryError: It found a fault, and names the field.
        GivenUpError: It was ended before it had an answer.
    """
    ending = ending or Event()
    clock = threading.Timer(limit_s, ending.set)
    child = Child(_MODULE, {**task, "answer": str(answer)})
    clock.start()
    try:
        answered = child.answer(ending)
    finally:
        clock.cancel()
        child.close()
    # A child that is to end may still answer, seconds after its time was over.
    if answered is None or ending.is_set():
        why = f"it took longer than {limit_s:.0f} s" if ending.is_set() else "its reader was ended"
        raise GivenUpError(why)
    if "fault" in answered:
        raise InvalidQueryError(answered["field"], answered["fault"])
    return answer.read_bytes()


def in_directory(task: Mapping[str, object], sides: bytes, limit_s: float, ending: Event) -> bytes:
    """What a process beside answers about two models, given to it in a file.

    Args:
        task: What it shall do besides.
        sides: The models.
        limit_s: How long it may take.
        ending: Ends it once it is set.

    Raises:
        InvalidQueryError: As for `answer_apart`.
        GivenUpError: As for `answer_apart`.
    """
    with TemporaryDirectory(prefix="nar-page-") as directory:
        path = Path(directory) / "sides"
        path.write_bytes(sides)
        return answer_apart({**task, "sides": str(path)}, path.with_name("answer"), limit_s, ending)
