"""Merged graphs: a graph network gives on them what torch-geometric gives on the whole graphs."""

import numpy as np
import pytest
import torch
from graphs import random_graphs, resnet
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import one_hot, relu
from torch_geometric.nn import global_mean_pool

from nar.canonical import canonical
from nar.evaluation import gnn
from nar.evaluation.merged import collate, merge
from nar.ops import FEATURE_DIM, one_hot_columns

RECIPE = gnn.Recipe(dim=16)


def whole(network, graph):
    """The same layers on every node of one graph."""
    x = one_hot(torch.from_numpy(one_hot_columns(graph.op_ids)), FEATURE_DIM).float()
    one_way = graph.edge_index.astype(np.int64)
    edges = torch.from_numpy(np.concatenate([one_way, one_way[::-1]], axis=1))
    *inner, last = network.layers
    for layer in network.layers:
        if network.has_loops:
            layer.add_self_loops = True
    for layer in inner:
        x = relu(layer(x, edges))
    x = last(x, edges)
    for layer in network.layers:
        if network.has_loops:
            layer.add_self_loops = False
    return global_mean_pool(x, torch.zeros(len(x), dtype=torch.int64))


def agree(kind, graphs):
    network = gnn._network(kind, 2, RECIPE, 0).eval()
    with torch.inference_mode():
        merged = network(collate([merge(graph, RECIPE.layers) for graph in graphs]))
        alone = torch.cat([whole(network, graph) for graph in graphs])
    torch.testing.assert_close(merged, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["gcn", "gat", "gin"])
def test_the_same_vectors_as_on_whole_graphs(kind):
    agree(kind, [canonical(resnet(blocks)) for blocks in ([1], [2, 2], [6, 1, 3], [6, 1, 3])])


@pytest.mark.parametrize("kind", ["gcn", "gat", "gin"])
@given(graphs=st.lists(random_graphs(), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_the_same_vectors_on_any_graphs(kind, graphs):
    agree(kind, graphs)


def test_equal_nodes_are_kept_once():
    short, long = (canonical(resnet([blocks])) for blocks in (12, 24))
    batch = collate([merge(short, 3), merge(long, 3)])
    assert len(batch.columns) == len(merge(short, 3).colours) < short.nodes
    assert batch.share.sum().item() == pytest.approx(2)
    assert batch.graph.bincount().tolist() == [len(batch.columns)] * 2


def test_a_mean_weighs_every_node():
    graph = canonical(resnet([3]))
    batch = collate([merge(graph, 3)])
    columns = one_hot(batch.columns, FEATURE_DIM).float()
    counts = np.bincount(one_hot_columns(graph.op_ids), minlength=FEATURE_DIM) / graph.nodes
    np.testing.assert_allclose(batch.mean(columns)[0], counts, atol=1e-6)
