"""Files that are dropped on the page: kept on disk while they come, read in a process beside."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from nar.base.children import Child
from nar.base.errors import InvalidQueryError
from nar.base.model_files import READ, kind_of_file, told
from nar.serve.status import OverloadedError, SlowUploadError
from nar.v1.retrieval_pb2 import Graph

# The module that reads. It is never imported here: a server need not load what captures models.
_MODULE: Final = "nar.web.reading"
# Chosen: so long a person waits for a file to come, and as long for it to be read.
_MAX_S: Final = 100.0


class Files:
    """Reads models from files that strangers may have made.

    Args:
        at_a_time: Files read at a time; as many further ones wait, and more are refused.
    """

    def __init__(self, at_a_time: int) -> None:
        self._turns = asyncio.Semaphore(at_a_time)
        # Whoever waits has a turn ahead that may take twice `_MAX_S`; nobody waits for two of them.
        self._places = asyncio.Semaphore(2 * at_a_time)

    async def graph(self, name: str, parts: AsyncIterator[bytes]) -> Graph:
        """The graph of the model in a file.

        Args:
            name: Name of the file; its ending says what kind it is.
            parts: Its content.

        Raises:
            InvalidQueryError: Files of that kind are not read, or no model could be read.
            OversizedError: The file is too large.
            OverloadedError: One file is read and another waits.
        """
        suffix = Path(name).suffix.lower()
        if suffix not in READ:
            raise InvalidQueryError("name", _not_taken(Path(name)))
        if self._places.locked():
            reason = "other files are being read; try again in a minute"
            raise OverloadedError(reason, _MAX_S)
        async with self._places, self._turns, aclosing(parts) as coming:  # type: ignore[type-var]
            with TemporaryDirectory(prefix="nar-page-") as directory:
                path = Path(directory) / f"model{suffix}"
                await _write(path, coming)
                return await asyncio.to_thread(_read, name, path)


def _not_taken(path: Path) -> str:
    """Why the page does not take a file of some name, with the way out."""
    wanted = f"wanted {', '.join(f'{kind} ({end})' for end, kind in READ.items())}"
    kind = kind_of_file(Path(path.name))
    if kind is None:
        return f"{wanted}; {path.name} is of no kind that NAR knows"
    if kind.reading == "none":
        return f"{wanted}; {told(path, kind.what, kind.way_out)}"
    return f"{wanted}; `nar search {path.name}` in a shell reads {kind.what}"


async def _write(path: Path, parts: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(_MAX_S):
            with path.open("wb") as file:
                async for part in parts:
                    await asyncio.to_thread(file.write, part)
    except TimeoutError:
        raise SlowUploadError(f"the file did not come within {_MAX_S:.0f} s") from None


def _read(name: str, path: Path) -> Graph:
    answer = path.with_name("graph")
    ending = threading.Event()
    clock = threading.Timer(_MAX_S, ending.set)
    child = Child(_MODULE, {"path": str(path), "answer": str(answer)})
    clock.start()
    try:
        answered = child.answer(ending)
    finally:
        clock.cancel()
        child.close()
    if answered is None:
        why = f"it took longer than {_MAX_S:.0f} s" if ending.is_set() else "its reader was ended"
        raise InvalidQueryError(name, f"{why}; `nar search FILE` in a shell has no limits")
    if "fault" in answered:
        raise InvalidQueryError(name, answered["fault"])
    return Graph.FromString(answer.read_bytes())
