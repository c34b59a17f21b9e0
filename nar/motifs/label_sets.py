"""Label sets: which operators, motif types and paths occur in a graph.

A graph is read in streams, from coarse to fine: operators alone, operators with their neighbours
(Eq. 2 with s = 1), operators with their attributes, motif types, and paths of two edges.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.config import LabelKind
from nar.graph import ComputationalGraph
from nar.motifs.neighbours import Labels, mix, refine, wiring
from nar.motifs.partition import MotifPartition
from nar.motifs.paths import levels, paths
from nar.ragged import Integers, slices

_log = logging.getLogger(__name__)
_ATTRIBUTE = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1B54A32D192ED03)
_GRAPH = np.uint64(0x8CB92BA72F3D8DD7)


# Kind of each stream. Wider neighbourhoods, or those with attributes, know a family by heart.
STREAM_KINDS: Final[tuple[LabelKind, ...]] = (
    "operators",
    "operators",
    "attributes",
    "motifs",
    "paths",
)


@dataclass(frozen=True, slots=True, eq=False)
class LabelSets:
    """Distinct labels of graphs laid end to end.

    Attributes:
        labels: Shape (labels,), uint64. Labels of different streams are different.
        streams: Shape (labels,), int64, stream of each.
        weights: Shape (labels,), float32: those of one stream of one graph make a vector of
            length 1, those of a graph one of length 1 as well.
        start: Shape (graphs + 1,), where the labels of each graph begin.
    """

    labels: Labels
    streams: Integers
    weights: NDArray[np.float32]
    start: Integers

    @property
    def count(self) -> int:
        """Number of graphs."""
        return len(self.start) - 1

    def take(self, graphs: Integers) -> "LabelSets":
        """The labels of some of the graphs, in their order."""
        places, start = slices(self.start, graphs)
        return LabelSets(self.labels[places], self.streams[places], self.weights[places], start)

    def graph(self) -> NDArray[np.int64]:
        """Shape (labels,), graph of each label."""
        return np.repeat(np.arange(self.count), np.diff(self.start))


def label_sets(partitions: Sequence[MotifPartition]) -> LabelSets:
    """The labels of canonical graphs and of their motifs.

    Args:
        partitions: At least one graph, cut into motifs.
    """
    graphs = [partition.graph for partition in partitions]
    of_node = np.repeat(np.arange(len(graphs)), [graph.nodes for graph in graphs])
    of_motif = np.repeat(np.arange(len(graphs)), [part.motifs for part in partitions])
    codes = np.concatenate([part.motif_codes for part in partitions])
    return _sets(graphs, of_node, (of_motif, codes), len(graphs))


def motif_label_sets(
    partitions: Sequence[MotifPartition],
) -> tuple[LabelSets, list[NDArray[np.int64]]]:
    """The labels inside each motif type of each graph, as `label_sets` gives them for graphs.

    Returns:
        The sets, and for each graph the set of each of its motifs: shape (motifs,).
    """
    sets: list[NDArray[np.int64]] = []
    codes: list[Labels] = []
    count = 0
    for partition in partitions:
        types, number = np.unique(partition.motif_codes, return_inverse=True)
        sets.append(number + count)
        codes.append(types)
        count += len(types)
    graphs = [partition.graph for partition in partitions]
    of_node = np.concatenate(
        [own[partition.node_to_motif] for own, partition in zip(sets, partitions, strict=True)]
    )
    motifs = (np.arange(count), np.concatenate(codes))
    return _sets(graphs, of_node, motifs, count), sets


def joined(parts: Sequence[LabelSets]) -> LabelSets:
    """Sets one after the other."""
    shift = np.cumsum([0, *(len(part.labels) for part in parts)])
    starts = [part.start[:-1] + before for part, before in zip(parts, shift, strict=False)]
    return LabelSets(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.streams for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([*starts, shift[-1:]]),
    )


def _sets(
    graphs: Sequence[ComputationalGraph],
    of_node: Integers,
    motifs: tuple[Integers, Labels],
    count: int,
) -> LabelSets:
    """The sets of so many owners, given the owner of each node, and motifs with theirs."""
    wires = wiring(graphs)
    operators = mix(wires.op_ids.astype(np.uint64))
    attributes = _with_attributes(operators, graphs)
    found = paths(attributes, wires)
    if found.cut:
        _log.info("paths of %d graphs leave out %d neighbours of hubs", len(graphs), found.cut)
    # A path is where its middle is.
    walked = levels(of_node[found.middle], found)
    streams = [
        _distinct(of_node, operators),
        _distinct(of_node, refine(operators, wires, 1)),
        _distinct(of_node, attributes),
        _distinct(*motifs),
        _weighted(*walked),
    ]
    return _together(streams, count)


def _with_attributes(labels: Labels, graphs: Sequence[ComputationalGraph]) -> Labels:
    attributes = np.concatenate([graph.attributes for graph in graphs]).astype(np.int64)
    for column in attributes.T:
        labels = mix(labels + column.astype(np.uint64) * _ATTRIBUTE)
    return labels


_Stream = tuple[Integers, Labels, NDArray[np.float32]]


def _distinct(graph: Integers, labels: Labels) -> _Stream:
    """Each label of each graph once, with its weight."""
    # One sort of mixed keys instead of one by two columns.
    _, first = np.unique(mix(labels + graph.astype(np.uint64) * _GRAPH), return_index=True)
    first.sort()
    return _weighted(graph[first], labels[first])


def _weighted(graph: Integers, labels: Labels) -> _Stream:
    """With the weights that make a unit vector of each graph's labels."""
    weights = 1 / np.sqrt(np.bincount(graph)[graph])
    return graph, labels, weights.astype(np.float32)


def _together(streams: Sequence[_Stream], graphs: int) -> LabelSets:
    graph = np.concatenate([stream[0] for stream in streams])
    number = np.repeat(np.arange(len(streams)), [len(stream[0]) for stream in streams])
    labels = np.concatenate([stream[1] for stream in streams])
    weights = np.concatenate([stream[2] for stream in streams]) / np.sqrt(len(streams))
    order = np.argsort(graph, kind="stable")
    return LabelSets(
        mix(labels + number.astype(np.uint64) * _STREAM)[order],
        number[order],
        weights[order].astype(np.float32),
        np.searchsorted(graph[order], np.arange(graphs + 1)),
    )
