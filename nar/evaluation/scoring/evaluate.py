"""How well vectors answer questions: a score a query, and their means with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nar.errors import InvalidInputError
from nar.evaluation.benchmark.questions import Questions
from nar.evaluation.scoring.metrics import CUTS, METRICS, Values
from nar.evaluation.scoring.ranking import Matrix, Ranking, rank

RESAMPLES: Final = 1_000
SEED: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What every query reached.

    Attributes:
        queries: Shape (queries,), ids of those that asked and have an answer.
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
        low: Lower end of its 95% interval, from a bootstrap over families.
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


def score(ranking: Ranking, asked: Questions, *, cuts: Sequence[int] = CUTS) -> Scored:
    """Score rankings.

    Args:
        ranking: Of these questions.
        asked: What was asked; what counts as relevant may be other than when it was ranked.
        cuts: Depths of the metrics.

    Raises:
        InvalidInputError: The ranking answers other questions.
    """
    if ranking.of != asked.digest():
        raise InvalidInputError("ranking", "wanted answers to these questions, came others")
    relevant = asked.relevant()[ranking.queries]
    rows = np.flatnonzero(relevant)
    relevance = ranking.relevance(asked, rows)
    return Scored(
        queries=tuple(asked.ids[query] for query in ranking.queries[rows]),
        clusters=tuple(asked.cluster[query] for query in ranking.queries[rows]),
        gallery=int(np.count_nonzero(asked.gallery)),
        values={
            f"{metric.name}@{k}": metric.of(relevance, relevant[rows], k)
            for k in cuts
            for metric in METRICS
        },
    )


def summarise(seeds: Sequence[Scored]) -> Evaluation:
    """The means over one or more seeds of the same cell."""
    names, number = np.unique(
        [cluster for seed in seeds for cluster in seed.clusters], return_inverse=True
    )
    # Every seed weighs the same, however many queries it drew.
    weight = np.concatenate([np.full(len(s.queries), 1 / len(s.queries)) for s in seeds])
    scores = {
        metric: _score(np.concatenate([s.values[metric] for s in seeds]), number, weight)
        for metric in seeds[0].values
    }
    queries = sum(len(seed.queries) for seed in seeds)
    return Evaluation(len(seeds), queries, len(names), min(s.gallery for s in seeds), scores)


def evaluate(embeddings: Matrix, asked: Questions, *, cuts: Sequence[int] = CUTS) -> Evaluation:
    """Rank, score and summarise in one, for a single seed."""
    ranking = rank(embeddings, asked, depth=max(cuts))
    return summarise([score(ranking, asked, cuts=cuts)])


def _score(values: Values, cluster: NDArray[np.intp], weight: Values) -> Score:
    """Mean with its interval; whole clusters are resampled, for their members are alike."""
    sums, sizes = np.bincount(cluster, weights=values * weight), np.bincount(cluster, weight)
    means = np.bincount(cluster, values) / np.bincount(cluster)
    clusters = len(sizes)
    drawn = np.random.default_rng(SEED).multinomial(
        clusters, np.full(clusters, 1 / clusters), RESAMPLES
    )
    low, high = np.quantile((drawn @ sums) / (drawn @ sizes), [0.025, 0.975])
    mean = sums.sum() / sizes.sum()
    return Score(float(mean), float(low), float(high), float(means.mean()))
