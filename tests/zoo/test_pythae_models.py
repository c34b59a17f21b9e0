"""Autoencoders of Pythae: every model with the networks of its benchmark."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_every_model_stands_on_every_network_of_the_benchmark():
    names = list_specs("pythae")
    assert len(names) == len(set(names)) > 150
    assert {f"pythae:VAE/{net}_celeba" for net in ("mlp", "conv", "resnet")} <= set(names)
    assert "pythae:VQVAE/mlp_mnist" not in names


@pytest.mark.parametrize("model", ["VAE/mlp_mnist", "AE/conv_cifar", "VQVAE/resnet_mnist"])
def test_every_kind_of_encoder_is_captured(model):
    architecture = capture_architecture(f"pythae:{model}").architecture
    architecture.graph.validate()
    assert architecture.labels.task == "autoencoding"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="pythae:VAE/conv_mnist"):
        resolve("pythae:VAE/conv_mnis")
