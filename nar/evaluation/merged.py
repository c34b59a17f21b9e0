"""Graphs whose equal nodes are merged, so that a graph network computes each of them once.

After k layers the features of a node depend on its operator, its degree and, layer by layer, those
of its neighbours: on its colour after k rounds of refinement (Weisfeiler and Leman, 1968). Layers
repeat within a network and between networks, and so do colours. A batch keeps one node a colour;
what it reads are nodes of the colours, a round before, of its neighbours. That changes no result,
up to rounding; dropout alone is drawn once for all nodes of a colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nar.graph import ComputationalGraph
from nar.motifs.neighbours import Labels, mix
from nar.ops import one_hot_columns

_NEIGHBOUR = np.uint64(0xD1B54A32D192ED03)


@dataclass(frozen=True, slots=True, eq=False)
class MergedGraph:
    """The colours of a graph; its edges lead both ways.

    Attributes:
        colours: Shape (colours,), after all rounds, ascending.
        before: Shape (colours,), of the same nodes a round before.
        columns: Shape (colours,), one-hot column of their operator.
        shares: Shape (colours,), how much of the graph has each.
        target: Shape (edges,), which colour reads.
        reads: Shape (edges,), the colour a round before of what it reads.
    """

    colours: Labels
    before: Labels
    columns: NDArray[np.int64]
    shares: NDArray[np.float32]
    target: NDArray[np.int64]
    reads: Labels


@dataclass(frozen=True, slots=True, eq=False)
class MergedBatch:
    """Some graphs with their equal nodes merged.

    Attributes:
        columns: Shape (nodes,), one-hot column of each operator.
        edge_index: Shape (2, edges), to who reads; an edge may stand more than once.
        graph: Shape (parts,), of which graph each part is.
        node: Shape (parts,), the node that it is made of.
        share: Shape (parts, 1), how much of the graph it is.
        count: Number of graphs.
    """

    columns: Tensor
    edge_index: Tensor
    graph: Tensor
    node: Tensor
    share: Tensor
    count: int

    def mean(self, features: Tensor) -> Tensor:
        """Mean over the nodes of each graph: shape (count, dim), of features (nodes, dim)."""
        means = features.new_zeros(self.count, features.shape[1])
        return means.index_add(0, self.graph, features[self.node] * self.share)


def merge(graph: ComputationalGraph, rounds: int) -> MergedGraph:
    """Colour the nodes of a graph for a network of so many layers, and keep one of each colour."""
    one_way = graph.edge_index.astype(np.int64)
    source, target = np.concatenate([one_way, one_way[::-1]], axis=1)
    order = np.argsort(target, kind="stable")
    source, target = source[order], target[order]
    columns = one_hot_columns(graph.op_ids)
    degree = np.bincount(target, minlength=graph.nodes)
    start = np.concatenate([[0], np.cumsum(degree)])
    before = colours = mix(mix(columns.astype(np.uint64)) + degree.astype(np.uint64))
    for _ in range(rounds):
        seen = np.concatenate([np.zeros(1, np.uint64), mix(colours + _NEIGHBOUR)[source]])
        sums = np.cumsum(seen, dtype=np.uint64)
        before, colours = colours, mix(mix(colours) + sums[start[1:]] - sums[start[:-1]])
    found, first, counts = np.unique(colours, return_index=True, return_counts=True)
    place = _places(graph.nodes, first)
    kept = place[target] >= 0
    return MergedGraph(
        found,
        before[first],
        columns[first],
        (counts / graph.nodes).astype(np.float32),
        place[target[kept]],
        before[source[kept]],
    )


def collate(graphs: Sequence[MergedGraph]) -> MergedBatch:
    """Lay graphs side by side and merge their equal colours."""
    sizes = np.array([len(graph.colours) for graph in graphs])
    shift = np.cumsum(sizes) - sizes
    every = np.concatenate([graph.colours for graph in graphs])
    _, first, node = np.unique(every, return_index=True, return_inverse=True)
    target = _places(len(every), first)[
        np.concatenate([graph.target + by for graph, by in zip(graphs, shift, strict=True)])
    ]
    kept = target >= 0
    reads = np.concatenate([graph.reads for graph in graphs])[kept]
    before, one = np.unique(
        np.concatenate([graph.before for graph in graphs])[first], return_index=True
    )
    source = one[np.searchsorted(before, reads)]
    columns = np.concatenate([graph.columns for graph in graphs])[first]
    shares = np.concatenate([graph.shares for graph in graphs])
    return MergedBatch(
        torch.from_numpy(columns),
        torch.from_numpy(np.stack([source, target[kept]])),
        torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)),
        torch.from_numpy(node),
        torch.from_numpy(shares)[:, None],
        len(graphs),
    )


def _places(count: int, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of so many stands among the chosen, -1 if it is not one of them."""
    place = np.full(count, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    return place
