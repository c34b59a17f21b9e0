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
    def of(cls, sets: LabelSets, streams: int) -> "Vocabulary":
        """The vocabulary of some graphs, read in so many streams."""
        found = cls.empty(streams)
        found.known[sets.streams, positions(sets)] = True
        return found

    def knows(self, sets: LabelSets) -> Mask:
        """Whether each label is in it: shape (labels,)."""
        found: Mask = self.known[sets.streams, positions(sets)]
        return found


def positions(sets: LabelSets) -> NDArray[np.int64]:
    """Place of each label within its stream: shape (labels,)."""
    return (sets.labels >> np.uint64(64 - POSITIONS_LOG2)).astype(np.int64)
