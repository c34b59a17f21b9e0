"""Networks that NAR draws after papers: with the parameters that these say, captured whole."""

import pytest
import torch

from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs
from nar.zoo.sources.papers import network, rows
from nar.zoo.sources.papers_mixers import NETWORKS

# Chosen: papers round to two digits, and do not say which biases and classes they count.
NEAR = 0.04
PUBLISHED = {name: row["thousands"] for name, row in rows().items() if row["thousands"]}
EXACT = {
    "u2net/full": 44_009_869,  # of the published weights
    "u2net/small": 1_131_181,
    "nerf": 595_844,  # of the usual implementations
    "siamese": 38_951_745,  # figure 4, layer by layer
    "gps/zinc": 423_717,  # the table of its settings
    "world_models_vision/cars": 4_348_547,  # appendix A
    "world_models_vision/doom": 4_446_915,
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
        pytest.param(
            "ddt/xl", {"rotary", "rms_norm", "attention", "unfold", "fold"}, marks=pytest.mark.slow
        ),
        ("dreamer_v3/12m", {"conv", "rms_norm", "argmax", "tanh", "upsample"}),
        pytest.param(
            "gla/340m", {"cumsum", "log_sigmoid", "rms_norm", "tril"}, marks=pytest.mark.slow
        ),
        ("gps/pcqm4m-small", {"scatter", "attention", "batch_norm", "sigmoid"}),
        ("graphormer/slim", {"embedding", "attention", "layer_norm"}),
        ("hyena/153m", {"fft", "ifft", "conv_depthwise", "sin"}),
        pytest.param(
            "jit/b-16", {"rotary", "rms_norm", "attention", "conv"}, marks=pytest.mark.slow
        ),
        pytest.param(
            "mar/b", {"scatter", "attention", "layer_norm", "silu"}, marks=pytest.mark.slow
        ),
        ("u_vit/m-imagenet64", {"attention", "concat", "layer_norm"}),
        ("var/d16", {"l2_norm", "attention", "gelu"}),
        ("world_models_memory/cars", {"lstm", "logsumexp"}),
        ("world_models_vision/cars", {"conv", "conv_transpose", "exp"}),
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


@pytest.mark.parametrize(
    ("draws", "sizes"),
    [
        ("gla", {"width": 16, "inner": 24, "layers": 2}),
        ("hyena", {"width": 16, "layers": 2, "length": 8}),
        ("retnet", {"width": 256, "layers": 1}),
    ],
)
def test_words_that_follow_change_nothing_of_what_stands_before(draws, sizes):
    model = NETWORKS[draws](**sizes).eval()
    words = torch.tensor([[4, 7, 1, 9], [4, 7, 1, 2]])
    with torch.inference_mode():
        one, other = model(words)
    torch.testing.assert_close(one[:3], other[:3])
    assert not torch.allclose(one[3], other[3])


def test_a_molecule_is_the_same_in_any_order_of_its_bonds():
    model = NETWORKS["gps"](16, 2, 2, "gated", [3], [2], [4, 4]).eval()
    atoms, walks = torch.tensor([[0], [1], [2]]), torch.rand(3, 4)
    bonds, edges = torch.tensor([[0], [1], [0]]), torch.tensor([[0, 1, 2], [1, 2, 0]])
    order = [2, 0, 1]
    with torch.inference_mode():
        one = model(atoms, walks, bonds, edges)
        other = model(atoms, walks, bonds[order], edges[:, order])
    torch.testing.assert_close(one, other)


def test_names_say_family_and_size():
    assert {"papers:nerf", "papers:retnet/6.7b"} <= set(list_specs("papers"))
    labels = resolve("papers:marblenet/3x2x64").labels
    assert (labels.family, labels.task) == ("marblenet", "voice-activity-detection")
    with pytest.raises(UnknownArchitectureError, match="papers:u2net"):
        resolve("papers:u2net/tiny")
