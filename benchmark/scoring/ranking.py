"""Rankings: which items answer each query first. They are what a cell keeps.

A metric, what counts as relevant, or a table can change, and nothing is learned again.

Two queries of five items, the second of which may not answer, ranked to depth 3:

    queries    0            3
    items      2  4  3      4  0  2       -1 where nothing more may answer
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array, issparse

from benchmark.scoring.metrics import DEEPEST, Judged
from benchmark.tasks.questions import Numbers, Questions, numbered
from nar.base.errors import InvalidInputError

Matrix = NDArray[np.float32] | csr_array
Weights = NDArray[np.float32]

DEPTH: Final = 1_000
CHUNK_ROWS: Final = 256
NOBODY: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The first answers to every query.

    Attributes:
        of: `Questions.digest` of what was asked.
        queries: Shape (queries,), who asked.
        items: Shape (queries, depth), int32, who answered, the best first; `NOBODY` after the last.
        nearest: Shape (queries,), cosine of the first answer; -inf where nobody answers.
    """

    of: str
    queries: Numbers
    items: NDArray[np.int32]
    nearest: NDArray[np.float32]

    def judged(self, asked: Questions, rows: Numbers) -> Judged:
        """Some of the rankings with what their answers are worth; rows are those of the queries."""
        items = self.items[rows]
        if asked.unjudged is not None:
            items = _without(items, asked.unjudged[rows])
        gains = np.zeros(items.shape, dtype=np.float32)
        worth = np.zeros(len(asked.ids), dtype=np.float32)
        for row, query in enumerate(rows.tolist()):
            start, end = asked.gains.indptr[query : query + 2]
            relevant = asked.gains.indices[start:end]
            worth[relevant] = asked.gains.data[start:end]
            gains[row] = np.where(items[row] == NOBODY, 0, worth[items[row]])
            worth[relevant] = 0
        families = numbered(asked.cluster)[items]
        return Judged(
            gains, asked.ideal(rows, DEEPEST), asked.relevant()[rows], _family_ranks(families)
        )


def _without(items: NDArray[np.int32], unjudged: csr_array) -> NDArray[np.int32]:
    """Answers without the unjudged ones of each query: those behind them move up."""
    left = np.full_like(items, NOBODY)
    for row, of_row in enumerate(items):
        start, end = unjudged.indptr[row : row + 2]
        kept = of_row[~np.isin(of_row, unjudged.indices[start:end])]
        left[row, : len(kept)] = kept
    return left


def _family_ranks(families: Numbers) -> Numbers:
    """How many other families come before the first answer of each answer's: shape as given."""
    ranks = np.empty_like(families)
    for row, of_row in enumerate(families):
        _, first, which = np.unique(of_row, return_index=True, return_inverse=True)
        before = np.empty_like(first)
        before[np.argsort(first)] = np.arange(len(first))
        ranks[row] = before[which]
    return ranks


@dataclass(frozen=True, slots=True)
class Second:
    """A second stage: it ranks the first answers to a query once more.

    Attributes:
        count: How many first answers it gets.
        order: From the item that asks, who answers it and their cosines, to who answers it in
            their new order.
    """

    count: int
    order: Callable[[int, Numbers, NDArray[np.floating]], Numbers]


def rank(
    embeddings: Matrix,
    asked: Questions,
    weights: Weights | None = None,
    *,
    depth: int = DEPTH,
    second: Second | None = None,
) -> Ranking:
    """Rank the gallery of every query by cosine to six decimals, equal ones by id.

    Args:
        embeddings: Shape (items, dim), dense or sparse.
        asked: About these items, in the same order.
        weights: Shape (dim,), what the vectors of queries are multiplied with.
        depth: How many answers are kept.
        second: Ranks the first answers once more; None leaves them as they are.

    Raises:
        InvalidInputError: Lengths differ, or a number is not finite.
    """
    _check(embeddings, asked)
    queries = np.flatnonzero(asked.queries)
    items = np.full((len(queries), min(depth, int(asked.gallery.sum()))), NOBODY, dtype=np.int32)
    nearest = np.full(len(queries), -np.inf, dtype=np.float32)
    start = 0
    unit = unit_rows(embeddings)
    asking = unit[queries]
    if weights is not None:
        asking = unit_rows(np.asarray(asking) * weights)
    for part, scores in _ranked(asking, unit, asked, items.shape[1]):
        items[start : start + len(part)] = part
        nearest[start : start + len(part)] = scores.max(axis=1, initial=-np.inf)
        if second is not None:
            for row in range(start, start + len(part)):
                items[row] = _again(int(queries[row]), items[row], scores[row - start], second)
        start += len(part)
    return Ranking(asked.digest(), queries, items, nearest)


