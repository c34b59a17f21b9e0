"""Detectors that the configurations of mmdetection name, as far as they learn."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.source import Entry, Source
from nar.zoo.sources.openmmlab.building import build, composed_entry
from nar.zoo.sources.openmmlab.configs import Config, config_names, plain_type
from nar.zoo.sources.openmmlab.detectors import example, without_postprocessing
from nar.zoo.sources.openmmlab.images import fitted_size

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
