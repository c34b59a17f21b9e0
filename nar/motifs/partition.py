"""Motifs: the repeated units of a computational graph (paper, section 3.2).

A graph in canonical order is cut where its flow of data is narrow (`nar.motifs.pieces`); pieces
that repeat, by their Eq. 2 codes, grow into blocks; nodes outside of blocks form connected
remainders of bounded size. Takes time linear in nodes and edges, but for sorting codes.

      input ─> conv ─> relu ─> conv ─> relu ─> linear

      node_to_motif    0  1  1  2  2  3
      motif_codes      A  B  B  C          motifs 1 and 2 are of one type

Beside it stand the baselines of the paper (section 4.4, Table 2; small sizes for the drawing):

      input    conv    relu    conv    relu    linear
        A        A       B       B       C       C        by nodes, two a motif
        A        A       A       B       B       B        by motifs, two a graph
        A        B       B       B       C       C        at random, of one to three nodes

A partition gives graphs: motifs, their contexts, and the macro graph (sections 3.3 and 3.4):

      motif_subgraph(partition, 1)         conv ─> relu
      context_subgraph(partition, 1, 1)    input ─> conv ─> relu ─> conv
      macro_graph(partition)               A ─> B ─> B ─> C

Nodes of motifs and contexts stand in canonical order; parameters and FLOPs are not counted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs import kernel
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import POSITION, Codes, operator_codes, salted
from nar.graphs.ops import op_name
from nar.graphs.ragged import offsets, ranks
from nar.motifs.borders import kernel_properties
from nar.motifs.config import MotifConfig, Splitting
from nar.motifs.neighbours import Wiring, refine, wiring
from nar.motifs.pieces import (
    MAX_ROUNDS,
    MAX_SLOT,
    Starts,
    cut,
    flow,
    group_codes,
    grow,
    lengths,
    piece_codes,
    repeated,
)

_DEFAULT = MotifConfig()

# Settings of the baselines, all chosen: the paper prints none, and blocks of real networks have 5
# to 30 operators.
NODES_A_MOTIF: Final = 12
MOTIFS_A_GRAPH: Final = 16  # 12 nodes each in a network of 192 operators
RANDOM_NODES: Final = (4, 20)  # fewest and most; 12 on average, as above
RANDOM_SEED: Final = 0  # any fixed seed gives a graph the same motifs in every run

# s of Eq. 2 for the codes of a baseline: the default of `MotifConfig.steps`.
_STEPS = 2


@dataclass(frozen=True, slots=True, eq=False)
class MotifPartition:
    """Every node in exactly one motif.

    Attributes:
        graph: The canonical graph.
        node_to_motif: Shape (nodes,), int32. Motifs are numbered by their first node.
        motif_codes: Shape (motifs,), uint64. Motifs with equal codes are of one type: the
            same operators in the same inner wiring.
    """

    graph: ComputationalGraph
    node_to_motif: NDArray[np.int32]
    motif_codes: Codes

    @property
    def motifs(self) -> int:
        """Number of motifs, repetitions included."""
        return len(self.motif_codes)

    def counts(self) -> dict[int, int]:
        """How often each motif type occurs, in the order of first occurrence."""
        counts: dict[int, int] = {}
        for code in self.motif_codes.tolist():
            counts[code] = counts.get(code, 0) + 1
        return counts

    def by_share(self) -> list[int]:
        """Codes of the motif types, the largest share of nodes first; equals by occurrence."""
        shares: dict[int, int] = dict.fromkeys(self.counts(), 0)
        sizes = np.bincount(self.node_to_motif, minlength=self.motifs).tolist()
        for code, size in zip(self.motif_codes.tolist(), sizes, strict=True):
            shares[code] += size
        return sorted(shares, key=lambda code: -shares[code])

    def operators(self, code: int) -> list[str]:
        """Operators of one motif type, in canonical order."""
        motif = self.motif_codes.tolist().index(code)
        identifiers: list[int] = self.graph.op_ids[self.node_to_motif == motif].tolist()
        return [op_name(identifier) for identifier in identifiers]


def partition(graph: ComputationalGraph, config: MotifConfig = _DEFAULT) -> MotifPartition:
    """Find the motifs of one canonical graph."""
    return partition_all([graph], config)[0]


def partition_all(
    graphs: Sequence[ComputationalGraph], config: MotifConfig = _DEFAULT
) -> list[MotifPartition]:
    """Find the motifs of many canonical graphs at once; each is cut as if it came alone.

    Laid end to end, small graphs share the cost of each vector step.
    """
    compiled = kernel.compiled()
    if compiled is not None:
        return [_cut_compiled(graph, compiled, config) for graph in graphs]
    if not graphs:
        return []
    wires = wiring(graphs)
    graph_of_node = np.repeat(np.arange(len(graphs)), [graph.nodes for graph in graphs])
    borders = flow(wires, graph_of_node)
    starts, codes = cut(wires, borders, config.steps)
    starts = grow(starts, codes, borders)
    groups = _with_remainders(wires, starts, graph_of_node, config)
    return _partitions(graphs, wires, groups, config.steps)


def _cut_compiled(
    graph: ComputationalGraph, compiled: kernel.Kernel, config: MotifConfig
) -> MotifPartition:
    op_ids = np.ascontiguousarray(graph.op_ids, dtype=np.uint16)
    edges = np.ascontiguousarray(graph.edge_index, dtype=np.int32)
    rules = _cut_rules(compiled, config.steps, config.max_remainder_nodes)
    return MotifPartition(graph, *compiled.cut(op_ids, edges, kernel_properties(), rules))


@cache
def _cut_rules(compiled: kernel.Kernel, steps: int, max_remainder: int) -> object:
    return compiled.CutRules(
        salts=kernel.salts(compiled),
        steps=steps,
        max_remainder=max_remainder,
        max_slot=MAX_SLOT,
        max_rounds=MAX_ROUNDS,
    )


def to_partition(
    graph: ComputationalGraph, groups: NDArray[np.int64], steps: int
) -> MotifPartition:
    """The partition that puts nodes of equal group into one motif.

    Args:
        graph: Canonical graph.
        groups: Shape (nodes,), small integers from 0 on.
        steps: s of Eq. 2 for the motif codes.
    """
    return _partitions([graph], wiring([graph]), groups, steps)[0]


def _with_remainders(
    wires: Wiring, starts: Starts, graph: NDArray[np.int64], config: MotifConfig
) -> NDArray[np.int64]:
    """Group of each node: its block, or its part of a remainder."""
    nodes = len(wires.op_ids)
    sizes = lengths(starts, nodes)
    is_block = repeated(piece_codes(wires, starts, config.steps), graph[starts]) & (sizes > 1)
    block = np.repeat(np.arange(len(starts)), sizes)
    loose = np.repeat(~is_block, sizes)
    chunk = _chunks(loose, graph, config.max_remainder_nodes)
    linked = loose[wires.source] & loose[wires.target]
    linked &= chunk[wires.source] == chunk[wires.target]
    ends = (wires.source[linked], wires.target[linked])
    return np.where(loose, len(starts) + _components(nodes, *ends), block).astype(np.int64)


def _components(
    nodes: int, source: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The least node that each node is connected to, along edges in either direction.

    In each round every node takes the least of its neighbours, then of whom it points to: a chain
    of n nodes is done in some log2(n) rounds.
    """
    least = np.arange(nodes)
    while True:
        lower = np.minimum(least[source], least[target])
        pulled = least.copy()
        # Whom a node pointed to takes the lower one as well, or only neighbours would move on.
        for ends in (source, target, least[source], least[target]):
            np.minimum.at(pulled, ends, lower)
        pulled = pulled[pulled]
        if np.array_equal(pulled, least):
            return least
        least = pulled


