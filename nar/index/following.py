"""Follower: keeps rows in memory equal to the rows of the collection that the alias names.

Rows are read page by page, and each is checked by the digest that it was written with.
"""

import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, RLock
from typing import TYPE_CHECKING, Final

from nar.base.errors import IndexUnavailableError, NarError
from nar.base.process import give_back
from nar.index.exact import ExactIndex
from nar.index.lite import DamagedIndexError, way_out
from nar.index.rows import IndexRow, id_ranges
from nar.index.settings import IndexConfig

if TYPE_CHECKING:
    from nar.index.architecture_index import ArchitectureIndex
    from nar.index.collection import Collection
    from nar.index.dialect import StoredRow

log = logging.getLogger(__name__)

# Rows whose digests are compared at a time: by one look or, where all rows are compared, before a
# pause. Chosen: their digests come in some 10 ms, which callers do not notice beside the pauses.
_ROWS_A_LOOK: Final = 1_000
# Chosen: to copy so many rows takes a fraction of a millisecond.
_FOLDED_FROM: Final = 128
# Chosen: five times as long as one comparison takes, so that it takes about a sixth of a core.
_PAUSE_S: Final = 0.05
# Chosen: longer than later pauses, because at the first look a server has just begun to answer.
_FIRST_PAUSE_S: Final = 0.25


