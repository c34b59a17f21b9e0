"""In what two networks of one design differ: it is said of widths only where widths differ."""

import pytest
import torch
from torch import nn

import nar
from nar.answers.difference import difference
from nar.ask import architecture_of
from nar.graphs.fingerprints import design_change

IDS = torch.zeros(1, 16, dtype=torch.long)


class Language(nn.Module):
    """A language model of one block, with a head of its own or with that of its table."""

    def __init__(self, width=64, vocabulary=1000, *, tied=False, reads=None):
        super().__init__()
        self.table = nn.Embedding(reads or vocabulary, width)
        self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, 4 * width)
        self.down, self.head = nn.Linear(4 * width, width), nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, ids):
        h = self.table(ids)
        return self.head(h + self.down(self.up(self.norm(h)).relu()))


class Classifier(nn.Module):
    """Words to classes: its head says nothing of the size of its table."""

    def __init__(self, vocabulary):
        super().__init__()
        self.table, self.head = nn.Embedding(vocabulary, 64), nn.Linear(64, 4)

    def forward(self, ids):
        return self.head(self.table(ids).mean(1))


def images(width, kernel=3):
    pad = kernel // 2
    return nn.Sequential(
        nn.Conv2d(3, width, kernel, padding=pad), nn.ReLU(), nn.Conv2d(width, 3, 1)
    )


IMAGE = torch.zeros(1, 3, 16, 16)
PAIRS = {
    "tied and untied": ((Language(tied=True), Language(), IDS), "sharing"),
    "twice as wide": ((Language(64, 1000), Language(128, 2000), IDS), "widths"),
    "another table": ((Classifier(1000), Classifier(900), IDS), "weights"),
    "wider": ((images(8), images(16), IMAGE), "widths"),
    "other kernels": ((images(8), images(8, 5), IMAGE), "settings"),
}
SAID = {
    "sharing": "the same design with another sharing of weights: equal topology, attributes",
    "widths": "the same design in other widths: equal topology",
    "weights": "the same design in equal widths, and a table of another size or another sharing",
    "settings": "the same design with other kernels, strides or heads: equal topology",
}


@pytest.mark.parametrize("pair", PAIRS)
def test_what_differs_is_said(pair):
    (one, other, example), change = PAIRS[pair]
    first, second = architecture_of(one, example), architecture_of(other, example)
    assert first.topology == second.topology
    assert first.exact != second.exact
    assert design_change(first.graph, second.graph) == change
    assert design_change(second.graph, first.graph) == change
    assert SAID[change] in difference(first, second).verdict


def test_equal_networks_differ_in_nothing():
    assert "the same network" in nar.diff(Language(), Language(), IDS).difference.verdict
