"""Motifs and their surroundings as graphs of their own."""

import numpy as np
from graphs import bert, graph_of

from nar.graphs.canonical import canonical
from nar.graphs.ops import op_name
from nar.motifs.partition import (
    context_subgraph,
    motif_subgraph,
    partition,
    structure_codes,
    to_partition,
)

# The toy of the paper's figure 3 (b): the motif of nodes 0 and 1 has 2 and 3 around it.
TOY = graph_of("input; conv 0; relu 1; gelu 1; add 2 3; linear 4")
CUT = to_partition(TOY, np.array([0, 0, 1, 2, 3, 3]), steps=2)


def operators(subgraph):
    return [op_name(identifier) for identifier in subgraph.op_ids.tolist()]


def test_a_motif_is_its_nodes_and_the_edges_among_them():
    motif = motif_subgraph(CUT, 0)
    assert operators(motif) == ["input", "conv"]
    assert motif.edge_index.tolist() == [[0], [1]]


def test_the_context_adds_the_neighbours():
    context = context_subgraph(CUT, 0, hops=1)
    assert operators(context) == ["input", "conv", "relu", "gelu"]
    assert context.edge_index.tolist() == [[0, 1, 1], [1, 2, 3]]


def test_two_hops_reach_further():
    assert operators(context_subgraph(CUT, 0, hops=2))[4:] == ["add"]


def test_equal_structures_have_equal_codes():
    cut = partition(canonical(bert(4)))
    layers = [motif for motif in range(cut.motifs) if (cut.node_to_motif == motif).sum() == 12]
    codes = structure_codes([context_subgraph(cut, motif, hops=1) for motif in layers]).tolist()
    assert len(set(structure_codes([motif_subgraph(cut, motif) for motif in layers]))) == 1
    assert codes[0] == codes[1] == codes[2]
    assert codes[3] != codes[2]  # the last layer is followed by the pooler


def test_a_code_does_not_depend_on_what_stands_beside():
    parts = [context_subgraph(CUT, motif, hops=1) for motif in range(CUT.motifs)]
    alone = [structure_codes([part])[0] for part in parts]
    assert structure_codes(parts).tolist() == alone
    assert structure_codes(parts[::-1]).tolist() == alone[::-1]
    assert len(set(alone)) == len(parts)
