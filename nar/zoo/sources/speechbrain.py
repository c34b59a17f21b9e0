"""The networks of speechbrain for speech and speakers, at the sizes of its recipes."""

import sys
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from nar.base.files import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import for_real, on_meta
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward

Row = dict[str, Any]


def _names() -> list[str]:
    _import("")
    return list(_networks())


def _entry(model: str) -> Entry | None:
    row = _networks().get(model)
    if row is None:
        return None
    follow = for_real if row.get("reads_values") else on_meta
    capture = by_forward(partial(_build, row), partial(_inputs, row), follow=follow)
    return Entry(row.get("design", model.partition("@")[0]), row["task"], capture)


def _build(row: Row) -> nn.Module:
    arguments = {name: _value(value) for name, value in row.get("arguments", {}).items()}
    network: nn.Module = _named(row["of"])(**arguments)
    return network


def _value(value: Any) -> Any:  # noqa: ANN401
    """A value of the table; ``{of: <class>}`` is that class itself."""
    return _named(value["of"]) if isinstance(value, dict) else value


def _named(path: str) -> Any:  # noqa: ANN401
    """A class of speechbrain, by its path below the package."""
    module, _, name = path.rpartition(".")
    return getattr(_import(f".{module}"), name)


def _import(below: str) -> ModuleType:
    """The package or a module of it, without the modules that stand for others at an old path.

    Whoever looks at all modules, as hypothesis does, would import what they stand for, and fail.
    """
    module = import_library(f"speechbrain{below}")
    redirect = import_library("speechbrain.utils.importutils").LazyModule
    for name, loaded in list(sys.modules.items()):
        if name.startswith("speechbrain.") and issubclass(type(loaded), redirect):
            del sys.modules[name]
    return module


def _inputs(row: Row, _network: nn.Module) -> CaptureInputs:
    return CaptureInputs(tuple(_tensor(entry) for entry in row["inputs"]))


def _tensor(entry: list[int] | Row) -> Tensor:
    """Floats of a shape, or integers of ``{tokens: shape}``, or shares of ``{lengths: shape}``."""
    if isinstance(entry, list):
        return torch.zeros(entry)
    if "tokens" in entry:
        return torch.ones(entry["tokens"], dtype=torch.long)
    return torch.ones(entry["lengths"])


def _networks() -> dict[str, Row]:
    networks: dict[str, Row] = package_yaml("zoo", "sources", "speechbrain_nets.yaml")["networks"]
    return networks


SPEECHBRAIN = Source(
    name="speechbrain",
    library="speechbrain",
    licence="Apache-2.0",
    form="<Network>[@<variant>]",
    example="ECAPA_TDNN",
    names=_names,
    entry=_entry,
    parts=("torchaudio",),
)