def _again(
    query: int, items: NDArray[np.int32], scores: NDArray[np.floating], second: Second
) -> NDArray[np.int32]:
    """The answers to a query after a second stage."""
    count = min(second.count, int(np.count_nonzero(items != NOBODY)))
    ordered = second.order(query, items[:count].astype(np.int64), scores[:count])
    return np.concatenate([ordered.astype(np.int32), items[count:]])


def _ranked(
    asking: Matrix, unit: Matrix, asked: Questions, depth: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.floating]]]:
    """The answers to a few queries at a time, and the cosines of them."""
    answers = np.flatnonzero(asked.gallery)
    answers = answers[np.argsort(np.array(asked.ids)[answers])]
    others = unit[answers].T
    queries = np.flatnonzero(asked.queries)
    for start in range(0, len(queries), CHUNK_ROWS):
        rows = queries[start : start + CHUNK_ROWS]
        product = asking[start : start + CHUNK_ROWS] @ others
        # Rounded as in the index, or equal vectors would not tie.
        scores = np.round(product.toarray() if issparse(product) else product, 6)
        scores[asked.apart[rows][:, None] == asked.apart[answers]] = -np.inf
        ranked = top_ranked(scores, depth)
        reached = np.take_along_axis(scores, ranked, axis=1)
        yield np.where(reached > -np.inf, answers[ranked], NOBODY), reached


def top_ranked(scores: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Columns of the k highest scores of each row, score descending, then column ascending.

    Args:
        scores: Shape (queries, items), columns in the order of ids.
        k: Depth.

    Returns:
        Shape (queries, min(k, items)).

    Example:
        >>> top_ranked(np.array([[0.1, 0.9, 0.9, 0.3]]), 3)
        array([[1, 2, 3]])
    """
    k = min(k, scores.shape[1])
    if not k:
        return np.empty((len(scores), 0), dtype=np.int64)
    worst = np.partition(scores, -k, axis=1)[:, -k]
    return np.stack([_top(row, least, k) for row, least in zip(scores, worst, strict=True)])


def _top(row: NDArray[np.floating], least: np.floating, k: int) -> NDArray[np.int64]:
    candidates = np.flatnonzero(row >= least)
    return candidates[np.argsort(-row[candidates], kind="stable")][:k]


def unit_rows(embeddings: Matrix) -> Matrix:
    """Rows scaled to length 1; a row of zeros stays one, and is far from everything."""
    squares = embeddings.multiply(embeddings) if issparse(embeddings) else embeddings**2
    lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64)).ravel()
    scale = (1 / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    if issparse(embeddings):
        return csr_array(diags_array(scale) @ embeddings)
    return embeddings * scale[:, None]


def _check(embeddings: Matrix, asked: Questions) -> None:
    wanted, came = len(asked.ids), embeddings.shape[0]
    if wanted != came:
        raise InvalidInputError("embeddings", f"wanted {wanted} rows, one an id, came {came}")
    numbers = embeddings.data if issparse(embeddings) else embeddings
    if not np.isfinite(numbers).all():
        raise InvalidInputError("embeddings", "wanted finite numbers, came others")


def best_ranking(asked: Questions, same: Numbers, *, depth: int = DEPTH) -> Ranking:
    """Rank by what answers are worth, mean over queries and answers of the same graph; then by id.

    Args:
        asked: The questions.
        same: Shape (items,), from 0: items of one number have equal graphs.
        depth: How many answers are kept.
    """
    queries = np.flatnonzero(asked.queries)
    whose, group = np.unique(same[queries], return_inverse=True)
    worth = csr_array(_mean_over(group, len(whose)) @ asked.gains)
    alike = _mean_over(same, int(same.max()) + 1)
    spread = csr_array((worth @ alike.T) @ (alike > 0).astype(np.float32))
    by_id = np.argsort(np.array(asked.ids))
    by_id = by_id[asked.gallery[by_id]]
    items = np.full((len(queries), min(depth, len(by_id))), NOBODY, dtype=np.int32)
    for row, query in enumerate(queries.tolist()):
        scores = np.zeros(len(same), dtype=np.float32)
        start, end = spread.indptr[group[row] : group[row] + 2]
        scores[spread.indices[start:end]] = spread.data[start:end]
        answers = by_id[asked.apart[by_id] != asked.apart[query]]
        best = answers[np.argsort(-scores[answers], kind="stable")][: items.shape[1]]
        items[row, : len(best)] = best
    return Ranking(asked.digest(), queries, items, np.zeros(len(queries), dtype=np.float32))


def _mean_over(groups: Numbers, count: int) -> csr_array:
    """Means over items of a group: shape (count, items)."""
    weight = (1 / np.bincount(groups, minlength=count))[groups].astype(np.float32)
    shape = (count, len(groups))
    return coo_array((weight, (groups, np.arange(len(groups)))), shape=shape).tocsr()
