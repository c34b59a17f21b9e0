"""The vision transformers of vit-pytorch, with the arguments that its documentation gives."""

from functools import cache, partial
from importlib.resources import files
from typing import Any

import torch
import yaml
from torch import nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "vit_pytorch"
_IMAGE = [1, 3, 256, 256]


def list_vit_pytorch() -> list[str]:
    """Every network of the table: ``vit_pytorch:<module>.<Class>``, some with ``/<variant>``."""
    library_version(SOURCE)
    return [f"{SOURCE}:{net}" for net in _nets()]


def resolve_vit_pytorch(name: str) -> ArchitectureSpec:
    """The spec behind ``vit_pytorch:<module>.<Class>``.

    Raises:
        UnknownArchitectureError: The table has no such network.
    """
    net = name.removeprefix(f"{SOURCE}:")
    row = _nets().get(net)
    if row is None:
        way_out = f"wanted {SOURCE}:<module>.<Class>, as {SOURCE}:vit.ViT"
        raise unknown_architecture(name, list_vit_pytorch(), way_out=way_out)
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(SOURCE),
        family=family_of(SOURCE, net.partition(".")[0]),
        task=row.get("task", "image-classification"),
    )
    recipe = Recipe(
        partial(_built, f"{SOURCE}.{net.partition('/')[0]}", row["arguments"]),
        partial(_inputs, row.get("input", _IMAGE)),
    )
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


def _built(path: str, arguments: dict[str, Any]) -> nn.Module:
    """A network of any library by its dotted path, and the networks among its arguments."""
    module, _, class_name = path.rpartition(".")
    made = {name: _argument(value) for name, value in arguments.items()}
    network: nn.Module = getattr(import_library(module), class_name)(**made)
    return network


def _argument(value: object) -> object:
    if isinstance(value, list):
        return tuple(_argument(item) for item in value)
    if isinstance(value, dict):
        return _built(value["class"], value["arguments"])
    return value


def _inputs(shape: list[int], _network: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.empty(shape),))


@cache
def _nets() -> dict[str, dict[str, Any]]:
    text = files("nar.zoo.sources").joinpath("vit_pytorch_nets.yaml").read_text(encoding="utf-8")
    nets: dict[str, dict[str, Any]] = yaml.safe_load(text)["nets"]
    return nets
