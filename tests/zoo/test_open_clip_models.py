"""Models of open_clip: both towers in one graph, families from the configuration."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.zoo.sources.open_clip import OPEN_CLIP


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "parameters"),
    [
        ("ViT-B-32", "clip", 151_277_313),
        ("RN50", "clip", 102_007_137),
        ("ViT-B-16-SigLIP", "siglip", 203_155_970),
    ],
)
def test_both_towers_are_captured(model, family, parameters):
    spec = OPEN_CLIP.resolve(f"open_clip:{model}")
    capture = spec.capture()
    assert (spec.labels.family, spec.labels.task) == (family, "zero-shot-image-classification")
    assert capture.graph.parameters == parameters
    assert capture.unknown_operators == {}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("coca_ViT-B-32", "coca"),
        ("ViTamin-B", "vitamin"),
        ("EVA02-B-16", "eva_clip"),
        ("vit_medium_patch16_gap_256", "clip"),
        ("roberta-ViT-B-32", "clip"),
    ],
)
def test_the_configuration_decides_the_family(model, family):
    assert OPEN_CLIP.resolve(f"open_clip:{model}").labels.family == family


def test_all_configurations_are_listed():
    assert len(OPEN_CLIP.specs()) >= 144


def test_an_unknown_name_gets_its_neighbours():
    with pytest.raises(UnknownArchitectureError, match="ViT-B-32"):
        OPEN_CLIP.resolve("open_clip:ViT-B-33")
