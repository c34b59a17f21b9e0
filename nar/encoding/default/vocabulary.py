"""The vocabulary: which features were learned from. What is unknown to it has no learned vector."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.graphs.hashing import Codes
from nar.graphs.ragged import Integers
from nar.motifs.feature_sets import FeatureSets

Mask = NDArray[np.bool_]

# Positions a stream. Of some ten thousand features one in a hundred shares its position.
POSITIONS_LOG2 = 20
_FEATURES_A_PART = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """A set of features, by their codes.

    Attributes:
        known: Shape (streams, 2^20): whether a feature with that code is in it.
    """

    known: Mask

    @classmethod
    def empty(cls, streams: int) -> "Vocabulary":
        """One that knows nothing."""
        return cls(np.zeros((streams, 1 << POSITIONS_LOG2), dtype=np.bool_))

    @classmethod
    def of(cls, sets: FeatureSets, streams: int) -> "Vocabulary":
        """The vocabulary of some graphs, read in so many streams."""
        vocabulary = cls.empty(streams)
        # Not all at once: sets may be larger than memory.
        for first in range(0, len(sets.codes), _FEATURES_A_PART):
            part = slice(first, first + _FEATURES_A_PART)
            vocabulary.known[sets.streams[part], positions(sets.codes[part])] = True
        return vocabulary

    def knows(self, sets: FeatureSets) -> Mask:
        """Whether each feature is in it: shape (features,)."""
        is_known: Mask = self.known[sets.streams, positions(sets.codes)]
        return is_known


def positions(codes: Codes) -> Integers:
    """Position of each feature within its stream: shape (features,)."""
    return (codes >> np.uint64(64 - POSITIONS_LOG2)).astype(np.int64)
