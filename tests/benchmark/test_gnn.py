"""The graph networks of the tables give on merged graphs what torch-geometric gives on whole."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from graphs import random_graphs, resnet
from hypothesis import given, settings
from hypothesis import strategies as st
from tasks import small_task
from torch.nn.functional import one_hot, relu

from benchmark.methods import gnn
from benchmark.scoring.evaluate import evaluate
from nar.encoding.paper.merged import RowGraph, merged
from nar.graphs.canonical import canonical
from nar.graphs.ops import FEATURE_DIM, one_hot_columns

RECIPE = gnn.GnnRecipe(dim=16)


def theirs(kind, ours):
    """The layer of torch-geometric with the same weights."""
    # Every process of pytest reads this file, and one of them runs it: it takes three seconds.
    from torch_geometric.nn import GATConv, GCNConv, GINConv

    width = RECIPE.dim
    if kind == "gcn":
        layer = GCNConv(ours.convolution.lin.in_features, width, bias=False)
    elif kind == "gat":
        layer = GATConv(ours.convolution.in_channels, width // gnn.GAT_HEADS, heads=gnn.GAT_HEADS)
    else:
        layer = GINConv(deepcopy(ours.convolution.nn))
    weights = {**ours.convolution.state_dict(), "eps": torch.zeros(1)}
    layer.load_state_dict({name: weights[name] for name in layer.state_dict()})
    return layer


def whole(network, kind, graph):
    """The same layers on every node of one graph."""
    from torch_geometric.nn import global_mean_pool
    from torch_geometric.utils import to_undirected

    x = one_hot(torch.from_numpy(one_hot_columns(graph.op_ids)), FEATURE_DIM).float()
    edges = to_undirected(torch.from_numpy(graph.edge_index.astype(np.int64)))
    *inner, last = (theirs(kind, layer) for layer in network.layers)
    for layer in inner:
        x = relu(layer(x, edges))
    return global_mean_pool(last(x, edges), torch.zeros(len(x), dtype=torch.int64))


def agree(kind, graphs):
    network = gnn._network(kind, 2, RECIPE, 0).eval()
    rows = [RowGraph(one_hot_columns(graph.op_ids), graph.edge_index) for graph in graphs]
    with torch.inference_mode():
        together = network(merged(rows, RECIPE.layers), torch.eye(FEATURE_DIM))
        alone = torch.cat([whole(network, kind, graph) for graph in graphs])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["gcn", "gat", "gin"])
def test_the_same_vectors_as_on_whole_graphs(kind):
    agree(kind, [canonical(resnet(blocks)) for blocks in ([1], [2, 2], [6, 1, 3], [6, 1, 3])])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gcn", "gat", "gin"])
@given(graphs=st.lists(random_graphs(), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_the_same_vectors_on_any_graphs(kind, graphs):
    agree(kind, graphs)


@pytest.mark.parametrize("kind", gnn.KINDS)
def test_attributes_tell_nodes_apart_where_the_recipe_says_so(kind):
    task = small_task()
    wider = replace(task.graphs[0], attributes=task.graphs[0].attributes + np.int16(1))
    both = replace(task, graphs=(task.graphs[0], wider))
    printed, ours = (
        gnn.untrained(both, kind, replace(recipe, dim=16)) for recipe in (gnn.PRINTED, gnn.OURS)
    )
    assert np.allclose(printed[0], printed[1])
    assert not np.allclose(ours[0], ours[1])


def test_by_our_recipe_relatives_come_together():
    task = small_task()
    recipe = replace(gnn.OURS, dim=16, epochs=20)
    vectors = gnn.trained(task, "gcn", recipe)
    assert evaluate(vectors, task.asked["family"]).scores["map@20"].mean == 1.0
