"""ExactIndex: rows in memory, searched by brute force; it opens at once and writes no file.

Most of the length of the vectors lies along few directions. A search compares rows along these
directions first, and then exactly the rows whose rest could still make them the nearest:

    row @ query  =  along directions  +  rest,     |rest|  <=  |rest of row| |rest of query|

    27,114 rows of 512   along 128: a product of a quarter of the numbers, which fit into a cache
              60 rows    the best rows by that product, compared exactly: their lowest score is
                         the bound
             200 rows    could reach the bound: compared exactly; the nearest rows are among them

Nothing is approximate. A vector that does not come from an architecture, such as a random one,
leaves too many rows, and is compared with all rows.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, islice, pairwise
from operator import attrgetter
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nar.index.checks import check_page
from nar.index.filters import EVERYTHING, Filter
from nar.index.ranking import (
    RESOLUTION,
    TIE_ROOM,
    Search,
    check_top_k,
    check_vectors,
    foremost,
    ranked,
)
from nar.index.rows import END_OF_IDS, Embedding, Hit, IndexEntry, IndexRow, ids_of, is_id
from nar.index.table import Column, Counts, Mask, Table

Positions: TypeAlias = NDArray[np.intp]
Scores: TypeAlias = NDArray[np.float32]
NONE: Final[Positions] = np.empty(0, dtype=np.intp)
# Positions of rows, and the cosine of each.
Found: TypeAlias = tuple[Positions, Scores]
# Rows in the order of hits, each with its score.
Order: TypeAlias = list[tuple[int, float]]

# Measured on the atlas, whose rows have 512 numbers: a quarter of the numbers fits into a cache.
DIRECTIONS: Final = 128
# Chosen: the number of rows from which directions are computed. Rows that lie less along the
# directions make a search slower, not wrong.
_SAMPLED: Final = 2_048
# Measured: up to so many vectors, products one by one take less time than one product of all.
_FEW: Final = 6
# Chosen: rows are compared exactly, in place of a product with all rows, up to this part of all
# rows (one in so many).
_WORTH: Final = 8
# The largest error of float32 in the square of a length, and in a score. Chosen: some 30 roundings
# of 1.2e-7, so that no row is left out wrongly.
_SQUARE_ERROR: Final = 4e-6
_SCORE_ERROR: Final = 4 * RESOLUTION
# Chosen: where nobody folds rows that were written and deleted one by one, so many are folded at
# once. It costs a copy of all rows, one write in so many.
_MOST_UNFOLDED: Final = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class NearestQuery:
    """The rows nearest to a vector.

    Attributes:
        vector: Shape (dim,), of length 1.
        count: How many rows, from 1 to the number of rows that are offered.
        offered: Positions of the rows that may be found; None for all.
    """

    vector: Embedding
    count: int
    offered: Positions | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """The components of vectors along few directions, and the length that is left.

    Attributes:
        directions: Shape (dim, directions), orthonormal.
        places: Shape (rows, directions); numbers of one direction lie side by side.
        rests: Shape (rows,), at least the length of the rest of each row.
    """

    directions: Embedding
    places: Embedding
    rests: Scores

    @classmethod
    def of(cls, directions: Embedding, units: Embedding) -> Self:
        """The components of vectors along directions.

        Args:
            directions: Shape (dim, directions), orthonormal.
            units: Shape (rows, dim), of length 1.
        """
        places = (directions.T @ units.T).T
        squares = np.einsum("rd,rd->r", places, places)
        rests = np.sqrt(np.maximum(1 - squares, 0) + _SQUARE_ERROR)
        return cls(directions, places, rests)

    def changed(self, kept: NDArray[np.bool_], units: Embedding) -> Self:
        """The same without some rows, and with others behind them; directions stay."""
        added = self.of(self.directions, units)
        return type(self)(
            self.directions,
            np.concatenate([self.places.T[:, kept], added.places.T], axis=1).T,
            np.concatenate([self.rests[kept], added.rests]),
        )


class Vectors:
    """The vectors of all rows; they never change.

    Args:
        vectors: Shape (rows, dim), of any length but 0.
        scales: Shape (rows,), the factors that give the vectors length 1.
        along: Their components along few directions, once `prepared`.

    Example:
        >>> vectors = Vectors.of(np.eye(3, dtype=np.float32))
        >>> [(positions, scores)] = vectors.nearest([NearestQuery(np.float32([0, 1, 0]), count=1)])
        >>> positions.tolist(), scores.tolist()
        ([1], [1.0])
    """

    def __init__(self, vectors: Embedding, scales: Scores, along: Along | None = None) -> None:
        self._vectors, self._scales, self._along = vectors, scales, along
        self.dim = int(vectors.shape[1])

    @classmethod
    def of(cls, vectors: Embedding) -> Self:
        """Vectors of any length but 0. Shape (rows, dim)."""
        return cls(vectors, _scales(vectors))

    def __len__(self) -> int:
        return len(self._vectors)

    def at(self, position: int) -> Embedding:
        """The vector of one row, as it was given."""
        vector: Embedding = self._vectors[position].copy()
        return vector

    def changed(self, kept: NDArray[np.bool_], vectors: Embedding) -> Self:
        """The same without some rows, and with others behind them.

        Args:
            kept: Shape (rows,), which rows stay.
            vectors: Vectors of the rows that come.
        """
        scales = _scales(vectors)
        along = self._along and self._along.changed(kept, vectors * scales[:, None])
        return type(self)(
            np.concatenate([self._vectors[kept], vectors]),
            np.concatenate([self._scales[kept], scales]),
            along,
        )

    def prepared(self, directions: int = DIRECTIONS) -> Self:
        """The same vectors, searched faster: costs 0.2 s once, and ``directions`` numbers a row.

        Args:
            directions: How many directions to compare along first. With fewer than twice as many
                dimensions nothing would be gained, and nothing is done.
        """
        if self._along or not len(self) or 2 * directions > self.dim:
            return self
        units = self._vectors * self._scales[:, None]
        sample = units[:: -(-len(units) // _SAMPLED)].astype(np.float64)
        _, axes = np.linalg.eigh(sample.T @ sample)  # the last have most of the lengths
        chosen = np.ascontiguousarray(axes[:, -directions:], dtype=np.float32)
        return type(self)(self._vectors, self._scales, Along.of(chosen, units))

    def nearest(self, sought: Sequence[NearestQuery], gone: Positions = NONE) -> list[Found]:
        """Positions and cosines of the nearest rows of each vector, in any order.

        Args:
            sought: What is looked for.
            gone: Positions of rows that are never found; no query offers them.
        """
        found: list[Found | None] = [None] * len(sought)
        steps = (self._along_directions, self._among_all) if self._along else (self._among_all,)
        for step in (self._among_few, *steps):
            left = [position for position, each in enumerate(found) if each is None]
            answers = step([sought[position] for position in left], gone)
            for position, answer in zip(left, answers, strict=True):
                found[position] = answer
        return [each for each in found if each is not None]

    def _among_few(self, sought: Sequence[NearestQuery], _: Positions) -> Iterator[Found | None]:
        """The rows nearest to each vector where few rows are offered, else None."""
        for each in sought:
            if each.offered is None or len(each.offered) * _WORTH > len(self):
                yield None
            else:
                every = np.arange(len(each.offered))
                yield _best(every, self._exactly(each, every), each)

    def _along_directions(
        self, sought: Sequence[NearestQuery], gone: Positions
    ) -> Iterator[Found | None]:
        """The rows nearest to each vector where directions leave few rows, else None."""
        along = self._along
        if along is None or not sought:
            yield from [None] * len(sought)
            return
        placed = {id(each.vector): each.vector @ along.directions for each in sought}
        asked = [placed[id(each.vector)] for each in sought]
        reached = _products(along.places, asked)
        for each, place, scores in zip(sought, asked, reached, strict=True):
            scores[gone] = -np.inf
            yield self._found(each, place, scores, along.rests)

    def _found(
        self, sought: NearestQuery, place: Embedding, reached: Scores, rests: Scores
    ) -> Found | None:
        offered = sought.offered
        if offered is not None:
            reached, rests = reached[offered], rests[offered]
        if sought.count * _WORTH > len(reached):
            return None
        first = foremost(reached, sought.count)
        bound = self._exactly(sought, first).min() - _SCORE_ERROR
        rest = np.sqrt(max(1 - float(place @ place), 0) + _SQUARE_ERROR)
        near = np.flatnonzero(reached + np.float32(rest) * rests >= bound)
        if len(near) * _WORTH > len(reached):
            return None
        return _best(near, self._exactly(sought, near), sought)

    def _exactly(self, sought: NearestQuery, places: Positions) -> Scores:
        """The cosines of some of the offered rows. Shape (places,)."""
        rows = places if sought.offered is None else sought.offered[places]
        scores: Scores = (self._vectors[rows] @ sought.vector) * self._scales[rows]
        return scores

    def _among_all(self, sought: Sequence[NearestQuery], gone: Positions) -> list[Found | None]:
        """The rows nearest to each vector, by a product with all rows."""
        products = _products(self._vectors, [each.vector for each in sought])
        found: list[Found | None] = []
        for each, product in zip(sought, products, strict=True):
            scores = self._scales * product
            scores[gone] = -np.inf
            found.append(
                _best(None, scores if each.offered is None else scores[each.offered], each)
            )
        return found


def _best(places: Positions | None, scores: Scores, sought: NearestQuery) -> Found:
    """The best of some of the offered rows, or of all."""
    best = foremost(scores, sought.count)
    rows = best if places is None else places[best]
    return rows if sought.offered is None else sought.offered[rows], scores[best]


def _products(rows: Embedding, vectors: Sequence[Embedding]) -> Sequence[Scores]:
    """The product of each vector with all rows, each of shape (rows,)."""
    # A vector that is searched with several filters is multiplied once.
    different = dict(zip(map(id, vectors), vectors, strict=True))
    if len(different) <= _FEW:
        products = [rows @ each for each in different.values()]
    else:
        products = list(np.stack(list(different.values())) @ rows.T)
    known = dict(zip(different, products, strict=True))
    return [known[id(each)] for each in vectors]


def vectors_of(rows: Sequence[IndexRow], dim: int) -> Embedding:
    """The vectors of rows as they are. Shape (rows, dim)."""
    vectors = np.empty((len(rows), dim), dtype=np.float32)
    for position, row in enumerate(rows):
        vectors[position] = row.embedding
    return vectors


def _scales(vectors: Embedding) -> Scores:
    """Factors from product to cosine: 1 / length, exactly 1 for unit vectors. Shape (rows,)."""
    lengths = np.sqrt(np.einsum("rd,rd->r", vectors, vectors, dtype=np.float64))
    lengths[np.abs(lengths - 1) <= RESOLUTION] = 1
    scales: Scores = (1 / lengths).astype(np.float32)
    return scales


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows side by side in memory; rows of a part that are deleted are passed over from then on.

    Attributes:
        vectors: The vectors of all its rows.
        table: The columns of all its rows.
        gone: Positions of the rows that were deleted, in order.
    """

    vectors: Vectors
    table: Table
    gone: Positions = field(default_factory=lambda: NONE)

    @classmethod
    def of(cls, rows: Sequence[IndexRow], dim: int) -> Self:
        """The part of some rows."""
        return cls(Vectors.of(vectors_of(rows, dim)), Table.of(rows))

    def __len__(self) -> int:
        return len(self.vectors) - len(self.gone)

    @property
    def every(self) -> Positions:
        """Positions of all rows that were not deleted."""
        return np.flatnonzero(self.stays)

    @property
    def stays(self) -> Mask:
        """Which rows were not deleted. Shape (rows,)."""
        mask = np.ones(len(self.vectors), dtype=np.bool_)
        mask[self.gone] = False
        return mask

    def without(self, ids: Collection[str]) -> Self:
        """The same, of which some rows were deleted."""
        more = np.flatnonzero(self.table["id"].equal_any(ids))
        return replace(self, gone=np.union1d(self.gone, more)) if len(more) else self

    def folded(self, rows: Sequence[IndexRow]) -> Self:
        """A part of the rows that were not deleted, with other rows behind them."""
        kept, vectors = self.stays, vectors_of(rows, self.vectors.dim)
        return type(self)(self.vectors.changed(kept, vectors), self.table.changed(kept, rows))

    def passing(self, wanted: Filter) -> Positions:
        """Positions of the rows that pass a filter."""
        return self.among(self.table.passing(wanted))

    def among(self, mask: Mask) -> Positions:
        """Positions of the rows of a mask that were not deleted."""
        mask[self.gone] = False
        return np.flatnonzero(mask)

    def rows(self, places: Positions) -> Iterator[IndexRow]:
        """Some rows; each is made when it is asked for."""
        for place in places.tolist():
            yield self.table.made(place).with_vector(self.vectors.at(place))

    def by_id(self, low: str, end: str = END_OF_IDS, *, after: bool = False) -> Positions:
        """Positions of the rows with an id from ``low`` on and below ``end``, in order of ids.

        Args:
            low: The first id, which need not be there.
            end: The first id behind them.
            after: Leave out ``low`` itself.
        """
        ids, positions = self.table.by_id
        first = np.searchsorted(ids, low.encode(), side="right" if after else "left")
        chosen = positions[first : np.searchsorted(ids, end.encode())]
        return chosen[self.stays[chosen]] if len(self.gone) else chosen

    def nearest(self, sought: Sequence[NearestQuery]) -> list[Found]:
        """Positions and cosines of the nearest rows of each vector, in any order."""
        found = iter(self.vectors.nearest([each for each in sought if each.count], self.gone))
        nothing = (NONE, np.empty(0, dtype=np.float32))
        return [next(found) if each.count else nothing for each in sought]


