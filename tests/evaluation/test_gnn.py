"""The graph networks of the tables give on merged graphs what torch-geometric gives on whole."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from graphs import random_graphs, resnet
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import one_hot, relu
from torch_geometric.nn import GATConv, GCNConv, GINConv, global_mean_pool
from torch_geometric.utils import to_undirected

from nar.canonical import canonical
from nar.encoding.merged import RowGraph, merged
from nar.evaluation.methods import gnn
from nar.ops import FEATURE_DIM, one_hot_columns

RECIPE = gnn.GnnRecipe(dim=16)


def theirs(kind, ours):
    """The layer of torch-geometric with the same weights."""
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
        together = network(merged(rows, RECIPE.layers))
        alone = torch.cat([whole(network, kind, graph) for graph in graphs])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["gcn", "gat", "gin"])
def test_the_same_vectors_as_on_whole_graphs(kind):
    agree(kind, [canonical(resnet(blocks)) for blocks in ([1], [2, 2], [6, 1, 3], [6, 1, 3])])


@pytest.mark.parametrize("kind", ["gcn", "gat", "gin"])
@given(graphs=st.lists(random_graphs(), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_the_same_vectors_on_any_graphs(kind, graphs):
    agree(kind, graphs)
