"""The networks of braindecode, for recordings of the brain (EEG) and of muscles (EMG)."""

from functools import partial
from typing import Any

import torch
from torch import nn

from nar.base.files import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import for_real, on_meta
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward

Row = dict[str, Any]


def _names() -> list[str]:
    import_library("braindecode.models")
    return list(_nets())


def _entry(model: str) -> Entry | None:
    row = _nets().get(model)
    if row is None:
        return None
    arguments = {name: row[name] for name in row if name not in ("task", "reads_values")}
    follow = for_real if "reads_values" in row else on_meta
    build = partial(_build, model, arguments)
    capture = by_forward(build, partial(_inputs, arguments), follow=follow)
    return Entry(model, row.get("task", "eeg-classification"), capture)


def _build(class_name: str, arguments: Row) -> nn.Module:
    network: nn.Module = getattr(import_library("braindecode.models"), class_name)(**arguments)
    return network


def _inputs(arguments: Row, _network: nn.Module) -> CaptureInputs:
    """One window of a recording, in volts: shape (1, channels, samples)."""
    return CaptureInputs((torch.zeros(1, arguments["n_chans"], arguments["n_times"]),))


def _nets() -> dict[str, Row]:
    nets: dict[str, Row] = package_yaml("zoo", "sources", "braindecode_nets.yaml")["nets"]
    return nets


BRAINDECODE = Source(
    name="braindecode",
    library="braindecode",
    licence="BSD-3-Clause",
    form="<Network>",
    example="EEGNet",
    names=_names,
    entry=_entry,
    parts=("torchaudio",),
)
