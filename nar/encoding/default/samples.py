"""What the default encoder learns from: features of motifs, of their contexts, and of graphs."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.encoding.batches import runs
from nar.encoding.targets import Targets
from nar.graph import ComputationalGraph
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import FeatureSets, feature_sets, joined, motif_feature_sets
from nar.motifs.macro_graph import MacroGraph, macro_graph
from nar.motifs.partition import MotifPartition
from nar.motifs.splitting import split_all

CONTEXTS_A_MOTIF = 8
NODES_A_RUN = 300_000


@dataclass(frozen=True, slots=True, eq=False)
class MotifOccurrences:
    """Motifs as they occur: few of each type, each in other surroundings.

    Attributes:
        sets: Features of every motif type of every graph that some occurrence reads.
        codes: Shape (occurrences,), motif type, ascending.
        motifs: Shape (occurrences,), row of ``sets`` that is the motif.
        neighbours: Rows of ``sets`` around each, at least one.
        context_codes: Shape (occurrences,), equal for equal surroundings.
    """

    sets: FeatureSets
    codes: NDArray[np.uint64]
    motifs: NDArray[np.int64]
    neighbours: tuple[NDArray[np.int64], ...]
    context_codes: NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSamples:
    """A corpus as the default encoder reads it.

    Attributes:
        graphs: Features of every architecture.
        motifs: Stage 1 learns from them.
        targets: Of each architecture; stage 2 aims at them.
        config: How the graphs were cut.
    """

    graphs: FeatureSets
    motifs: MotifOccurrences
    targets: Targets
    config: MotifConfig


def collect_feature_samples(
    graphs: Sequence[ComputationalGraph], targets: Targets, config: MotifConfig
) -> FeatureSamples:
    """Cut canonical graphs into motifs and keep what occurs, however often.

    Of a motif type at most ``CONTEXTS_A_MOTIF`` surroundings are kept, the first that occur.
    """
    reader = FeatureReader(config)
    for part in runs([graph.nodes for graph in graphs], NODES_A_RUN):
        reader.read(graphs[part])
    return reader.samples(targets)


class FeatureReader:
    """Features of graphs, as more and more of them are seen and forgotten."""

    def __init__(self, config: MotifConfig) -> None:
        self._config = config
        self._graphs: list[FeatureSets] = []
        self._motifs = _MotifReader(config)

    def read(self, graphs: Sequence[ComputationalGraph]) -> None:
        """Take some more canonical graphs."""
        cut = split_all(graphs, self._config)
        self._graphs.append(feature_sets(cut, border_widths=self._config.border_widths))
        self._motifs.read(cut)

    def samples(self, targets: Targets) -> FeatureSamples:
        """Of all graphs, whose targets these are."""
        return FeatureSamples(
            joined(self._graphs), self._motifs.occurrences(), targets, self._config
        )


def motif_occurrences(cut: Sequence[MotifPartition], config: MotifConfig) -> MotifOccurrences:
    """What stage 1 learns from graphs that are cut already."""
    reader = _MotifReader(config)
    for part in runs([partition.graph.nodes for partition in cut], NODES_A_RUN):
        reader.read(cut[part])
    return reader.occurrences()


class _MotifReader:
    """Motif types with their surroundings, as more and more graphs are seen."""

    def __init__(self, config: MotifConfig) -> None:
        self._config = config
        self._sets: list[FeatureSets] = []
        self._rows = 0
        self._contexts: defaultdict[int, dict[int, tuple[int, NDArray[np.int64]]]] = defaultdict(
            dict
        )

    def read(self, cut: Sequence[MotifPartition]) -> None:
        """Take the motifs of some more graphs."""
        sets, owners = motif_feature_sets(cut, border_widths=self._config.border_widths)
        for partition, types in zip(cut, owners, strict=True):
            self._add(macro_graph(partition), types)
        self._sets.append(sets)
        self._rows += sets.count

    def _add(self, macro: MacroGraph, types: NDArray[np.int64]) -> None:
        """Take the motif types of a graph whose rows of the next sets are ``types``."""
        for motif, around in _surroundings(macro, types):
            code = int(macro.motif_codes[motif])
            contexts = self._contexts[code]
            context = hash(tuple(sorted(set(macro.motif_codes[around].tolist()))))
            if len(contexts) < CONTEXTS_A_MOTIF and context not in contexts:
                rows = np.unique(types[around]) + self._rows
                contexts[context] = (int(types[motif]) + self._rows, rows)

    def occurrences(self) -> MotifOccurrences:
        """Everything, in the order of the motif types."""
        occurrences = [
            (code, context, row, around)
            for code in sorted(self._contexts)
            for context, (row, around) in self._contexts[code].items()
        ]
        return MotifOccurrences(
            joined(self._sets),
            np.array([each[0] for each in occurrences], dtype=np.uint64),
            np.array([each[2] for each in occurrences], dtype=np.int64),
            tuple(each[3] for each in occurrences),
            np.array([each[1] for each in occurrences], dtype=np.int64).view(np.uint64),
        )


def _surroundings(
    macro: MacroGraph, types: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The first motif of each type that touches another type, and the motifs around it."""
    source, target = macro.edge_index
    ends = np.concatenate([source, target])
    others = np.concatenate([target, source])
    differ = types[ends] != types[others]
    order = np.argsort(ends[differ], kind="stable")
    ends, others = ends[differ][order], others[differ][order]
    motifs, start = np.unique(ends, return_index=True)
    seen: set[int] = set()
    for motif, around in zip(motifs.tolist(), np.split(others, start)[1:], strict=True):
        if types[motif] not in seen:
            seen.add(int(types[motif]))
            yield motif, around
