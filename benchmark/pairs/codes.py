"""Pairs of architectures as numbers: what they share of each kind of exact code, and their sizes.

Of a query that has 40 rare paths, 30 of which an answer has as well among its own 90:

    containment of the query    30 / 40      containment of the answer    30 / 90
    Jaccard                     30 / 100     all weighed by how rare each code is
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.tasks.questions import Numbers
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import Codes
from nar.graphs.ragged import owners, slices
from nar.motifs.feature_sets import ASPECT_KINDS, FeatureSets

Values = NDArray[np.float32]

KINDS: Final = len(ASPECT_KINDS)
SHARED: Final = 3 * KINDS  # both containments and Jaccard
SIZES: Final = 8  # larger, smaller by nodes, parameters, FLOPs, codes


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Codes that were learned from, and how rare each is.

    Attributes:
        codes: Shape (codes,), ascending.
        rarity: Shape (codes + 1,), log of the inverse share of learned architectures that have a
            code; the last is for codes that none has.
    """

    codes: Codes
    rarity: Values

    @classmethod
    def of(cls, sets: FeatureSets) -> "Vocabulary":
        """The codes of some architectures."""
        codes, having = np.unique(sets.codes, return_counts=True)
        rarity = np.log1p(sets.count / np.append(having, 1)).astype(np.float32)
        return cls(codes, rarity)

    def numbers(self, codes: Codes) -> Numbers:
        """Number of each code; the number of codes for those that are unknown."""
        place = np.searchsorted(self.codes, codes)
        is_known = self.codes[np.minimum(place, len(self.codes) - 1)] == codes
        return np.where(is_known, place, len(self.codes)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Architectures by their codes.

    Attributes:
        codes: Shape (occurrences,), of one architecture after the other.
        kinds: Shape (occurrences,), kind of each.
        rarity: Shape (occurrences,).
        start: Shape (architectures + 1,), where those of each begin.
        totals: Shape (architectures, kinds), sum of rarities.
        sizes: Shape (architectures, 4), logs of nodes, parameters, FLOPs and number of codes.
    """

    codes: Codes
    kinds: NDArray[np.uint8]
    rarity: Values
    start: Numbers
    totals: Values
    sizes: Values

    @classmethod
    def of(
        cls, sets: FeatureSets, graphs: Sequence[ComputationalGraph], vocabulary: Vocabulary
    ) -> "Coded":
        """Architectures whose features were read."""
        rarity = vocabulary.rarity[vocabulary.numbers(sets.codes)]
        key = sets.graph() * KINDS + sets.aspects
        totals = np.bincount(key, rarity, minlength=sets.count * KINDS)
        having = np.diff(sets.start)
        counts = [(graph.nodes, graph.parameters, graph.flops) for graph in graphs]
        sizes = np.log1p(np.column_stack([np.array(counts, dtype=np.float64), having]))
        return cls(
            sets.codes,
            sets.aspects,
            rarity,
            sets.start,
            totals.reshape(sets.count, KINDS).astype(np.float32),
            sizes.astype(np.float32),
        )

    def compared(self, query: int, others: "Coded", items: Numbers) -> Values:
        """A query beside some architectures.

        Args:
            query: Which of these asks.
            others: Who answers.
            items: Shape (items,), which of them.

        Returns:
            Shape (items, `SHARED` + `SIZES`).
        """
        own = np.sort(self.codes[self.start[query] : self.start[query + 1]])
        chosen, start = slices(others.start, items)
        codes = others.codes[chosen]
        place = np.minimum(np.searchsorted(own, codes), len(own) - 1)
        shared = np.where(own[place] == codes, others.rarity[chosen], 0)
        key = owners(np.diff(start)) * KINDS + others.kinds[chosen]
        both = np.bincount(key, shared, minlength=len(items) * KINDS).reshape(-1, KINDS)
        mine, theirs = self.totals[query], others.totals[items]
        either = mine + theirs - both
        apart = others.sizes[items] - self.sizes[query]
        columns = [
            *(both / np.maximum(whole, 1) for whole in (mine, theirs, either)),
            np.maximum(apart, 0),
            np.maximum(-apart, 0),
        ]
        return np.concatenate(columns, axis=1).astype(np.float32)
