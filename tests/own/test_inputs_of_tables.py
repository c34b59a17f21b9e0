"""Inputs of modules over tables: columns of one input, keys of a mapping, streams of a batch."""

import pytest
import torch
from torch import nn

from nar.own.inputs import infer_inputs

FLOAT, IDS = torch.float32, torch.int64


class Table(nn.Module):
    """Categories and numbers stand beside each other in one input of floats."""

    def __init__(self, categories=(10, 20, 30), numbers=4):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(many, 8) for many in categories])
        self.numbers = numbers
        self.head = nn.Linear(8 * len(categories) + numbers, 1)

    def forward(self, rows):
        many = len(self.tables)
        embedded = [
            table(rows[:, place : place + 1].long()).flatten(1)
            for place, table in enumerate(self.tables)
        ]
        dense = [rows[:, many + place : many + place + 1] for place in range(self.numbers)]
        return self.head(torch.cat([*embedded, *dense], -1))


class NumbersFirst(nn.Module):
    """The numbers are read as one block, each category by its number."""

    def __init__(self):
        super().__init__()
        self.shop, self.day = nn.Embedding(50, 4), nn.Embedding(7, 4)
        self.head = nn.Linear(14, 2)

    def forward(self, x):
        parts = (x[:, :6], self.shop(x[:, 6].int()), self.day(x[:, 7].int()))
        return self.head(torch.cat(parts, 1))


class CategoriesOnly(nn.Module):
    """All columns are categories: they stay integers."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(9, 4) for _ in range(5)])
        self.head = nn.Linear(20, 2)

    def forward(self, x):
        return self.head(torch.cat([t(x[:, i].long()) for i, t in enumerate(self.tables)], 1))


@pytest.mark.parametrize(
    ("module", "dtype", "columns"),
    [(Table(), FLOAT, 7), (Table((5, 5), 9), FLOAT, 11), (NumbersFirst(), FLOAT, 8),
     (CategoriesOnly(), IDS, 5)],
)  # fmt: skip
def test_a_table_has_the_columns_that_are_read_of_it(module, dtype, columns):
    inferred = infer_inputs("module", module)
    (table,) = inferred.inputs.args
    assert (table.dtype, tuple(table.shape)) == (dtype, (1, columns))
    assert inferred.is_sure


class Clicks(nn.Module):
    """Each key is a number for each sample; ages are cast to floats, categories to integers."""

    def __init__(self, categories=("shop", "brand", "day", "city"), numbers=("age", "price")):
        super().__init__()
        self.tables = nn.ModuleDict({name: nn.Embedding(9, 4) for name in categories})
        self.numbers = numbers
        self.head = nn.Linear(4 * len(categories) + len(numbers), 1)

    def forward(self, x):
        embedded = [table(x[name].long()) for name, table in self.tables.items()]
        dense = [x[name].float().unsqueeze(1) for name in self.numbers]
        return self.head(torch.cat([*embedded, *dense], 1))


class Stacked(Clicks):
    """The embeddings are stacked to a sequence, and none of the keys is a float."""

    def __init__(self):
        super().__init__(("a", "b", "c", "d", "e"), ())

    def forward(self, features):
        rows = [table(features[name]).unsqueeze(1) for name, table in self.tables.items()]
        return self.head(torch.cat(rows, 1).flatten(1))


@pytest.mark.parametrize("module", [Clicks(), Stacked(), Clicks(tuple("abcdefgh"), ("i",))])
def test_each_of_many_keys_is_a_number_for_each_sample(module):
    inferred = infer_inputs("module", module)
    (mapping,) = inferred.inputs.args
    assert {name: (value.dtype, tuple(value.shape)) for name, value in mapping.items()} == {
        **dict.fromkeys(module.tables, (IDS, (1,))),
        **dict.fromkeys(module.numbers, (FLOAT, (1,))),
    }
    assert inferred.is_sure


class Streams(nn.Module):
    """Its batch is that of several streams."""

    def __init__(self, streams=4):
        super().__init__()
        self.streams = streams
        self.mix = nn.Linear(streams, streams)
        self.body = nn.Linear(24, 24)

    def forward(self, x):
        rearrange = pytest.importorskip("einops").rearrange

        x = rearrange(x, "(b s) n d -> b n d s", s=self.streams)
        return self.body(self.mix(x).sum(-1))


@pytest.mark.parametrize("streams", [2, 4, 6])
def test_a_batch_is_as_large_as_it_is_divided(streams):
    inferred = infer_inputs("module", Streams(streams))
    assert tuple(inferred.inputs.args[0].shape[::2]) == (streams, 24)


class Waiting(nn.Module):
    """Packs its texts, which runs on the processor only."""

    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(99, 16), nn.GRU(16, 16, batch_first=True)

    def forward(self, text, length):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(text), length, batch_first=True, enforce_sorted=False
        )
        return self.rnn(packed)[1]


def test_texts_that_are_packed_are_probed_with_data():
    inferred = infer_inputs("module", Waiting())
    assert [tuple(each.shape) for each in inferred.inputs.args] == [(1, 32), (1,)]
    assert inferred.is_sure
