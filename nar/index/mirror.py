"""Mirror: the rows of one collection in memory, read page by page and checked one by one."""

from collections.abc import Collection as Several
from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING

from nar.config import IndexConfig
from nar.errors import IndexUnavailableError
from nar.index.damage import DamagedIndexError, way_out
from nar.index.exact import ExactIndex
from nar.index.rows import IndexRow

if TYPE_CHECKING:
    from nar.index.architecture_index import ArchitectureIndex
    from nar.index.collection import Collection


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

    def changed(self, rows: Sequence[IndexRow], *, gone: Several[str] = ()) -> "Mirror":
        """The mirror after some rows were written and some deleted."""
        return Mirror(self.rows.changed(rows, gone=gone))


def _checked(collection: "Collection", ending: Event) -> Iterator[IndexRow]:
    for page in collection.pages():
        if ending.is_set():
            raise IndexUnavailableError(f"{collection.name} was not read to its end: closing")
        for stored in page:
            if stored.row.digest() != stored.digest:
                uri = collection.milvus.uri
                raise DamagedIndexError(
                    f"row {stored.row.id} ({stored.row.name}) of {collection.name} at {uri} reads "
                    f"back damaged; {way_out(uri)}"
                )
            yield stored.row


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
