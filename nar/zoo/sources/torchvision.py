"""The models that torchvision registers: classification, segmentation, detection, video, flow.

Quantised models are captured before quantisation, which changes numbers and not the design.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Protocol, cast

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.torchvision_heads import OneStage, TwoStage, without_postprocessing

FRAMES = 16  # of a clip: the number that torchvision's MViT is built for
SEGMENTATION_SIZE = 520  # pixels, of the preprocessing of the library's published weights
FLOW_SIZE = (360, 480)


class _Preset(Protocol):
    """Preprocessing of published weights."""

    crop_size: list[int]


def _image(module: nn.Module, preset: _Preset) -> CaptureInputs:
    """The size of the published weights, unless the model was built for one size only."""
    size = getattr(module, "image_size", preset.crop_size[0])
    return CaptureInputs((torch.empty(1, 3, size, size),))


def _clip(_module: nn.Module, preset: _Preset) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, FRAMES, *preset.crop_size),))


def _scene(_module: nn.Module, _preset: _Preset) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, SEGMENTATION_SIZE, SEGMENTATION_SIZE),))


def _two_frames(_module: nn.Module, _preset: _Preset) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, *FLOW_SIZE), torch.empty(1, 3, *FLOW_SIZE)))


def _photograph(module: nn.Module, _preset: _Preset) -> CaptureInputs:
    return cast("OneStage | TwoStage", module).example()


def _whole(module: nn.Module) -> nn.Module:
    return module


@dataclass(frozen=True, slots=True)
class _Registry:
    """One of torchvision's registries.

    Attributes:
        module: Where its models are registered.
        task: What they are for.
        inputs: From a model and the preprocessing of its published weights to its inputs.
        weights: Arguments that would download weights, were they not None.
        part: What of a model is captured.
    """

    module: str
    task: str
    inputs: Callable[[nn.Module, _Preset], CaptureInputs]
    weights: tuple[str, ...] = ("weights",)
    part: Callable[[nn.Module], nn.Module] = _whole

    def names(self) -> list[str]:
        names: list[str] = _models().list_models(module=import_library(self.module))
        return names


_BOTH = ("weights", "weights_backbone")
_REGISTRIES = (
    _Registry("torchvision.models", "image-classification", _image),
    _Registry("torchvision.models.segmentation", "image-segmentation", _scene, _BOTH),
    _Registry(
        "torchvision.models.detection",
        "object-detection",
        _photograph,
        _BOTH,
        without_postprocessing,
    ),
    _Registry("torchvision.models.video", "video-classification", _clip),
    _Registry("torchvision.models.optical_flow", "optical-flow", _two_frames),
    _Registry("torchvision.models.quantization", "image-classification", _image),
)


def _names() -> list[str]:
    """Every model of the registries of `_REGISTRIES`, registry by registry."""
    return [model for registry in _REGISTRIES for model in registry.names()]


def _entry(model: str) -> Entry | None:
    registry = next((each for each in _REGISTRIES if model in each.names()), None)
    if registry is None:
        return None
    module = _models().get_model_builder(model).__module__.rpartition(".")[2]
    preset = _models().get_model_weights(model).DEFAULT.transforms()
    capture = by_forward(partial(_build, registry, model), partial(_inputs, registry, preset))
    return Entry(module, registry.task, capture, entrypoint=model)


def _build(registry: _Registry, model: str) -> nn.Module:
    return registry.part(_models().get_model(model, **dict.fromkeys(registry.weights)))


def _inputs(registry: _Registry, preset: _Preset, module: nn.Module) -> CaptureInputs:
    return registry.inputs(module, preset)


def _models() -> ModuleType:
    return import_library("torchvision.models")


TORCHVISION = Source(
    name="torchvision",
    library="torchvision",
    licence="BSD-3-Clause",
    form="<model>",
    example="resnet50",
    names=_names,
    entry=_entry,
)
