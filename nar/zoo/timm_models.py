"""The models that timm registers, at the input size that their default configuration names."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import torch
from torch import nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "timm"


def list_timm() -> list[str]:
    """Every registered model; pretrained tags are left out, for they share an architecture."""
    return [f"{SOURCE}:{model}" for model in import_library("timm").list_models()]


def resolve_timm(name: str) -> ArchitectureSpec:
    """The spec behind ``timm:<model>``.

    Raises:
        UnknownArchitectureError: timm registers no such model.
    """
    model = name.removeprefix(f"{SOURCE}:")
    timm = import_library("timm")
    if not timm.models.is_model(model):
        raise unknown_architecture(name, list_timm(), way_out="timm.list_models() names them all")
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version("timm"),
        family=timm_family(model),
        task="image-classification",
    )
    recipe = Recipe(partial(timm.create_model, model, pretrained=False), _inputs)
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


def timm_family(model: str) -> str:
    """Family of a registered model: of its module, or finer where that defines several."""
    entrypoint = import_library("timm.models").model_entrypoint(model)
    return family_of(SOURCE, entrypoint.__module__.rpartition(".")[2], model)


def _inputs(module: nn.Module) -> CaptureInputs:
    config = cast("Mapping[str, Any]", module.pretrained_cfg)
    return CaptureInputs((torch.empty(1, *config["input_size"]),))
