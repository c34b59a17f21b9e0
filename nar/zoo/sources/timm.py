"""The models that timm registers, at the input size that their default configuration names."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward


def timm_names() -> list[str]:
    """Every registered model; pretrained tags are left out, for they share an architecture."""
    names: list[str] = import_library("timm").list_models()
    return names


def timm_family(model: str) -> str:
    """Family of a registered model: of its module, or finer where that defines several."""
    return family_of(TIMM.library, _module(model), model)


def _entry(model: str) -> Entry | None:
    timm = import_library("timm")
    if not timm.models.is_model(model):
        return None
    build = partial(timm.create_model, model, pretrained=False)
    return Entry(
        _module(model), "image-classification", by_forward(build, _inputs), entrypoint=model
    )


def _module(model: str) -> str:
    entrypoint = import_library("timm.models").model_entrypoint(model)
    module: str = entrypoint.__module__.rpartition(".")[2]
    return module


def _inputs(module: nn.Module) -> CaptureInputs:
    config = cast("Mapping[str, Any]", module.pretrained_cfg)
    return CaptureInputs((torch.empty(1, *config["input_size"]),))


TIMM = Source(
    name="timm",
    library="timm",
    licence="Apache-2.0",
    form="<model>",
    example="resnet50",
    names=timm_names,
    entry=_entry,
)
