"""Segmenters of mmsegmentation: the family of the head, the backbone beside it."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


@pytest.mark.slow
def test_data_sets_with_other_classes_stand_apart_and_schedules_do_not():
    names = list_specs("mmseg")
    assert len(names) == len(set(names)) > 150
    assert "mmseg:segformer/segformer_mit-b0_8xb2-160k_ade20k-512x512" in names
    assert "mmseg:segformer/segformer_mit-b0_8xb1-160k_cityscapes-1024x1024" in names
    with pytest.raises(UnknownArchitectureError):
        resolve("mmseg:fcn/fcn_r50-d8_4xb4-160k_ade20k-512x512")


@pytest.mark.slow
def test_a_segmenter_is_its_head_on_its_backbone():
    name = "mmseg:segformer/segformer_mit-b0_8xb2-160k_ade20k-512x512"
    architecture = capture_architecture(name).architecture
    architecture.graph.validate()
    labels = architecture.labels
    assert (labels.family, labels.backbone, labels.tier) == ("segformer", "mit", "named")
    # Encoder of the paper's table 1, and a head of 256 channels.
    assert 3.6e6 < architecture.graph.parameters < 4.0e6


@pytest.mark.slow
def test_a_backbone_may_come_from_another_library():
    labels = resolve("mmseg:convnext/convnext-tiny_upernet_8xb2-amp-160k_ade20k-512x512").labels
    assert (labels.family, labels.backbone) == ("upernet", "convnext")
