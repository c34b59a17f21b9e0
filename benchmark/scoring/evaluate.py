"""How well vectors answer questions: a score a query, means with intervals, paired differences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmark.scoring.metrics import METRICS, Values
from benchmark.scoring.ranking import Matrix, Ranking, rank
from benchmark.tasks.questions import Questions
from nar.base.errors import InvalidInputError

RESAMPLES: Final = 1_000
SEED: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What every query reached.

    Attributes:
        queries: Shape (queries,), ids of the queries that have an answer.
        clusters: Shape (queries,), family of each.
        gallery: Items that may answer; the query and what stands apart with it do not.
        values: Of every metric and depth, as in ``map@20``: shape (queries,).
    """

    queries: tuple[str, ...]
    clusters: tuple[str, ...]
    gallery: int
    values: Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class Score:
    """A mean over queries.

    Attributes:
        mean: Every query counts the same (micro); over seeds, every seed.
        low: Lower end of its 95% interval, from a bootstrap over families and seeds.
        high: Upper end.
        macro: Every family counts the same.
    """

    mean: float
    low: float
    high: float
    macro: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a method is worth, over all its seeds.

    Attributes:
        seeds: How many.
        queries: Queries that have an answer, of all seeds together.
        clusters: Families among them.
        gallery: Items that may answer, in the smallest gallery.
        scores: By metric and depth.
    """

    seeds: int
    queries: int
    clusters: int
    gallery: int
    scores: Mapping[str, Score]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def score(ranking: Ranking, asked: Questions) -> Scored:
    """Score rankings.

    Args:
        ranking: Of these questions.
        asked: What was asked; what answers are worth may be other than when it was ranked.

    Raises:
        InvalidInputError: The ranking answers other questions, or no question has an answer.
    """
    if ranking.of != asked.digest():
        raise InvalidInputError("ranking", "wanted answers to these questions, came others")
    rows = np.flatnonzero(asked.relevant())
    if not len(rows):
        raise InvalidInputError("worth", "wanted a query with a relevant item, came none")
    judged = ranking.judged(asked, rows)
    return Scored(
        queries=tuple(asked.ids[query] for query in ranking.queries[rows]),
        clusters=tuple(asked.cluster[query] for query in ranking.queries[rows]),
        gallery=int(np.count_nonzero(asked.gallery)),
        values={
            f"{metric.name}@{k}": metric.of(judged, k) for metric in METRICS for k in metric.cuts
        },
    )


def summarise(seeds: Sequence[Scored]) -> Evaluation:
    """The means over one or more seeds of the same cell."""
    names, number = np.unique(
        [cluster for seed in seeds for cluster in seed.clusters], return_inverse=True
    )
    seed = np.repeat(np.arange(len(seeds)), [len(each.queries) for each in seeds])
    scores = {
        metric: _score(np.concatenate([each.values[metric] for each in seeds]), number, seed)
        for metric in seeds[0].values
    }
    queries = sum(len(each.queries) for each in seeds)
    return Evaluation(len(seeds), queries, len(names), min(s.gallery for s in seeds), scores)


def evaluate(embeddings: Matrix, asked: Questions) -> Evaluation:
    """Rank, score and summarise in one, for a single seed."""
    return summarise([score(rank(embeddings, asked), asked)])


def _score(values: Values, cluster: NDArray[np.intp], seed: NDArray[np.int64]) -> Score:
    """Mean with its interval; whole families and whole seeds are drawn, at once.

    Every seed weighs the same, however many queries it drew.
    """
    clusters, seeds = int(cluster.max()) + 1, int(seed.max()) + 1
    weight = 1 / np.bincount(seed)[seed]
    cells = seed * clusters + cluster
    shape = (seeds, clusters)
    sums = np.bincount(cells, values * weight, minlength=seeds * clusters).reshape(shape)
    sizes = np.bincount(cells, weight, minlength=seeds * clusters).reshape(shape)
    rng = np.random.default_rng(SEED)
    of_seeds = rng.multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES)
    of_clusters = rng.multinomial(clusters, np.full(clusters, 1 / clusters), RESAMPLES)
    reached = ((of_seeds @ sums) * of_clusters).sum(axis=1)
    weights = ((of_seeds @ sizes) * of_clusters).sum(axis=1)
    drawn = reached[weights > 0] / weights[weights > 0]
    low, high = np.quantile(drawn, [0.025, 0.975])
    means = np.bincount(cluster, values) / np.bincount(cluster)
    return Score(float(sums.sum() / sizes.sum()), float(low), float(high), float(means.mean()))


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences.

    Attributes:
        mean: Above 0 where the first method is better; every seed weighs the same.
        low: Lower end of its 95% interval, from a bootstrap over families.
        high: Upper end.
    """

    mean: float
    low: float
    high: float

    @property
    def is_none(self) -> bool:
        """Whether the interval includes 0: which of the two is better is not known."""
        return self.low <= 0 <= self.high


def difference(one: Sequence[Scored], other: Sequence[Scored], metric: str) -> Difference:
    """Subtract query by query, then take the mean as every table does.

    Args:
        one: What the queries of each seed reached.
        other: The same of another method, seeds in the same order.
        metric: As in ``map@20``.

    Raises:
        InvalidInputError: The two were not asked the same queries.
    """
    if len(one) != len(other):
        raise InvalidInputError("seeds", f"wanted the same of both, came {len(one)}, {len(other)}")
    pairs = [_subtracted(mine, theirs, metric) for mine, theirs in zip(one, other, strict=True)]
    pooled = summarise(pairs).scores[metric]
    return Difference(pooled.mean, pooled.low, pooled.high)


def _subtracted(one: Scored, other: Scored, metric: str) -> Scored:
    order = _order(one.queries, other.queries)
    values: Values = one.values[metric] - other.values[metric][order]
    return Scored(one.queries, one.clusters, one.gallery, {metric: values})


def _order(wanted: Sequence[str], came: Sequence[str]) -> list[int]:
    """Where each wanted query stands among those that came."""
    position_of = {query: position for position, query in enumerate(came)}
    odd = sorted(set(wanted) ^ set(position_of))
    if odd or len(wanted) != len(came):
        which = f"{odd[0]} in one only" if odd else "repeated ones"
        raise InvalidInputError(
            "queries", f"wanted the same of both, came {len(wanted)} and {len(came)}, {which}"
        )
    return [position_of[query] for query in wanted]
