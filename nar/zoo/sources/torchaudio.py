"""The models of torchaudio: recognition, separation, synthesis and quality of speech."""

from functools import partial
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
    import_library("torchaudio.models")
    return list(_models())


def _entry(model: str) -> Entry | None:
    row = _models().get(model)
    if row is None:
        return None
    maker = model.partition("@")[0]
    follow = for_real if row.get("reads_values") else on_meta
    capture = by_forward(partial(_build, maker, row), partial(_inputs, row), follow=follow)
    return Entry(maker, row["task"], capture)


def _build(maker: str, row: Row) -> nn.Module:
    models = import_library("torchaudio.models")
    network: nn.Module = getattr(models, maker)(**row.get("arguments", {}))
    return network


def _inputs(row: Row, _network: nn.Module) -> CaptureInputs:
    return CaptureInputs(tuple(_tensor(entry) for entry in row["inputs"]))


def _tensor(entry: list[int] | dict[str, list[int]]) -> Tensor:
    """A float tensor of a shape, or integers of ``{tokens: shape}`` or ``{lengths: values}``."""
    if isinstance(entry, list):
        return torch.zeros(entry)
    if "tokens" in entry:
        return torch.ones(entry["tokens"], dtype=torch.long)
    return torch.tensor(entry["lengths"])


def _models() -> dict[str, Row]:
    models: dict[str, Row] = package_yaml("zoo", "sources", "torchaudio_models.yaml")["models"]
    return models


TORCHAUDIO = Source(
    name="torchaudio",
    library="torchaudio",
    licence="BSD-2-Clause",
    form="<model>",
    example="conv_tasnet_base",
    names=_names,
    entry=_entry,
)
