"""Detectors of torchvision as far as they learn: image to raw predictions, with fixed proposals.

Left out is what learns nothing and reads values: resizing, anchors, decoding boxes, NMS, pasting
masks. The heads of a second stage are given fixed proposals instead of what NMS would keep.
"""

from collections.abc import Mapping
from functools import cache
from math import log2
from typing import Any, cast

import torch
from torch import Tensor, nn

from nar.capture import CaptureInputs

_DIVISOR = 32  # pixels: torchvision pads the sides of an image to multiples of it
_ASPECT = 4 / 3  # chosen: most photographs of COCO have it
_ROI_ALIGN = (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
)
Maps = Mapping[str, Tensor]
# Shape (regions, 5): image of the batch, then the box in pixels. Shape (regions,): its map.
Regions = tuple[Tensor, Tensor]


class OneStage(nn.Module):
    """Backbone and dense heads of a RetinaNet, an FCOS or an SSD.

    Args:
        detector: The whole detector.
    """

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        parts = cast("Any", detector)
        self.backbone = parts.backbone
        self.head = parts.head
        self._size = _resized(parts.transform)

    def forward(self, image: Tensor) -> Mapping[str, Tensor]:
        """Class scores and box offsets of every anchor of an (N, 3, H, W) image."""
        predictions: Mapping[str, Tensor] = self.head(list(self.backbone(image).values()))
        return predictions

    def example(self) -> CaptureInputs:
        """One landscape photograph after the detector's own resizing."""
        return CaptureInputs((torch.empty(1, 3, *self._size),))


class TwoStage(nn.Module):
    """Backbone, proposal head and the heads over regions of a Faster, Mask or Keypoint R-CNN.

    Args:
        detector: The whole detector.
    """

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        parts = cast("Any", detector)
        self.backbone = parts.backbone
        self.proposer = parts.rpn.head
        self.heads = parts.roi_heads
        self._size = _resized(parts.transform)
        self._proposals: int = parts.rpn._post_nms_top_n["testing"]

    def forward(self, image: Tensor, proposals: Regions, detections: Regions) -> tuple[object, ...]:
        """Raw predictions: of every anchor, of every proposal, of every detection.

        Args:
            image: Shape (N, 3, H, W), in pixels.
            proposals: What NMS would leave of the first stage.
            detections: What NMS would leave of the boxes, for masks and keypoints.
        """
        maps: Maps = self.backbone(image)
        heads = self.heads
        windows = _pooled(heads.box_roi_pool, maps, image, proposals)
        predictions = [self.proposer(list(maps.values()))]
        predictions.append(heads.box_predictor(heads.box_head(windows)))
        if heads.has_mask():
            windows = _pooled(heads.mask_roi_pool, maps, image, detections)
            predictions.append(heads.mask_predictor(heads.mask_head(windows)))
        if heads.has_keypoint():
            windows = _pooled(heads.keypoint_roi_pool, maps, image, detections)
            predictions.append(heads.keypoint_predictor(heads.keypoint_head(windows)))
        return tuple(predictions)

    def example(self) -> CaptureInputs:
        """One landscape photograph, and as many regions as the detector keeps at most."""
        image = torch.empty(1, 3, *self._size)
        return CaptureInputs(
            (image, _regions(self._proposals), _regions(self.heads.detections_per_img))
        )


def without_postprocessing(detector: nn.Module) -> OneStage | TwoStage:
    """The part of a detector of torchvision that learns."""
    return TwoStage(detector) if hasattr(detector, "roi_heads") else OneStage(detector)


def _regions(count: int) -> Regions:
    return torch.empty(count, 5), torch.zeros(count, dtype=torch.long)


def _resized(transform: Any) -> tuple[int, int]:  # noqa: ANN401
    """Height and width in pixels of a landscape photograph as a detector resizes it."""
    if transform.fixed_size is not None:
        width, height = transform.fixed_size
        return height, width
    height = transform.min_size[-1]
    width = min(round(height * _ASPECT), transform.max_size)
    return _divisible(height), _divisible(width)


def _divisible(extent: int) -> int:
    return -(-extent // _DIVISOR) * _DIVISOR


def _pooled(pooler: nn.Module, maps: Maps, image: Tensor, regions: Regions) -> Tensor:
    """Every region's window of the map it belongs to.

    The library sorts regions by map, which gives shapes that depend on values. Here every region is
    cut out of every map, and the window of the right map is chosen.
    """
    boxes, levels = regions
    settings = cast("Any", pooler)
    chosen = [maps[name] for name in settings.featmap_names if name in maps]
    height, width = settings.output_size
    windows: list[Tensor] = [
        roi_align()(
            features,
            boxes,
            2.0 ** round(log2(features.shape[-1] / image.shape[-1])),
            height,
            width,
            settings.sampling_ratio,
            False,  # as the library calls it
        )
        for features in chosen
    ]
    if len(windows) == 1:
        return windows[0]
    return torch.stack(windows)[levels, torch.arange(len(levels))]


def roi_align() -> Any:  # noqa: ANN401
    """The operator of torchvision, or a stand-in of its schema that only gives the shape."""
    _define_roi_align()
    return torch.ops.torchvision.roi_align


@cache
def _define_roi_align() -> torch.library.Library | None:
    """Once a process, where torchvision's C++ operators could not be loaded.

    Returns:
        The library of the stand-in, if any: it exists only as long as it does.
    """
    if hasattr(torch.ops.torchvision, "roi_align"):
        return None
    operators = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    operators.define(_ROI_ALIGN)  # type: ignore[no-untyped-call]
    operators.impl("roi_align", _roi_align_shape, "Meta")  # type: ignore[no-untyped-call]
    return operators


def _roi_align_shape(
    features: Tensor,
    boxes: Tensor,
    _scale: float,
    height: int,
    width: int,
    _sampling_ratio: int,
    _aligned: bool,
) -> Tensor:
    return features.new_empty((boxes.shape[0], features.shape[1], height, width))
