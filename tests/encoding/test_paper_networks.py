"""The encoders against Eq. 3 written out densely, and alone against in a batch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nar.base.errors import ConfigError
from nar.encoding.paper.encoder import GraphConvolution, GraphEncoder, encode_all
from nar.encoding.paper.merged import RowGraph, collate, merged

TABLE = torch.eye(5)


def encoder(layers=3):
    torch.manual_seed(0)
    return GraphEncoder(5, 16, layers=layers).eval()


def read(network, graphs):
    return network(collate(merged(graphs, len(network.layers)), TABLE))


@st.composite
def row_graphs(draw):
    nodes = draw(st.integers(1, 8))
    rows = draw(st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes))
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    edges = draw(st.lists(pairs.filter(lambda pair: pair[0] < pair[1]), unique=True, max_size=12))
    return RowGraph(np.array(rows), np.array(edges, dtype=np.int32).reshape(-1, 2).T)


def reference(network, graph):
    """Eq. 3 as printed, node by node, averaged at the end."""
    adjacency = torch.eye(len(graph.rows))
    source, target = torch.from_numpy(graph.edge_index.astype(np.int64))
    adjacency[source, target] = adjacency[target, source] = 1
    scale = adjacency.sum(dim=1).rsqrt().diag()
    x = TABLE[torch.from_numpy(graph.rows)]
    for number, layer in enumerate(network.layers):
        x = scale @ adjacency @ scale @ x @ layer.lin.weight.T
        x = x.relu() if number < len(network.layers) - 1 else x
    return x.mean(dim=0)


@pytest.mark.slow
@given(row_graphs(), st.integers(2, 4))
def test_layers_are_graph_convolutions(graph, layers):
    network = encoder(layers)
    assert torch.allclose(read(network, [graph])[0], reference(network, graph), atol=1e-6)


@pytest.mark.slow
@given(row_graphs())
def test_a_convolution_is_the_one_of_torch_geometric(graph):
    # Every process of pytest reads this file, and one of them runs it: it takes three seconds.
    from torch_geometric.nn import GCNConv

    ours, theirs = GraphConvolution(5, 16), GCNConv(5, 16, normalize=False, bias=False)
    theirs.load_state_dict(ours.state_dict())
    batch = collate(merged([graph, graph], 1), TABLE)
    (adjacency,) = batch.adjacencies
    assert torch.allclose(ours(batch.x, adjacency), theirs(batch.x, adjacency))


@pytest.mark.slow
@given(st.lists(row_graphs(), min_size=1, max_size=5))
def test_a_batch_gives_what_each_graph_gives_alone(graphs):
    network = encoder()
    alone = torch.cat([read(network, [graph]) for graph in graphs])
    assert torch.allclose(read(network, graphs), alone, atol=1e-6)


def test_the_same_call_gives_the_same_bits():
    graph = RowGraph(np.arange(5), np.array([[0, 1, 2, 3], [1, 2, 3, 4]], dtype=np.int32))
    network = encoder()
    once, twice = (read(network, [graph, graph]) for _ in range(2))
    assert torch.equal(once, twice)


def test_wiring_counts():
    rows = np.array([0, 1, 2, 3])
    chain = RowGraph(rows, np.array([[0, 1, 2], [1, 2, 3]], dtype=np.int32))
    star = RowGraph(rows, np.array([[0, 0, 0], [1, 2, 3]], dtype=np.int32))
    one, other = encode_all(encoder(), [chain, star], TABLE)
    assert not torch.allclose(one, other)


def test_dropout_is_for_training_only():
    network = GraphEncoder(5, 16, layers=3, rate=0.5)
    alone = RowGraph(np.arange(5), np.zeros((2, 0), dtype=np.int32))
    batch = collate(merged([alone], 3), TABLE)
    assert not torch.equal(network.train()(batch), network(batch))
    assert torch.equal(network.eval()(batch), network(batch))


def test_one_layer_is_no_stack():
    with pytest.raises(ConfigError, match="at least 2 graph convolutions, came 1"):
        GraphEncoder(5, 16, layers=1)
