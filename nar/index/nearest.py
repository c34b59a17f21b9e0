"""The vectors of an index in memory, and the search for the rows nearest to a query.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nar.index.ranking import RESOLUTION, foremost
from nar.index.rows import Embedding, IndexRow

Positions: TypeAlias = NDArray[np.intp]
Scores: TypeAlias = NDArray[np.float32]
# Positions of rows, and the cosine of each.
Found: TypeAlias = tuple[Positions, Scores]

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


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
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
        >>> [(positions, scores)] = vectors.nearest([Sought(np.float32([0, 1, 0]), count=1)])
        >>> positions.tolist(), scores.tolist()
        ([1], [1.0])
    """

    def __init__(self, vectors: Embedding, scales: Scores, along: Along | None = None) -> None:
        self._vectors, self._scales, self._along = vectors, scales, along

    @classmethod
    def of(cls, vectors: Embedding) -> Self:
        """Vectors of any length but 0. Shape (rows, dim)."""
        return cls(vectors, _scales(vectors))

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dim(self) -> int:
        """Length of a vector, in numbers."""
        return int(self._vectors.shape[1])

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

    def nearest(self, sought: Sequence[Sought]) -> list[Found]:
        """Positions and cosines of the nearest rows of each vector, in any order."""
        found: list[Found | None] = [None] * len(sought)
        for step in (self._among_few, self._along_directions, self._among_all):
            left = [position for position, each in enumerate(found) if each is None]
            answers = step([sought[position] for position in left])
            for position, answer in zip(left, answers, strict=True):
                found[position] = answer
        return [each for each in found if each is not None]

    def _among_few(self, sought: Sequence[Sought]) -> Iterator[Found | None]:
        """The rows nearest to each vector where few rows are offered, else None."""
        for each in sought:
            if each.offered is None or len(each.offered) * _WORTH > len(self):
                yield None
            else:
                every = np.arange(len(each.offered))
                yield _best(every, self._exactly(each, every), each)

    def _along_directions(self, sought: Sequence[Sought]) -> Iterator[Found | None]:
        """The rows nearest to each vector where directions leave few rows, else None."""
        along = self._along
        if along is None or not sought:
            yield from [None] * len(sought)
            return
        placed = {id(each.vector): each.vector @ along.directions for each in sought}
        asked = [placed[id(each.vector)] for each in sought]
        reached = _products(along.places, asked)
        for each, place, scores in zip(sought, asked, reached, strict=True):
            yield self._found(each, place, scores, along.rests)

    def _found(
        self, sought: Sought, place: Embedding, reached: Scores, rests: Scores
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

    def _exactly(self, sought: Sought, places: Positions) -> Scores:
        """The cosines of some of the offered rows. Shape (places,)."""
        rows = places if sought.offered is None else sought.offered[places]
        scores: Scores = (self._vectors[rows] @ sought.vector) * self._scales[rows]
        return scores

    def _among_all(self, sought: Sequence[Sought]) -> list[Found | None]:
        """The rows nearest to each vector, by a product with all rows."""
        products = _products(self._vectors, [each.vector for each in sought])
        found: list[Found | None] = []
        for each, product in zip(sought, products, strict=True):
            scores = self._scales * product
            found.append(
                _best(None, scores if each.offered is None else scores[each.offered], each)
            )
        return found


def _best(places: Positions | None, scores: Scores, sought: Sought) -> Found:
    """The best of some of the offered rows, or of all."""
    best = foremost(scores, sought.count)
    rows = best if places is None else places[best]
    return rows if sought.offered is None else sought.offered[rows], scores[best]


def _products(rows: Embedding, vectors: Sequence[Embedding]) -> Sequence[Scores]:
    """The product of each vector with all rows, each of shape (rows,)."""
    # A vector that is searched with several filters is multiplied once.
    different = {id(each): each for each in vectors}
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
