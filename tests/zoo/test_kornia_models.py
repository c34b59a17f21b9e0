"""Networks of Kornia: made by a class, by a function, or from a record of settings."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("kornia")
    assert len(names) == len(set(names)) > 40


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("HardNet", "keypoint-description", "hardnet"),
        ("RRDBNet/x4", "image-super-resolution", "esrgan"),
        ("RTDETR/resnet18d", "object-detection", "rt_detr"),  # made from a record of settings
        ("VisionTransformer/ti_16", "image-feature-extraction", "vit"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"kornia:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="kornia:YuNet"):
        resolve("kornia:YuNets")
