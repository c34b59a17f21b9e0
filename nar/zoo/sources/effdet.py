"""The detectors that effdet configures: backbone, BiFPN and both heads, without anchors or NMS."""

from functools import partial
from types import ModuleType

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward


def _names() -> list[str]:
    """Every configuration of the library, in its order."""
    return list(_configs().efficientdet_model_param_dict)


def _entry(model: str) -> Entry | None:
    if model not in _names():
        return None
    module = import_library("effdet").EfficientDet.__module__.rpartition(".")[2]
    capture = by_forward(partial(_build, model), partial(_inputs, model))
    return Entry(module, "object-detection", capture)


def _build(model: str) -> nn.Module:
    config = _configs().get_efficientdet_config(model)
    detector: nn.Module = import_library("effdet").EfficientDet(config, pretrained_backbone=False)
    return detector


def _inputs(model: str, _module: nn.Module) -> CaptureInputs:
    height, width = _configs().get_efficientdet_config(model).image_size
    return CaptureInputs((torch.empty(1, 3, height, width),))


def _configs() -> ModuleType:
    return import_library("effdet.config.model_config")


EFFDET = Source(
    name="effdet",
    library="effdet",
    licence="Apache-2.0",
    form="<configuration>",
    example="tf_efficientdet_d0",
    names=_names,
    entry=_entry,
    parts=("timm",),
)