class ExactIndex:
    """Reads of an `ArchitectureIndex`, for rows that fit into memory; it never changes.

    A search costs one product of its vectors and all rows, whatever the filters, and less once the
    index is prepared: see the head of this module. No Python code runs for each row. A row takes 4
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
        self.dim = dim
        # All rows; and, where some were written since, those in a part of their own.
        self._parts: tuple[Part, ...] = (Part.of(rows, dim),)

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
        scales = np.ones(len(vectors), dtype=np.float32)
        return cls._of(Part(Vectors(vectors, scales), Table(texts, counts)))

    @classmethod
    def _of(cls, *parts: Part) -> Self:
        index = object.__new__(cls)
        index.dim, index._parts = parts[0].vectors.dim, parts
        return index

    def prepare(self, directions: int = DIRECTIONS) -> None:
        """Make searches faster, at a cost that many searches pay back: see `Vectors.prepared`."""
        first, *written = self._parts
        self._parts = (replace(first, vectors=first.vectors.prepared(directions)), *written)

    def changed(self, rows: Sequence[IndexRow], *, gone: Collection[str] = ()) -> Self:
        """Another index, with some rows written and some deleted; this one stays as it is.

        It copies the rows that were written since the index was made or `folded`, and no others.

        Args:
            rows: New rows; a row whose id is in the index replaces the row there.
            gone: Ids of the rows to delete.
        """
        ids = {*gone, *(row.id for row in rows)}
        first, *written = (part.without(ids) for part in self._parts)
        added = written[0].folded(rows) if written else Part.of(rows, self.dim)
        other = self._of(first, added)
        return other if other.unfolded <= _MOST_UNFOLDED else other.folded()

    @property
    def unfolded(self) -> int:
        """How many rows were written and deleted since the index was made or `folded`."""
        first, *written = self._parts
        return len(first.gone) + sum(map(len, written))

    def folded(self) -> Self:
        """The same rows, all in one part: it copies all of them, and later writes cost less."""
        if not self.unfolded:
            return self
        first, *written = self._parts
        return self._of(first.folded([row for part in written for row in part.rows(part.every)]))

    def count(self) -> int:
        """Number of rows."""
        return sum(map(len, self._parts))

    def counted(self, wanted: Filter) -> int:
        """Number of the rows that pass a filter."""
        return sum(len(part.passing(wanted)) for part in self._parts)

    def values(self, column: str) -> list[str]:
        """The different texts of a column; some may belong only to rows that were deleted."""
        return list(dict.fromkeys(chain(*(part.table[column].values for part in self._parts))))

    def contains(self, ids: Sequence[str]) -> set[str]:
        """The ids that have a row."""
        found = set[str]()
        for part in self._parts:
            column = part.table["id"]
            found.update(column.take(part.among(column.equal_any(ids))))
        return found

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""
        ids = ids_of(keys)
        wanted = {"name": keys, "id": list(filter(is_id, keys))}
        rows = {row.id: row for row in self._rows(wanted)}
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
        return sorted(self._rows(wanted), key=attrgetter("id"))

    def _rows(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[IndexRow]:
        """Rows that have a wanted text in any of the columns."""
        asked = {column: texts for column, texts in wanted.items() if texts}
        for part in self._parts:
            mask = np.zeros(len(part.vectors), dtype=np.bool_)
            for column, texts in asked.items():
                mask |= part.table[column].equal_any(texts)
            yield from part.rows(part.among(mask))

    def rows(self) -> list[IndexRow]:
        """All rows, in their order."""
        return list(self.each_row())

    def each_row(self) -> Iterator[IndexRow]:
        """All rows, in their order; each is made when it is asked for."""
        return chain.from_iterable(part.rows(part.every) for part in self._parts)

    def digests_between(self, low: str, end: str) -> dict[str, str]:
        """The digest of each row with an id from ``low`` on and below ``end``, by its id."""
        rows = chain.from_iterable(part.rows(part.by_id(low, end)) for part in self._parts)
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
        entries: list[IndexEntry] = []
        for part in self._parts:
            coming = part.by_id(after, after=True)
            if wanted != EVERYTHING:
                coming = coming[part.table.passing(wanted)[coming]]
            entries += map(part.table.made, coming[:limit].tolist())
        return sorted(entries, key=attrgetter("id"))[:limit]

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
        vectors = {id(search.vector): search.vector for search in searches}
        stacked = np.stack(list(vectors.values())) if vectors else np.empty((0, self.dim))
        # Searches that share a vector share its record.
        directions = dict(zip(vectors, check_vectors(stacked, self.dim), strict=True))
        offers = [_offered(part, searches) for part in self._parts]
        orders: list[Order] = [[] for _ in searches]
        # So many rows of each part are looked for first.
        left = {place: search.top_k + TIE_ROOM for place, search in enumerate(searches)}
        while left:
            sought = [
                [
                    NearestQuery(directions[id(searches[place].vector)], min(count, most), offered)
                    for place, count in left.items()
                    for most, offered in [offer[place]]
                ]
                for offer in offers
            ]
            answers = [part.nearest(each) for part, each in zip(self._parts, sought, strict=True)]
            open_ties = {}
            for (place, count), *found in zip(left.items(), *answers, strict=True):
                whole = [offer[place][0] <= count for offer in offers]
                rows, scores = self._joined(found, whole)
                order = ranked(
                    scores.tolist(),
                    rows.tolist(),
                    self._id_at,
                    searches[place].top_k,
                    complete=all(whole),
                )
                if order is None:
                    open_ties[place] = 4 * count
                else:
                    orders[place] = order
            left = open_ties
        return self._hits(orders)

    def _starts(self) -> list[int]:
        """The number of the first row of each part, and behind the last part."""
        return [0, *accumulate(len(part.vectors) for part in self._parts)]

    def _joined(self, found: Sequence[Found], whole: Sequence[bool]) -> Found:
        """The nearest rows of all parts, as the numbers of rows of the index, and their cosines.

        A part of which not all rows were looked at may have others like the last of those that
        came. No row below that is taken from any part, so that who orders the rows sees that equal
        scores may be missing.
        """
        if len(found) == 1:
            return found[0]
        rows = [each + start for (each, _), start in zip(found, self._starts(), strict=False)]
        scores = [each for _, each in found]
        last = [float(each.min()) for each, is_all in zip(scores, whole, strict=True) if not is_all]
        every = np.concatenate(scores)
        taken = every >= max(last, default=-np.inf)
        return np.concatenate(rows)[taken], every[taken]

    def _id_at(self, row: int) -> str:
        starts = self._starts()
        number = bisect_right(starts, row) - 1
        return self._parts[number].table["id"].at(row - starts[number])

    def _hits(self, orders: Sequence[Order]) -> list[list[Hit]]:
        """The hits of some rows, each with its score; made at once for all searches."""
        asked = list(chain.from_iterable(orders))
        rows = np.array([row for row, _ in asked], dtype=np.intp)
        scores = np.array([score for _, score in asked])
        hits = np.empty(len(asked), dtype=object)
        for part, (start, end) in zip(self._parts, pairwise(self._starts()), strict=True):
            here = np.flatnonzero((start <= rows) & (rows < end))
            hits[here] = part.table.hits(rows[here] - start, scores[here].tolist())
        coming = iter(hits.tolist())
        return [list(islice(coming, len(order))) for order in orders]


def _offered(part: Part, searches: Sequence[Search]) -> list[tuple[int, Positions | None]]:
    """How many rows of a part each search may find, and which; None for all."""
    passing: dict[Filter, tuple[int, Positions | None]] = {EVERYTHING: (len(part), None)}
    for search in searches:
        if search.wanted not in passing:
            places = part.passing(search.wanted)
            passing[search.wanted] = len(places), places
    return [passing[search.wanted] for search in searches]
