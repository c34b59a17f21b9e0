"""How well vectors answer questions: a score a query, and their means with intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from nar.errors import InvalidInputError
from nar.evaluation.benchmark.questions import Numbers, Questions
from nar.evaluation.scoring.metrics import (
    Values,
    average_precision,
    ndcg,
    reciprocal_rank,
    top_ranked,
)

Matrix = NDArray[np.float32] | csr_array

KS: Final = (20, 50, 100)
DEPTHS: Final = (1, *KS)
CHUNK_ROWS: Final = 256
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


def score(embeddings: Matrix, asked: Questions, *, ks: Sequence[int] = DEPTHS) -> Scored:
    """Rank the gallery of every query by cosine and score the rankings.

    Args:
        embeddings: Shape (items, dim), dense or sparse.
        asked: About these items, in the same order.
        ks: Depths of the metrics.

    Raises:
        InvalidInputError: Lengths differ, or a number is not finite.
    """
    _check(embeddings, asked)
    places = asked.asked()
    relevance = np.concatenate(list(_relevance(unit_rows(embeddings), asked, places, max(ks))))
    relevant = asked.relevant()[places]
    values: dict[str, Values] = {}
    for k in ks:
        values[f"mrr@{k}"] = reciprocal_rank(relevance, k)
        values[f"map@{k}"] = average_precision(relevance, relevant, k)
        values[f"ndcg@{k}"] = ndcg(relevance, relevant, k)
    return Scored(
        queries=tuple(asked.ids[place] for place in places),
        clusters=tuple(asked.cluster[place] for place in places),
        gallery=int(np.count_nonzero(asked.gallery)),
        values=values,
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


def evaluate(embeddings: Matrix, asked: Questions, *, ks: Sequence[int] = DEPTHS) -> Evaluation:
    """`score` and `summarise` in one, for a single seed."""
    return summarise([score(embeddings, asked, ks=ks)])


def _relevance(
    unit: Matrix, asked: Questions, places: Numbers, depth: int
) -> Iterator[NDArray[np.bool_]]:
    """Whether the item at each rank is relevant, a few queries at a time."""
    answers = np.flatnonzero(asked.gallery)
    answers = answers[np.argsort(np.array(asked.ids)[answers])]
    others = unit[answers].T
    for start in range(0, len(places), CHUNK_ROWS):
        rows = places[start : start + CHUNK_ROWS]
        product = unit[rows] @ others
        # Rounded as in the index, or equal vectors would not tie.
        scores = np.round(product.toarray() if issparse(product) else product, 6)
        left_out = asked.apart[rows][:, None] == asked.apart[answers]
        scores[left_out] = -np.inf
        ranked = top_ranked(scores, depth)
        related = (asked.relevance[rows][:, None] == asked.relevance[answers]) & ~left_out
        yield np.take_along_axis(related, ranked, axis=1)


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
