"""Networks of vit-pytorch: the table's arguments, nested networks and inputs."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("vit_pytorch")
    assert len(names) == len(set(names)) > 70


@pytest.mark.parametrize(
    ("net", "task", "block"),
    [
        ("vit.ViT", "image-classification", "attention"),
        ("t2t.T2TViT", "image-classification", "attention"),  # nested lists become tuples
        ("simple_vit_3d.SimpleViT", "video-classification", "attention"),
        ("vit_1d.ViT", "time-series-classification", "attention"),
        ("efficient.ViT", "image-classification", "attention"),  # a transformer of x-transformers
    ],
)
def test_every_kind_of_network_is_captured(net, task, block):
    architecture = capture_architecture(f"vit_pytorch:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.block) == (task, block)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match=r"vit\.ViT"):
        resolve("vit_pytorch:vit.ViTT")
