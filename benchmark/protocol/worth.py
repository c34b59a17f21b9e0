"""What answers are worth, and whose answers count."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmark.protocol.questions import Mask, Numbers, kept_entries, same_label
from benchmark.protocol.splits import Roles
from nar.corpus import Card


def labelled(labels: Numbers, asks: Mask, track: Mask) -> csr_array:
    """Worth 1 where items of the track are called like the query."""
    worth = same_label(labels, np.flatnonzero(asks))
    return kept_entries(worth, track[worth.tocoo().coords[1]])


def graded(
    names: Sequence[str], asks: Mask, track: Mask, grade: Callable[[str, str], int]
) -> csr_array:
    """Worth the grade of the query's family with the item's: shape (queries, items)."""
    of_family: dict[str, list[int]] = {}
    for row in np.flatnonzero(track).tolist():
        of_family.setdefault(names[row], []).append(row)
    grades = {
        query: [(other, grade(query, other)) for other in of_family if grade(query, other)]
        for query in {names[row] for row in np.flatnonzero(asks).tolist()}
    }
    rows, items, worth = [], [], []
    for row, query in enumerate(np.flatnonzero(asks).tolist()):
        for other, value in grades[names[query]]:
            rows += [row] * len(of_family[other])
            items += of_family[other]
            worth += [value] * len(of_family[other])
    shape = (int(asks.sum()), len(names))
    return coo_array((np.array(worth, dtype=np.float32), (rows, items)), shape=shape).tocsr()


def are_fresh(
    cards: Sequence[Card], roles: Roles, names: Sequence[str], *, also: Sequence[str] = ()
) -> Mask:
    """Whether nothing was learned that is of a family, or stands on one, of each of these names.

    Args:
        cards: Of a data set.
        roles: Of each.
        names: A label of each card.
        also: What else a learned card is called.
    """
    learned = {
        label
        for number, card in enumerate(cards)
        if roles[card.labels.name] == "train"
        for label in (*also[number : number + 1], card.labels.family, card.labels.backbone)
    }
    return np.array([name not in learned for name in names], dtype=np.bool_)


def counting(worth: csr_array, counts: Mask) -> csr_array:
    """Without the answers of queries that do not count; they ask on, and are not asked anew."""
    return kept_entries(worth, counts[worth.tocoo().coords[0]])
