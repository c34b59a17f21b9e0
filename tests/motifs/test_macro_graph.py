"""Motifs as nodes, linked where they overlap."""

import numpy as np
from graphs import graph_of, resnet

from nar.graphs.canonical import canonical
from nar.motifs.partition import macro_graph, partition, to_partition


def test_motifs_are_linked_by_the_edges_they_share():
    # Edges 0 -> 1 and 3 -> 4 lead from one motif to the next, as in the paper's figure 3 (a).
    graph = graph_of("input; conv 0; gelu 1; concat 1 2; conv 3; gelu 4; concat 4 5")
    cut = to_partition(graph, np.array([0, 1, 1, 1, 2, 2, 2]), steps=2)
    macro = macro_graph(cut)
    assert macro.edge_index.tolist() == [[0, 1], [1, 2]]
    assert macro.motif_codes[1] == macro.motif_codes[2] != macro.motif_codes[0]


def test_two_motifs_are_linked_once_however_many_edges_they_share():
    graph = graph_of("input; conv 0; gelu 0; concat 1 2 0")
    cut = to_partition(graph, np.array([0, 1, 1, 1]), steps=2)
    assert macro_graph(cut).edge_index.tolist() == [[0], [1]]


def test_a_resnet_becomes_a_chain_of_its_blocks():
    macro = macro_graph(partition(canonical(resnet([2, 2]))))
    assert macro.edge_index.tolist() == [[0, 1, 2], [1, 2, 3]]


def test_one_motif_has_no_links():
    assert macro_graph(partition(graph_of("input; conv 0"))).edge_index.shape == (2, 0)
