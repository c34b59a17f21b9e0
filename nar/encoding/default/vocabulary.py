"""The vocabulary: which labels were learned from. What is unknown to it has no learned vector."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.motifs.label_sets import LabelSets

Mask = NDArray[np.bool_]

# Positions a stream. Of some ten thousand labels one in a hundred shares its position.
POSITIONS_LOG2 = 20


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """A set of labels, by hash.

    Attributes:
        known: Shape (streams, 2^20): whether a label with that hash is in it.
    """

    known: Mask

    @classmethod
    def empty(cls, streams: int) -> "Vocabulary":
        """One that knows nothing."""
        return cls(np.zeros((streams, 1 << POSITIONS_LOG2), dtype=np.bool_))

    @classmethod
    def of(cls, sets: LabelSets, streams: int, learned: Mask | None = None) -> "Vocabulary":
        """The vocabulary of some graphs.

        Args:
            sets: Their labels.
            streams: How many streams there are.
            learned: Shape (labels,), those that count; all if None.
        """
        found = cls.empty(streams)
        which = slice(None) if learned is None else learned
        found.known[sets.streams[which], positions(sets)[which]] = True
        return found

    def knows(self, sets: LabelSets) -> Mask:
        """Whether each label is in it: shape (labels,)."""
        found: Mask = self.known[sets.streams, positions(sets)]
        return found


def typical(sets: LabelSets, families: NDArray[np.int64], share: float) -> Mask:
    """Which labels so large a share of some family has.

    What hardly any relative has says nothing of relatives; it would only be learned by heart.

    Args:
        sets: Labels of graphs.
        families: Shape (graphs,), of each.
        share: 0 takes every label.

    Returns:
        Shape (labels,).
    """
    _, label = np.unique(sets.labels, return_inverse=True)
    sizes = np.bincount(families)
    pair = label * len(sizes) + families[sets.graph()]
    found, members = np.unique(pair, return_counts=True)
    label_of, family = np.divmod(found, len(sizes))
    is_typical = np.zeros(int(label.max(initial=-1)) + 1, dtype=np.bool_)
    is_typical[label_of[members >= share * sizes[family]]] = True
    return is_typical[label]


def positions(sets: LabelSets) -> NDArray[np.int64]:
    """Place of each label within its stream: shape (labels,)."""
    return (sets.labels >> np.uint64(64 - POSITIONS_LOG2)).astype(np.int64)
