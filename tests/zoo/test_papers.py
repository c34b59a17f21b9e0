"""Networks that NAR draws after papers: with the parameters that these say, captured whole."""

import pytest
import torch

from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs
from nar.zoo.sources.papers import network, rows

# Chosen: papers round to two digits, and do not say which biases and classes they count.
NEAR = 0.04
PUBLISHED = {name: row["thousands"] for name, row in rows().items() if row["thousands"]}
EXACT = {
    "u2net/full": 44_009_869,  # of the published weights
    "u2net/small": 1_131_181,
    "nerf": 595_844,  # of the usual implementations
    "siamese": 38_951_745,  # figure 4, layer by layer
}


def parameters(name):
    with torch.device("meta"):
        return sum(weight.numel() for weight in network(name).parameters())


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_has_the_parameters_that_its_paper_says(name):
    assert parameters(name) / 1e3 == pytest.approx(PUBLISHED[name], rel=NEAR)


@pytest.mark.parametrize("name", EXACT)
def test_a_network_has_every_parameter_of_its_implementations(name):
    assert parameters(name) == EXACT[name]


def test_every_row_says_where_its_layers_are_described():
    assert all("(20" in row["cite"] and len(row["cite"]) > 60 for row in rows().values())


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("blazeface", {"conv_depthwise", "max_pool", "pad"}),
        ("keyword_resnet/res8", {"conv", "batch_norm", "avg_pool"}),
        ("kwt/1", {"attention", "layer_norm", "linear"}),
        ("matchboxnet/3x1x64", {"conv_depthwise", "batch_norm"}),
        ("nerf", {"sin", "linear", "concat"}),
        ("siamese", {"conv", "abs", "sub"}),
        ("tc_resnet/8", {"conv", "batch_norm", "add"}),
        ("u2net/small", {"conv", "max_pool", "upsample"}),
        pytest.param("retnet/1.3b", {"rotary", "group_norm", "silu"}, marks=pytest.mark.slow),
    ],
)
def test_a_network_is_captured_whole(name, operators):
    found = capture_architecture(f"papers:{name}")
    found.architecture.graph.validate()
    assert not found.unknown_operators
    names = {op_name(op) for op in found.architecture.graph.op_ids.tolist()}
    assert operators <= names


def test_names_say_family_and_size():
    assert {"papers:nerf", "papers:retnet/6.7b"} <= set(list_specs("papers"))
    labels = resolve("papers:marblenet/3x2x64").labels
    assert (labels.family, labels.task) == ("marblenet", "voice-activity-detection")
    with pytest.raises(UnknownArchitectureError, match="papers:u2net"):
        resolve("papers:u2net/tiny")
