"""The networks of PyPOTS, for series of which parts were not observed."""

import logging
from collections.abc import Mapping
from functools import cache, partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from nar.base.files import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import for_real
from nar.zoo.libraries import import_library, library_version, without_printing
from nar.zoo.source import Entry, Source, by_forward

Row = Mapping[str, Any]

# Package of the library -> what its networks are for.
TASKS = {
    "imputation": "time-series-imputation",
    "forecasting": "time-series-forecasting",
    "classification": "time-series-classification",
    "clustering": "time-series-clustering",
    "anomaly_detection": "anomaly-detection",
}
# Some networks squeeze a batch of one away.
BATCH = 2


def _names() -> list[str]:
    library_version("pypots")
    return list(_nets())


def _entry(name: str) -> Entry | None:
    arguments = _nets().get(name)
    if arguments is None:
        return None
    model, package = name.split("/")[:2]
    build = partial(_built, package, model, arguments)
    # Each network is made by a trainer, which moves it to a device by name.
    capture = by_forward(build, partial(_inputs, arguments), follow=for_real)
    return Entry(model, TASKS[package], capture)


def _built(package: str, model: str, arguments: Row) -> nn.Module:
    trainer = getattr(_package(package), model)(**arguments, device="cpu", verbose=False)
    network: nn.Module = trainer.model
    return network


def _package(name: str) -> ModuleType:
    """A package of the library, which would greet whoever imports it, and warn at each network."""
    with without_printing():
        package = import_library(f"pypots.{name}")
    logging.getLogger("PyPOTS running log").disabled = True
    return package


def _inputs(arguments: Row, _network: nn.Module) -> CaptureInputs:
    """What any of the networks reads of two series, as one argument."""
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


@cache
def _nets() -> dict[str, Row]:
    nets: dict[str, Row] = package_yaml("zoo", "sources", "pypots_nets.yaml")["nets"]
    return nets


PYPOTS = Source(
    name="pypots",
    library="pypots",
    licence="BSD-3-Clause",
    form="<Model>/<package>[/<data set>]",
    example="SAITS/imputation/ett_h1",
    names=_names,
    entry=_entry,
)
