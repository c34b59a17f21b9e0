"""Networks of MONAI: the same design for two and for three dimensions."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


def test_the_table_names_every_network_once():
    names = list_specs("monai")
    assert len(names) == len(set(names)) > 130
    assert "monai:HoVerNet/3d" not in names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "task"),
    [
        ("UNet/2d", "image-segmentation"),
        ("UNet/3d", "image-segmentation"),
        ("Regressor/2d", "image-regression"),  # a shape made of channels and sides
        ("RegUNet/3d", "image-registration"),  # two images as channels
        ("DiffusionModelUNet/2d", "image-generation"),  # an image and a time step
        ("Restormer/2d", "image-to-image"),  # a module that the package does not export
        ("MultiScalePatchDiscriminator/2d", "image-classification"),  # a size of its own
    ],
)
def test_networks_get_their_arguments_and_inputs(net, task):
    architecture = capture_architecture(f"monai:{net}").architecture
    architecture.graph.validate()
    assert architecture.labels.task == task


@pytest.mark.slow
def test_two_and_three_dimensions_share_a_topology():
    flat, deep = (capture_architecture(f"monai:UNet/{dims}d").architecture for dims in (2, 3))
    assert flat.topology == deep.topology
    assert flat.exact != deep.exact


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="monai:UNETR/2d"):
        resolve("monai:UNETR/4d")
