"""Increments: changed rows are written into a published collection, which is not built anew.

Where little of a corpus has changed, rows are written into the collection that readers get, as a
server does it. A reader meets each row as it was or as it is, and both are true of some corpus;
written rows are read back and compared. To copy the other rows into a new collection, so that all
changes show at once, would cost nearly as much as a build, since embedding is a quarter of a build.
Where more changes than `SHARE`, a new collection is built, because readers would otherwise get a
mixture of two corpora for long.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import IndexMismatchError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import Advance, IndexVerificationError
from nar.index.digests import RowDigests
from nar.index.finishing import await_rows
from nar.index.publishing import CORPUS, mark
from nar.index.rows import IndexRow

# Chosen: the largest share of rows, changed, new and vanished together, that is written in place.
SHARE: Final = 0.1
# Chosen: rows that are read back at a time, 2 MB of vectors of 512 numbers.
_READ_ROWS: Final = 1_000


def is_of_corpus(index: ArchitectureIndex, encoder: str, corpus: str, rows: int) -> bool:
    """Whether an index has exactly the rows of a corpus, and nobody has written since.

    Args:
        index: The published index.
        encoder: Fingerprint of the encoder that should have made its vectors.
        corpus: Digest of the corpus.
        rows: How many rows the corpus has.
    """
    if corpus_of(index, encoder) != corpus:
        return False
    return index.live.count(settled=True) == rows


def corpus_of(index: ArchitectureIndex, encoder: str) -> str:
    """Digest of the corpus whose rows these were when they were written; empty if not known.

    Args:
        index: The published index.
        encoder: Fingerprint of the encoder that should have made its vectors.
    """
    return index.live.marks.get(CORPUS, "") if _is_usable(index, encoder) else ""


def descriptions(index: ArchitectureIndex, encoder: str) -> RowDigests:
    """The description of each row of an index; none where another encoder made the vectors.

    It reads all columns but the vectors, which takes a twentieth of the time of a build. Use it for
    an index whose corpus is not known.
    """
    if not _is_usable(index, encoder):
        return RowDigests()
    pages = index.live.entry_pages()
    return RowDigests({entry.id: entry.description() for entry in page} for page in pages)


def _is_usable(index: ArchitectureIndex, encoder: str) -> bool:
    """Wait until the store can read the rows; whether this encoder made their vectors."""
    try:
        if not index.is_published or index.follow().encoder != encoder:
            return False
    except IndexMismatchError:
        return False
    await_rows(index.live)
    return True


class RowComparison:
    """A corpus compared with the published rows.

    Args:
        published: The descriptions of the published rows.

    Attributes:
        changed: How many rows are new or have another description now.
    """

    def __init__(self, published: RowDigests) -> None:
        self._published = published
        self._met = np.zeros(len(published), dtype=np.bool_)
        self.changed = 0

    def are_right(self, descriptions: bytes) -> NDArray[np.bool_]:
        """Whether each row of the corpus stands in the index as it is. Shape (rows,).

        Args:
            descriptions: The ids of rows and their descriptions, as `packed_rows` gives them.
        """
        places, are_same = self._published.compared(descriptions)
        self._met[places[places >= 0]] = True
        self.changed += int((~are_same).sum())
        return are_same

    @property
    def vanished(self) -> list[str]:
        """Ids of published rows that the corpus lacks; right once the whole corpus was compared."""
        return self._published.ids(np.flatnonzero(~self._met))

    @property
    def is_large(self) -> bool:
        """Whether so many rows have changed already that they are not written in place."""
        return self.changed > SHARE * len(self._met)

    def is_small(self, *, removes: bool) -> bool:
        """Whether so few rows change that they are written in place."""
        gone = len(self._met) - int(self._met.sum()) if removes else 0
        return self.changed + gone <= SHARE * len(self._met)


class Increment:
    """Writes rows into the collection that readers get, and verifies them.

    Args:
        index: The index.
        batch_rows: Rows of one write.
        by: The job, for the history.
    """

    def __init__(self, index: ArchitectureIndex, batch_rows: int, by: str = "an increment") -> None:
        self._index = index
        self._recording = index.history.begin(index.live, by)
        self._batch_rows = batch_rows
        self._written = RowDigests()

    def load(self, rows: Iterable[IndexRow], advance: Advance | None = None) -> None:
        """Write any number of rows, batch by batch; readers see each batch.

        Raises:
            InvalidInputError: Names the row and field at fault; the batches before are written.
        """
        remaining = iter(rows)
        while batch := list(islice(remaining, self._batch_rows)):
            self._recording.before(batch)
            self._index.upsert(batch)
            self._written.add({row.id: row.digest() for row in batch})
            if advance:
                advance(len(batch))

    def finish(self, vanished: Sequence[str], corpus: str) -> int:
        """Delete the rows that have vanished, and read back the rows that were written.

        Args:
            vanished: Ids of rows to delete.
            corpus: Digest of the corpus that then has exactly these rows; empty if there is none.

        Returns:
            Number of rows of the collection.

        Raises:
            IndexVerificationError: A row is missing or reads back otherwise; run the job again.
        """
        if vanished:
            for start in range(0, len(vanished), _READ_ROWS):
                self._recording.before([], vanished[start : start + _READ_ROWS])
            self._index.delete(vanished)
        self._recording.finish()
        written = self._written.ids(np.arange(len(self._written)))
        for start in range(0, len(written), _READ_ROWS):
            ids = written[start : start + _READ_ROWS]
            rows = {stored.row.id: stored.row for stored in self._index.live.rows({"id": ids})}
            digests = {key: row.digest() for key, row in rows.items()}
            if len(rows) < len(ids) or any(self._written.differing(digests)):
                raise IndexVerificationError(
                    f"of {len(ids)} rows that were written, {len(rows)} read back, or not as they "
                    "were written; embed the corpus again"
                )
        if corpus:
            mark(self._index.live, {CORPUS: corpus})
        return self._index.count()
