"""Motifs and their context graphs as small graphs of their own (paper, section 3.4)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nar.graph import ComputationalGraph
from nar.motifs.neighbours import mix, refine, wiring
from nar.motifs.partition import MotifPartition

_MEMBER = np.uint64(0x589965CC75374CC3)


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """An induced part of a computational graph, its nodes in canonical order.

    Attributes:
        op_ids: Shape (nodes,), uint16.
        edge_index: Shape (2, edges), int32.
        code: Hash of operators and wiring: equal codes are structurally equal.
    """

    op_ids: NDArray[np.uint16]
    edge_index: NDArray[np.int32]
    code: int


def motif_subgraph(partition: MotifPartition, motif: int) -> Subgraph:
    """G_s: the nodes of one motif and the edges among them."""
    return _induced(partition.graph, np.flatnonzero(partition.node_to_motif == motif))


def context_subgraph(partition: MotifPartition, motif: int, hops: int) -> Subgraph:
    """G_c: a motif together with its ``hops``-hop neighbours, along edges of either direction."""
    is_member = partition.node_to_motif == motif
    source, target = partition.graph.edge_index
    for _ in range(hops):
        touched = is_member[source] | is_member[target]
        is_member = is_member.copy()
        is_member[source[touched]] = True
        is_member[target[touched]] = True
    return _induced(partition.graph, np.flatnonzero(is_member))


def _induced(graph: ComputationalGraph, nodes: NDArray[np.int64]) -> Subgraph:
    number = np.full(graph.nodes, -1, dtype=np.int32)
    number[nodes] = np.arange(len(nodes), dtype=np.int32)
    ends = number[graph.edge_index]
    edge_index = np.ascontiguousarray(ends[:, (ends >= 0).all(axis=0)])
    op_ids = graph.op_ids[nodes]
    return Subgraph(op_ids, edge_index, _structure_code(graph, nodes, edge_index))


def _structure_code(
    graph: ComputationalGraph, nodes: NDArray[np.int64], edge_index: NDArray[np.int32]
) -> int:
    part = ComputationalGraph(graph.op_ids[nodes], graph.attributes[nodes], edge_index)
    wires = wiring([part])
    labels = refine(mix(wires.op_ids.astype(np.uint64)), wires, steps=2)
    position = np.arange(len(nodes), dtype=np.uint64)
    return int(mix(labels + position * _MEMBER).sum(dtype=np.uint64))
