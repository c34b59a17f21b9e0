"""Retrieval metrics with binary relevance, a row a query; nothing here knows what is relevant.

R is the number of relevant items in the gallery. A query without any scores 0. A new metric is a
function and a row of `METRICS`: tables are written again from the rankings that cells keep.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Relevance = NDArray[np.bool_]
Relevant = NDArray[np.integer]
Values = NDArray[np.float64]


def reciprocal_rank(relevance: Relevance, relevant: Relevant, k: int) -> Values:
    """1 / rank of the first relevant item within k, else 0.

    Args:
        relevance: Shape (queries, depth), whether the item at each rank is relevant.
        relevant: Shape (queries,), R.
        k: Cut.

    Returns:
        Shape (queries,).

    Example:
        >>> reciprocal_rank(np.array([[False, True, True]]), np.array([2]), k=3)
        array([0.5])
    """
    reached: Values = (relevance[:, :k] / _ranks(relevance, k)).max(axis=1, initial=0.0)
    return reached


def average_precision(
    relevance: Relevance, relevant: Relevant, k: int, *, divide_by_all: bool = False
) -> Values:
    """Sum of precision@i over relevant ranks i <= k, divided by min(R, k).

    Args:
        relevance: Shape (queries, depth).
        relevant: Shape (queries,), R.
        k: Cut.
        divide_by_all: Divide by R instead, as trec_eval does.

    Returns:
        Shape (queries,).

    Example:
        >>> average_precision(np.array([[True, False, True]]), np.array([2]), k=3).round(3)
        array([0.833])
    """
    cut = relevance[:, :k]
    precision = np.cumsum(cut, axis=1) / _ranks(relevance, k)
    best = relevant if divide_by_all else np.minimum(relevant, k)
    reached: Values = (precision * cut).sum(axis=1) / np.maximum(best, 1)
    return reached


def ndcg(relevance: Relevance, relevant: Relevant, k: int) -> Values:
    """DCG with linear gain and log2 discount over that of the ideal ranking, both cut at k.

    Args:
        relevance: Shape (queries, depth).
        relevant: Shape (queries,), R.
        k: Cut.

    Returns:
        Shape (queries,).

    Example:
        >>> ndcg(np.array([[False, True]]), np.array([1]), k=2).round(3)
        array([0.631])
    """
    gains = 1 / np.log2(np.arange(2, k + 2))
    cut = relevance[:, :k]
    ideal = np.concatenate([[1.0], np.cumsum(gains)])[np.minimum(relevant, k)]
    gained = (cut * gains[: cut.shape[1]]).sum(axis=1)
    reached: Values = gained / np.where(relevant > 0, ideal, 1.0)
    return reached


def _ranks(relevance: Relevance, k: int) -> NDArray[np.int64]:
    return np.arange(1, min(k, relevance.shape[1]) + 1)


@dataclass(frozen=True, slots=True)
class Metric:
    """A number for every query, from what stands at each rank.

    Attributes:
        name: As in ``map@20``.
        of: From relevance by rank, R and the cut to the values.
    """

    name: str
    of: Callable[[Relevance, Relevant, int], Values]


METRICS: Final = (
    Metric("mrr", reciprocal_rank),
    Metric("map", average_precision),
    Metric("ndcg", ndcg),
)
# Cuts that tables show; of one answer it is asked whether it is right.
KS: Final = (20, 50, 100)
CUTS: Final = (1, *KS)
