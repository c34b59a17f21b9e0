"""Graphs whose equal nodes are merged, so that a graph network computes equal nodes once.

After k layers the features of a node depend on its own first features, its degree and, layer by
layer, the features of its neighbours: on its colour after k rounds of refinement (Weisfeiler and
Leman, 1968). Layers repeat within a network and between networks, and so do colours. For each
round, one node of each colour is kept, with the colours of the round before that it reads. Results
stay the same up to rounding; only dropout differs: it is drawn once for all nodes of a colour.

Six nodes, of which three are kept: the four relus have one colour, before and after every layer.

                ┌─> relu ─┐
      input ────┼─> relu ─┼──> add         before     input   relu   add
                ├─> relu ─┤                after      input   relu   add
                └─> relu ─┘                share      1/6     4/6    1/6
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nar.graphs.hashing import NEIGHBOUR, Codes, mix, operator_codes
from nar.graphs.ragged import Integers, offsets, owners, slices


@dataclass(frozen=True, slots=True, eq=False)
class RowGraph:
    """A graph whose nodes are rows of a table of features.

    Attributes:
        rows: Shape (nodes,), int64.
        edge_index: Shape (2, edges), int32.
    """

    rows: Integers
    edge_index: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The colours after a round, and the colours that a node of each colour reads.

    Attributes:
        own: Shape (colours,), colour of the same node a round before.
        start: Shape (colours + 1,), where the reads of a colour begin.
        source: Shape (reads,), colours a round before: of the node itself and of its neighbours.
        weight: Shape (reads,), entry of D^-1/2 (M + I) D^-1/2 of Eq. 3, edges undirected.
    """

    own: Integers
    start: Integers
    source: Integers
    weight: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class MergedGraphs:
    """Graphs in the colours of their nodes.

    Attributes:
        rows: Shape (colours,), row of the table for each colour before all rounds.
        rounds: A round for each layer of the network.
        start: Shape (graphs + 1,), where the parts of each graph begin.
        part: Shape (parts,), a colour after all rounds.
        share: Shape (parts,), how much of its graph has that colour.
    """

    rows: Integers
    rounds: tuple[Round, ...]
    start: Integers
    part: Integers
    share: NDArray[np.float32]

    @property
    def count(self) -> int:
        """Number of graphs."""
        return len(self.start) - 1

    def take(self, graphs: Integers) -> "MergedGraphs":
        """Some of the graphs, in their order, with the colours of their nodes only."""
        parts, start = slices(self.start, graphs)
        kept, part = np.unique(self.part[parts], return_inverse=True)
        rounds: list[Round] = []
        for one in reversed(self.rounds):
            reads, read_start = slices(one.start, kept)
            both = np.concatenate([one.own[kept], one.source[reads]])
            before, position = np.unique(both, return_inverse=True)
            own, source = position[: len(kept)], position[len(kept) :]
            rounds.append(Round(own, read_start, source, one.weight[reads]))
            kept = before
        return MergedGraphs(self.rows[kept], (*reversed(rounds),), start, part, self.share[parts])


def merged(graphs: Sequence[RowGraph], rounds: int) -> MergedGraphs:
    """Colour the nodes of graphs for a network of ``rounds`` layers; keep one node of each colour.

    Args:
        graphs: At least one graph.
        rounds: At least 1.
    """
    sizes = np.array([len(graph.rows) for graph in graphs])
    rows = np.concatenate([graph.rows for graph in graphs])
    reads = _reads(graphs, sizes)
    degree = np.diff(reads.start)
    colours = mix(operator_codes(rows) + degree.astype(np.uint64))
    _, first, colour = np.unique(colours, return_index=True, return_inverse=True)
    merged_rounds: list[Round] = []
    start_rows = rows[first]
    for _ in range(rounds):
        colours = _refined(colours, reads)
        _, first, after = np.unique(colours, return_index=True, return_inverse=True)
        edges, start = slices(reads.start, first)
        merged_rounds.append(
            Round(colour[first], start, colour[reads.source[edges]], reads.weight[edges])
        )
        colour = after
    return MergedGraphs(start_rows, tuple(merged_rounds), *_parts(colour, sizes))


