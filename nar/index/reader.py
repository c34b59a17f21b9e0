"""Reader: the index as a server reads it. Rows in memory answer in place of a collection of Milvus.

    searches, look-ups ----> rows in memory --(too many, or not read yet)--> Milvus
    upsert, delete --------> Milvus, then the rows in memory
    every `follow_s`         where does the alias point, how many rows are there, were some written?
    every `compare_s`        does every row have the digest that it has in memory? a part a look

While new rows are read into memory, the rows before them go on answering.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import (
    FilesAloneError,
    FilesSufficeError,
    IndexMismatchError,
    IndexUnavailableError,
    NarError,
)
from nar.index.exact import ExactIndex
from nar.index.filters import EVERYTHING, Filter
from nar.index.following import Follower
from nar.index.lite import DamagedIndexError
from nar.index.ranking import Search
from nar.index.rows import Hit, IndexEntry, IndexRow, IndexState
from nar.index.settings import IndexConfig

# This module imports pymilvus, which takes half of the start of a server that answers from files.
if TYPE_CHECKING:
    from nar.index.architecture_index import ArchitectureIndex

log = logging.getLogger(__name__)

Open = Callable[[Event], "ArchitectureIndex"]
# Errors that no later look mends: health reports them until the index is replaced.
_LASTING: Final = (DamagedIndexError, IndexMismatchError)


class Reader:
    """Reads and writes of an `ArchitectureIndex`, with its rows in memory while they are few.

    Safe to share between threads. A write through it is seen at once by every read through it.

    Args:
        open_index: Opens the index; None if there are only `files`. With `files` it may take its
            time, ends early with any error of NAR when the event is set, and raises
            FilesSufficeError if the files are to answer alone.
        config: How many rows may be in memory, and how often to look.
        files: Rows that answer until the index is open, and for good if it cannot be opened.

    Raises:
        NarError: Without `files`, any error of `open_index`.
    """

    def __init__(
        self, open_index: Open | None, config: IndexConfig, files: ExactIndex | None = None
    ) -> None:
        assert open_index or files, "nothing would answer"
        self._ending = Event()
        self._follower = Follower(config, files, self._ending)
        self._interval_s = config.follow_s
        self._alias = config.alias
        self._fault: NarError | None = None
        self._logged: NarError | None = None
        self._index = open_index(self._ending) if open_index and not files else None
        self._thread = Thread(target=self._run, args=(open_index,), name="index-reader")

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def begin(self) -> None:
        """Open the index, unless it is, and follow it from now on, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop following and close the index."""
        self._ending.set()
        if self._thread.ident:
            self._thread.join()
        if self._index:
            self._index.close()

    @property
    def collection(self) -> str | None:
        """Name of the collection that was looked at last; None while files alone answer."""
        return self._follower.name

    @property
    def holds_rows(self) -> bool:
        """Whether rows in memory answer."""
        return self._follower.rows is not None

    @property
    def agreed_s(self) -> float:
        """When the rows that answer were last known to be the published ones.

        Returns:
            Seconds since 1970; NaN while files alone have answered.
        """
        return self._follower.agreed_s

    @property
    def stale_since(self) -> float | None:
        """Since when the rows in memory may be old, as the store cannot be read.

        Returns:
            Seconds since 1970; None while the store is read, and where it answers itself.
        """
        may_be_old = self._logged is not None and self.holds_rows
        return self.agreed_s if may_be_old and self.agreed_s > 0 else None

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls to Milvus have failed, by kind; empty while files alone answer."""
        return self._index.errors if self._index else {}

    @property
    def state(self) -> IndexState:
        """Where the answering rows are."""
        return IndexState(
            self.collection or "",
            is_in_memory=self.holds_rows,
            is_writable=self._index is not None,
            visible_within_s=self._visible_within_s if self.holds_rows else 0,
            stale_since=self.stale_since,
        )

    @property
    def _visible_within_s(self) -> float:
        """The next look has to find rows that are written while a look is at work."""
        return self._interval_s + 2 * self._follower.comparing_s

    @property
    def alias(self) -> str:
        """Name under which the index is published."""
        return self._alias

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return self._reads.dim

    def count(self) -> int:
        """Number of rows, asked of the index itself where there is one.

        Raises:
            NarError: The index cannot be reached, or its rows cannot be read.
        """
        if self._fault:
            raise self._fault
        return (self._index or self._reads).count()

    def rows_answering(self) -> int:
        """Number of the rows that answer: rows in memory are counted without asking the index."""
        return self._reads.count()

    def counted(self, wanted: Filter) -> int:
        """Number of the rows that pass a filter."""
        return self._reads.counted(wanted)

    def contains(self, ids: Sequence[str]) -> set[str]:
        """The ids that have a row."""
        return self._reads.contains(ids)

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""
        return self._reads.get(keys)

    def find_by_fingerprint(
        self,
        *,
        topologies: Sequence[str] = (),
        exacts: Sequence[str] = (),
        inferences: Sequence[str] = (),
    ) -> list[IndexRow]:
        """Rows that have any of these fingerprints, by id."""
        return self._reads.find_by_fingerprint(
            topologies=topologies, exacts=exacts, inferences=inferences
        )

    def page(self, after: str, limit: int, wanted: Filter = EVERYTHING) -> list[IndexEntry]:
        """The rows of the next ids, in their order."""
        return self._reads.page(after, limit, wanted)

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = EVERYTHING
    ) -> list[list[Hit]]:
        """The nearest rows of each vector: higher score first, equal scores by id."""
        return self._reads.search(vectors, top_k, wanted)

    def search_all(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """The nearest rows of each search."""
        return self._reads.search_all(searches)

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Write rows; a row of the same id is replaced.

        Raises:
            InvalidInputError: Names the row and field at fault; nothing is written.
            FilesAloneError: The index is not open.
            IndexUnavailableError: It cannot be reached, or was replaced meanwhile: write again.
        """
        with self._follower.writing(self._opened):
            self._opened.upsert(rows)
            self._follower.written(rows, ())

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows.

        Returns:
            How many there were.

        Raises:
            FilesAloneError: The index is not open.
            IndexUnavailableError: It cannot be reached, or was replaced meanwhile: delete again.
        """
        with self._follower.writing(self._opened):
            deleted = self._opened.delete(ids)
            self._follower.written((), ids)
        return deleted

    @property
    def _reads(self) -> "ExactIndex | ArchitectureIndex":
        rows = self._follower.rows
        return self._opened if rows is None else rows

    @property
    def _opened(self) -> "ArchitectureIndex":
        if self._index is None:
            raise FilesAloneError(
                "files alone answer here, and they take no rows: try again once the index is open; "
                "if it cannot be opened, the log of the server says why"
            )
        return self._index

    def _run(self, open_index: Open | None) -> None:
        try:
            self._follow(open_index)
        # An error that reaches this place is a fault of NAR: better to report bad health than to
        # stop following unnoticed. Until an index is followed, files answer, and go on.
        except Exception as error:
            log.exception("the index is no longer followed")
            if self._index:
                self._fault = IndexUnavailableError(
                    f"the index is no longer followed, for a fault of our own: {error!r}; restart"
                )

    def _follow(self, open_index: Open | None) -> None:
        self._follower.prepare()
        if self._index is None and open_index:
            self._index = self._opened_beside_files(open_index)
        while self._index and not self._ending.is_set():
            self._look(self._index)
            self._ending.wait(self._interval_s)

    def _opened_beside_files(self, open_index: Open) -> "ArchitectureIndex | None":
        """The index, if it can be opened and read."""
        index: ArchitectureIndex | None = None
        try:
            index = open_index(self._ending)
            self._follower.look(index)
        except Exception as error:
            if index:
                index.close()
            if not isinstance(error, NarError):
                raise
            self._log_files_alone(error)
            return None
        return index

    def _log_files_alone(self, error: NarError) -> None:
        if self._ending.is_set():
            return  # the index was not opened to its end because it need not be
        level = logging.INFO if isinstance(error, FilesSufficeError) else logging.WARNING
        log.log(level, "answering from files alone: %s", error)

    def _look(self, index: "ArchitectureIndex") -> None:
        """Look once; a fault is logged when it begins, and health reports it while it lasts."""
        try:
            self._follower.look(index)
            self._fault = self._logged = None
        except NarError as error:
            if str(error) != str(self._logged) and not self._ending.is_set():
                log.warning("the rows in memory may be old: %s", error)
            self._logged = error
            self._fault = error if isinstance(error, _LASTING) else None
