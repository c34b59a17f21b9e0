"""Networks that ask whether somebody will click: the columns of the data that they read.

The networks are of DeepCTR-Torch and of Torch-RecHub; both embed the columns of the Criteo data.
Those of Torch-RecHub that match users with items read the columns of MovieLens.
"""

import sys
from collections.abc import Mapping
from importlib import util
from types import ModuleType
from typing import Any

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library
from nar.zoo.sources.tables import Row, TableReading, call, table_source

# The columns of the Criteo data.
CRITEO_SPARSE = 26
CRITEO_DENSE = 13  # columns of numbers, beside 26 of words
# Chosen: entries of a column and its width in DeepCTR-Torch, small enough for a row of a table; the
# design is the same at any size.
VOCABULARY = 1000
EMBEDDING = 8  # chosen, as above
# Chosen: how many of the things that a user has seen before a network reads.
HISTORY_LENGTH = 4
# The fields of the library's own example of a user's behaviour, and the two that have a history.
_BEHAVIOUR = ("user", "gender", "item_id", "cate_id")
_WITH_HISTORY = ("item_id", "cate_id")
# Columns of MovieLens, as the library's own examples name them.
_MOVIES = {
    "user": ("user_id", "gender", "age", "occupation", "zip"),
    "item": ("movie_id", "cate_id"),
}
_FILMS = _MOVIES["item"][0]  # whose embeddings the films before share
# Chosen: films that somebody did not watch, beside each that was watched.
_NEGATIVES = 3
# Kind of columns of films -> name, and how the embeddings of several become one.
_SEQUENCES = {
    "watched": ("hist_movie_id", "mean"),
    "history": ("hist_movie_id", "concat"),
    "unseen": ("neg_items", "concat"),
}
# The smallest batch that works: some networks squeeze a batch of one away.
BATCH = 2


def _load_without_running(name: str) -> ModuleType:
    """A module of DeepCTR-Torch, whose package would ask PyPI for a newer version when run."""
    package = util.find_spec("deepctr_torch")
    if package is not None and "deepctr_torch" not in sys.modules:
        sys.modules["deepctr_torch"] = util.module_from_spec(package)
    return import_library(name)


def _sparse() -> list[object]:
    inputs = _load_without_running("deepctr_torch.inputs")
    return [inputs.SparseFeat(f"C{i}", VOCABULARY, EMBEDDING) for i in range(CRITEO_SPARSE)]


def _criteo() -> list[object]:
    inputs = _load_without_running("deepctr_torch.inputs")
    return [*_sparse(), *(inputs.DenseFeat(f"I{i}", 1) for i in range(CRITEO_DENSE))]


def _behaviour() -> list[object]:
    inputs = _load_without_running("deepctr_torch.inputs")
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


def _on_features(maker: Any, row: Row) -> nn.Module:  # noqa: ANN401
    features = _FEATURES[row["features"]]()
    columns = dict.fromkeys(row["columns"], features)
    return call(maker, {**row, "arguments": columns | row["arguments"]})


def _side_by_side(_row: Row, network: nn.Module) -> CaptureInputs:
    """Rows of the data, all columns side by side."""
    ends = [end for _, end in network.feature_index.values()]  # type: ignore[operator]
    return CaptureInputs((torch.zeros(BATCH, max(ends)),))


def _on_columns(maker: Any, row: Row) -> nn.Module:  # noqa: ANN401
    columns = {argument: _columns(kinds) for argument, kinds in row["columns"].items()}
    return call(maker, {**row, "arguments": columns | row["arguments"]})


def _columns(kinds: Mapping[str, int]) -> list[object]:
    """The columns of the Criteo data, or of MovieLens.

    Args:
        kinds: ``dense`` or ``sparse`` -> the width of a column; ``crossed`` for sparse ones that
            have an embedding for each other field. Of MovieLens: ``user``, ``item`` or ``film``,
            and films ``watched`` before (as one), as ``history`` (one by one), or ``unseen``.
    """
    features = import_library("torch_rechub.basic.features")
    words = {"sparse": VOCABULARY, "crossed": VOCABULARY * CRITEO_SPARSE}
    named = {**_MOVIES, "film": (_FILMS,)}
    columns: list[object] = []
    for kind, width in kinds.items():
        if kind == "dense":
            columns += [features.DenseFeature(f"I{i}") for i in range(CRITEO_DENSE)]
        elif kind in named:
            columns += [features.SparseFeature(name, VOCABULARY, width) for name in named[kind]]
        elif kind in _SEQUENCES:
            name, pooling = _SEQUENCES[kind]
            films = {"pooling": pooling, "shared_with": _FILMS}
            columns.append(features.SequenceFeature(name, VOCABULARY, width, **films))
        else:
            columns += [
                features.SparseFeature(f"C{i}", words[kind], width) for i in range(CRITEO_SPARSE)
            ]
    return columns


def _by_name(row: Row, _network: nn.Module) -> CaptureInputs:
    """Rows of the data, each column by its name."""
    if row.get("reads") == "movies":
        return CaptureInputs((_movies(),))
    dense = {f"I{i}": torch.zeros(BATCH) for i in range(CRITEO_DENSE)}
    sparse = {f"C{i}": torch.zeros(BATCH, dtype=torch.long) for i in range(CRITEO_SPARSE)}
    return CaptureInputs(({**dense, **sparse},))


def _movies() -> dict[str, torch.Tensor]:
    """Rows of MovieLens, each column by its name."""
    names = (name for kind in _MOVIES.values() for name in kind)
    lengths = {"hist_movie_id": HISTORY_LENGTH, "neg_items": _NEGATIVES}
    films = {name: torch.zeros(BATCH, length, dtype=torch.long) for name, length in lengths.items()}
    return {**{name: torch.zeros(BATCH, dtype=torch.long) for name in names}, **films}


DEEPCTR_TORCH = table_source(
    "deepctr_torch",
    licence="Apache-2.0",
    form="<Class>[/<variant>]",
    example="DeepFM",
    # Parts of the networks move themselves to the CPU, so all rows are built with weights.
    reading=TableReading(load=_load_without_running, build=_on_features, inputs=_side_by_side),
)
TORCH_RECHUB = table_source(
    "torch_rechub",
    licence="MIT",
    form="<Class>[/<variant>]",
    example="DeepFM",
    # The columns hold the embeddings and fill them when they are made: all rows have weights.
    reading=TableReading(build=_on_columns, inputs=_by_name),
)
