"""Networks that nnU-Net builds, from their table."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("dynamic_network_architectures")
    assert len(names) == len(set(names)) > 50


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("PlainConvUNet/prostate", "medical-image-segmentation", "dynunet"),  # flat voxels
        ("ResidualEncoderUNet/2d_256", "medical-image-segmentation", "residual_unet"),
        ("VGG/16_cifar_3d", "volume-classification", "vgg"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"dynamic_network_architectures:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="dynamic_network_architectures:VGG/16_2d"):
        resolve("dynamic_network_architectures:VGG/16_4d")
