"""ExactIndex: rows in memory, searched by brute force; it opens at once and writes no file."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from nar.index.checks import check_page
from nar.index.columns import Column, Mask, Texts, by_dimension, vectors_of, within
from nar.index.filters import EVERYTHING, Condition, Filter, Range, Wanted
from nar.index.ranking import RESOLUTION, check_filter, check_top_k, check_vectors, foremost, ranked
from nar.index.rows import COLUMNS, COUNTS, Embedding, Hit, IndexEntry, IndexRow, ids_of, is_id
from nar.index.searches import Search
from nar.index.terms import Terms, combined

# Fetched beyond top_k, so that equal scores at the border are ordered by id.
_TIE_ROOM: Final = 50
# A product of so few vectors one by one takes less time than of all together: measured.
_FEW: Final = 3
_TEXTS: Final = tuple(column for column in COLUMNS if column not in COUNTS)

Counts = NDArray[np.int64]


class ExactIndex:
    """Reads of an `ArchitectureIndex`, for rows that fit into memory; it never changes.

    A search costs one product of its vectors and all rows, whatever the filters; no Python code
    runs for each row. A row takes 4 bytes a dimension and about a kilobyte.

    Args:
        rows: With vectors of any length but 0; ids are distinct.
        dim: Length of the vectors, in numbers.

    Example:
        >>> from nar.index.rows import architecture_id
        >>> def row(name: str, family: str, *vector: float) -> IndexRow:
        ...     columns = {"id": architecture_id(name), "name": name, "family": family}
        ...     texts = dict.fromkeys(("source", "library", "block", "task", "tier"), "")
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
        >>> index.changed([], gone=[architecture_id("timm:a")]).count(), index.count()
        (1, 2)
    """

    def __init__(self, rows: Sequence[IndexRow], *, dim: int) -> None:
        vectors = vectors_of(rows, dim)
        self._hold(
            vectors,
            {column: Texts.of(getattr(row, column) for row in rows) for column in _TEXTS},
            {column: _counts(rows, column) for column in COUNTS},
            _scales(vectors),
        )

    @classmethod
    def of_columns(
        cls, vectors: Embedding, texts: Mapping[str, Column], counts: Mapping[str, Counts]
    ) -> Self:
        """An index of columns that stand ready: no record of any row is made.

        Args:
            vectors: Shape (rows, dim), of length 1.
            texts: Every column of texts, by name; ids are distinct.
            counts: Every column of counts, by name, each of shape (rows,).
        """
        index = object.__new__(cls)
        index._hold(vectors, texts, counts, np.ones(len(vectors), dtype=np.float32))
        return index

    def _hold(
        self,
        vectors: Embedding,
        texts: Mapping[str, Column],
        counts: Mapping[str, Counts],
        scales: NDArray[np.float32],
    ) -> None:
        self.dim = vectors.shape[1]
        # A product that adds up whole columns takes half the time.
        self._vectors, self._texts, self._counts = by_dimension(vectors), texts, counts
        self._scales = scales

    def changed(self, rows: Sequence[IndexRow], *, gone: Collection[str] = ()) -> Self:
        """Another index, with some rows written and some deleted; this one stays as it is.

        It copies what is kept: about the time of ten searches.

        Args:
            rows: New rows, and those that replace one of the same id.
            gone: Ids that leave.
        """
        kept = ~self._texts["id"].equal_any([*gone, *(row.id for row in rows)])
        other = object.__new__(type(self))
        vectors = vectors_of(rows, self.dim)
        other._hold(
            np.concatenate([self._vectors.T[:, kept], vectors.T], axis=1).T,
            {
                column: texts.changed(kept, [getattr(row, column) for row in rows])
                for column, texts in self._texts.items()
            },
            {
                column: np.concatenate([counts[kept], _counts(rows, column)])
                for column, counts in self._counts.items()
            },
            np.concatenate([self._scales[kept], _scales(vectors)]),
        )
        return other

    def count(self) -> int:
        """Number of rows."""
        return len(self._vectors)

    def values(self, column: str) -> list[str]:
        """The different texts of a column; some may be of rows that are gone."""
        return self._texts[column].values

    def contains(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that have a row."""
        column = self._texts["id"]
        return {column.at(position) for position in np.flatnonzero(column.equal_any(ids)).tolist()}

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""
        ids = ids_of(keys)
        mask = self._texts["name"].equal_any(keys)
        if any(map(is_id, keys)):
            mask |= self._texts["id"].equal_any(filter(is_id, keys))
        rows = {row.id: row for row in self._rows(mask)}
        return {key: rows[one] for key, several in ids.items() for one in several if one in rows}

    def find_by_fingerprint(
        self,
        *,
        topologies: Sequence[str] = (),
        exacts: Sequence[str] = (),
        inferences: Sequence[str] = (),
    ) -> list[IndexRow]:
        """Rows that have any of these fingerprints, by id."""
        wanted = {"topology": topologies, "exact": exacts, "inference": inferences}
        masks = [self._texts[column].equal_any(values) for column, values in wanted.items()]
        return sorted(self._rows(np.logical_or.reduce(masks)), key=lambda row: row.id)

    def rows(self) -> list[IndexRow]:
        """All rows, in their order."""
        return list(self.each_row())

    def each_row(self) -> Iterator[IndexRow]:
        """All rows, in their order; each is made when it is asked for."""
        return map(self._row, range(self.count()))

    def page(self, after: str, limit: int, wanted: Filter = EVERYTHING) -> list[IndexEntry]:
        """The rows of the next ids, in their order.

        Args:
            after: The last id that was shown; empty begins.
            limit: How many, from 1; fewer come only where no more rows pass.
            wanted: What they must be.

        Raises:
            InvalidQueryError: Names the condition at fault, or the argument.
        """
        check_page(after, limit)
        ids, positions = self._by_id
        coming = positions[np.searchsorted(ids, after.encode(), side="right") :]
        if wanted != EVERYTHING:
            coming = coming[self._passes(wanted)[coming]]
        return [IndexEntry(**self._columns(position)) for position in coming[:limit].tolist()]

    @cached_property
    def _by_id(self) -> tuple[NDArray[np.bytes_], NDArray[np.intp]]:
        """All ids in order, and the position of the row of each; made for the first page only."""
        ids = np.array(self._texts["id"].every(), dtype="S32")
        positions = np.argsort(ids)
        return ids[positions], positions

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = EVERYTHING
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
        return self.search_all([Search(each, top_k, wanted) for each in directions])

    def search_all(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """The nearest rows of each search, all of them in one product.

        Raises:
            InvalidQueryError: Names the vector or condition at fault, or ``top_k``.
        """
        for search in searches:
            check_top_k(search.top_k)
        # The same vector with another filter costs nothing more.
        vectors = {id(search.vector): search.vector for search in searches}
        rows = dict(zip(vectors, self._scores(list(vectors.values())), strict=True))
        kept = {search.wanted: self._passing(search.wanted) for search in searches}
        return [
            self._nearest(rows[id(search.vector)], kept[search.wanted], search.top_k)
            for search in searches
        ]

    def _scores(self, vectors: Sequence[Embedding]) -> list[NDArray[np.float32]]:
        """The cosine of each vector with every row, each of shape (rows,)."""
        if not vectors:
            return []
        directions = check_vectors(np.stack(vectors), self.dim)
        if len(directions) <= _FEW:
            products = [self._vectors @ direction for direction in directions]
        else:
            products = list(directions @ self._vectors.T)
        for product in products:
            product *= self._scales
        return products

    def _passing(self, wanted: Filter) -> NDArray[np.intp] | None:
        """Positions of the rows that pass a filter; None for all of them."""
        return None if wanted == EVERYTHING else np.flatnonzero(self._passes(wanted))

    def _nearest(
        self, scores: NDArray[np.float32], kept: NDArray[np.intp] | None, top_k: int
    ) -> list[Hit]:
        """The best of the rows at the positions ``kept``, of which all have a score."""
        offered = scores if kept is None else scores[kept]
        ids, limit = self._texts["id"], min(top_k + _TIE_ROOM, len(offered))
        while limit:
            best = foremost(offered, limit)
            rows = (best if kept is None else kept[best]).tolist()
            values = offered[best].tolist()
            order = ranked(values, rows, ids.at, top_k, complete=limit == len(offered))
            if order is not None:
                return [Hit(**self._columns(row), score=score) for row, score in order]
            limit = min(4 * limit, len(offered))
        return []

    def _passes(self, wanted: Filter) -> Mask:
        """Which rows pass a filter. Shape (rows,)."""
        check_filter(wanted)
        terms: Terms[Mask] = Terms(
            condition=self._mask,
            every=self._every,
            some=np.logical_or.reduce,
            negated=np.logical_not,
        )
        return combined(wanted, terms)

    def _every(self, masks: Sequence[Mask]) -> Mask:
        """Which rows pass all masks, and all rows if there are none. Shape (rows,)."""
        return np.logical_and.reduce(masks) if masks else np.ones(self.count(), dtype=np.bool_)

    def _mask(self, condition: Condition, wanted: Wanted) -> Mask:
        """Which rows a condition lets pass. Shape (rows,)."""
        if isinstance(wanted, Range):
            return within(self._counts[condition.column], wanted)
        return self._texts[condition.column].equal_any(wanted)

    def _rows(self, mask: Mask) -> list[IndexRow]:
        return [self._row(position) for position in np.flatnonzero(mask).tolist()]

    def _row(self, position: int) -> IndexRow:
        return IndexRow(**self._columns(position), embedding=self._vectors[position].copy())

    def _columns(self, position: int) -> dict[str, Any]:
        texts: dict[str, Any] = {
            column: texts.at(position) for column, texts in self._texts.items()
        }
        return texts | {column: int(counts[position]) for column, counts in self._counts.items()}


def _counts(rows: Sequence[IndexRow], column: str) -> Counts:
    return np.array([getattr(row, column) for row in rows], dtype=np.int64)


def _scales(vectors: Embedding) -> NDArray[np.float32]:
    """What makes a cosine of a product: 1 / length, exactly 1 for unit vectors. Shape (rows,)."""
    lengths = np.sqrt(np.einsum("rd,rd->r", vectors, vectors, dtype=np.float64))
    lengths[np.abs(lengths - 1) <= RESOLUTION] = 1
    scales: NDArray[np.float32] = (1 / lengths).astype(np.float32)
    return scales
