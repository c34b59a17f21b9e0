"""Networks of spandrel: rows of the table, one for each scale, and every kind of input."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_every_scale_is_a_name_of_its_own():
    names = list_specs("spandrel")
    assert len(names) == len(set(names)) > 140
    assert {f"spandrel:Compact/x{scale}" for scale in (1, 2, 4)} <= set(names)
    assert "spandrel:SwinIR/classical_x8" in names


@pytest.mark.parametrize(
    ("net", "task", "family", "parameters"),
    [
        ("Compact/x4", "image-super-resolution", "srvgg", 621_424),
        ("DnCNN/gray", "image-denoising", "dncnn", 557_057),
        ("LaMa", "image-inpainting", "lama", None),  # an image and a mask
        ("RealCUGAN/x3", "image-super-resolution", "cunet", None),  # a class of its own
    ],
)
def test_every_kind_of_network_is_captured(net, task, family, parameters):
    architecture = capture_architecture(f"spandrel:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"
    assert parameters is None or architecture.graph.parameters == parameters


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="spandrel:SwinIR/classical_x"):
        resolve("spandrel:SwinIR/classical_x5")
