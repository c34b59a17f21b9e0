"""Graph networks: models and stacked convolutions, given nodes and edges."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


def test_every_name_is_listed_once_and_resolves():
    names = list_specs("pyg")
    assert len(names) == len(set(names)) >= 200
    assert all(resolve(name).labels.name == name for name in names[::10])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        # 1433 x 16 + 16 x 7 weights, 16 + 7 biases: the network of the GCN paper.
        ("GCN/cora", "gcn", 23_063),
        # Run for real: edges are dropped by value. Two matrices (K = 2) for each one of GCN.
        ("ChebConv/cora", "chebnet", 46_103),
    ],
)
def test_a_model_is_captured_whole(model, family, parameters):
    captured = capture_architecture(f"pyg:{model}")
    assert captured.architecture.labels.family == family
    assert captured.architecture.graph.parameters == parameters
    assert captured.unknown_operators == {}


def test_further_data_sets_are_swept():
    assert resolve("pyg:GCN/cora").labels.tier == "named"
    assert resolve("pyg:GCN/ogbn-arxiv").labels.tier == "swept"
    assert resolve("pyg:ChebConv/cora").labels.tier == "named"
    assert resolve("pyg:ChebConv/ogbn-arxiv").labels.tier == "swept"


def test_an_unknown_model_is_refused():
    with pytest.raises(UnknownArchitectureError, match="no such architecture"):
        resolve("pyg:NoSuchModel")
