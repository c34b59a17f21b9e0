"""Inputs of which a name, a setting of the module or an operator fewer tells what they are."""

import sys
from fractions import Fraction
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nar.own.clock import OutOfTimeError
from nar.own.given import read_inputs, written
from nar.own.inputs import infer_inputs, stated_call
from nar.own.inputs.calls import Outcome
from nar.own.inputs.probe import Prober
from nar.own.inputs.ranks import with_rank
from nar.own.inputs.repairs import repairs
from nar.own.inputs.search import Budget, InputSearch
from nar.own.inputs.slots import Kind, slot


class Hiding(nn.Module):
    """Its mask hides what is one, and of nothing but what is hidden there are no lengths."""

    def __init__(self):
        super().__init__()
        self.table, self.layer = nn.Embedding(50, 16), nn.LSTM(16, 16, batch_first=True)

    def forward(self, words, words_mask):
        lengths = (~words_mask).sum(1).tolist()
        packed = pack_padded_sequence(self.table(words), lengths, batch_first=True)
        return pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]


class Short(nn.Module):
    """Lengths of a text that is shorter than is usual."""

    def __init__(self):
        super().__init__()
        self.table, self.layer = nn.Embedding(50, 16), nn.GRU(16, 16, batch_first=True)
        self.where = nn.Parameter(torch.zeros(1, 12, 16))

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.table(ids) + self.where, lengths, batch_first=True)
        return pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0] + self.where


class Conditioned(nn.Module):
    """Pairs of numbers, of which each becomes a wave."""

    def __init__(self):
        super().__init__()
        self.stem, self.sizes, self.time = nn.Conv2d(4, 8, 3), nn.Linear(48, 8), nn.Linear(1, 8)

    def forward(self, sample, timestep, original_size, crop_coords, target_size):
        pairs = torch.cat([original_size, crop_coords, target_size], 1)
        waves = (pairs[..., None] * torch.ones(8)).flatten(1)
        more = self.sizes(waves) + self.time(timestep[:, None].float())
        return self.stem(sample) + more[:, :, None, None]


class Guided(nn.Module):
    """A setting says that it takes what it may be called without."""

    def __init__(self):
        super().__init__()
        self.guidance_embeds = True
        self.stem, self.time, self.scale = nn.Linear(16, 32), nn.Linear(1, 32), nn.Linear(1, 32)

    def forward(self, hidden_states, timestep, guidance=None):
        more = self.time(timestep[:, None].float())
        if guidance is not None:
            more = more + self.scale(guidance[:, None] * 1000)
        return self.stem(hidden_states) + more[:, None]


class Pooled(nn.Module):
    """What may be None by its type, and is asked at once."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 8)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor | None):
        order = batch.sort().values
        hidden = self.layer(x) + x[edge_index[0]].sum()
        return torch.zeros(1, 8).index_add(0, order, hidden)


class OfSixNodes(nn.Module):
    """A weight for each node."""

    def __init__(self):
        super().__init__()
        self.num_nodes = 6
        self.own, self.layer = nn.Parameter(torch.zeros(6, 8)), nn.Linear(5, 8)

    def forward(self, x, edge_index):
        hidden = self.layer(x) + self.own
        return hidden.index_add(0, edge_index[1], hidden[edge_index[0]])


class Codec(nn.Module):
    """Fills a sound up to whole hops."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(2, 8, 480, 480)

    def forward(self, sample):
        missing = -sample.shape[-1] % 480
        return self.layer(functional.pad(sample, (0, missing)) if missing else sample)


class Separator(nn.Module):
    """Fills a sound up to the seconds that it was trained on."""

    def __init__(self):
        super().__init__()
        self.samplerate, self.segment, self.audio_channels = 8000, Fraction(39, 5), 2
        self.layer = nn.Conv2d(2, 8, 3)

    def forward(self, mix):
        missing = int(self.samplerate * self.segment) - mix.shape[-1]
        mix = functional.pad(mix, (0, missing)) if missing else mix
        return self.layer(mix.unflatten(-1, (-1, 100)))


