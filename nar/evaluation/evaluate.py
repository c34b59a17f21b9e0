"""One table row: how well vectors of known architectures answer questions."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from nar.errors import InvalidInputError
from nar.evaluation.metrics import Values, average_precision, ndcg, reciprocal_rank, top_ranked
from nar.evaluation.questions import Numbers, Questions

Matrix = NDArray[np.float32] | csr_array

KS: Final = (20, 50, 100)
CHUNK_ROWS: Final = 256
RESAMPLES: Final = 1_000
SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Score:
    """A mean over queries.

    Attributes:
        mean: Every query counts the same (micro).
        low: Lower end of its 95% interval, from a bootstrap over families.
        high: Upper end.
        macro: Every family counts the same.
    """

    mean: float
    low: float
    high: float
    macro: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The metrics at one depth."""

    k: int
    mrr: Score
    map: Score
    ndcg: Score


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a set of vectors is worth.

    Attributes:
        queries: Items that asked and have a relevant item in their gallery.
        clusters: Families among them.
        gallery: Items that may answer; the query and what stands apart with it do not.
        cuts: One for each depth.
    """

    queries: int
    clusters: int
    gallery: int
    cuts: tuple[Cut, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def evaluate(embeddings: Matrix, asked: Questions, *, ks: Sequence[int] = KS) -> Evaluation:
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
    relevance = np.concatenate(list(_relevance(_unit(embeddings), asked, places, max(ks))))
    relevant, cluster = asked.relevant()[places], asked.cluster[places]
    cuts = tuple(_cut(relevance, relevant, cluster, k) for k in ks)
    gallery = int(np.count_nonzero(asked.gallery))
    return Evaluation(len(places), len(np.unique(cluster)), gallery, cuts)


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


def _cut(relevance: NDArray[np.bool_], relevant: Numbers, cluster: Numbers, k: int) -> Cut:
    return Cut(
        k,
        mrr=_score(reciprocal_rank(relevance, k), cluster),
        map=_score(average_precision(relevance, relevant, k), cluster),
        ndcg=_score(ndcg(relevance, relevant, k), cluster),
    )


def _score(values: Values, cluster: Numbers) -> Score:
    """Mean with its interval; whole clusters are resampled, for their members are alike."""
    _, number = np.unique(cluster, return_inverse=True)
    sums, sizes = np.bincount(number, weights=values), np.bincount(number)
    clusters = len(sizes)
    drawn = np.random.default_rng(SEED).multinomial(
        clusters, np.full(clusters, 1 / clusters), RESAMPLES
    )
    low, high = np.quantile((drawn @ sums) / (drawn @ sizes), [0.025, 0.975])
    return Score(float(values.mean()), float(low), float(high), float((sums / sizes).mean()))


def _unit(embeddings: Matrix) -> Matrix:
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
