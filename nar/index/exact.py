"""ExactIndex: rows in memory, searched by brute force; it opens at once and writes no file."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nar.index.checks import check_page
from nar.index.filters import EVERYTHING, Filter
from nar.index.nearest import DIRECTIONS, Found, Positions, Sought, Vectors, vectors_of
from nar.index.ranking import TIE_ROOM, Search, check_top_k, check_vectors, ranked
from nar.index.rows import Embedding, Hit, IndexEntry, IndexRow, ids_of, is_id
from nar.index.table import Column, Counts, Mask, Table


class ExactIndex:
    """Reads of an `ArchitectureIndex`, for rows that fit into memory; it never changes.

    A search costs one product of its vectors and all rows, whatever the filters, and less once the
    index is prepared: see `nar.index.nearest`. No Python code runs for each row. A row takes 4
    bytes for each dimension of its vector, a quarter more once 128 directions of 512 are prepared,
    and about a kilobyte for its columns.

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
        self._hold(Vectors.of(vectors_of(rows, dim)), Table.of(rows))

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
        scales = np.ones(len(vectors), dtype=np.float32)
        index._hold(Vectors(vectors, scales), Table(texts, counts))
        return index

    def _hold(self, vectors: Vectors, table: Table) -> None:
        self.dim = vectors.dim
        self._vectors, self._table = vectors, table

    def prepare(self, directions: int = DIRECTIONS) -> None:
        """Make searches faster, at a cost that many searches pay back: see `Vectors.prepared`."""
        self._vectors = self._vectors.prepared(directions)

    def changed(self, rows: Sequence[IndexRow], *, gone: Collection[str] = ()) -> Self:
        """Another index, with some rows written and some deleted; this one stays as it is.

        It copies the rows that stay, which takes about the time of ten searches.

        Args:
            rows: New rows; a row whose id is in the index replaces the row there.
            gone: Ids of the rows to delete.
        """
        kept = ~self._table["id"].equal_any([*gone, *(row.id for row in rows)])
        other = object.__new__(type(self))
        vectors = self._vectors.changed(kept, vectors_of(rows, self.dim))
        other._hold(vectors, self._table.changed(kept, rows))
        return other

    def count(self) -> int:
        """Number of rows."""
        return len(self._vectors)

    def values(self, column: str) -> list[str]:
        """The different texts of a column; some may belong only to rows that were deleted."""
        return self._table[column].values

    def contains(self, ids: Sequence[str]) -> set[str]:
        """The ids that have a row."""
        column = self._table["id"]
        return {column.at(position) for position in np.flatnonzero(column.equal_any(ids)).tolist()}

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""
        ids = ids_of(keys)
        mask = self._table["name"].equal_any(keys)
        if any(map(is_id, keys)):
            mask |= self._table["id"].equal_any(filter(is_id, keys))
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
        return sorted(self._rows(self._table.equal_any(wanted)), key=attrgetter("id"))

    def rows(self) -> list[IndexRow]:
        """All rows, in their order."""
        return list(self.each_row())

    def each_row(self) -> Iterator[IndexRow]:
        """All rows, in their order; each is made when it is asked for."""
        return map(self._row, range(self.count()))

    def digests_between(self, low: str, end: str) -> dict[str, str]:
        """The digest of each row with an id from ``low`` on and below ``end``, by its id."""
        ids, positions = self._by_id
        first, last = np.searchsorted(ids, [low.encode(), end.encode()])
        rows = map(self._row, positions[first:last].tolist())
        return {row.id: row.digest() for row in rows}

    def page(self, after: str, limit: int, wanted: Filter = EVERYTHING) -> list[IndexEntry]:
        """The rows of the next ids, in their order.

        Args:
            after: The last id that was shown; empty begins at the first.
            limit: How many rows, from 1; fewer come only where no more rows pass.
            wanted: The filter that rows must pass.

        Raises:
            InvalidQueryError: Names the condition at fault, or the argument.
        """
        check_page(after, limit)
        ids, positions = self._by_id
        coming = positions[np.searchsorted(ids, after.encode(), side="right") :]
        if wanted != EVERYTHING:
            coming = coming[self._table.passing(wanted)[coming]]
        return list(map(self._table.made, coming[:limit].tolist()))

    @cached_property
    def _by_id(self) -> tuple[NDArray[np.bytes_], NDArray[np.intp]]:
        """All ids in order, and the position of the row of each; made once they are asked for."""
        ids = np.array(self._table["id"].every(), dtype="S32")
        positions = np.argsort(ids)
        return ids[positions], positions

    def search(
        self, vectors: NDArray[np.floating], top_k: int, wanted: Filter = EVERYTHING
    ) -> list[list[Hit]]:
        """The nearest rows of each vector: higher score first, equal scores by id.

        Args:
            vectors: Shape (queries, dim), of any length but 0.
            top_k: From 1 to ``MAX_TOP_K``.
            wanted: The filter that hits must pass.

        Raises:
            InvalidQueryError: Names the vector or condition at fault, or ``top_k``.
        """
        check_top_k(top_k)
        directions = check_vectors(vectors, self.dim)
        return self.search_all([Search(each, top_k, wanted) for each in directions])

    def search_all(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """The nearest rows of each search, for all searches in one product.

        Raises:
            InvalidQueryError: Names the vector or condition at fault, or ``top_k``.
        """
        for search in searches:
            check_top_k(search.top_k)
        hits = [list[Hit]() for _ in searches]
        left = {
            position: sought
            for position, sought in enumerate(self._sought(searches))
            if sought.count
        }
        while left:
            found = self._vectors.nearest(list(left.values()))
            open_ties = {}
            for (position, sought), rows in zip(left.items(), found, strict=True):
                offered = self.count() if sought.offered is None else len(sought.offered)
                order = self._ranked(
                    rows, searches[position].top_k, complete=len(rows[0]) == offered
                )
                if order is None:
                    open_ties[position] = replace(sought, count=min(4 * sought.count, offered))
                else:
                    hits[position] = order
            left = open_ties
        return hits

    def _sought(self, searches: Sequence[Search]) -> Iterator[Sought]:
        """What each search looks for first; searches that share a vector share its record."""
        vectors = {id(search.vector): search.vector for search in searches}
        stacked = np.stack(list(vectors.values())) if vectors else np.empty((0, self.dim))
        directions = dict(zip(vectors, check_vectors(stacked, self.dim), strict=True))
        passing: dict[Filter, Positions | None] = {EVERYTHING: None}
        for search in searches:
            if search.wanted not in passing:
                passing[search.wanted] = np.flatnonzero(self._table.passing(search.wanted))
            offered = passing[search.wanted]
            count = self.count() if offered is None else len(offered)
            count = min(search.top_k + TIE_ROOM, count)
            yield Sought(directions[id(search.vector)], count, offered)

    def _ranked(self, found: Found, top_k: int, *, complete: bool) -> list[Hit] | None:
        """The first of the rows that were found; None if others may tie with the last."""
        rows, scores = found[0].tolist(), found[1].tolist()
        order = ranked(scores, rows, self._table["id"].at, top_k, complete=complete)
        if order is None:
            return None
        return [self._table.at(row).hit(score) for row, score in order]

    def _rows(self, mask: Mask) -> list[IndexRow]:
        return list(map(self._row, np.flatnonzero(mask).tolist()))

    def _row(self, position: int) -> IndexRow:
        return self._table.made(position).with_vector(self._vectors.at(position))
