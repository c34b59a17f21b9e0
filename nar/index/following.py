"""Follower: keeps rows in memory the same as those of the collection that the alias names."""

import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, RLock
from typing import TYPE_CHECKING, Final

from nar.config import IndexConfig
from nar.errors import IndexUnavailableError
from nar.index.damage import DamagedIndexError
from nar.index.id_ranges import id_ranges
from nar.index.mirror import Mirror
from nar.index.rows import IndexRow
from nar.memory import give_back

if TYPE_CHECKING:
    from nar.index.architecture_index import ArchitectureIndex
    from nar.index.collection import Collection

log = logging.getLogger(__name__)

# Rows whose digests are compared by one look, and of one page where all are compared at once.
_ROWS_A_LOOK: Final = 1_000
_ROWS_AT_ONCE: Final = 8_000
# Between two parts of the first look, which compares all: a server has just begun to answer.
_PAUSE_S: Final = 0.25


class Follower:
    """Looks at a collection again and again, and reads it anew where it is another.

    Args:
        config: How many rows may be held, and how often to compare them.
        mirror: What is held before the first look.
        ending: Once it is set nothing more is read.

    Attributes:
        mirror: The rows that are held; None while nothing is, or if they are too many.
        name: Name of the collection that was looked at last.
        agreed_s: When the rows that are held were last known to be those of the collection that
            the alias names, in seconds since 1970; NaN before.
    """

    def __init__(self, config: IndexConfig, mirror: Mirror | None, ending: Event) -> None:
        self.mirror = mirror
        self.name: str | None = None
        self.agreed_s = math.nan
        self._changed = ""
        self._is_doubtful = False
        self._ending = ending
        self._max_rows = config.reader_rows
        self._compare_s, self._follow_s = config.compare_s, config.follow_s
        self._compare_at = 0.0
        self._to_compare: Iterator[tuple[str, str]] = iter(())
        self._lock = RLock()
        # What is written while rows are read: those may be read before the write or after it.
        self._meanwhile: list[tuple[Sequence[IndexRow], Sequence[str]]] | None = None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Writes of this process take turns; after one that failed all rows are compared."""
        with self._lock:
            try:
                yield
            except IndexUnavailableError:
                self._is_doubtful = True
                raise

    def written(self, rows: Sequence[IndexRow], gone: Sequence[str]) -> None:
        """Hold what Milvus has acknowledged; called while `writing`."""
        if self._meanwhile is not None:
            self._meanwhile.append((rows, gone))
        if self.mirror:
            self._hold(self.mirror.changed(rows, gone=gone))

    def prepare(self) -> None:
        """Make searches of the rows that are held from the first faster, once they are searched."""
        if self.mirror:
            self.mirror.rows.prepare()
            give_back()  # a copy of the vectors

    def look(self, index: "ArchitectureIndex") -> None:
        """Follow the alias, and hold what its collection holds.

        Raises:
            DamagedIndexError: The rows cannot be read whole.
            NarError: The index does not answer, or is of another encoder or version.
        """
        live = index.follow()
        if self._is_other(live):
            self._read(live)
        self.name, self._changed = live.name, _change(live)
        self.agreed_s = time.time()

    def _is_other(self, live: "Collection") -> bool:
        """Whether rows have to be read anew."""
        with self._lock:
            count = live.count(settled=True)
            if count > self._max_rows:
                self._drop(count)
                return False
            if self.mirror is None:
                return True
            if count != self.mirror.rows.count():
                return True
            is_marked = (live.name, _change(live)) != (self.name, self._changed)
            is_whole = is_marked or self._is_doubtful
            if self.name is None:
                parts: Iterable[tuple[str, str]] = self._with_pauses(id_ranges(count, _ROWS_A_LOOK))
            else:
                parts = id_ranges(count, _ROWS_AT_ONCE) if is_whole else self._due(count)
            # Until they are read anew: that may fail, and has to be tried again then.
            self._is_doubtful = _differ(live, self.mirror, parts)
            if is_whole and not self._is_doubtful:
                self._compared()
                give_back()  # the pages that the digests came in
            return self._is_doubtful

    def _with_pauses(self, parts: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Parts that callers do not notice, as long as nobody ends the following."""
        for part in parts:
            yield part
            if self._ending.wait(_PAUSE_S):
                return

    def _due(self, count: int) -> Sequence[tuple[str, str]]:
        """What to compare now of rows that nobody says were written.

        A look compares a part of them: all at once would keep a core busy for seconds, and callers
        would notice.
        """
        part = next(self._to_compare, None)
        if part is None and time.monotonic() >= self._compare_at:
            self._compare_at = time.monotonic() + self._compare_s
            # Done within half of the time until they are compared again.
            looks = max(1, int(self._compare_s / self._follow_s / 2))
            self._to_compare = id_ranges(count, max(_ROWS_A_LOOK, -(-count // looks)))
            part = next(self._to_compare)
        return [part] if part else []

    def _compared(self) -> None:
        """All rows were compared, or read anew."""
        self._is_doubtful = False
        self._to_compare = iter(())
        self._compare_at = time.monotonic() + self._compare_s

    def _read(self, live: "Collection") -> None:
        """Read all rows beside those that answer; then these go."""
        with self._lock:
            self._meanwhile, before = [], live.count(settled=True)
        try:
            mirror = Mirror.read(live, self._ending)
            mirror.rows.prepare()
            with self._lock:
                self._check_whole(mirror, before, live)
                for rows, gone in self._meanwhile:
                    mirror = mirror.changed(rows, gone=gone)
                self._hold(mirror)
                self._compared()
        finally:
            self._meanwhile = None
        log.info("%d rows of %s answer from memory", mirror.rows.count(), live.name)

    def _check_whole(self, mirror: Mirror, before: int, live: "Collection") -> None:
        """Refuse rows of which some did not come, although nobody wrote.

        Raises:
            DamagedIndexError: Says how many are missing.
        """
        count = mirror.rows.count()
        if not self._meanwhile and count != before == live.count(settled=True):
            raise DamagedIndexError(
                f"{live.name} at {live.milvus.uri} says that it has {before} rows, and {count} "
                "came back; build the index again"
            )

    def _hold(self, mirror: Mirror) -> None:
        self.mirror = mirror
        if mirror.rows.count() > self._max_rows:
            self._drop(mirror.rows.count())

    def _drop(self, count: int) -> None:
        if self.mirror or self.name is None:
            log.info(
                "%d rows are more than index.reader_rows, %d: Milvus searches them",
                count,
                self._max_rows,
            )
        self.mirror = None


def _differ(live: "Collection", mirror: Mirror, parts: Iterable[tuple[str, str]]) -> bool:
    """Whether the rows of some ranges of ids are others than those that are held."""
    return any(
        live.digests_between(low, end) != mirror.digests_between(low, end) for low, end in parts
    )


def _change(live: "Collection") -> str:
    """A text that is another after every write of single rows."""
    from nar.index.marks import CHANGED

    return live.marks.get(CHANGED, "")
