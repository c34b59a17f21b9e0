"""Questions: who asks, who may answer, and what counts as an answer. The same for every method."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.errors import InvalidInputError

# To be raised when a protocol asks otherwise, or lets others answer: cells are then run anew.
QUESTIONS_VERSION: Final = 1

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about the items of a data set, a row an item.

    Attributes:
        ids: Shape (items,), distinct. Equal scores are ranked by them.
        relevance: Shape (items,). Items of one number are relevant to each other.
        apart: Shape (items,). Items of the query's number are not in its gallery: itself, its
            twins, or its whole library.
        cluster: Shape (items,), names. What the bootstrap draws whole, for its members are alike.
        queries: Shape (items,), who asks; those without a relevant item do not count.
        gallery: Shape (items,), who may answer.
    """

    ids: tuple[str, ...]
    relevance: Numbers
    apart: Numbers
    cluster: tuple[str, ...]
    queries: Mask
    gallery: Mask

    def digest(self) -> str:
        """Sha256 (hex) of who asks and who may answer; what is relevant does not count."""
        told = sha256("\n".join(self.ids).encode())
        for column in (self.apart, self.queries, self.gallery):
            told.update(column.tobytes())
        return told.hexdigest()

    def relevant(self) -> Numbers:
        """R: how many items of its gallery are relevant to each item, whether it asks or not."""
        pairs = numbered(list(zip(self.relevance.tolist(), self.apart.tolist(), strict=True)))
        alike = np.bincount(self.relevance, weights=self.gallery)[self.relevance]
        own = np.bincount(pairs, weights=self.gallery)[pairs]
        return (alike - own).astype(np.int64)

    def asked(self) -> Numbers:
        """Positions of the queries that have an answer."""
        return np.flatnonzero(self.queries & (self.relevant() > 0))


def questions(
    ids: Sequence[str],
    relevance: Sequence[object],
    *,
    apart: Sequence[object] | None = None,
    cluster: Sequence[object] | None = None,
    queries: Mask | None = None,
    gallery: Mask | None = None,
) -> Questions:
    """Questions from labels of any kind.

    Args:
        ids: Shape (items,).
        relevance: Shape (items,), for example families.
        apart: Shape (items,), for example topologies; None leaves out the query only.
        cluster: Shape (items,); None takes what counts as relevant.
        queries: Shape (items,); None lets every item ask.
        gallery: Shape (items,); None lets every item answer.

    Raises:
        InvalidInputError: Lengths differ, ids repeat, or no query has an answer.
    """
    columns = {"relevance": relevance, "apart": apart, "cluster": cluster}
    for name, values in {**columns, "queries": queries, "gallery": gallery}.items():
        if values is not None and len(values) != len(ids):
            raise InvalidInputError(name, f"wanted {len(ids)}, one an id, came {len(values)}")
    if len(set(ids)) < len(ids):
        raise InvalidInputError("ids", "wanted distinct ids, came repeated ones")
    every = np.ones(len(ids), dtype=np.bool_)
    asked = Questions(
        tuple(ids),
        numbered(relevance),
        numbered(ids if apart is None else apart),
        tuple(map(str, relevance if cluster is None else cluster)),
        every if queries is None else queries,
        every if gallery is None else gallery,
    )
    if not asked.asked().size:
        raise InvalidInputError("relevance", "wanted a query with a relevant item, came none")
    return asked


def numbered(values: Sequence[object]) -> Numbers:
    """Numbers from 0 in the order of first occurrence, equal for equal values."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
