"""One numbering and what is digested of it: what they must not see, and what they must."""

import numpy as np
import pytest
from graphs import bert, graph_of, random_graphs, renumbered, resnet, swin
from hypothesis import given
from hypothesis import strategies as st

from nar.graphs.canonical import canonical, exact_fingerprint, topology_fingerprint
from nar.graphs.ops import op_name


def operators(graph):
    return " ".join(op_name(identifier) for identifier in graph.op_ids.tolist())


@pytest.mark.slow
@given(random_graphs(), st.randoms(use_true_random=False))
def test_numbering_changes_nothing(graph, random):
    other = renumbered(graph, random)
    assert topology_fingerprint(other) == topology_fingerprint(graph)
    assert exact_fingerprint(other) == exact_fingerprint(graph)
    assert canonical(other) == canonical(graph)


@pytest.mark.slow
@given(random_graphs())
def test_the_canonical_order_is_topological_and_final(graph):
    ordered = canonical(graph)
    assert (ordered.edge_index[0] < ordered.edge_index[1]).all()
    assert canonical(ordered) == ordered
    assert topology_fingerprint(ordered) == topology_fingerprint(graph)


@pytest.mark.parametrize(
    "graph", [resnet([2, 3]), bert(3), swin([2, 4])], ids=["cnn", "bert", "swin"]
)
def test_numbering_changes_nothing_in_real_designs(graph):
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert canonical(renumbered(graph, rng)) == canonical(graph)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("input; conv 0; relu 1", "input; relu 0; conv 1"),  # operator
        ("input; conv; sub 0 1", "input; conv 0; sub 1 0"),  # direction
        ("input; conv 0; sub 0 1", "input; conv 0; sub 1 0"),  # operand order
        ("input; relu 0; relu 0; add 1 2", "input; relu 0; add 1"),  # copies
        ("input; conv 0; relu 1; gelu 1", "input; conv 0; conv 0; relu 1; gelu 2"),  # sharing
    ],
)
def test_a_different_design_is_seen(one, other):
    assert topology_fingerprint(graph_of(one)) != topology_fingerprint(graph_of(other))


@pytest.mark.slow
@given(random_graphs(min_nodes=3))
def test_replacing_any_operator_is_seen(graph):
    before = topology_fingerprint(graph)
    graph.op_ids[len(graph.op_ids) // 2] += 1
    assert topology_fingerprint(graph) != before


def test_operands_of_a_sum_have_no_order():
    one, other = graph_of("input; conv 0; add 0 1"), graph_of("input; conv 0; add 1 0")
    assert topology_fingerprint(one) == topology_fingerprint(other)
    assert canonical(one) == canonical(other)


def test_attributes_and_width_are_exact_not_topological():
    graph = graph_of("input; conv 0")
    strided = graph_of("input; conv 0")
    strided.attributes[1, 2] = 2
    assert topology_fingerprint(strided) == topology_fingerprint(graph)
    assert exact_fingerprint(strided) != exact_fingerprint(graph)


def test_blocks_stand_together_and_a_shortcut_follows_its_branch():
    graph = graph_of("input; conv 0; conv 0; batch_norm 1; batch_norm 2; relu 3; add 5 4")
    assert operators(canonical(graph)) == "input conv batch_norm relu conv batch_norm add"