def _chunks(
    loose: NDArray[np.bool_], graph: NDArray[np.int64], max_nodes: int
) -> NDArray[np.int64]:
    """Number consecutive loose nodes of one graph, ``max_nodes`` to a chunk."""
    index = np.arange(len(loose))
    opens = loose & (np.diff(graph, prepend=-1) != 0)
    opens[1:] |= loose[1:] & ~loose[:-1]
    first = np.maximum.accumulate(np.where(opens, index, 0))
    return first * len(loose) + (index - first) // max_nodes


def _partitions(
    graphs: Sequence[ComputationalGraph], wires: Wiring, groups: NDArray[np.int64], steps: int
) -> list[MotifPartition]:
    index = np.arange(len(groups))
    first = np.empty(int(groups.max()) + 1, dtype=np.int64)
    first[groups[::-1]] = index[::-1]  # the last write stays: the first node of each group
    motif = (np.cumsum(first[groups] == index) - 1)[first[groups]]
    codes = group_codes(wires, motif, _ranks(motif), steps)
    result = []
    node = 0
    for graph in graphs:
        of_graph = motif[node : node + graph.nodes]
        low, high = int(of_graph.min()), int(of_graph.max())
        result.append(
            MotifPartition(graph, (of_graph - low).astype(np.int32), codes[low : high + 1])
        )
        node += graph.nodes
    return result


