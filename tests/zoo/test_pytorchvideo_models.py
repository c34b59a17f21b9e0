"""Networks of PyTorchVideo, from their table."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo import capture_architecture, list_specs, resolve


def test_the_table_names_every_network_once():
    names = list_specs("pytorchvideo")
    assert len(names) == len(set(names)) > 20


@pytest.mark.parametrize(
    ("net", "task", "family"),
    [
        ("X3D/xs", "video-classification", "x3d"),
        ("SlowFast/r50_8x8", "video-classification", "slowfast"),  # two clips
        ("MViT/b_16", "image-classification", "mvit"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family):
    architecture = capture_architecture(f"pytorchvideo:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert architecture.labels.tier == "named"


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="pytorchvideo:X3D/xs"):
        resolve("pytorchvideo:X3D/xxs")
