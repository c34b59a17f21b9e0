"""Splitting: motifs by what repeats, or a baseline of the paper (section 4.4, Table 2).

Six nodes, and the motifs of each way (the sizes are small for the drawing):

      input    conv    relu    conv    relu    linear
        A        B       B       B'      B'      C        repeats: B and B' are one type
        A        A       B       B       C       C        by nodes, two a motif
        A        A       A       B       B       B        by motifs, two a graph
        A        B       B       B       C       C        at random, of one to three nodes
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from nar.graphs.graph import ComputationalGraph
from nar.motifs.config import MotifConfig, Splitting
from nar.motifs.partition import MotifPartition, partition_all, to_partition

# The paper prints none of these. Blocks of real networks have 5 to 30 operators.
NODES_A_MOTIF: Final = 12
MOTIFS_A_GRAPH: Final = 16
RANDOM_NODES: Final = (4, 20)
RANDOM_SEED: Final = 0

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


_BASELINES: Final[Mapping[Splitting, Callable[[ComputationalGraph], MotifPartition]]] = {
    "node_number": lambda graph: split_by_node_number(graph, NODES_A_MOTIF),
    "motif_number": lambda graph: split_by_motif_number(graph, MOTIFS_A_GRAPH),
    "random": lambda graph: split_randomly(
        graph, min_nodes=RANDOM_NODES[0], max_nodes=RANDOM_NODES[1], seed=RANDOM_SEED
    ),
}


def split_all(graphs: Sequence[ComputationalGraph], config: MotifConfig) -> list[MotifPartition]:
    """Cut canonical graphs into motifs, the way the settings say."""
    if config.splitting == "repeats":
        return partition_all(graphs, config)
    return [_BASELINES[config.splitting](graph) for graph in graphs]
