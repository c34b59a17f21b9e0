"""The three ways of splitting that the paper compares its motifs with (section 4.4, Table 2)."""

import numpy as np

from nar.graph import ComputationalGraph
from nar.motifs.partition import MotifPartition, to_partition

_STEPS = 2


def split_by_node_number(graph: ComputationalGraph, nodes_per_motif: int) -> MotifPartition:
    """Motifs of the same number of nodes: large networks get more of them."""
    return to_partition(graph, np.arange(graph.nodes) // nodes_per_motif, _STEPS)


def split_by_motif_number(graph: ComputationalGraph, motifs: int) -> MotifPartition:
    """The same number of motifs for every network, or one a node where there are fewer nodes."""
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
