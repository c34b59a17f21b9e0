"""Retrieval metrics with binary relevance, a row a query; nothing here knows what is relevant.

R is the number of relevant items in the gallery. A query without any scores 0.
"""

import numpy as np
from numpy.typing import NDArray

Relevance = NDArray[np.bool_]
Values = NDArray[np.float64]


def top_ranked(scores: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Columns of the k highest scores of each row, score descending, then column ascending.

    Args:
        scores: Shape (queries, items), columns in the order of ids.
        k: Depth.

    Returns:
        Shape (queries, min(k, items)).
    """
    k = min(k, scores.shape[1])
    if not k:
        return np.empty((len(scores), 0), dtype=np.int64)
    worst = np.partition(scores, -k, axis=1)[:, -k]
    return np.stack([_top(row, least, k) for row, least in zip(scores, worst, strict=True)])


def _top(row: NDArray[np.floating], least: np.floating, k: int) -> NDArray[np.int64]:
    candidates = np.flatnonzero(row >= least)
    return candidates[np.argsort(-row[candidates], kind="stable")][:k]


def reciprocal_rank(relevance: Relevance, k: int) -> Values:
    """1 / rank of the first relevant item within k, else 0.

    Args:
        relevance: Shape (queries, depth), whether the item at each rank is relevant.
        k: Cut.

    Returns:
        Shape (queries,).
    """
    found: Values = (relevance[:, :k] / _ranks(relevance, k)).max(axis=1, initial=0.0)
    return found


def average_precision(
    relevance: Relevance, relevant: NDArray[np.integer], k: int, *, divide_by_all: bool = False
) -> Values:
    """Sum of precision@i over relevant ranks i <= k, divided by min(R, k).

    Args:
        relevance: Shape (queries, depth).
        relevant: Shape (queries,), R.
        k: Cut.
        divide_by_all: Divide by R instead, as trec_eval does.

    Returns:
        Shape (queries,).
    """
    cut = relevance[:, :k]
    precision = np.cumsum(cut, axis=1) / _ranks(relevance, k)
    best = relevant if divide_by_all else np.minimum(relevant, k)
    found: Values = (precision * cut).sum(axis=1) / np.maximum(best, 1)
    return found


def ndcg(relevance: Relevance, relevant: NDArray[np.integer], k: int) -> Values:
    """DCG with linear gain and log2 discount over that of the ideal ranking, both cut at k.

    Args:
        relevance: Shape (queries, depth).
        relevant: Shape (queries,), R.
        k: Cut.

    Returns:
        Shape (queries,).
    """
    gains = 1 / np.log2(np.arange(2, k + 2))
    cut = relevance[:, :k]
    ideal = np.concatenate([[1.0], np.cumsum(gains)])[np.minimum(relevant, k)]
    found: Values = (cut * gains[: cut.shape[1]]).sum(axis=1) / np.where(relevant > 0, ideal, 1.0)
    return found


def _ranks(relevance: Relevance, k: int) -> NDArray[np.int64]:
    return np.arange(1, min(k, relevance.shape[1]) + 1)
