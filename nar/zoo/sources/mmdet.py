"""Detectors that the configurations of mmdetection name, as far as they learn.

A capture goes from an image to raw predictions, with fixed proposals. Left out is what learns
nothing and reads values: anchors, decoding boxes, NMS, pasting masks. The heads of a second stage,
and every stage of a cascade, are given fixed proposals instead of the boxes that NMS would keep.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source
from nar.zoo.sources.openmmlab.building import build, composed_entry
from nar.zoo.sources.openmmlab.configs import Config, config_names, plain_type
from nar.zoo.sources.openmmlab.images import fitted_size

_PROPOSALS = 1000  # regions that the configurations keep of the first stage
_MASKED = 100  # regions whose masks are predicted, as in the library's own heads


class MmdetOneStage(nn.Module):
    """A detector without regions or with learned regions: the whole forward of its library.

    Args:
        detector: The whole detector.
    """

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, image: Tensor) -> object:
        """Raw predictions of an (N, 3, H, W) image."""
        return self.detector(image, _samples(image), mode="tensor")


class MmdetTwoStage(nn.Module):
    """Backbone, proposal head and the heads over regions.

    Args:
        detector: The whole detector.
    """

    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, image: Tensor, boxes: Tensor) -> list[object]:
        """Raw predictions: of every anchor, of every region, of every mask.

        Args:
            image: Shape (N, 3, H, W), in pixels.
            boxes: Shape (regions, 4), in pixels: what NMS would leave of the first stage.
        """
        parts = cast("Any", self.detector)
        maps = parts.extract_feat(image)
        predictions = [parts.rpn_head(maps)] if parts.with_rpn else []
        heads = parts.roi_head
        if hasattr(heads, "num_stages"):
            return [*predictions, *_cascade(heads, maps, boxes)]
        regions = import_library("mmengine.structures").InstanceData(bboxes=boxes)
        return [*predictions, heads.forward(maps, [regions], _samples(image))]


def without_postprocessing(detector: nn.Module) -> MmdetOneStage | MmdetTwoStage:
    """The part of a detector of mmdetection that learns."""
    for module in detector.modules():
        if hasattr(module, "map_roi_levels"):
            module.forward = partial(_windows, module)
    heads = getattr(detector, "roi_head", None)
    # A Sparse R-CNN and its kin learn their proposals.
    if heads is None or type(getattr(detector, "rpn_head", None)).__name__ == "EmbeddingRPNHead":
        return MmdetOneStage(detector)
    return MmdetTwoStage(detector)


def example(detector: nn.Module, size: tuple[int, int]) -> CaptureInputs:
    """One image, and as many regions as a first stage leaves.

    Args:
        detector: Made by `without_postprocessing`.
        size: Height and width in pixels.
    """
    image = torch.empty(1, 3, *size)
    if isinstance(detector, MmdetOneStage):
        return CaptureInputs((image,))
    return CaptureInputs((image, torch.empty(_PROPOSALS, 4)))


def _cascade(heads: Any, maps: Sequence[Tensor], boxes: Tensor) -> list[object]:  # noqa: ANN401
    """Every stage's predictions, each of the same regions."""
    regions = import_library("mmdet.structures.bbox").bbox2roi([boxes])
    further = {}
    if getattr(heads, "with_semantic", False):
        further["semantic_feat"] = heads.semantic_head(maps)[1]
    predictions = []
    for stage in range(heads.num_stages):
        results = heads._bbox_forward(stage, maps, regions, **further)
        predictions += [results["cls_score"], results["bbox_pred"]]
        if heads.with_mask:
            masks = heads._mask_forward(stage, maps, regions[:_MASKED], **further)
            predictions.append(masks["mask_preds"])
    return predictions


def _windows(
    extractor: nn.Module,
    maps: Sequence[Tensor],
    regions: Tensor,
    roi_scale_factor: float | None = None,
) -> Tensor:
    """Every region's window of the map it belongs to.

    The library sorts regions by map, which gives shapes that depend on values. Here every region is
    cut out of every map, and the window of the right map is chosen.
    """
    settings = cast("Any", extractor)
    if roi_scale_factor is not None:
        regions = settings.roi_rescale(regions, roi_scale_factor)
    windows: list[Tensor] = [
        pool(features, regions) for pool, features in zip(settings.roi_layers, maps, strict=False)
    ]
    if len(windows) == 1:
        return windows[0]
    levels = torch.zeros(len(regions), dtype=torch.long, device=regions.device)
    return torch.stack(windows)[levels, torch.arange(len(regions), device=regions.device)]


def _samples(image: Tensor) -> list[object]:
    """What heads ask about each image; it says that the image has no padding."""
    size = tuple(image.shape[-2:])
    sample = import_library("mmdet.structures").DetDataSample(
        metainfo={"img_shape": size, "batch_input_shape": size, "scale_factor": (1.0, 1.0)},
        gt_instances=import_library("mmengine.structures").InstanceData(),
    )
    return [sample] * len(image)


_LIBRARY = "mmdet"
_HEIGHT_WIDTH = (800, 1088)  # a photograph of 4:3 with a short side of 800 pixels


def _entry(name: str) -> Entry | None:
    return composed_entry(
        _LIBRARY, name, "object-detection", defining=_design, build=_build, inputs=_inputs
    )


def _design(model: Mapping[str, Any]) -> str:
    """The detector's class, or its head's where the class serves several designs."""
    design = plain_type(model)
    return plain_type(model["bbox_head"]) if design == "SingleStageDetector" else design


def _build(model: Mapping[str, Any]) -> nn.Module:
    return without_postprocessing(build(_LIBRARY, model))


def _inputs(config: Config, module: nn.Module) -> CaptureInputs:
    return example(module, fitted_size(config, _HEIGHT_WIDTH))


MMDET = Source(
    name="mmdet",
    library=_LIBRARY,
    licence="Apache-2.0",
    form="<directory>/<configuration>",
    example="retinanet/retinanet_r50_fpn_1x_coco",
    names=partial(config_names, _LIBRARY),
    entry=_entry,
    parts=("mmcv", "mmengine", "mmpretrain"),
)
