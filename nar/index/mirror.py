"""Mirror: the rows of one collection in memory, read page by page and checked one by one."""

import logging
from collections.abc import Collection as Several
from collections.abc import Iterable, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING

from nar.base.errors import IndexUnavailableError
from nar.index.damage import DamagedIndexError, way_out
from nar.index.exact import ExactIndex
from nar.index.records import StoredRow
from nar.index.rows import IndexRow
from nar.index.settings import IndexConfig

if TYPE_CHECKING:
    from nar.index.architecture_index import ArchitectureIndex
    from nar.index.collection import Collection

log = logging.getLogger(__name__)


class Mirror:
    """What a collection holds, or held when it was read; it never changes.

    Args:
        rows: What answers.
    """

    def __init__(self, rows: ExactIndex) -> None:
        self.rows = rows

    def digests_between(self, low: str, end: str) -> dict[str, str]:
        """Those of the ids from ``low`` on and below ``end``, to compare with a collection's."""
        return {row.id: row.digest() for row in self.rows.between(low, end)}

    @classmethod
    def of(cls, rows: Sequence[IndexRow], *, dim: int) -> "Mirror":
        """The mirror of a collection that will have these rows."""
        return cls(ExactIndex(rows, dim=dim))

    @classmethod
    def read(cls, collection: "Collection", ending: Event) -> "Mirror":
        """Read a collection; what is written meanwhile may be in it or not.

        Args:
            collection: What to read.
            ending: Once it is set no further page is read.

        Raises:
            DamagedIndexError: Names the row, the collection and the way out.
            IndexUnavailableError: It does not answer, or reading was ended.
        """
        return cls.of(list(_checked(collection, ending)), dim=collection.dim)

    def agreeing(self, collection: "Collection", parts: Iterable[tuple[str, str]]) -> "Mirror":
        """The mirror with the rows that a collection has in some ranges of ids; itself if it has.

        Only rows that are others are read. What is written meanwhile may be in it or not.

        Args:
            collection: What to compare with.
            parts: The first id of each range, and the first one behind it.

        Raises:
            DamagedIndexError: Names the row and the collection.
            IndexUnavailableError: It does not answer.
        """
        others: list[str] = []
        gone: set[str] = set()
        for low, end in parts:
            there, here = collection.digests_between(low, end), self.digests_between(low, end)
            others += [key for key, digest in there.items() if here.get(key) != digest]
            gone |= here.keys() - there.keys()
        if not (others or gone):
            return self
        rows = [_whole(stored, collection) for stored in collection.rows({"id": others})]
        log.info("%d rows of %s were read, %d went", len(rows), collection.name, len(gone))
        return self.changed(rows, gone=gone)

    def changed(self, rows: Sequence[IndexRow], *, gone: Several[str] = ()) -> "Mirror":
        """The mirror after some rows were written and some deleted."""
        return Mirror(self.rows.changed(rows, gone=gone))


def _checked(collection: "Collection", ending: Event) -> Iterator[IndexRow]:
    for page in collection.pages():
        if ending.is_set():
            raise IndexUnavailableError(f"{collection.name} was not read to its end: closing")
        for stored in page:
            yield _whole(stored, collection)


def _whole(stored: StoredRow, collection: "Collection") -> IndexRow:
    if stored.row.digest() != stored.digest:
        uri = collection.milvus.uri
        raise DamagedIndexError(
            f"row {stored.row.id} ({stored.row.name}) of {collection.name} at {uri} reads "
            f"back damaged; {way_out(uri)}"
        )
    return stored.row


def checked(index: "ArchitectureIndex", config: IndexConfig) -> "ArchitectureIndex | ExactIndex":
    """What to ask instead of an embedded index that nobody has checked: its rows, in memory.

    Milvus Lite searches copies of the vectors, and would not notice that some were damaged. More
    rows than may be held, and those of a Milvus server, are asked where they are.

    Raises:
        DamagedIndexError: Names the row, the directory and the way out.
    """
    if not config.uri.endswith(".db") or index.count() > config.reader_rows:
        return index
    return Mirror.read(index.live, Event()).rows
