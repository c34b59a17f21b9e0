"""Classifiers of mmpretrain: each design once, by its configuration."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


def test_hundreds_of_classifiers_are_listed_once():
    names = list_specs("mmpretrain")
    assert len(names) == len(set(names)) > 300


def test_a_configuration_that_only_trains_the_same_network_differently_is_left_out():
    assert "mmpretrain:deit3/deit3-base-p16_64xb64_in1k" in list_specs("mmpretrain")
    with pytest.raises(UnknownArchitectureError):
        resolve("mmpretrain:deit3/deit3-base-p16_64xb64_in21k")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        ("vgg/vgg11_8xb32_in1k", "vgg", 132_863_336),
        ("mobilenet_v2/mobilenet-v2_8xb32_in1k", "mobilenet_v2", 3_504_872),
        ("convnext_v2/convnext-v2-atto_32xb32_in1k", "convnextv2", 3_708_400),
    ],
)
def test_a_configuration_becomes_the_network_that_was_published(model, family, parameters):
    architecture = capture_architecture(f"mmpretrain:{model}").architecture
    architecture.graph.validate()
    assert architecture.labels.family == family
    assert architecture.labels.tier == "named"
    assert architecture.graph.parameters == parameters


@pytest.mark.slow
def test_a_network_without_convolutions_is_captured():
    architecture = capture_architecture("mmpretrain:t2t_vit/t2t-vit-t-14_8xb64_in1k").architecture
    assert architecture.block == "attention"
