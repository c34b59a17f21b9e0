"""Motifs: what a person would call the blocks, on drawings whose blocks are known."""

import numpy as np
import pytest
from graphs import Drawing, bert, graph_of, random_graphs, resnet, swin
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical
from nar.graphs.ops import op_name
from nar.motifs.config import MotifConfig
from nar.motifs.partition import partition, partition_all


def motifs_of(graph):
    """Operators of each motif type and how often it occurs."""
    cut = partition(canonical(graph))
    first = {code: cut.motif_codes.tolist().index(code) for code in cut.counts()}
    names = {
        code: " ".join(
            op_name(identifier)
            for identifier in cut.graph.op_ids[cut.node_to_motif == motif].tolist()
        )
        for code, motif in first.items()
    }
    return [(names[code], count) for code, count in cut.counts().items()]


def test_two_diamonds_in_a_row_are_one_motif_twice():
    graph = graph_of("input; conv 0; gelu 0; concat 1 2; conv 3; gelu 3; concat 4 5")
    assert motifs_of(graph) == [("input", 1), ("conv gelu concat", 2)]


def test_a_chain_is_cut_into_its_repeated_unit():
    draw = Drawing()
    draw.chain("conv relu conv relu conv relu linear", draw("input"))
    assert motifs_of(draw.graph()) == [("input", 1), ("conv relu", 3), ("linear", 1)]


def test_resnet_50_is_found_as_its_authors_drew_it():
    block = "conv batch_norm relu conv batch_norm relu conv batch_norm"
    assert motifs_of(resnet([3, 4, 6, 3])) == [
        ("input conv batch_norm relu max_pool", 1),
        (f"{block} conv batch_norm add relu", 4),
        (f"{block} add relu", 12),
        ("adaptive_avg_pool linear", 1),
    ]


@pytest.mark.parametrize(
    ("shallow", "deep", "difference"),
    [
        (resnet([3, 4, 6, 3]), resnet([3, 4, 23, 3]), 17),
        (bert(12), bert(24), 12),
        (swin([2, 2, 6, 2]), swin([2, 2, 18, 2]), 6),
    ],
    ids=["resnet", "bert", "swin"],
)
def test_depth_changes_only_how_often_the_block_occurs(shallow, deep, difference):
    one = partition(canonical(shallow)).counts()
    other = partition(canonical(deep)).counts()
    assert one.keys() == other.keys()
    assert sorted(other[code] - one[code] for code in one)[-2:] == [0, difference]


@pytest.mark.slow
@given(random_graphs(max_nodes=40))
def test_every_node_lies_in_exactly_one_motif(graph):
    cut = partition(canonical(graph))
    assert sorted(set(cut.node_to_motif.tolist())) == list(range(cut.motifs))


@pytest.mark.slow
@given(st.lists(random_graphs(), min_size=1, max_size=4))
def test_graphs_cut_together_are_cut_as_if_alone(graphs):
    graphs = [canonical(graph) for graph in graphs]
    for graph, cut in zip(graphs, partition_all(graphs), strict=True):
        alone = partition(graph)
        assert cut.motif_codes.tolist() == alone.motif_codes.tolist()
        assert cut.node_to_motif.tolist() == alone.node_to_motif.tolist()


def connected(graph, nodes):
    reached, ends = {nodes[0]}, graph.edge_index.T.tolist()
    for _ in nodes:
        reached |= {b for a, b in ends if a in reached} | {a for a, b in ends if b in reached}
        reached &= set(nodes)
    return reached == set(nodes)


@pytest.mark.slow
@given(random_graphs(max_nodes=40))
def test_what_repeats_nowhere_is_connected_and_bounded(graph):
    cut = partition(canonical(graph), MotifConfig(max_remainder_nodes=5))
    counts = cut.counts()
    for motif, code in enumerate(cut.motif_codes.tolist()):
        nodes = np.flatnonzero(cut.node_to_motif == motif).tolist()
        if counts[code] == 1:
            assert len(nodes) <= 5
            assert connected(cut.graph, nodes)


def test_no_graphs_give_no_partitions():
    assert partition_all([]) == []
