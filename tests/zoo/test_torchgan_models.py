"""Networks of TorchGAN: generators and discriminators."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("torchgan")
    assert len(names) == len(set(names)) > 25


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("ACGAN/generator_x32", "image-generation", "acgan"),  # noise and a class
        ("DCGAN/discriminator_x64", "image-classification", "dcgan"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"torchgan:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="torchgan:DCGAN/generator_x64"):
        resolve("torchgan:DCGAN/generator_x64s")
