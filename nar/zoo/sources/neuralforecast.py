"""The forecasters of neuralforecast, for the horizons of known benchmarks."""

from functools import partial
from itertools import product
from typing import Any

import torch
from torch import nn

from nar.base.files import package_yaml
from nar.capture import CaptureInputs
from nar.graphs.architecture import Tier
from nar.zoo.building import for_real, on_meta
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward

Row = dict[str, Any]
# What the base class would otherwise set up for training.
_QUIET = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False}


def _names() -> list[str]:
    tables = _tables()
    return [
        f"{net}/{data}"
        for (net, row), (data, shape) in product(tables["models"].items(), tables["data"].items())
        if shape["input_size"] >= row.get("least_input", 0)
    ]


def _entry(model: str) -> Entry | None:
    tables = _tables()
    net, _, data = model.partition("/")
    if model not in _names():
        return None
    row: Row = tables["models"][net]
    shape: Row = tables["data"][data]
    benchmark = data.partition("-")[0]
    tier: Tier = "named" if benchmark in ("docs", *row.get("published", ())) else "swept"
    follow = for_real if row.get("reads_values") else on_meta
    class_name = net.partition("@")[0]
    build = partial(_build, class_name, row, shape)
    capture = by_forward(build, partial(_inputs, shape), follow=follow)
    return Entry(class_name, "time-series-forecasting", capture, tier=tier)


def _build(class_name: str, row: Row, shape: Row) -> nn.Module:
    maker = getattr(import_library("neuralforecast.models"), class_name)
    given = {**shape, **_QUIET, **row.get("arguments", {})}
    if not maker.MULTIVARIATE:
        del given["n_series"]
    module: nn.Module = maker(**given)
    return module


def _inputs(shape: Row, module: nn.Module) -> CaptureInputs:
    """One window of a series, or of several; a recurrent model reads on through the horizon."""
    steps = shape["input_size"] + (shape["h"] - 1 if module.RECURRENT else 0)
    series = shape["n_series"] if module.MULTIVARIATE else 1
    window = dict.fromkeys(("hist_exog", "futr_exog", "stat_exog"))
    seen = torch.zeros(1, steps, series)
    return CaptureInputs(({"insample_y": seen, "insample_mask": torch.ones_like(seen), **window},))


def _tables() -> dict[str, dict[str, Row]]:
    tables: dict[str, dict[str, Row]] = package_yaml("zoo", "sources", "neuralforecast_models.yaml")
    import_library("neuralforecast.models")
    return tables


NEURALFORECAST = Source(
    name="neuralforecast",
    library="neuralforecast",
    licence="Apache-2.0",
    form="<Model>[@<variant>]/<data set>-<horizon>",
    example="NBEATS/m4-monthly",
    names=_names,
    entry=_entry,
)
