"""Increments: a published collection is brought to what a corpus says, and not built from nothing.

Where little changes, rows are written into the collection that readers get, as a server does it.
A reader meets each row as it was or as it is, and both are true of some corpus; what is written is
read back and compared. To copy the other rows into a new collection, so that all changes show at
once, would cost nearly what a build costs: of that, embedding is a quarter. Where more changes than
`SHARE`, a new collection is built: half of a changed index is no index.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np

from nar.base.errors import IndexMismatchError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import Advance, IndexVerificationError
from nar.index.digests import RowDigests
from nar.index.finishing import await_rows
from nar.index.publishing import CORPUS, mark
from nar.index.rows import IndexRow

# Changed, new and vanished rows, beside all rows, that are written in place at most.
SHARE: Final = 0.1
# Rows that are read back at a time.
_READ_ROWS: Final = 1_000


def is_of_corpus(index: ArchitectureIndex, encoder: str, corpus: str, rows: int) -> bool:
    """Whether the rows are those of a corpus, no more and no fewer, and nobody has written since.

    Args:
        index: What is published.
        encoder: Fingerprint of the encoder that it should be embedded by.
        corpus: Digest of the corpus.
        rows: How many it has.
    """
    if corpus_of(index, encoder) != corpus:
        return False
    return index.live.count(settled=True) == rows


def corpus_of(index: ArchitectureIndex, encoder: str) -> str:
    """Digest of the corpus whose rows these were when they were written; empty if not known.

    Args:
        index: What is published.
        encoder: Fingerprint of the encoder that it should be embedded by.
    """
    return index.live.marks.get(CORPUS, "") if _is_usable(index, encoder) else ""


def descriptions(index: ArchitectureIndex, encoder: str) -> RowDigests:
    """What the rows say besides their vectors; nothing where they are of another encoder.

    Reads all columns but the vectors, which takes a twentieth of a build: for an
    index whose corpus is not known.
    """
    if not _is_usable(index, encoder):
        return RowDigests()
    pages = index.live.entry_pages()
    return RowDigests({entry.id: entry.description() for entry in page} for page in pages)


def _is_usable(index: ArchitectureIndex, encoder: str) -> bool:
    """Whether there are rows of an encoder; once their store reads them."""
    try:
        if not index.is_published or index.follow().encoder != encoder:
            return False
    except IndexMismatchError:
        return False
    await_rows(index.live)
    return True


class RowComparison:
    """A corpus beside the rows that are published.

    Args:
        held: What these say.

    Attributes:
        changed: Rows that are new or say something else now.
    """

    def __init__(self, held: RowDigests) -> None:
        self._held = held
        self._met = np.zeros(len(held), dtype=np.bool_)
        self.changed = 0

    def are_right(self, descriptions: Mapping[str, str]) -> list[bool]:
        """Whether each row of the corpus stands in the index as it is.

        Args:
            descriptions: The description of each row by its id.
        """
        places = self._held.places(list(descriptions))
        self._met[places[places >= 0]] = True
        differ = self._held.differing(descriptions)
        self.changed += sum(differ)
        return [not is_other for is_other in differ]

    @property
    def vanished(self) -> list[str]:
        """Ids of rows that the corpus does not have: known when all of it was compared."""
        return self._held.ids(np.flatnonzero(~self._met))

    def is_small(self, *, removes: bool) -> bool:
        """Whether so little changes that it is written in place."""
        gone = len(self._met) - int(self._met.sum()) if removes else 0
        return self.changed + gone <= SHARE * len(self._met)


class Increment:
    """Writes rows into the collection that readers get, and verifies them.

    Args:
        index: Which.
        batch_rows: Rows of one write.
    """

    def __init__(self, index: ArchitectureIndex, batch_rows: int) -> None:
        self._index = index
        self._batch_rows = batch_rows
        self._written = RowDigests()

    def load(self, rows: Iterable[IndexRow], advance: Advance | None = None) -> None:
        """Write any number of rows, batch by batch; readers see each batch.

        Raises:
            InvalidInputError: Names the row and field at fault; the batches before are written.
        """
        remaining = iter(rows)
        while batch := list(islice(remaining, self._batch_rows)):
            self._index.upsert(batch)
            self._written.add({row.id: row.digest() for row in batch})
            if advance:
                advance(len(batch))

    def finish(self, vanished: Sequence[str], corpus: str) -> int:
        """Delete what has vanished, and read back what was written.

        Args:
            vanished: Ids of rows to delete.
            corpus: Digest of the corpus whose rows they are then, no more and no fewer; or empty.

        Returns:
            Number of rows of the collection.

        Raises:
            IndexVerificationError: A row is missing or reads back otherwise; run it again.
        """
        if vanished:
            self._index.delete(vanished)
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