class Follower:
    """Looks at a collection again and again, and reads it anew where it is another.

    Args:
        config: How many rows may be in memory, and how often to compare them.
        rows: The rows in memory before the first look.
        ending: Once this event is set, nothing more is read.

    Attributes:
        rows: The rows in memory; None before any are read, or if they are too many.
        name: Name of the collection that was looked at last.
        comparing_s: How long the last comparison or reading of all rows took; 0 before the first.
        agreed_s: When the rows in memory were last known to equal the rows of the collection, in
            seconds since 1970; NaN before the first time.
    """

    def __init__(self, config: IndexConfig, rows: ExactIndex | None, ending: Event) -> None:
        self.rows = rows
        self.name: str | None = None
        self.comparing_s = 0.0
        self.agreed_s = math.nan
        # The last write that is known here; None after a write that may or may not have been done.
        self._changed: str | None = None
        # Whether all rows have to be compared, or are being compared now.
        self._is_doubtful = False
        self._ending = ending
        self._max_rows = config.reader_rows
        self._compare_s, self._follow_s = config.compare_s, config.follow_s
        self._compare_at = 0.0
        self._to_compare: Iterator[tuple[str, str]] = iter(())
        self._lock = RLock()
        # What is written while rows are read, which may be read before the write or after it.
        self._meanwhile: list[tuple[Sequence[IndexRow], Sequence[str]]] | None = None

    @contextmanager
    def writing(self, index: "ArchitectureIndex") -> Iterator[None]:
        """Writes of this process take turns; after a write that failed all rows are compared.

        The follower knows what they change, so that no look has to find it.
        """
        with self._lock:
            before = index.follow()
            try:
                yield
            except IndexUnavailableError:
                self._changed = None
                raise
            if (before.name, _change(before)) == (self.name, self._changed):
                self._changed = _change(index.live)

    def written(self, rows: Sequence[IndexRow], gone: Sequence[str]) -> None:
        """Bring the rows that Milvus has acknowledged into memory; called while `writing`."""
        if self._meanwhile is not None:
            self._meanwhile.append((rows, gone))
        if self.rows:
            self._hold(self.rows.changed(rows, gone=gone))

    def prepare(self) -> None:
        """Make searches faster in the rows that were in memory from the first."""
        if self.rows:
            self.rows.prepare()
            give_back()  # a copy of the vectors

    def look(self, index: "ArchitectureIndex") -> None:
        """Follow the alias, and bring the rows of its collection into memory.

        Raises:
            DamagedIndexError: The rows cannot be read whole.
            NarError: The index does not answer, or is of another encoder or version.
        """
        began = time.monotonic()
        with self._lock:
            live = index.follow()
            count = live.count(settled=True)
            is_whole = self._is_doubted(live, count)
            # Set before the rows are compared: if that fails, the next look has to try again.
            self._is_doubtful, self._changed = is_whole, _change(live)
        if count > self._max_rows:
            self._drop(count)
        else:
            self._look_into(live, count, is_whole=is_whole)
        self.name = live.name
        self.agreed_s = time.time()
        if is_whole and self.rows:
            self.comparing_s = time.monotonic() - began
            give_back()  # the pages that rows or digests came in

    def _is_doubted(self, live: "Collection", count: int) -> bool:
        """Whether any row may differ from the row in memory."""
        seen = (live.name, _change(live))
        in_memory = self.rows.count() if self.rows else None
        return self._is_doubtful or seen != (self.name, self._changed) or count != in_memory

    def _look_into(self, live: "Collection", count: int, *, is_whole: bool) -> None:
        """Read all rows, or compare all or some; rows that could not be read are doubted."""
        parts: Iterable[tuple[str, str]] | None = None
        if self.rows and self.name in (None, live.name):
            parts = self._with_pauses(count) if is_whole else self._due(count)
        try:
            self._renew(live, count, parts)
        except NarError:
            self._is_doubtful = True
            raise

    def _with_pauses(self, count: int) -> Iterator[tuple[str, str]]:
        """All rows, in parts so small that callers notice nothing, until the following is ended."""
        pause_s = _FIRST_PAUSE_S if self.name is None else _PAUSE_S
        for part in id_ranges(count, _ROWS_A_LOOK):
            yield part
            if self._ending.wait(pause_s):
                raise IndexUnavailableError("rows were not compared to their end: closing")

    def _due(self, count: int) -> Sequence[tuple[str, str]]:
        """The ranges of ids to compare now, where no mark says that rows were written.

        A look compares a part of the rows: to compare all rows at once would keep a core busy for
        seconds, and callers would notice.
        """
        part = next(self._to_compare, None)
        if part is None and time.monotonic() >= self._compare_at:
            self._compare_at = time.monotonic() + self._compare_s
            # All parts are compared within half of the time until the next comparison begins.
            looks = max(1, int(self._compare_s / self._follow_s / 2))
            self._to_compare = id_ranges(count, max(_ROWS_A_LOOK, -(-count // looks)))
            part = next(self._to_compare)
        return [part] if part else []

    def _renew(
        self, live: "Collection", count: int, parts: Iterable[tuple[str, str]] | None
    ) -> None:
        """Bring the rows of a collection into memory, beside the rows that answer until then.

        Args:
            live: The collection.
            count: How many rows it has.
            parts: The ranges of ids that are compared; None to read all rows.
        """
        with self._lock:
            self._meanwhile, before = [], self.rows
        try:
            if before is None or parts is None:
                fresh = read_rows(live, self._ending)
                fresh.prepare()
                log.info("%d rows of %s answer from memory", fresh.count(), live.name)
            else:
                fresh = brought_to(before, live, parts)
                # At leisure, beside the rows that answer: a write copies what is not folded.
                fresh = fresh if fresh.unfolded < _FOLDED_FROM else fresh.folded()
            with self._lock:
                if self._is_doubtful:
                    self._check_whole(fresh, count, live)
                    self._compared()
                if fresh is not before:
                    for rows, gone in self._meanwhile:
                        fresh = fresh.changed(rows, gone=gone)
                    self._hold(fresh)
        finally:
            self._meanwhile = None

    def _compared(self) -> None:
        """Note that all rows were compared, or read anew."""
        self._is_doubtful = False
        self._to_compare = iter(())
        self._compare_at = time.monotonic() + self._compare_s

    def _check_whole(self, rows: ExactIndex, before: int, live: "Collection") -> None:
        """Refuse rows if some are missing, although nobody wrote.

        Raises:
            DamagedIndexError: Says how many are missing.
        """
        count = rows.count()
        if not self._meanwhile and count != before == live.count(settled=True):
            raise DamagedIndexError(
                f"{live.name} at {live.milvus.uri} says that it has {before} rows, and {count} "
                f"came back; {way_out(live.milvus.uri)}"
            )

    def _hold(self, rows: ExactIndex) -> None:
        self.rows = rows
        if rows.count() > self._max_rows:
            self._drop(rows.count())

    def _drop(self, count: int) -> None:
        if self.rows or self.name is None:
            log.info(
                "%d rows are more than index.reader_rows, %d: Milvus searches them",
                count,
                self._max_rows,
            )
        self.rows = None


def read_rows(collection: "Collection", ending: Event) -> ExactIndex:
    """Read a collection into memory; rows that are written meanwhile may be missing.

    Args:
        collection: The collection to read.
        ending: Once this event is set, no further page is read.

    Raises:
        DamagedIndexError: Names the row, the collection and the way out.
        IndexUnavailableError: The collection does not answer, or reading was ended.
    """
    return ExactIndex(list(_checked_rows(collection, ending)), dim=collection.dim)


def brought_to(
    rows: ExactIndex, collection: "Collection", parts: Iterable[tuple[str, str]]
) -> ExactIndex:
    """Rows in memory made equal to a collection in some ranges of ids; ``rows`` itself if they are.

    Only rows that differ are read. Rows that are written meanwhile may be missing.

    Args:
        rows: The rows in memory.
        collection: The collection to compare with.
        parts: The first id of each range, and the first id behind it.

    Raises:
        DamagedIndexError: Names the row and the collection.
        IndexUnavailableError: The collection does not answer.
    """
    others: list[str] = []
    gone: set[str] = set()
    for low, end in parts:
        there, here = collection.digests_between(low, end), rows.digests_between(low, end)
        others += [key for key, digest in there.items() if here.get(key) != digest]
        gone |= here.keys() - there.keys()
    if not (others or gone):
        return rows
    read = [_checked_row(stored, collection) for stored in collection.rows({"id": others})]
    log.info("%d rows of %s were read, %d went", len(read), collection.name, len(gone))
    return rows.changed(read, gone=gone)


def _checked_rows(collection: "Collection", ending: Event) -> Iterator[IndexRow]:
    for page in collection.pages():
        if ending.is_set():
            raise IndexUnavailableError(f"{collection.name} was not read to its end: closing")
        for stored in page:
            yield _checked_row(stored, collection)


def _checked_row(stored: "StoredRow", collection: "Collection") -> IndexRow:
    if stored.row.digest() != stored.digest:
        uri = collection.milvus.uri
        raise DamagedIndexError(
            f"row {stored.row.id} ({stored.row.name}) of {collection.name} at {uri} reads "
            f"back damaged; {way_out(uri)}"
        )
    return stored.row


def checked_index(
    index: "ArchitectureIndex", config: IndexConfig
) -> "ArchitectureIndex | ExactIndex":
    """The index to search where nobody has checked a Milvus Lite index: its rows in memory.

    Milvus Lite searches copies of the vectors, and would not notice that some were damaged. An
    index with more rows than may be in memory, or on a Milvus server, is searched in place.

    Raises:
        DamagedIndexError: Names the row, the directory and the way out.
    """
    if not config.is_lite or index.count() > config.reader_rows:
        return index
    return read_rows(index.live, Event())


def _change(live: "Collection") -> str:
    """A text that changes with every write of single rows."""
    from nar.index.publishing import CHANGED

    return live.marks.get(CHANGED, "")
