"""Merged graphs keep what a graph network reads, and every node of equal colour once."""

import numpy as np
import pytest
import torch
from graphs import random_graphs, resnet
from hypothesis import given
from hypothesis import strategies as st

from nar.encoding.paper.merged import RowGraph, collate, merged
from nar.graphs.canonical import canonical
from nar.graphs.ops import FEATURE_DIM, one_hot_columns

TABLE = torch.eye(FEATURE_DIM)


def row_graph(graph):
    return RowGraph(one_hot_columns(graph.op_ids), graph.edge_index)


def passed(graphs):
    """What three rounds of reading, without weights to learn, leave of each graph."""
    batch = collate(graphs, TABLE)
    x = batch.x
    for adjacency in batch.adjacencies:
        x = (adjacency @ x).relu().sqrt()
    return batch.mean @ x


def test_equal_nodes_are_kept_once():
    short, long = (row_graph(canonical(resnet([blocks]))) for blocks in (12, 24))
    graphs = merged([short, long], 3)
    assert len(graphs.rounds[-1].own) < len(short.rows)
    parts = graphs.part[: graphs.start[1]].tolist(), graphs.part[graphs.start[1] :].tolist()
    assert parts[0] == parts[1] == list(range(len(graphs.rounds[-1].own)))
    np.testing.assert_allclose(np.add.reduceat(graphs.share, graphs.start[:-1]), 1, rtol=1e-6)


def test_a_round_sees_a_step_farther():
    chain = RowGraph(np.array([0] + [1] * 7), np.array([range(7), range(1, 8)]))
    colours = [len(each.own) for each in merged([chain], 3).rounds]
    # Both ends and what is near them, and one more for all that is far from both.
    assert colours == [5, 7, 8]


def test_a_mean_weighs_every_node():
    graph = row_graph(canonical(resnet([3])))
    batch = collate(merged([graph], 1), TABLE)
    of_nodes = np.zeros(len(batch.mean.values()))
    of_nodes += batch.mean.values().numpy() * len(graph.rows)
    assert of_nodes.sum() == pytest.approx(len(graph.rows))
    assert np.allclose(of_nodes, of_nodes.round(), atol=1e-4)


@pytest.mark.slow
@given(st.lists(random_graphs(), min_size=1, max_size=5), st.data())
def test_some_of_the_graphs_are_what_they_are_alone(graphs, data):
    rows = [row_graph(graph) for graph in graphs]
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=4))
    taken = merged(rows, 3).take(np.array(chosen))
    alone = merged([rows[position] for position in chosen], 3)
    assert taken.count == len(chosen)
    assert len(taken.rows) == len(alone.rows)
    assert [len(each.own) for each in taken.rounds] == [len(each.own) for each in alone.rounds]
    torch.testing.assert_close(passed(taken), passed(alone))
