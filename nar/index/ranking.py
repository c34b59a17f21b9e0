"""What all back ends share: checks of a search, and the order of its hits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import CorpusError, InvalidQueryError
from nar.index.filters import EVERYTHING, Filter, below, nested
from nar.index.rows import COLUMNS, Embedding, Hit


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """One search of an index.

    Attributes:
        vector: Shape (dim,), of any length but 0.
        top_k: Number of hits, from 1 to `nar.index.ranking.MAX_TOP_K`.
        wanted: The filter that hits must pass.
    """

    vector: NDArray[np.floating]
    top_k: int
    wanted: Filter = field(default_factory=Filter)


def in_groups(
    searches: Sequence[Search],
    ask: Callable[[NDArray[np.floating], int, Filter], list[list[Hit]]],
) -> list[list[Hit]]:
    """The hits of each search; searches of equal filter and ``top_k`` are asked together.

    Args:
        searches: Their vectors have one length.
        ask: Searches for vectors of shape (queries, dim); it gets the vectors, the number of hits
            of each, and the filter that hits must pass.
    """
    groups: dict[tuple[int, Filter], list[int]] = {}
    for position, search in enumerate(searches):
        groups.setdefault((search.top_k, search.wanted), []).append(position)
    hits: list[list[Hit]] = [[] for _ in searches]
    for (top_k, wanted), positions in groups.items():
        vectors = np.stack([searches[position].vector for position in positions])
        for position, nearest in zip(positions, ask(vectors, top_k, wanted), strict=True):
            hits[position] = nearest
    return hits


Row = TypeVar("Row")

# The precision of scores in float32: scores of equal vectors differ by less.
RESOLUTION: Final = 5e-7
# A limit of Milvus: the most hits that a server gives.
MAX_TOP_K: Final = 16_384
# Scores of a group, of which only the highest is looked at first. Measured: 16 to 64 take the same
# time.
_GROUP: Final = 32
# Chosen: rows fetched beyond top_k, so that few equal scores at the border are ordered by id
# without a second search.
TIE_ROOM: Final = 6


def check_top_k(top_k: int) -> None:
    """Refuse a number of hits that no server gives.

    Raises:
        InvalidQueryError: It is out of range.
    """
    if not 1 <= top_k <= MAX_TOP_K:
        raise InvalidQueryError("top_k", f"wanted 1 to {MAX_TOP_K}, came {top_k}")


def check_filter(wanted: Filter) -> None:
    """Refuse a filter with a condition on a column that no index has.

    Raises:
        InvalidQueryError: Names the field, also of a filter inside the filter.
    """
    if wanted == EVERYTHING:
        return
    for path, one in nested(wanted):
        for condition, _ in one.conditions():
            if condition.column not in COLUMNS and not condition.words:
                known = ", ".join(COLUMNS)
                reason = f"wanted one of the columns {known}, came {condition.column!r}"
                raise InvalidQueryError(below(path, condition.field), reason)
            if condition.words:
                _check_cards(below(path, condition.field))


def _check_cards(field: str) -> None:
    """Refuse a condition on design cards where there are none: others in the step go on.

    Raises:
        InvalidQueryError: Names the field.
    """
    # Not read by a filter without such a condition.
    from nar.index import cards

    try:
        cards.known_cards()
    except CorpusError as error:
        raise InvalidQueryError(field, str(error)) from error


def check_vector(vector: NDArray[np.floating], dim: int, field: str) -> None:
    """Refuse a query vector that has no direction.

    Args:
        vector: Shape (dim,).
        dim: Length that the index wants.
        field: What the caller calls the vector.

    Raises:
        InvalidQueryError: Names the vector and, where one is at fault, the number.

    Example:
        >>> check_vector(np.array([0.0, np.inf]), 2, "target")
        Traceback (most recent call last):
        ...
        nar.base.errors.InvalidQueryError: target[1]: wanted a finite number, came inf
    """
    if vector.shape != (dim,):
        came = len(vector) if vector.ndim == 1 else f"shape {vector.shape}"
        raise InvalidQueryError(field, f"wanted {dim} numbers, came {came}")
    finite = np.isfinite(vector)
    if not finite.all():
        first = int(np.argmin(finite))
        reason = f"wanted a finite number, came {vector[first]}"
        raise InvalidQueryError(f"{field}[{first}]", reason)
    if not vector.any():
        raise InvalidQueryError(field, "wanted a direction, came only zeros")


def check_vectors(vectors: NDArray[np.floating], dim: int) -> Embedding:
    """Scale query vectors to length 1.

    Args:
        vectors: Shape (queries, dim).
        dim: Length that the index wants.

    Raises:
        InvalidQueryError: Names the vector and, where one is at fault, the number.

    Example:
        >>> check_vectors(np.array([[3.0, 4.0]]), 2)
        array([[0.6, 0.8]], dtype=float32)
    """
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        reason = f"wanted shape (queries, {dim}), came {vectors.shape}"
        raise InvalidQueryError("vectors", reason)
    for position, vector in enumerate(vectors):
        check_vector(vector, dim, f"vectors[{position}]")
    exact = vectors.astype(np.float64)
    # The largest entry first: squares of tiny or huge numbers leave the range of a float.
    exact /= np.abs(exact).max(axis=1, keepdims=True, initial=0)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    return exact.astype(np.float32)


def rank(hits: Sequence[Hit], top_k: int, *, complete: bool) -> list[Hit] | None:
    """Order hits by score, then id, and cut them.

    Args:
        hits: At least ``top_k``, or all hits that exist.
        top_k: How many to keep.
        complete: Whether these are all hits that exist.

    Returns:
        The hits in order; None if rows that were not fetched may tie with the last hit kept.
    """
    scores = [hit.score for hit in hits]
    order = ranked(scores, hits, attrgetter("id"), top_k, complete=complete)
    return None if order is None else [hit.hit(score) for hit, score in order]


def settled(
    vectors: Embedding,
    top_k: int,
    ask: Callable[[Embedding, int], Sequence[Sequence[Hit]]],
) -> list[list[Hit]]:
    """The nearest rows of each vector, asking for more until no tie at the border is open.

    Args:
        vectors: Shape (queries, dim).
        top_k: How many to keep of each.
        ask: Gives up to so many of the rows nearest to each vector, equal scores in any order.
    """
    ordered: list[list[Hit] | None] = [None] * len(vectors)
    pending = list(range(len(vectors)))
    limit = min(top_k + TIE_ROOM, MAX_TOP_K)
    while pending:
        for position, hits in zip(pending, ask(vectors[pending], limit), strict=True):
            complete = len(hits) < limit or limit == MAX_TOP_K
            ordered[position] = rank(hits, top_k, complete=complete)
        pending = [position for position in pending if ordered[position] is None]
        limit = min(4 * limit, MAX_TOP_K)
    return [hits for hits in ordered if hits is not None]


def foremost(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Positions of the highest scores, in any order.

    Scores are cut into groups. If ``count`` groups have a highest score of at least some bound, no
    score below the bound can be among the highest ``count`` and need not be sorted, which takes a
    tenth of the time of `np.argpartition` alone.

    Args:
        scores: Shape (rows,), without NaN.
        count: How many positions, from 1 to all.

    Example:
        >>> sorted(foremost(np.array([0.1, 0.9, 0.3, 0.5], dtype=np.float32), 2).tolist())
        [1, 3]
    """
    groups = len(scores) // _GROUP
    offered = None
    if groups > count:
        highest = scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
        bound = np.partition(highest, groups - count)[groups - count]
        offered = np.flatnonzero(scores >= bound)
        scores = scores[offered]
    best = np.argpartition(scores, len(scores) - count)[-count:]
    return best if offered is None else offered[best]


