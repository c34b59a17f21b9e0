"""ExactIndex: rows in memory, searched by brute force; opens in a moment and keeps nothing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nar.index.filters import Filter, Range
from nar.index.ranking import check_top_k, check_vectors, rank
from nar.index.rows import Hit, IndexRow, ids_of

_EVERYTHING = Filter()
# Fetched beyond top_k, so that equal scores at the border are ordered by id.
_TIE_ROOM = 50


class ExactIndex:
    """Reads of an `ArchitectureIndex`, for rows that fit into memory and do not change.

    Args:
        rows: At least one, with vectors of length 1; ids are distinct.
    """

    def __init__(self, rows: Sequence[IndexRow]) -> None:
        self._rows = rows
        self._place = {row.id: place for place, row in enumerate(rows)}
        self._vectors = np.stack([row.embedding for row in rows])

    def count(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""
        return {
            key: self._rows[self._place[one]]
            for key, several in ids_of(keys).items()
            for one in several
            if one in self._place
        }

    def find_by_fingerprint(
        self, *, topologies: Sequence[str] = (), exacts: Sequence[str] = ()
    ) -> list[IndexRow]:
        """Rows of the same designs (``topologies``) or the same networks (``exacts``), by id."""
        found = [row for row in self._rows if row.topology in topologies or row.exact in exacts]
        return sorted(found, key=lambda row: row.id)

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = _EVERYTHING
    ) -> list[list[Hit]]:
        """The nearest rows of each vector: higher score first, equal scores by id.

        Args:
            vectors: Shape (queries, dim), of any length but 0.
            top_k: From 1 to ``MAX_TOP_K``.
            wanted: What hits must be.

        Raises:
            InvalidQueryError: Names the vector at fault, or ``top_k``.
        """
        check_top_k(top_k)
        directions = check_vectors(vectors, self._vectors.shape[1])
        kept = np.array([passes(wanted, row) for row in self._rows], dtype=np.bool_)
        places = np.flatnonzero(kept)
        scores = directions @ self._vectors[places].T
        return [self._nearest(places, row, top_k) for row in scores]

    def _nearest(
        self, places: NDArray[np.intp], scores: NDArray[np.float32], top_k: int
    ) -> list[Hit]:
        limit = min(top_k + _TIE_ROOM, len(places))
        while True:
            best = np.argpartition(-scores, limit - 1)[:limit] if limit else np.zeros(0, np.intp)
            hits = [self._rows[places[one]].hit(float(scores[one])) for one in best]
            ranked = rank(hits, top_k, complete=limit == len(places))
            if ranked is not None:
                return ranked
            limit = min(4 * limit, len(places))


def passes(wanted: Filter, row: IndexRow) -> bool:
    """Whether a row is what a filter wants."""
    lists = (
        (wanted.names, row.name),
        (wanted.sources, row.source),
        (wanted.libraries, row.library),
        (wanted.families, row.family),
        (wanted.blocks, row.block),
        (wanted.tasks, row.task),
        (wanted.topologies, row.topology),
        (wanted.exacts, row.exact),
    )
    ranges = (
        (wanted.parameters, row.parameters),
        (wanted.flops, row.flops),
        (wanted.nodes, row.nodes),
    )
    return all(not values or value in values for values, value in lists) and all(
        _within(bounds, value) for bounds, value in ranges
    )


def _within(bounds: Range, value: int) -> bool:
    return (bounds.minimum is None or value >= bounds.minimum) and (
        bounds.maximum is None or value <= bounds.maximum
    )