def _reads(graphs: Sequence[RowGraph], sizes: Integers) -> Round:
    """The reads of every node, as if each node had a colour of its own."""
    nodes = int(sizes.sum())
    first = offsets(sizes)[:-1]
    shifted = [graph.edge_index + shift for graph, shift in zip(graphs, first, strict=True)]
    one, other = np.concatenate(shifted, axis=1).astype(np.int64)
    loops = np.arange(nodes)
    source = np.concatenate([one, other, loops])
    target = np.concatenate([other, one, loops])
    # np.unique would hash the keys first, which takes ten times as long.
    keys = np.sort(target * nodes + source)
    target, source = np.divmod(keys[np.diff(keys, prepend=-1) > 0], nodes)
    degree = np.bincount(target, minlength=nodes)
    weight = 1 / np.sqrt(degree[target] * degree[source])
    return Round(loops, offsets(degree), source, weight.astype(np.float32))


def _refined(colours: Codes, reads: Round) -> Codes:
    """The next colours, from the colour of each node and the set of colours that it reads."""
    seen = np.concatenate([np.zeros(1, np.uint64), mix(colours + NEIGHBOUR)[reads.source]])
    sums = np.cumsum(seen, dtype=np.uint64)
    return mix(mix(colours) + sums[reads.start[1:]] - sums[reads.start[:-1]])


def _parts(colour: Integers, sizes: Integers) -> tuple[Integers, Integers, NDArray[np.float32]]:
    """Where each graph begins, the colours in it, and the share of its nodes with each colour."""
    colours = int(colour.max()) + 1
    graph = owners(sizes)
    keys, counts = np.unique(graph * colours + colour, return_counts=True)
    graph, part = np.divmod(keys, colours)
    start = np.searchsorted(graph, np.arange(len(sizes) + 1))
    return start, part, (counts / sizes[graph]).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class GraphBatch:
    """Graphs as an encoder reads them.

    Attributes:
        x: Shape (colours, features), before the first layer.
        adjacencies: For each layer, shape (colours after it, colours before it), sparse rows:
            D^-1/2 (M + I) D^-1/2 of Eq. 3, edges undirected.
        mean: Shape (graphs, colours after the last layer), sparse rows: how much of each graph
            has each colour.
    """

    x: Tensor
    adjacencies: tuple[Tensor, ...]
    mean: Tensor


def collate(graphs: MergedGraphs, table: Tensor) -> GraphBatch:
    """Bring graphs to the device of their features.

    Args:
        graphs: Graphs merged for the number of layers of the encoder.
        table: Shape (all rows, features), the table of the graphs' rows.
    """
    device = table.device
    adjacencies = []
    width = len(graphs.rows)
    for one in graphs.rounds:
        adjacencies.append(sparse_rows(one.start, one.source, one.weight, width).to(device))
        width = len(one.own)
    return GraphBatch(
        x=table[torch.from_numpy(graphs.rows).to(device)],
        adjacencies=tuple(adjacencies),
        mean=sparse_rows(graphs.start, graphs.part, graphs.share, width).to(device),
    )


def sparse_rows(
    start: Integers, columns: Integers, values: NDArray[np.float32], width: int
) -> Tensor:
    """A sparse matrix of shape (rows, width); entries of one place are added up."""
    _accept_compressed_rows()
    return torch.sparse_csr_tensor(
        torch.from_numpy(start),
        torch.from_numpy(columns),
        torch.from_numpy(values),
        (len(start) - 1, width),
        check_invariants=False,
    )


@cache
def _accept_compressed_rows() -> None:
    """Silence torch's warning that compressed rows are in beta: only products are used here."""
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
