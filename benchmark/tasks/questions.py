"""Questions: who asks, who may answer, and what an answer is worth. The same for every method.

Four items, of which two ask; a family is worth 1, what it was made from half of that:

                  bert-a   bert-b   roberta   gpt
    bert-a asks     -        1        0.5      0
    gpt asks        0        0        0        -       has no answer, and does not count
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from nar.base.errors import InvalidInputError
from nar.graphs.by import By

# To be raised when a protocol asks otherwise, or lets others answer: cells are then run anew.
QUESTIONS_VERSION: Final = 3

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about the items of a data set, a row an item.

    Attributes:
        ids: Shape (items,), distinct. Equal scores are ranked by them.
        gains: Shape (queries, items), sparse float32, a row for each that asks: what its answers
            are worth, 0 for wrong ones and for items that may not answer it.
        apart: Shape (items,). Items of the query's number are not in its gallery: itself, its
            twins, its whole library or its family.
        cluster: Shape (items,), names of families. The bootstrap draws them whole, for their
            members are alike.
        queries: Shape (items,), who asks; those without a relevant item do not count.
        gallery: Shape (items,), who may answer.
        by: What is asked for, to encoders whose vectors know the difference.
        unjudged: Shape (queries, items), sparse; items above 0 are taken out of the answers to a
            query before they are judged: they neither count nor cost. None where all are judged.
    """

    ids: tuple[str, ...]
    gains: csr_array
    apart: Numbers
    cluster: tuple[str, ...]
    queries: Mask
    gallery: Mask
    by: By = "design"
    unjudged: csr_array | None = None

    def digest(self) -> str:
        """Sha256 (hex) of who asks, for what, and who may answer; not of how answers are judged."""
        told = sha256("\n".join((self.by, *self.ids)).encode())
        for column in (self.apart, self.queries, self.gallery):
            told.update(column.tobytes())
        return told.hexdigest()

    def relevant(self) -> Numbers:
        """R: how many items of its gallery are relevant to each that asks: shape (queries,)."""
        return np.diff(self.gains.indptr).astype(np.int64)

    def asked(self) -> Numbers:
        """Items that ask and have an answer."""
        return np.flatnonzero(self.queries)[self.relevant() > 0]

    def ideal(self, rows: Numbers, depth: int) -> NDArray[np.float32]:
        """What the best answers to some queries are worth, the best first: shape (rows, depth)."""
        best = np.zeros((len(rows), depth), dtype=np.float32)
        for row, query in enumerate(rows.tolist()):
            start, end = self.gains.indptr[query : query + 2]
            worth = np.sort(self.gains.data[start:end])[::-1][:depth]
            best[row, : len(worth)] = worth
        return best


def questions(
    ids: Sequence[str],
    worth: csr_array | Sequence[object],
    *,
    apart: Sequence[object] | None = None,
    cluster: Sequence[object] | None = None,
    queries: Mask | None = None,
    gallery: Mask | None = None,
    by: By = "design",
) -> Questions:
    """Questions from labels of any kind.

    Args:
        ids: Shape (items,).
        worth: What answers are worth, shape (queries, items); or labels, shape (items,), for
            example families: items of the query's label are worth 1.
        apart: Shape (items,), for example topologies; None leaves out the query only.
        cluster: Shape (items,), names; None takes the labels.
        queries: Shape (items,); None lets every item ask.
        gallery: Shape (items,); None lets every item answer.
        by: What is asked for.

    Raises:
        InvalidInputError: Lengths differ, or ids repeat.
    """
    every = np.ones(len(ids), dtype=np.bool_)
    asking, answering = (every if mask is None else mask for mask in (queries, gallery))
    labels = None if isinstance(worth, csr_array) else worth
    columns = {"labels": labels, "apart": apart, "cluster": cluster}
    for name, values in {**columns, "queries": queries, "gallery": gallery}.items():
        if values is not None and len(values) != len(ids):
            raise InvalidInputError(name, f"wanted {len(ids)}, one an id, came {len(values)}")
    if len(set(ids)) < len(ids):
        raise InvalidInputError("ids", "wanted distinct ids, came repeated ones")
    who = np.flatnonzero(asking)
    gains = worth if isinstance(worth, csr_array) else same_label(numbered(worth), who)
    if gains.shape != (len(who), len(ids)):
        wanted = (len(who), len(ids))
        raise InvalidInputError("worth", f"wanted shape {wanted}, came {gains.shape}")
    numbers = numbered(ids if apart is None else apart)
    names = ids if labels is None else labels
    return Questions(
        tuple(ids),
        _of_gallery(gains, numbers, who, answering),
        numbers,
        tuple(map(str, names if cluster is None else cluster)),
        asking,
        answering,
        by,
    )


def same_label(labels: Numbers, queries: Numbers) -> csr_array:
    """Worth 1 where an item has the query's label: shape (queries, items).

    Args:
        labels: Shape (items,), from 0.
        queries: Shape (queries,), items that ask.
    """
    labelled = _indicator(labels, int(labels.max()) + 1)
    asking = _indicator(labels[queries], labelled.shape[1])
    return csr_array(asking @ labelled.T)


def with_equals(gains: csr_array, same: Numbers) -> csr_array:
    """Worth as much as the best item that is the same: an answer equal to a right one is right.

    Args:
        gains: Shape (queries, items).
        same: Shape (items,), from 0: items of one number are the same.
    """
    labelled = _indicator(same, int(same.max()) + 1)
    whole: csr_array = 0 * gains
    for grade in np.unique(gains.data):
        graded = gains.copy()
        graded.data = (gains.data >= grade).astype(np.float32)
        reached = csr_array((graded @ labelled) @ labelled.T)
        reached.data = np.where(reached.data > 0, grade, 0).astype(np.float32)
        whole = csr_array(whole.maximum(reached))
    return whole


def _indicator(labels: Numbers, count: int) -> csr_array:
    ones = np.ones(len(labels), dtype=np.float32)
    shape = (len(labels), count)
    return coo_array((ones, (np.arange(len(labels)), labels)), shape=shape).tocsr()


def _of_gallery(gains: csr_array, apart: Numbers, who: Numbers, answering: Mask) -> csr_array:
    """Without items that may not answer, those apart with the query among them."""
    pairs = gains.tocoo()
    rows, items = pairs.coords
    return kept_entries(gains, answering[items] & (apart[who[rows]] != apart[items]))


def kept_entries(gains: csr_array, kept: Mask) -> csr_array:
    """Only some of what answers are worth, and nothing that is worth nothing.

    Args:
        gains: Shape (queries, items).
        kept: Which of its entries, row by row.
    """
    pairs = gains.tocoo()
    rows, items = pairs.coords
    mask = kept & (pairs.data > 0)
    left = (pairs.data[mask].astype(np.float32), (rows[mask], items[mask]))
    return coo_array(left, shape=gains.shape).tocsr()


def numbered(values: Sequence[object]) -> Numbers:
    """Numbers from 0 in the order of first occurrence, equal for equal values."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
