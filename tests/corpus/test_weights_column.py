"""Weights in a corpus: a column that is there where they were recorded, and is read back."""

from dataclasses import replace

import pyarrow as pa
import pytest

from nar.base.errors import CorpusError
from nar.corpus.columns import WEIGHTS_FIELD, weights_column, weights_in
from nar.corpus.shards import read_shard, write_shard
from nar.graphs.weights import weights_of
from nar.own import capture_architecture

SOURCE = """
from torch import nn

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.norm = nn.BatchNorm1d(4)
        self.out = nn.Linear(4, 10, bias=False)
        self.out.weight = self.words.weight

    def forward(self, words):
        return self.out(self.norm(self.words(words)))
"""
SHAPES = {
    "words.weight": (10, 4),
    **{f"norm.{name}": (4,) for name in ("weight", "bias", "running_mean", "running_var")},
}


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "tied.py"
    path.write_text(SOURCE)
    return capture_architecture(f"{path}:Tied").architecture


def test_capture_records_names_and_shapes_with_tied_weights_once(captured):
    assert captured.weights == weights_of(SHAPES)


def test_a_shard_keeps_them(tmp_path, captured):
    write_shard(tmp_path / "a.parquet", [captured])
    [read] = read_shard(tmp_path / "a.parquet")
    assert read.weights == captured.weights
    assert read == captured


def test_a_shard_without_them_has_no_column(tmp_path, captured):
    write_shard(tmp_path / "a.parquet", [replace(captured, weights=None)])
    [read] = read_shard(tmp_path / "a.parquet")
    assert read.weights is None
    assert read == captured


def test_a_column_of_something_else_is_told():
    table = weights_column([weights_of(SHAPES)])
    damaged = pa.table({WEIGHTS_FIELD.name: pa.array([["x y z"]], table.type)})
    with pytest.raises(CorpusError, match="does not hold weights"):
        weights_in(damaged)


def test_a_module_that_saves_something_else_is_captured_all_the_same(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text(
        "from torch import nn\n"
        "class Odd(nn.Linear):\n"
        "    example_inputs = (1, 4)\n"
        "    def __init__(self):\n        super().__init__(4, 2)\n"
        "    def state_dict(self, *args, **kwargs):\n        raise ValueError('never')\n"
    )
    item = capture_architecture(f"{path}:Odd").architecture
    assert item.weights is None
    assert item.graph.nodes == 2