def _ranks(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank of each node among the nodes of its group."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    is_first = np.ones(len(group), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    index = np.arange(len(group))
    first = np.maximum.accumulate(np.where(is_first, index, 0))
    ranks = np.empty(len(group), dtype=np.int64)
    ranks[order] = index - first
    return ranks


def split_by_node_number(graph: ComputationalGraph, nodes_per_motif: int) -> MotifPartition:
    """Motifs of the same number of nodes: large networks get more motifs."""
    return to_partition(graph, np.arange(graph.nodes) // nodes_per_motif, _STEPS)


def split_by_motif_number(graph: ComputationalGraph, motifs: int) -> MotifPartition:
    """The same number of motifs for every network; a motif for each node if it has fewer nodes."""
    wanted = min(motifs, graph.nodes)
    return to_partition(graph, np.arange(graph.nodes) * wanted // graph.nodes, _STEPS)


def split_randomly(
    graph: ComputationalGraph, *, min_nodes: int, max_nodes: int, seed: int
) -> MotifPartition:
    """Motifs of random sizes between two bounds; only the last may be smaller."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(min_nodes, max_nodes + 1, size=graph.nodes // min_nodes + 1)
    groups = np.repeat(np.arange(len(sizes)), sizes)[: graph.nodes]
    return to_partition(graph, groups, _STEPS)


_BASELINES: Final[Mapping[Splitting, Callable[[ComputationalGraph], MotifPartition]]] = {
    "node_number": lambda graph: split_by_node_number(graph, NODES_A_MOTIF),
    "motif_number": lambda graph: split_by_motif_number(graph, MOTIFS_A_GRAPH),
    "random": lambda graph: split_randomly(
        graph, min_nodes=RANDOM_NODES[0], max_nodes=RANDOM_NODES[1], seed=RANDOM_SEED
    ),
}


def split_all(graphs: Sequence[ComputationalGraph], config: MotifConfig) -> list[MotifPartition]:
    """Cut canonical graphs into motifs, by the splitting of the settings."""
    if config.splitting == "repeats":
        return partition_all(graphs, config)
    return [_BASELINES[config.splitting](graph) for graph in graphs]


@dataclass(frozen=True, slots=True, eq=False)
class MacroGraph:
    """A computational graph with every motif as one node.

    Attributes:
        motif_codes: Shape (motifs,), uint64, motif type of each node.
        edge_index: Shape (2, links), int32, from the motif that makes a value to a motif that reads
            it, each ordered pair once.
    """

    motif_codes: Codes
    edge_index: NDArray[np.int32]


def macro_graph(partition: MotifPartition) -> MacroGraph:
    """Link two motifs when they overlap.

    A motif covers its nodes together with the edges at its border, as the neighbour encoding does.
    Two motifs overlap in exactly the edges that lead from one to the other.
    """
    ends = partition.node_to_motif[partition.graph.edge_index].astype(np.int64)
    source, target = ends[:, ends[0] != ends[1]]
    pairs = np.unique(source * partition.motifs + target)
    edge_index = np.stack([pairs // partition.motifs, pairs % partition.motifs])
    return MacroGraph(partition.motif_codes, edge_index.astype(np.int32))


def motif_subgraph(partition: MotifPartition, motif: int) -> ComputationalGraph:
    """G_s: the nodes of one motif and the edges among them."""
    return _induced(partition.graph, np.flatnonzero(partition.node_to_motif == motif))


def context_subgraph(partition: MotifPartition, motif: int, hops: int) -> ComputationalGraph:
    """G_c: a motif together with its ``hops``-hop neighbours, along edges of either direction."""
    is_member = partition.node_to_motif == motif
    source, target = partition.graph.edge_index
    for _ in range(hops):
        touched = is_member[source] | is_member[target]
        is_member = is_member.copy()
        is_member[source[touched]] = True
        is_member[target[touched]] = True
    return _induced(partition.graph, np.flatnonzero(is_member))


def structure_codes(graphs: Sequence[ComputationalGraph]) -> Codes:
    """Hashes of operators and wiring, of all graphs in one pass: small graphs take little time.

    Args:
        graphs: At least one graph; no graph is empty.

    Returns:
        Shape (graphs,), uint64. Graphs with equal codes have equal structure.
    """
    wires = wiring(graphs)
    of_node = refine(operator_codes(wires.op_ids), wires, steps=2)
    sizes = [graph.nodes for graph in graphs]
    codes: Codes = np.add.reduceat(salted(of_node, ranks(sizes), POSITION), offsets(sizes)[:-1])
    return codes


def _induced(graph: ComputationalGraph, nodes: NDArray[np.int64]) -> ComputationalGraph:
    number = np.full(graph.nodes, -1, dtype=np.int32)
    number[nodes] = np.arange(len(nodes), dtype=np.int32)
    ends = number[graph.edge_index]
    edge_index = np.ascontiguousarray(ends[:, (ends >= 0).all(axis=0)])
    return ComputationalGraph(graph.op_ids[nodes], graph.attributes[nodes], edge_index)
