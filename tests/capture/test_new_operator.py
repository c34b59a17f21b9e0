"""Adding an operator class is a name in `ops` and a row of the emitters."""

import pytest
import torch
from torch import nn

from nar.answers.atlas import shipped_atlas
from nar.capture import capture_module
from nar.capture.forward import aten, recorder
from nar.encoding.embed import Embedder, load_checkpoint
from nar.graphs import ops


class Waves(nn.Module):
    """A function that the vocabulary lacks, between two layers."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.last(torch.special.bessel_j0(self.first(x)))


@pytest.fixture
def bessel(monkeypatch):
    """The two rows, and tables that are made anew."""
    monkeypatch.setattr(ops, "OPS", (*ops.OPS, "bessel"))
    monkeypatch.setitem(ops._ID_OF, "bessel", len(ops.OPS) - 1)
    monkeypatch.setitem(aten.NODES, "special_bessel_j0", "bessel")
    caches = (recorder._table, recorder._plan, recorder._whole)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def operators(capture):
    return [ops.op_name(number) for number in capture.graph.op_ids.tolist()]


def test_without_the_rows_it_is_counted_as_unknown():
    capture = capture_module(Waves(), torch.zeros(1, 8))
    assert capture.unknown_operators == {"aten::special_bessel_j0": 1}


def test_with_the_rows_it_is_captured_under_its_name_and_embedded(bessel):
    capture = capture_module(Waves(), torch.zeros(1, 8))
    assert operators(capture) == ["input", "linear", "bessel", "linear"]
    assert not capture.unknown_operators
    encoder = load_checkpoint(shipped_atlas().encoder)
    assert Embedder(encoder).embed([capture.graph]).shape == (1, encoder.config.dim)
