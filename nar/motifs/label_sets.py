"""Label sets: which labels of Eq. 2 and which motif types occur in a graph, however often.

Three kinds of label stand side by side: neighbourhoods by operator, neighbourhoods by operator
with its attributes, each of every radius up to s, and motif types. A radius of a kind is a stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.config import LabelKind
from nar.graph import ComputationalGraph
from nar.motifs.neighbours import Labels, Wiring, mix, refine, wiring
from nar.motifs.partition import MotifPartition
from nar.ragged import Integers, slices

_ATTRIBUTE = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1B54A32D192ED03)
_GRAPH = np.uint64(0x8CB92BA72F3D8DD7)


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


def stream_kinds(steps: int) -> tuple[LabelKind, ...]:
    """The kind of each stream, with neighbourhoods of every radius up to ``steps``."""
    of_nodes: list[LabelKind] = ["operators", "attributes"]
    return (*(kind for kind in of_nodes for _ in range(steps + 1)), "motifs")


def label_sets(partitions: Sequence[MotifPartition], steps: int) -> LabelSets:
    """The labels of canonical graphs and of their motifs.

    Args:
        partitions: At least one graph, cut into motifs.
        steps: s of Eq. 2.
    """
    graphs = [partition.graph for partition in partitions]
    of_node = np.repeat(np.arange(len(graphs)), [graph.nodes for graph in graphs])
    of_motif = np.repeat(np.arange(len(graphs)), [part.motifs for part in partitions])
    every = [(of_node, labels) for labels in node_labels(graphs, steps)]
    every.append((of_motif, np.concatenate([part.motif_codes for part in partitions])))
    return _together([_distinct(*each) for each in every], len(graphs))


def motif_label_sets(
    partitions: Sequence[MotifPartition], steps: int
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
    every = [(of_node, labels) for labels in node_labels(graphs, steps)]
    every.append((np.arange(count), np.concatenate(codes)))
    return _together([_distinct(*each) for each in every], count), sets


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


def node_labels(graphs: Sequence[ComputationalGraph], steps: int) -> list[Labels]:
    """Labels of every node, of each kind and radius: arrays of shape (nodes of all graphs,)."""
    wires = wiring(graphs)
    operators = mix(wires.op_ids.astype(np.uint64))
    return [
        labels
        for first in (operators, _with_attributes(operators, graphs))
        for labels in _refined(first, wires, steps)
    ]


def _refined(labels: Labels, wires: Wiring, steps: int) -> list[Labels]:
    """C^0 to C^s."""
    found = [labels]
    for _ in range(steps):
        found.append(refine(found[-1], wires, 1))
    return found


def _with_attributes(labels: Labels, graphs: Sequence[ComputationalGraph]) -> Labels:
    attributes = np.concatenate([graph.attributes for graph in graphs]).astype(np.int64)
    for column in attributes.T:
        labels = mix(labels + column.astype(np.uint64) * _ATTRIBUTE)
    return labels


def _distinct(
    graph: NDArray[np.int64], labels: Labels
) -> tuple[NDArray[np.int64], Labels, NDArray[np.float32]]:
    """Each label of each graph once, with the weight that makes a graph's a unit vector."""
    # One sort of mixed keys instead of one by two columns.
    _, first = np.unique(mix(labels + graph.astype(np.uint64) * _GRAPH), return_index=True)
    first.sort()
    graph = graph[first]
    weights = 1 / np.sqrt(np.bincount(graph)[graph])
    return graph, labels[first], weights.astype(np.float32)


def _together(
    streams: Sequence[tuple[NDArray[np.int64], Labels, NDArray[np.float32]]], graphs: int
) -> LabelSets:
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
