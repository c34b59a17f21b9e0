"""One table row: how well vectors of known architectures find their families (evaluation.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from nar.errors import InvalidInputError
from nar.evaluation.metrics import Values, average_precision, ndcg, reciprocal_rank, top_ranked

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
        queries: Items that have a relevant item in their gallery.
        families: Families among them.
        items: All items; the gallery of a query is the others.
        twins_collapsed: Whether items of the query's topology were left out of its gallery.
        cuts: One for each depth.
    """

    queries: int
    families: int
    items: int
    twins_collapsed: bool
    cuts: tuple[Cut, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def evaluate(
    embeddings: Matrix,
    families: Sequence[str],
    ids: Sequence[str],
    *,
    ks: Sequence[int] = KS,
    topologies: Sequence[str] | None = None,
) -> Evaluation:
    """Ask for the family of every item that has relatives, among all other items.

    Args:
        embeddings: Shape (items, dim), dense or sparse; compared by cosine.
        families: Shape (items,). Items of one family are relevant to each other.
        ids: Shape (items,), distinct; equal scores are ranked by them.
        ks: Depths of the metrics.
        topologies: Shape (items,). If given, twins are collapsed: items of the query's topology
            are neither relevant nor in its gallery.

    Raises:
        InvalidInputError: Lengths differ, ids repeat, a number is not finite, or no item has a
            relative.
    """
    _check(embeddings, families, ids, topologies)
    order = np.argsort(np.array(ids))
    family = _numbered([families[place] for place in order])
    twins = _numbered([topologies[place] for place in order]) if topologies else np.arange(len(ids))
    relevant = _count_relevant(family, twins)
    if not relevant.any():
        raise InvalidInputError("families", "wanted two items of one family, came none")
    asked = np.flatnonzero(relevant)
    relevance = np.concatenate(list(_relevance(_unit(embeddings[order]), family, twins, asked, ks)))
    cuts = tuple(_cut(relevance, relevant[asked], family[asked], k) for k in ks)
    asked_families = len(np.unique(family[asked]))
    return Evaluation(len(asked), asked_families, len(ids), topologies is not None, cuts)


def _relevance(
    unit: Matrix,
    family: NDArray[np.int64],
    twins: NDArray[np.int64],
    asked: NDArray[np.int64],
    ks: Sequence[int],
) -> Iterator[NDArray[np.bool_]]:
    """Whether the item at each rank is relevant, a few queries at a time."""
    for start in range(0, len(asked), CHUNK_ROWS):
        rows = asked[start : start + CHUNK_ROWS]
        product = unit[rows] @ unit.T
        # Rounded as in the index, or equal vectors would not tie.
        scores = np.round(product.toarray() if issparse(product) else product, 6)
        left_out = twins[rows][:, None] == twins
        scores[left_out] = -np.inf
        ranked = top_ranked(scores, max(ks))
        related = (family[rows][:, None] == family) & ~left_out
        yield np.take_along_axis(related, ranked, axis=1)


def _count_relevant(family: NDArray[np.int64], twins: NDArray[np.int64]) -> NDArray[np.int64]:
    """R of every item: its family without those of its family that are its twins."""
    pairs = _numbered(list(zip(family.tolist(), twins.tolist(), strict=True)))
    return np.bincount(family)[family] - np.bincount(pairs)[pairs]


def _cut(
    relevance: NDArray[np.bool_], relevant: NDArray[np.int64], family: NDArray[np.int64], k: int
) -> Cut:
    return Cut(
        k,
        mrr=_score(reciprocal_rank(relevance, k), family),
        map=_score(average_precision(relevance, relevant, k), family),
        ndcg=_score(ndcg(relevance, relevant, k), family),
    )


def _score(values: Values, family: NDArray[np.int64]) -> Score:
    """Mean with its interval; whole families are resampled, for their members are alike."""
    _, number = np.unique(family, return_inverse=True)
    sums, sizes = np.bincount(number, weights=values), np.bincount(number)
    families = len(sizes)
    drawn = np.random.default_rng(SEED).multinomial(
        families, np.full(families, 1 / families), RESAMPLES
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


def _numbered(values: Sequence[object]) -> NDArray[np.int64]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _check(
    embeddings: Matrix,
    families: Sequence[str],
    ids: Sequence[str],
    topologies: Sequence[str] | None,
) -> None:
    items = embeddings.shape[0]
    columns = {"families": families, "ids": ids, "topologies": topologies or ids}
    for name, values in columns.items():
        if len(values) != items:
            raise InvalidInputError(name, f"wanted {items}, one an embedding, came {len(values)}")
    if len(set(ids)) < items:
        raise InvalidInputError("ids", "wanted distinct ids, came repeated ones")
    numbers = embeddings.data if issparse(embeddings) else embeddings
    if not np.isfinite(numbers).all():
        raise InvalidInputError("embeddings", "wanted finite numbers, came others")
