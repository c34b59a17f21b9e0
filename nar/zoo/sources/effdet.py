"""The detectors that effdet configures: backbone, BiFPN and both heads, without anchors or NMS."""

from functools import partial
from types import ModuleType

import torch
from torch import nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "effdet"


def list_effdet() -> list[str]:
    """Every configuration of the library, in its order."""
    return [f"{SOURCE}:{model}" for model in _configs().efficientdet_model_param_dict]


def resolve_effdet(name: str) -> ArchitectureSpec:
    """The spec behind ``effdet:<configuration>``.

    Raises:
        UnknownArchitectureError: The library has no such configuration.
    """
    model = name.removeprefix(f"{SOURCE}:")
    if model not in _configs().efficientdet_model_param_dict:
        way_out = "effdet.config.model_config.efficientdet_model_param_dict names them all"
        raise unknown_architecture(name, list_effdet(), way_out=way_out)
    detector = import_library(SOURCE).EfficientDet
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(SOURCE),
        family=family_of(SOURCE, detector.__module__.rpartition(".")[2]),
        task="object-detection",
    )
    recipe = Recipe(partial(_build, model), partial(_inputs, model))
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


def _build(model: str) -> nn.Module:
    config = _configs().get_efficientdet_config(model)
    detector: nn.Module = import_library(SOURCE).EfficientDet(config, pretrained_backbone=False)
    return detector


def _inputs(model: str, _module: nn.Module) -> CaptureInputs:
    height, width = _configs().get_efficientdet_config(model).image_size
    return CaptureInputs((torch.empty(1, 3, height, width),))


def _configs() -> ModuleType:
    return import_library(f"{SOURCE}.config.model_config")
