"""Networks that read series of numbers in time: the forecasters of neuralforecast, and PyPOTS.

PyPOTS reads series of which parts were not observed.
"""

import logging
from itertools import product
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library, without_printing
from nar.zoo.sources.tables import Row, Rows, TableReading, call, table_source, with_defaults

# The smallest batch that works: some networks of PyPOTS squeeze a batch of one away.
BATCH = 2


def _on_each_data_set(table: Row) -> Rows:
    """Each forecaster on the data sets that it can read; the sizes of a data set are arguments."""
    for (net, row), (data, sizes) in product(table["nets"].items(), table["data"].items()):
        if sizes["input_size"] < row.get("least_input", 0):
            continue
        filled = with_defaults(table, row)
        benchmark = data.partition("-")[0]
        is_named = benchmark in ("docs", *row.get("published", ()))
        arguments = {**sizes, **filled["arguments"]}
        tier = "named" if is_named else "swept"
        yield f"{net}/{data}", {**filled, "sizes": sizes, "arguments": arguments, "tier": tier}


def _forecaster(maker: Any, row: Row) -> nn.Module:  # noqa: ANN401
    arguments = dict(row["arguments"])
    if not maker.MULTIVARIATE:
        del arguments["n_series"]
    return call(maker, {**row, "arguments": arguments})


def _window(row: Row, module: nn.Module) -> CaptureInputs:
    """One window of a series, or of several; a recurrent model reads on through the horizon."""
    sizes = row["sizes"]
    steps = sizes["input_size"] + (sizes["h"] - 1 if module.RECURRENT else 0)
    series = sizes["n_series"] if module.MULTIVARIATE else 1
    absent = dict.fromkeys(("hist_exog", "futr_exog", "stat_exog"))
    seen = torch.zeros(1, steps, series)
    return CaptureInputs(({"insample_y": seen, "insample_mask": torch.ones_like(seen), **absent},))


def _load_quietly(name: str) -> ModuleType:
    """A module of PyPOTS, without its greeting at import and its warnings at each network."""
    with without_printing():
        module = import_library(name)
    logging.getLogger("PyPOTS running log").disabled = True
    return module


def _two_series(row: Row, _network: nn.Module) -> CaptureInputs:
    """All inputs that any network of PyPOTS reads of two series, as one argument."""
    arguments = row["arguments"]
    observed = _observed(arguments["n_steps"], arguments["n_features"])
    both_ways = {"forward": observed, "backward": observed}
    return CaptureInputs(({**observed, **both_ways},))


def _observed(steps: int, features: int) -> dict[str, Tensor]:
    """Series of shape (batch, steps, features), all of it observed."""
    series = torch.zeros(BATCH, steps, features)
    return {
        "X": series,
        "missing_mask": torch.ones_like(series),
        "deltas": torch.zeros_like(series),
        "X_filledLOCF": torch.zeros_like(series),
        "empirical_mean": torch.zeros(BATCH, features),
    }


NEURALFORECAST = table_source(
    "neuralforecast",
    licence="Apache-2.0",
    form="<Model>[@<variant>]/<data set>-<horizon>",
    example="NBEATS/m4-monthly",
    reading=TableReading(rows=_on_each_data_set, build=_forecaster, inputs=_window),
)
PYPOTS = table_source(
    "pypots",
    licence="BSD-3-Clause",
    form="<Model>/<package>[/<data set>]",
    example="SAITS/imputation/ett_h1",
    # A trainer makes each network and moves it to a device, so all rows are built with weights.
    reading=TableReading(load=_load_quietly, inputs=_two_series),
)
