"""ExactIndex: rows in memory, searched by brute force; it opens at once and writes no file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.index.filters import Condition, Filter, Range, Wanted
from nar.index.ranking import RESOLUTION, check_filter, check_top_k, check_vectors, rank
from nar.index.rows import Embedding, Hit, IndexRow, ids_of

_EVERYTHING: Final = Filter()
# Fetched beyond top_k, so that equal scores at the border are ordered by id.
_TIE_ROOM: Final = 50

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """A column of texts as numbers: equal texts have equal numbers.

    Attributes:
        numbers: The number of each text that occurs.
        column: Shape (rows,), the number of each row's text.
    """

    numbers: dict[str, int]
    column: NDArray[np.int64]

    def equal_any(self, texts: Iterable[str]) -> Mask:
        """Which rows have one of the texts. Shape (rows,)."""
        return np.isin(self.column, [self.numbers[text] for text in texts if text in self.numbers])


class ExactIndex:
    """Reads of an `ArchitectureIndex`, for rows that fit into memory and do not change.

    Args:
        rows: With vectors of any length but 0; ids are distinct.
        dim: Length of the vectors, in numbers.

    Example:
        >>> from nar.index.rows import architecture_id
        >>> def row(name: str, family: str, *vector: float) -> IndexRow:
        ...     columns = {"id": architecture_id(name), "name": name, "family": family}
        ...     texts = dict.fromkeys(("source", "library", "block", "task"), "")
        ...     sizes = dict.fromkeys(("parameters", "flops", "nodes"), 1)
        ...     prints = dict.fromkeys(("topology", "exact", "inference"), "a" * 64)
        ...     vectors = {"embedding": np.array(vector, dtype=np.float32)}
        ...     return IndexRow(**columns, **texts, **sizes, **prints, **vectors)
        >>> index = ExactIndex([row("timm:a", "resnet", 1, 0), row("timm:b", "vit", 0, 1)], dim=2)
        >>> [[nearest]] = index.search(np.array([[2.0, 1.0]]), top_k=1)
        >>> nearest.name, round(nearest.score, 3)
        ('timm:a', 0.894)
        >>> [[nearest]] = index.search(np.array([[2.0, 1.0]]), 1, Filter(families=("vit",)))
        >>> nearest.name
        'timm:b'
    """

    def __init__(self, rows: Sequence[IndexRow], *, dim: int) -> None:
        self.dim = dim
        self._rows = rows
        self._position = {row.id: position for position, row in enumerate(rows)}
        self._vectors = _unit_vectors(rows, dim)
        self._texts: dict[str, _Texts] = {}
        self._counts: dict[str, NDArray[np.int64]] = {}

    def count(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""
        return {
            key: self._rows[self._position[one]]
            for key, several in ids_of(keys).items()
            for one in several
            if one in self._position
        }

    def find_by_fingerprint(
        self,
        *,
        topologies: Sequence[str] = (),
        exacts: Sequence[str] = (),
        inferences: Sequence[str] = (),
    ) -> list[IndexRow]:
        """Rows that have any of these fingerprints, by id."""
        wanted = {"topology": topologies, "exact": exacts, "inference": inferences}
        same = np.zeros(len(self._rows), dtype=np.bool_)
        for column, values in wanted.items():
            same |= self._text(column).equal_any(values)
        rows = [self._rows[position] for position in np.flatnonzero(same).tolist()]
        return sorted(rows, key=lambda row: row.id)

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = _EVERYTHING
    ) -> list[list[Hit]]:
        """The nearest rows of each vector: higher score first, equal scores by id.

        Args:
            vectors: Shape (queries, dim), of any length but 0.
            top_k: From 1 to ``MAX_TOP_K``.
            wanted: What hits must be.

        Raises:
            InvalidQueryError: Names the vector or condition at fault, or ``top_k``.
        """
        check_top_k(top_k)
        directions = check_vectors(vectors, self.dim)
        conditions = check_filter(wanted)
        if not conditions:
            every = np.arange(len(self._rows))
            return [self._nearest(every, row, top_k) for row in directions @ self._vectors.T]
        passes = np.logical_and.reduce([self._mask(*each) for each in conditions])
        kept = np.flatnonzero(passes)
        scores = directions @ self._vectors[kept].T
        return [self._nearest(kept, row, top_k) for row in scores]

    def _nearest(
        self, kept: NDArray[np.intp], scores: NDArray[np.float32], top_k: int
    ) -> list[Hit]:
        """The best of the rows at the positions ``kept``, whose scores are given."""
        limit = min(top_k + _TIE_ROOM, len(kept))
        while True:
            best = np.argpartition(-scores, limit - 1)[:limit] if limit else np.zeros(0, np.intp)
            hits = [self._rows[kept[one]].hit(float(scores[one])) for one in best]
            ranked = rank(hits, top_k, complete=limit == len(kept))
            if ranked is not None:
                return ranked
            limit = min(4 * limit, len(kept))

    def _mask(self, condition: Condition, wanted: Wanted) -> Mask:
        """Which rows a condition lets pass. Shape (rows,)."""
        if not isinstance(wanted, Range):
            return self._text(condition.column).equal_any(wanted)
        column = self._count_of(condition.column)
        mask = np.ones(len(self._rows), dtype=np.bool_)
        if wanted.minimum is not None:
            mask &= column >= wanted.minimum
        if wanted.maximum is not None:
            mask &= column <= wanted.maximum
        return mask

    def _text(self, column: str) -> _Texts:
        """A column of texts, read when it is first asked for."""
        if column not in self._texts:
            numbers: dict[str, int] = {}
            values = (getattr(row, column) for row in self._rows)
            listed = [numbers.setdefault(value, len(numbers)) for value in values]
            self._texts[column] = _Texts(numbers, np.array(listed, dtype=np.int64))
        return self._texts[column]

    def _count_of(self, column: str) -> NDArray[np.int64]:
        """A column of counts, read when it is first asked for. Shape (rows,)."""
        if column not in self._counts:
            values = [getattr(row, column) for row in self._rows]
            self._counts[column] = np.array(values, dtype=np.int64)
        return self._counts[column]


def _unit_vectors(rows: Sequence[IndexRow], dim: int) -> Embedding:
    """The vectors of rows at length 1; those that have it are kept to the last bit."""
    vectors = np.empty((len(rows), dim), dtype=np.float32)
    for position, row in enumerate(rows):
        vectors[position] = row.embedding
    lengths = np.sqrt(np.einsum("rd,rd->r", vectors, vectors, dtype=np.float64))
    other = np.abs(lengths - 1) > RESOLUTION
    vectors[other] /= lengths[other, None]
    return vectors
