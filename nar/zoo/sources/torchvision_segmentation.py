"""Segmentation networks that people compose: a head of torchvision on a dilated timm backbone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, ModuleType

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.timm import TimmBackbone, TimmMaps, timm_backbones

CLASSES = 21  # of Pascal VOC with the background, as in torchvision's published weights


def _fcn(module: ModuleType, backbone: TimmMaps) -> nn.Module:
    model: nn.Module = module.FCN(backbone, module.FCNHead(backbone.channels[0], CLASSES))
    return model


def _deeplabv3(module: ModuleType, backbone: TimmMaps) -> nn.Module:
    head = module.DeepLabHead(backbone.channels[0], CLASSES)
    model: nn.Module = module.DeepLabV3(backbone, head)
    return model


def _lraspp(module: ModuleType, backbone: TimmMaps) -> nn.Module:
    low, high = backbone.channels
    model: nn.Module = module.LRASPP(backbone, low, high, CLASSES)
    return model


@dataclass(frozen=True, slots=True)
class _Head:
    """A network of torchvision by the module that defines it, as its published form is set.

    Attributes:
        build: Puts the head on a backbone.
        picks: The maps that it reads, by its own names for them: see `TimmMaps`.
        output_stride: Output stride of the backbone.
    """

    build: Callable[[ModuleType, TimmMaps], nn.Module]
    picks: Mapping[str, int]
    output_stride: int


_HEADS: Mapping[str, _Head] = MappingProxyType(
    {
        "fcn": _Head(_fcn, {"out": -1}, 8),
        "deeplabv3": _Head(_deeplabv3, {"out": -1}, 8),
        "lraspp": _Head(_lraspp, {"low": -3, "high": -1}, 16),
    }
)


def _names() -> list[str]:
    """Every pair, model by model."""
    return [f"{head}/{model}" for model in _backbones() for head in _HEADS]


def _entry(name: str) -> Entry | None:
    head_name, _, model = name.partition("/")
    backbone = _backbones().get(model)
    if head_name not in _HEADS or backbone is None:
        return None
    return Entry(
        head_name,
        "image-segmentation",
        by_forward(partial(_build, head_name, model), partial(_image, backbone.size)),
        tier="composed",
        backbone=backbone.family,
    )


def _build(head_name: str, model: str) -> nn.Module:
    head = _HEADS[head_name]
    backbone = TimmMaps(model, head.picks, output_stride=head.output_stride)
    return head.build(import_library(f"torchvision.models.segmentation.{head_name}"), backbone)


def _image(size: int, _module: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, size, size),))


def _backbones() -> dict[str, TimmBackbone]:
    return {name: row for name, row in timm_backbones().items() if row.is_dilated}


TORCHVISION_SEGMENTATION = Source(
    name="torchvision_segmentation",
    library="torchvision",
    licence="BSD-3-Clause",
    form="<head>/<timm model>",
    example="fcn/resnet50",
    names=_names,
    entry=_entry,
    parts=("timm",),
)
