"""One call of a diffusers model, read from a table of shapes that name configuration settings."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from inspect import Parameter, signature
from math import prod
from typing import Any, cast

import torch
import yaml
from torch import Tensor, nn

from nar.capture import CaptureInputs

Settings = Mapping[str, Any]

_DTYPES = {"long": torch.long, "bool": torch.bool}


def described_classes() -> list[str]:
    """Classes whose inputs the table knows, in its order."""
    return list(_table()["classes"])


def marked_classes(mark: str) -> list[str]:
    """Classes that the table lists under a mark: ``only_published`` or ``on_cpu``."""
    marked: list[str] = _table()[mark]
    return marked


def example_inputs(model: nn.Module, *, more: Mapping[str, object]) -> CaptureInputs:
    """Everything that the model's forward wants, on the default device.

    Args:
        model: A ``ModelMixin`` of a class that the table describes.
        more: Further entries, as in the table, for what its configuration asks for.
    """
    settings = cast("Settings", model.config)
    wanted = signature(model.forward).parameters.values()
    required = {parameter.name for parameter in wanted if parameter.default is Parameter.empty}
    common = {name: entry for name, entry in _table()["defaults"].items() if name in required}
    entries = common | _table()["classes"][type(model).__name__] | more
    return CaptureInputs((), {name: _made(entry, settings) for name, entry in entries.items()})


def _made(entry: object, settings: Settings) -> object:
    """A tensor, a list or dictionary of them, or the entry itself: see the table's head."""
    if isinstance(entry, list) and all(isinstance(extent, int | str) for extent in entry):
        return torch.zeros(shape_of_entry(entry, settings)) if entry else []
    if not isinstance(entry, dict):
        return entry
    ((kind, content),) = entry.items()
    if kind == "each":
        return [_made(item, settings) for item in content]
    if kind == "named":
        return {name: _made(item, settings) for name, item in content.items()}
    return _ones(kind, shape_of_entry(content, settings))


def _ones(kind: str, shape: list[int]) -> Tensor:
    return torch.ones(shape, dtype=_DTYPES[kind])


def shape_of_entry(extents: list[int | str], settings: Settings) -> list[int]:
    """The shape that an entry of the table stands for.

    Args:
        extents: Numbers, or expressions of settings as ``a|b*2+1``.
        settings: A model's configuration.

    Raises:
        ValueError: None of the settings that an expression wants is set.
    """
    return [extent if isinstance(extent, int) else _sum(extent, settings) for extent in extents]


def _sum(expression: str, settings: Settings) -> int:
    """``a|b*2+1``: alternatives bind closest, then products, then sums."""
    return sum(
        prod(_first(factor, settings) for factor in term.split("*"))
        for term in expression.split("+")
    )


def _first(alternatives: str, settings: Settings) -> int:
    for name in alternatives.split("|"):
        value = int(name) if name.isdecimal() else settings.get(name)
        if isinstance(value, list | tuple):
            value = value[0]
        if value is not None:
            return int(value)
    raise ValueError(f"wanted one of {alternatives} in the configuration, came none")


@cache
def _table() -> dict[str, Any]:
    text = files("nar.zoo.sources").joinpath("diffusers_inputs.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    return table