class Patches(nn.Module):
    """Fills an image up to whole patches."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 8, 64, 64)

    def forward(self, x):
        below, right = -x.shape[2] % 64, -x.shape[3] % 64
        x = functional.pad(x, (0, right, 0, below)) if below or right else x
        return self.layer(x)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (Hiding, "words=1x32:int64 words_mask=1x32:bool:zeros"),
        (Short, "ids=1x12:int64 lengths=1:int64"),
        (
            Conditioned,
            "sample=1x4x224x224:float32 timestep=1:int64 original_size=1x2:float32 "
            "crop_coords=1x2:float32 target_size=1x2:float32",
        ),
        (Guided, "hidden_states=1x32x16:float32 timestep=1:int64 guidance=1:float32"),
        (Pooled, "x=16x16:float32 edge_index=2x24:int64 batch=16:int64"),
        (OfSixNodes, "x=6x5:float32 edge_index=2x24:int64"),
        (Codec, "sample=1x2x61440:float32"),
        (Separator, "mix=1x2x62400:float32"),
        (Patches, "x=1x3x256x256:float32"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_stated_beside_the_layers_is_read(kind, wanted):
    found = infer_inputs("module", kind())
    assert (" ".join(found.texts), found.weights_reached, found.doubts) == (wanted, 1.0, ())


def test_lengths_are_those_of_what_comes_before_them_and_edges_join_nodes_that_there_are():
    assert infer_inputs("module", Short()).inputs.args[1].tolist() == [12]
    assert infer_inputs("module", OfSixNodes()).inputs.args[1].max() == 5


class Several(nn.Module):
    """Lengths of several texts, by the batch or by the time first."""

    def __init__(self, batch_first):
        super().__init__()
        self.batch_first = batch_first
        self.table = nn.Embedding(50, 16)
        self.layer = nn.GRU(16, 16, batch_first=batch_first)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.table(ids), lengths, batch_first=self.batch_first)
        return pad_packed_sequence(self.layer(packed)[0])[0]


@pytest.mark.parametrize(("ids", "batch_first"), [("24x8", True), ("8x24", False)])
def test_lengths_are_those_of_the_axis_of_the_time(ids, batch_first):
    stated = read_inputs([f"ids={ids}:int64", "lengths=24:int64"])
    found = infer_inputs("module", Several(batch_first), stated)
    assert found.inputs.kwargs["lengths"].tolist() == [8] * 24
    called = stated_call(Several(batch_first), stated)
    assert called.kwargs["lengths"].tolist() == [8] * 24


def test_a_mask_of_zeros_is_written_and_read_back():
    inputs = infer_inputs("module", Hiding()).inputs
    assert not inputs.args[1].any()
    again = infer_inputs("module", Hiding(), read_inputs(written(inputs, ["words", "words_mask"])))
    assert not again.inputs.kwargs["words_mask"].any()


def test_two_numbers_do_not_become_a_map():
    state = (slot("sample", Kind.SEQUENCE), slot("original_size", Kind.PAIR))
    assert [each[0].rank for each in with_rank(state, 0, 4)]
    assert not list(with_rank(state, 1, 4))


def test_what_a_run_imports_costs_no_run(monkeypatch):
    runs = []

    def run(self, state, deadline, *, is_strict):
        runs.append(state)
        if len(runs) == 1:
            monkeypatch.setitem(sys.modules, "a_slow_part", ModuleType("a_slow_part"))
            raise OutOfTimeError
        return Outcome()

    monkeypatch.setattr(Prober, "run", run)
    budget = Budget()
    with budget.running():
        search = InputSearch(nn.Linear(8, 8), budget, repairs)
        assert search.probe((slot("x", Kind.VECTOR),)).is_ok
    assert len(runs) == 2
