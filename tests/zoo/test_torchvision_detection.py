"""Detectors and segmentation networks that put a head of torchvision on a timm backbone."""

import pytest
import torch

from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_id
from nar.zoo.libraries import import_library
from nar.zoo.sources.timm import TimmMaps
from nar.zoo.sources.torchvision_detection import TORCHVISION_DETECTION
from nar.zoo.sources.torchvision_heads import without_postprocessing
from nar.zoo.sources.torchvision_segmentation import TORCHVISION_SEGMENTATION


@pytest.mark.parametrize(
    ("head", "family", "windows"),
    [("fasterrcnn", "faster_rcnn", 4), ("maskrcnn", "mask_rcnn", 8), ("fcos", "fcos", 0)],
)
def test_a_head_stands_on_a_backbone_of_timm(head, family, windows):
    spec = TORCHVISION_DETECTION.resolve(f"torchvision_detection:{head}/resnet18")
    capture = spec.capture()
    assert (spec.labels.family, spec.labels.backbone) == (family, "resnet")
    assert (spec.labels.task, spec.labels.tier) == ("object-detection", "composed")
    assert capture.unknown_operators == {}
    assert capture.graph.op_ids.tolist().count(op_id("roi_align")) == windows


@pytest.mark.parametrize("head", ["fcn", "deeplabv3", "lraspp"])
def test_a_segmentation_head_stands_on_a_dilated_backbone(head):
    spec = TORCHVISION_SEGMENTATION.resolve(f"torchvision_segmentation:{head}/resnet18")
    assert (spec.labels.family, spec.labels.backbone) == (head, "resnet")
    assert spec.capture().unknown_operators == {}


@pytest.mark.slow
def test_the_heads_over_regions_read_the_map_that_each_region_belongs_to():
    build = import_library("torchvision.models.detection").fasterrcnn_mobilenet_v3_large_320_fpn
    with torch.device("meta"):
        core = without_postprocessing(build(weights=None, weights_backbone=None)).eval()
        image, proposals, detections = core.example().args
        anchors, (scores, boxes) = core(image, proposals, detections)
    assert image.shape == (1, 3, 320, 448)
    assert [len(predictions) for predictions in anchors] == [3, 3]
    assert (scores.shape, boxes.shape) == ((150, 91), (150, 364))


@pytest.mark.slow
def test_maps_are_channels_first_whatever_the_model_gives():
    with torch.device("meta"):
        maps = TimmMaps("swin_tiny_patch4_window7_224", {"fine": -4, "coarse": -1})
        levels = maps(torch.empty(1, 3, 224, 224))
    assert {name: tuple(m.shape) for name, m in levels.items()} == {
        "fine": (1, 96, 56, 56),
        "coarse": (1, 768, 7, 7),
    }
    assert maps.channels == [96, 768]


@pytest.mark.parametrize("source", [TORCHVISION_DETECTION, TORCHVISION_SEGMENTATION])
def test_every_pair_is_listed_once(source):
    names = source.specs()
    assert len(names) == len(set(names)) > 500


def test_a_backbone_of_one_scale_bears_no_pyramid():
    with pytest.raises(UnknownArchitectureError):
        TORCHVISION_DETECTION.resolve("torchvision_detection:fcos/vit_base_patch16_224")
    with pytest.raises(UnknownArchitectureError):
        TORCHVISION_SEGMENTATION.resolve(
            "torchvision_segmentation:fcn/swin_tiny_patch4_window7_224"
        )
