"""Models of torchvision: one of each registry, at the size its published weights were made for."""

import pytest

from nar.own import capture_architecture
from nar.zoo.sources import list_specs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "task", "parameters"),
    [
        ("regnet_y_400mf", "regnet", "image-classification", 4_344_144),
        ("vit_h_14", "vit", "image-classification", 632_045_800),
        ("lraspp_mobilenet_v3_large", "lraspp", "image-segmentation", 3_221_538),
        ("r3d_18", "resnet_3d", "video-classification", 33_371_472),
        ("ssd300_vgg16", "ssd", "object-detection", 35_641_826),
        ("quantized_resnet18", "resnet", "image-classification", 11_689_512),
        ("raft_small", "raft", "optical-flow", 990_162),
    ],
)
def test_every_registry_is_read(model, family, task, parameters):
    architecture = capture_architecture(f"torchvision:{model}").architecture
    assert (architecture.labels.family, architecture.labels.task) == (family, task)
    assert architecture.graph.parameters == parameters


@pytest.mark.slow
def test_flops_are_counted_at_the_published_size():
    """EfficientNet-B7 at 600 x 600: 37.75 G multiply-adds by torchvision's own table."""
    flops = capture_architecture("torchvision:efficientnet_b7").architecture.graph.flops
    assert round(flops / 2e9, 1) == 37.7


def test_a_detector_costs_what_is_published():
    """SSD300: 34.858 G multiply-adds by torchvision's own table, anchors and NMS being free."""
    flops = capture_architecture("torchvision:ssd300_vgg16").architecture.graph.flops
    assert round(flops / 2e9, 3) == 34.858


@pytest.mark.slow
def test_quantisation_does_not_change_the_design():
    quantised, plain = (
        capture_architecture(f"torchvision:{prefix}shufflenet_v2_x1_0").architecture
        for prefix in ("quantized_", "")
    )
    assert quantised.exact == plain.exact


def test_all_registries_are_listed_whole():
    assert len(list_specs("torchvision")) >= 121
