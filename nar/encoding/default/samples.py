"""Samples of the default encoder: features of motifs, of their contexts, and of graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from nar.encoding.collecting import NODES_A_CHUNK, Spool, Targets
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import Codes
from nar.graphs.ragged import Integers, offsets, ranks, slices, slices_within
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import FeatureSets, feature_sets, motif_feature_sets
from nar.motifs.partition import MacroGraph, MotifPartition, macro_graph, split_all

# Chosen: an epoch reads one context for each motif type, and there are few epochs.
CONTEXTS_A_MOTIF = 8


@dataclass(frozen=True, slots=True, eq=False)
class MotifOccurrences:
    """Motifs as they occur: a few of each type, each in a different context.

    Attributes:
        sets: Features of every motif type of every graph.
        codes: Shape (occurrences,), motif type, ascending.
        motifs: Shape (occurrences,), row of ``sets`` that is the motif.
        context_codes: Shape (occurrences,), equal for equal contexts.
        neighbours: Rows of ``sets`` around each occurrence, at least one, in order.
        start: Shape (occurrences + 1,), where the neighbours of an occurrence begin.
    """

    sets: FeatureSets
    codes: Codes
    motifs: Integers
    context_codes: Codes
    neighbours: Integers
    start: Integers

    def around(self, occurrences: Integers) -> tuple[Integers, Integers]:
        """Rows around some of the occurrences, and where the rows of each occurrence begin."""
        places, start = slices(self.start, occurrences)
        return self.neighbours[places], start


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSamples:
    """A corpus as the default encoder reads it.

    Attributes:
        graphs: Features of every architecture.
        motifs: Samples of stage 1.
        targets: Targets of stage 2, of each architecture.
        config: How the graphs were cut.
    """

    graphs: FeatureSets
    motifs: MotifOccurrences
    targets: Targets
    config: MotifConfig


def collect_feature_samples(
    graphs: Sequence[ComputationalGraph], targets: Targets, config: MotifConfig
) -> FeatureSamples:
    """Cut canonical graphs into motifs and keep their features, each once.

    Of a motif type at most ``CONTEXTS_A_MOTIF`` contexts are kept, the first that occur.
    """
    reader = FeatureReader(config)
    for part in slices_within([graph.nodes for graph in graphs], NODES_A_CHUNK):
        reader.read(graphs[part])
    return reader.samples(targets)


class FeatureReader:
    """Reads the features of graphs onto disk, and does not keep the graphs."""

    def __init__(self, config: MotifConfig) -> None:
        self._config = config
        self._graphs = _Sets()
        self._motifs = _MotifReader(config)

    def read(self, graphs: Sequence[ComputationalGraph]) -> None:
        """Read some more canonical graphs."""
        cut = split_all(graphs, self._config)
        self._graphs.append(feature_sets(cut, border_widths=self._config.border_widths))
        self._motifs.read(cut)

    def samples(self, targets: Targets) -> FeatureSamples:
        """The samples of all graphs, with the targets of the graphs."""
        return FeatureSamples(
            self._graphs.whole(), self._motifs.occurrences(), targets, self._config
        )


def motif_occurrences(cut: Sequence[MotifPartition], config: MotifConfig) -> MotifOccurrences:
    """The samples of stage 1 from graphs that are cut already."""
    reader = _MotifReader(config)
    for part in slices_within([partition.graph.nodes for partition in cut], NODES_A_CHUNK):
        reader.read(cut[part])
    return reader.occurrences()


class _Sets:
    """Feature sets that are laid end to end on disk."""

    def __init__(self) -> None:
        self._codes, self._aspects = Spool(np.uint64), Spool(np.uint8)
        self._weights, self._sizes = Spool(np.float32), Spool(np.int64)
        self.count = 0

    def append(self, sets: FeatureSets) -> None:
        """Append some more sets."""
        self._codes.append(sets.codes)
        self._aspects.append(sets.aspects)
        self._weights.append(sets.weights)
        self._sizes.append(np.diff(sets.start))
        self.count += sets.count

    def whole(self) -> FeatureSets:
        """All sets; their arrays stay on disk."""
        return FeatureSets(
            self._codes.array(),
            self._aspects.array(),
            self._weights.array(),
            offsets(self._sizes.array()),
        )


class _MotifReader:
    """Reads motif types with their contexts onto disk."""

    def __init__(self, config: MotifConfig) -> None:
        self._config = config
        self._sets = _Sets()
        self._codes, self._contexts = Spool(np.uint64), Spool(np.uint64)
        self._motifs, self._neighbours, self._sizes = (Spool(np.int64) for _ in range(3))

    def read(self, cut: Sequence[MotifPartition]) -> None:
        """Read the motifs of some more graphs."""
        sets, owners = motif_feature_sets(cut, border_widths=self._config.border_widths)
        for partition, types in zip(cut, owners, strict=True):
            self._add(macro_graph(partition), types + self._sets.count)
        self._sets.append(sets)

    def _add(self, macro: MacroGraph, types: Integers) -> None:
        """Add the motif types of a graph; ``types`` are their rows among all sets."""
        motifs: list[int] = []
        contexts: list[int] = []
        neighbours: list[list[int]] = []
        for motif, around in _surroundings(macro, types):
            motifs.append(motif)
            contexts.append(hash(tuple(sorted(set(macro.motif_codes[around].tolist())))))
            neighbours.append(sorted(set(types[around].tolist())))
        chosen = np.array(motifs, dtype=np.int64)
        self._codes.append(macro.motif_codes[chosen])
        self._contexts.append(np.array(contexts, dtype=np.int64).view(np.uint64))
        self._motifs.append(types[chosen])
        self._neighbours.append(np.fromiter(chain.from_iterable(neighbours), np.int64))
        self._sizes.append(np.array([len(rows) for rows in neighbours], dtype=np.int64))

    def occurrences(self) -> MotifOccurrences:
        """A few occurrences of each motif type, in the order of the types."""
        codes, contexts = self._codes.array(), self._contexts.array()
        kept = _first_contexts(codes, contexts)
        places, start = slices(offsets(self._sizes.array()), kept)
        return MotifOccurrences(
            self._sets.whole(),
            codes[kept],
            self._motifs.array()[kept],
            contexts[kept],
            self._neighbours.array()[places],
            start,
        )


def _first_contexts(codes: Codes, contexts: Codes) -> Integers:
    """The first few occurrences of each motif type whose contexts differ.

    Args:
        codes: Shape (occurrences,), motif types.
        contexts: Shape (occurrences,), codes of the contexts.

    Returns:
        Places of occurrences, by the code of the type, then in the order of occurrence.
    """
    order = np.lexsort((contexts, codes))  # equal pairs keep their order
    repeats = (np.diff(codes[order]) == 0) & (np.diff(contexts[order]) == 0)
    distinct = np.sort(np.delete(order, np.flatnonzero(repeats) + 1))
    by_type = distinct[np.argsort(codes[distinct], kind="stable")]
    _, sizes = np.unique(codes[by_type], return_counts=True)
    return by_type[ranks(sizes) < CONTEXTS_A_MOTIF]


def _surroundings(macro: MacroGraph, types: Integers) -> Iterator[tuple[int, Integers]]:
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
