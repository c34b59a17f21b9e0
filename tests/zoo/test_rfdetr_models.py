"""Detectors of RF-DETR: made from a record of settings, each at its own resolution."""

from nar.zoo import capture_architecture, list_specs


def test_every_variant_is_named_once():
    names = list_specs("rfdetr")
    assert len(names) == len(set(names)) > 10


def test_a_detector_of_masks_is_captured():
    architecture = capture_architecture("rfdetr:RF-DETR/segmentation_nano").architecture
    architecture.graph.validate()
    assert architecture.labels.task == "instance-segmentation"
    assert (architecture.labels.family, architecture.block) == ("rf_detr", "attention")
