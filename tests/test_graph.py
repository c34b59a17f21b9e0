"""ComputationalGraph: what it refuses, and how it prints."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import graph_of

from nar.base.errors import InvalidGraphError

CHAIN = "input; conv 0; relu 1"


def edges(*pairs):
    return np.array(pairs, dtype=np.int32).reshape(-1, 2).T.copy()


@pytest.mark.parametrize(
    ("pairs", "field", "reason"),
    [
        ([(0, 1), (1, 9)], "edge_index[1]", "wanted nodes 0 to 2, came (1, 9)"),
        ([(-1, 1)], "edge_index[0]", "wanted nodes 0 to 2, came (-1, 1)"),
        ([(0, 1), (1, 1)], "edge_index[1]", "node 1 reads itself"),
        ([(0, 1), (1, 2), (0, 1)], "edge_index[2]", "duplicate of edge 0 -> 1"),
        ([(0, 1), (1, 2), (2, 0)], "edge_index", "wanted no cycle, came 1 -> 2 -> 0 -> 1"),
    ],
)
def test_bad_edges_are_named(pairs, field, reason):
    graph = replace(graph_of(CHAIN), edge_index=edges(*pairs))
    with pytest.raises(InvalidGraphError) as caught:
        graph.validate()
    assert (caught.value.field, caught.value.reason) == (field, reason)


def test_a_graph_has_nodes():
    empty = replace(
        graph_of(CHAIN),
        op_ids=np.zeros(0, dtype=np.uint16),
        attributes=np.zeros((0, 9), dtype=np.int16),
        edge_index=edges(),
    )
    with pytest.raises(InvalidGraphError, match="at least one node, came an empty graph"):
        empty.validate()


@pytest.mark.parametrize(("limit", "accepted"), [(2, False), (3, True), (4, True)])
def test_the_node_limit_is_inclusive(limit, accepted):
    graph = graph_of(CHAIN)
    if accepted:
        graph.validate(max_nodes=limit)
    else:
        with pytest.raises(InvalidGraphError, match="wanted at most 2 nodes, came 3"):
            graph.validate(max_nodes=limit)


def test_the_edge_limit_is_inclusive():
    graph = graph_of(CHAIN)
    graph.validate(max_edges=2)
    with pytest.raises(InvalidGraphError, match="wanted at most 1 edges, came 2"):
        graph.validate(max_edges=1)


def test_an_unassigned_operator_is_refused():
    graph = graph_of(CHAIN)
    with pytest.raises(InvalidGraphError, match=r"op_ids\[1\]: 700 is no operator's id"):
        replace(graph, op_ids=np.array([0, 700, 1], dtype=np.uint16)).validate()


def test_missing_attributes_are_refused():
    graph = graph_of(CHAIN)
    with pytest.raises(InvalidGraphError, match=r"attributes: wanted shape \(3, 9\)"):
        replace(graph, attributes=graph.attributes[:, :4]).validate()


def test_a_graph_prints_one_line_a_node():
    graph = graph_of("input; conv 0; add 1 0")
    graph.attributes[1, 0] = 3
    assert str(graph).splitlines() == [
        "3 nodes, 3 edges, 0 parameters",
        "%0 = input()",
        "%1 = conv(%0)  kernel=3",
        "%2 = add(%1, %0)",
    ]
