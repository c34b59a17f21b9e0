"""Detectors of mmdetection: one stage, two, a cascade, and operators that mmcv compiles."""

import pytest

from nar.graphs.ops import op_name
from nar.own import capture_architecture
from nar.zoo.sources import list_specs


def test_hundreds_of_detectors_are_listed_once():
    names = list_specs("mmdet")
    assert len(names) == len(set(names)) > 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "family", "operator"),
    [
        ("retinanet/retinanet_r18_fpn_1x_coco", "retinanet", "conv"),
        ("faster_rcnn/faster-rcnn_r50_fpn_1x_coco", "faster_rcnn", "roi_align"),
        ("dcn/faster-rcnn_r50-dconv-c3-c5_fpn_1x_coco", "faster_rcnn", "deform_conv"),
        ("dcnv2/faster-rcnn_r50-mdconv-c3-c5_fpn_1x_coco", "faster_rcnn", "deform_conv"),
    ],
)
def test_a_detector_is_captured_up_to_its_raw_predictions(model, family, operator):
    architecture = capture_architecture(f"mmdet:{model}").architecture
    architecture.graph.validate()
    assert architecture.labels.family == family
    assert architecture.labels.backbone == "resnet"
    assert operator in set(map(op_name, architecture.graph.op_ids.tolist()))


@pytest.mark.slow
def test_every_stage_of_a_cascade_is_captured():
    cascade = capture_architecture("mmdet:cascade_rcnn/cascade-rcnn_r50_fpn_1x_coco").architecture
    plain = capture_architecture("mmdet:faster_rcnn/faster-rcnn_r50_fpn_1x_coco").architecture
    # A head is two linear layers over 7 x 7 windows, and a layer of 80 classes and none.
    head = linear(256 * 7 * 7, 1024) + linear(1024, 1024) + linear(1024, 81)
    # A cascade corrects one box a region, the other one a class.
    boxes = 3 * linear(1024, 4) - linear(1024, 4 * 80)
    assert cascade.graph.parameters - plain.graph.parameters == 2 * head + boxes


def linear(inputs, outputs):
    return (inputs + 1) * outputs
