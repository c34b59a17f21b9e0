"""Architectures of a task by their codes, as `nar.answers.pairs` compares them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nar.answers.pairs import CodedArchitectures, Values, rarity_of
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import Codes
from nar.graphs.ragged import Integers
from nar.motifs.feature_sets import FeatureSets


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Codes that are known, and how rare each is.

    Attributes:
        codes: Shape (codes,), ascending.
        rarity: Shape (codes + 1,), log of the inverse share of known architectures that have a
            code; the last is for codes that none has.
    """

    codes: Codes
    rarity: Values

    @classmethod
    def of(cls, sets: FeatureSets) -> "Vocabulary":
        """The codes of some architectures."""
        codes, having = np.unique(sets.codes, return_counts=True)
        return cls(codes, rarity_of(having, sets.count))

    def numbers(self, codes: Codes) -> Integers:
        """Number of each code; the number of codes for those that are unknown."""
        place = np.searchsorted(self.codes, codes)
        is_known = self.codes[np.minimum(place, len(self.codes) - 1)] == codes
        return np.where(is_known, place, len(self.codes)).astype(np.int64)


def coded(
    sets: FeatureSets, graphs: Sequence[ComputationalGraph], vocabulary: Vocabulary
) -> CodedArchitectures:
    """Architectures whose features were read."""
    rarity = vocabulary.rarity[vocabulary.numbers(sets.codes)]
    counts = [(graph.nodes, graph.parameters, graph.flops) for graph in graphs]
    return CodedArchitectures.of(sets.codes, sets.aspects, rarity, sets.start, counts)
