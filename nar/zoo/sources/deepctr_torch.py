"""The networks of DeepCTR-Torch: will somebody click on this? Widths are the library's defaults."""

import sys
from collections.abc import Mapping
from functools import partial
from importlib import util
from types import ModuleType
from typing import Any

import torch
from torch import nn

from nar.base.files import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import for_real
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

# The columns of the Criteo data, and a vocabulary small enough for a table.
CRITEO_SPARSE = 26
CRITEO_DENSE = 13
VOCABULARY = 1000
EMBEDDING = 8
HISTORY_LENGTH = 4
# What each field of the library's own example of a user's behaviour is: two of them have a history.
_BEHAVIOUR = ("user", "gender", "item_id", "cate_id")
_WITH_HISTORY = ("item_id", "cate_id")

_Row = Mapping[str, Any]


def _names() -> list[str]:
    library_version("deepctr_torch")
    return list(_nets())


def _entry(net: str) -> Entry | None:
    row = _nets().get(net)
    if row is None:
        return None
    model = net.partition("/")[0]
    # Parts of the networks move to the CPU by name.
    capture = by_forward(partial(_built, model, row), _inputs, follow=for_real)
    return Entry(model, "click-through-rate", capture)


def _built(model: str, row: _Row) -> nn.Module:
    maker = getattr(_library("models"), model)
    features = _FEATURES[row.get("features", "criteo")]()
    arguments = dict.fromkeys(row["columns"], features) | row.get("arguments", {})
    network: nn.Module = maker(**arguments)
    return network


def _library(module: str) -> ModuleType:
    """A module of the library, whose package would ask PyPI for a newer version when it is run."""
    package = util.find_spec("deepctr_torch")
    if package is not None and "deepctr_torch" not in sys.modules:
        sys.modules["deepctr_torch"] = util.module_from_spec(package)
    return import_library(f"deepctr_torch.{module}")


def _sparse() -> list[object]:
    inputs = _library("inputs")
    return [inputs.SparseFeat(f"C{i}", VOCABULARY, EMBEDDING) for i in range(CRITEO_SPARSE)]


def _criteo() -> list[object]:
    inputs = _library("inputs")
    return [*_sparse(), *(inputs.DenseFeat(f"I{i}", 1) for i in range(CRITEO_DENSE))]


def _behaviour() -> list[object]:
    inputs = _library("inputs")
    sparse = [inputs.SparseFeat(name, VOCABULARY, EMBEDDING) for name in _BEHAVIOUR]
    histories = (
        inputs.VarLenSparseFeat(
            inputs.SparseFeat(f"hist_{name}", VOCABULARY, EMBEDDING, embedding_name=name),
            maxlen=HISTORY_LENGTH,
            length_name="seq_length",
        )
        for name in _WITH_HISTORY
    )
    return [*sparse, inputs.DenseFeat("pay_score", 1), *histories]


_FEATURES = {"criteo": _criteo, "sparse": _sparse, "behaviour": _behaviour}


def _inputs(network: nn.Module) -> CaptureInputs:
    """Two rows of the data, all columns side by side: some networks squeeze a single one away."""
    ends = [end for _, end in network.feature_index.values()]  # type: ignore[operator]
    return CaptureInputs((torch.zeros(2, max(ends)),))


def _nets() -> Mapping[str, _Row]:
    nets: Mapping[str, _Row] = package_yaml("zoo", "sources", "deepctr_torch_nets.yaml")["nets"]
    return nets


DEEPCTR_TORCH = Source(
    name="deepctr_torch",
    library="deepctr_torch",
    licence="Apache-2.0",
    form="<Class>[/<variant>]",
    example="DeepFM",
    names=_names,
    entry=_entry,
)