def ranked(
    scores: Sequence[float],
    rows: Sequence[Row],
    id_of: Callable[[Row], str],
    top_k: int,
    *,
    complete: bool,
) -> list[tuple[Row, float]] | None:
    """As `rank`, for rows and their scores: the first rows in order, each with its score.

    Scores that float32 cannot tell apart become one score, within [-1, 1].

    Args:
        scores: At least ``top_k``, or all scores that exist.
        rows: The row of each score.
        id_of: Gives the id of a row; called only for rows of equal score.
        top_k: How many to keep.
        complete: Whether these are all scores that exist.

    Example:
        >>> ranked([0.5, 0.9, 0.5000001], "acb", str, 2, complete=True)
        [('c', 0.9), ('a', 0.5000001)]
        >>> ranked([0.5, 0.9, 0.5000001], "acb", str, 2, complete=False)
    """
    order: list[tuple[Row, float]] = []
    for score, positions in _levels(scores):
        reached = len(order) + len(positions)
        if reached >= top_k and reached == len(scores) and not complete:
            return None
        if len(positions) == 1:
            order.append((rows[positions[0]], score))
        else:
            equal = sorted((rows[position] for position in positions), key=id_of)
            order += [(row, score) for row in equal]
        if reached >= top_k:
            break
    return order[:top_k]


def _levels(scores: Sequence[float]) -> Iterator[tuple[float, list[int]]]:
    """Positions of equal scores, the highest first, each time with the score that they have."""
    falling = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    begin, score = 0, 1.0
    lowest = score - RESOLUTION
    for at, position in enumerate(falling):
        if scores[position] < lowest:
            if at > begin:
                yield score, falling[begin:at]
            begin, score = at, max(scores[position], -1.0)
            lowest = score - RESOLUTION
    yield score, falling[begin:]
