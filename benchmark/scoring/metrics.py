"""Retrieval metrics, a row a query; nothing here knows what is relevant.

A relevant answer is worth more than 0. R is the number of relevant items in the gallery; a query
without any scores 0. A new metric is a function and a row of `METRICS`: tables are written again
from the rankings that cells keep.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Relevance = NDArray[np.bool_]
Gains = NDArray[np.floating]
Relevant = NDArray[np.integer]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Rankings with what each answer is worth.

    Attributes:
        gains: Shape (queries, depth), worth of the answer at each rank.
        ideal: Shape (queries, depth), worth of the best answers, the best first.
        relevant: Shape (queries,), R.
        family_ranks: Shape (queries, depth), how many families come before that of each answer.
    """

    gains: Gains
    ideal: Gains
    relevant: Relevant
    family_ranks: NDArray[np.integer]

    @property
    def relevance(self) -> Relevance:
        """Shape (queries, depth), whether the answer at each rank is relevant."""
        return self.gains > 0


def reciprocal_rank(relevance: Relevance, k: int) -> Values:
    """1 / rank of the first relevant item within k, else 0.

    Args:
        relevance: Shape (queries, depth), whether the item at each rank is relevant.
        k: Cut.

    Returns:
        Shape (queries,).

    Example:
        >>> reciprocal_rank(np.array([[False, True, True]]), k=3)
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


def ndcg(gains: Gains, ideal: Gains, k: int) -> Values:
    """DCG with linear gain and log2 discount over that of the ideal ranking, both cut at k.

    Args:
        gains: Shape (queries, depth), worth of the answer at each rank.
        ideal: Shape (queries, any depth), worth of the best answers, the best first.
        k: Cut.

    Returns:
        Shape (queries,).

    Example:
        >>> ndcg(np.array([[0.0, 1.0]]), np.array([[1.0]]), k=2).round(3)
        array([0.631])
    """
    best = _discounted(ideal, k)
    reached: Values = _discounted(gains, k) / np.where(best > 0, best, 1.0)
    return reached


def success(relevance: Relevance, k: int) -> Values:
    """Whether any of the first k is relevant: shape (queries,).

    Example:
        >>> success(np.array([[False, True], [False, False]]), k=2)
        array([1., 0.])
    """
    reached: Values = np.asarray(relevance[:, :k].any(axis=1), dtype=np.float64)
    return reached


def family_success(relevance: Relevance, family_ranks: NDArray[np.integer], k: int) -> Values:
    """Whether any answer of the first k families is relevant: shape (queries,).

    Args:
        relevance: Shape (queries, depth).
        family_ranks: Shape (queries, depth), how many families come before that of each answer.
        k: Cut, in families.

    Example:
        >>> family_success(np.array([[False, False, True]]), np.array([[0, 0, 1]]), k=2)
        array([1.])
    """
    hits = relevance & (family_ranks < k)
    reached: Values = np.asarray(hits.any(axis=1), dtype=np.float64)
    return reached


def _discounted(gains: Gains, k: int) -> Values:
    cut = gains[:, :k].astype(np.float64)
    total: Values = (cut / np.log2(np.arange(2, cut.shape[1] + 2))).sum(axis=1)
    return total


def _ranks(relevance: Relevance, k: int) -> NDArray[np.int64]:
    return np.arange(1, min(k, relevance.shape[1]) + 1)


@dataclass(frozen=True, slots=True)
class Metric:
    """A number for every query, from what stands at each rank.

    Attributes:
        name: As in ``map@20``.
        of: From judged rankings and the cut to the values.
        cuts: At which it is measured.
    """

    name: str
    of: Callable[[Judged, int], Values]
    cuts: tuple[int, ...]

    def names(self) -> list[str]:
        """With each cut: ``map@20``."""
        return [f"{self.name}@{k}" for k in self.cuts]


# Cuts of lists; of a few answers it is asked whether one is right.
KS: Final = (20, 50, 100)
FEW: Final = (1, 5, 10)
LISTED: Final = (
    Metric("mrr", lambda judged, k: reciprocal_rank(judged.relevance, k), KS),
    Metric("map", lambda judged, k: average_precision(judged.relevance, judged.relevant, k), KS),
    Metric("ndcg", lambda judged, k: ndcg(judged.gains, judged.ideal, k), KS),
)
METRICS: Final = (
    *LISTED,
    Metric("success", lambda judged, k: success(judged.relevance, k), FEW),
    Metric(
        "families",
        lambda judged, k: family_success(judged.relevance, judged.family_ranks, k),
        FEW,
    ),
)
DEEPEST: Final = max(k for metric in METRICS for k in metric.cuts)
