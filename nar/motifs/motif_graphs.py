"""Graphs that a partition gives: motifs, their contexts, and the macro graph (paper, 3.3 and 3.4).

Six nodes in three motifs, the middle motif with its context of one hop, and the macro graph:

      input ─> conv ─> relu ─> conv ─> relu ─> linear
      └─ A ─┘  └──── B ────┘  └──── B ────┘  └─ C ─┘

      motif_subgraph(first B)         conv ─> relu
      context_subgraph(first B, 1)    input ─> conv ─> relu ─> conv
      macro_graph                     A ─> B ─> B ─> C

Nodes of motifs and contexts stand in canonical order; parameters and FLOPs are not counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import POSITION, Codes, operator_codes, salted
from nar.graphs.ragged import offsets, ranks
from nar.motifs.neighbours import refine, wiring
from nar.motifs.partition import MotifPartition


@dataclass(frozen=True, slots=True, eq=False)
class MacroGraph:
    """The computational graph with every motif drawn as one node.

    Attributes:
        motif_codes: Shape (motifs,), uint64, motif type of each node.
        edge_index: Shape (2, links), int32, from the motif that makes a value to one that reads it,
            each ordered pair once.
    """

    motif_codes: Codes
    edge_index: NDArray[np.int32]


def macro_graph(partition: MotifPartition) -> MacroGraph:
    """Link two motifs when they overlap.

    A motif covers its nodes together with the edges at its border, as the neighbour encoding does.
    Two motifs overlap in just those edges that lead from one to the other.
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
    """Hashes of operators and wiring, all graphs in one pass: a small one costs next to nothing.

    Args:
        graphs: At least one, none of them empty.

    Returns:
        Shape (graphs,), uint64. Equal codes are structurally equal.
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
