"""Models of torchvision: one of each registry, at the size its published weights were made for."""

import pytest

from nar.zoo import capture_architecture, list_specs


@pytest.mark.parametrize(
    ("model", "family", "task", "parameters"),
    [
        ("regnet_y_400mf", "regnet", "image-classification", 4_344_144),
        ("vit_h_14", "vision_transformer", "image-classification", 632_045_800),
        ("lraspp_mobilenet_v3_large", "lraspp", "image-segmentation", 3_221_538),
        ("r3d_18", "resnet", "video-classification", 33_371_472),
        ("raft_small", "raft", "optical-flow", 990_162),
    ],
)
def test_every_registry_is_read(model, family, task, parameters):
    architecture = capture_architecture(f"torchvision:{model}").architecture
    assert (architecture.labels.family, architecture.labels.task) == (family, task)
    assert architecture.graph.parameters == parameters


def test_flops_are_counted_at_the_published_size():
    """EfficientNet-B7 at 600 x 600: 37.75 G multiply-adds by torchvision's own table."""
    flops = capture_architecture("torchvision:efficientnet_b7").architecture.graph.flops
    assert round(flops / 2e9, 1) == 37.7


def test_all_classification_models_are_listed():
    assert len(list_specs("torchvision")) >= 97
