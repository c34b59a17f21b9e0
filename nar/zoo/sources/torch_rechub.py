"""The networks of Torch-RecHub that rank, with the settings of its examples."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import nn

from nar.base.files import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import for_real
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources.deepctr_torch import CRITEO_DENSE, CRITEO_SPARSE, VOCABULARY

Row = Mapping[str, Any]


def _names() -> list[str]:
    library_version("torch_rechub")
    return list(_nets())


def _entry(net: str) -> Entry | None:
    row = _nets().get(net)
    if row is None:
        return None
    model = net.partition("/")[0]
    # The columns hold the embeddings, and fill them while they are made.
    capture = by_forward(partial(_built, model, row), _inputs, follow=for_real)
    return Entry(model, "click-through-rate", capture)


def _built(model: str, row: Row) -> nn.Module:
    maker = getattr(import_library(f"torch_rechub.models.{row['package']}"), model)
    columns = {argument: _columns(kinds) for argument, kinds in row["columns"].items()}
    network: nn.Module = maker(**columns, **row["arguments"])
    return network


def _columns(kinds: Mapping[str, int]) -> list[object]:
    """The columns of the Criteo data.

    Args:
        kinds: ``dense`` or ``sparse`` -> the width of a column; ``crossed`` for sparse ones that
            have an embedding for each other field.
    """
    features = import_library("torch_rechub.basic.features")
    words = {"sparse": VOCABULARY, "crossed": VOCABULARY * CRITEO_SPARSE}
    columns: list[object] = []
    for kind, width in kinds.items():
        if kind == "dense":
            columns += [features.DenseFeature(f"I{i}") for i in range(CRITEO_DENSE)]
        else:
            columns += [
                features.SparseFeature(f"C{i}", words[kind], width) for i in range(CRITEO_SPARSE)
            ]
    return columns


def _inputs(_network: nn.Module) -> CaptureInputs:
    """Two rows of the data, each column by its name: some networks squeeze a single row away."""
    dense = {f"I{i}": torch.zeros(2) for i in range(CRITEO_DENSE)}
    sparse = {f"C{i}": torch.zeros(2, dtype=torch.long) for i in range(CRITEO_SPARSE)}
    return CaptureInputs(({**dense, **sparse},))


def _nets() -> Mapping[str, Row]:
    nets: Mapping[str, Row] = package_yaml("zoo", "sources", "torch_rechub_nets.yaml")["nets"]
    return nets


TORCH_RECHUB = Source(
    name="torch_rechub",
    library="torch_rechub",
    licence="MIT",
    form="<Class>[/<variant>]",
    example="DeepFM",
    names=_names,
    entry=_entry,
)
