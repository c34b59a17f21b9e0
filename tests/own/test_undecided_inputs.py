"""A question of which nothing says what call is meant is refused, and both calls are told."""

import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from nar.own.calling import ModuleCaller, capture_lent
from nar.own.given import read_inputs
from nar.own.inputs import UndecidedError


class Scores(nn.Module):
    """Fills what a mask hides, where it is given one."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(48, 32), nn.Linear(48, 32)

    def forward(self, x, mask=None):
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None], -1.0)
        return scores.softmax(-1)


class Reader(nn.Module):
    """Leaves out of its mean what is padding, where it is told."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(90, 24), nn.Linear(24, 5)

    def forward(self, input_ids, attention_mask=None):
        vectors = self.words(input_ids)
        if attention_mask is not None:
            vectors = vectors * attention_mask[..., None]
        return self.head(vectors.mean(1))


class Filled(Reader):
    """Makes the mask itself where it is given none: the graph is one."""

    def forward(self, input_ids, attention_mask=None):
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        return super().forward(input_ids, attention_mask)


class Segments(nn.Module):
    """Attends within segments of what is longer than one."""

    def __init__(self):
        super().__init__()
        self.words, self.inward = nn.Embedding(90, 24), nn.Linear(24, 24)

    def forward(self, ids):
        x = self.inward(self.words(ids))
        parts = x.split(100, dim=1) if x.shape[1] > 100 else [x]
        return torch.cat([F.scaled_dot_product_attention(each, each, each) for each in parts], 1)


class Clips(nn.Module):
    """Pools what has more frames than it takes at once."""

    def __init__(self):
        super().__init__()
        self.inward, self.out = nn.Conv3d(3, 8, 3, padding=1), nn.Conv3d(8, 8, 3, padding=1)

    def forward(self, video):
        x = self.inward(video)
        return self.out(F.avg_pool3d(x, (2, 1, 1)) if x.shape[2] > 16 else x)


class Enhances(nn.Module):
    """Goes over a sound of more than four seconds in blocks."""

    def __init__(self):
        super().__init__()
        self.inward, self.out = nn.Conv1d(1, 8, 16, 8), nn.ConvTranspose1d(8, 1, 16, 8)

    def forward(self, waveform):
        x = self.inward(waveform)
        if x.shape[-1] > 8000:
            x = x.unfold(2, 4000, 2000).mean(-2)
        return self.out(x)


class Stated(Segments):
    """A setting says how long a text is at most: it is no longer than a segment."""

    max_len = 64


@pytest.mark.parametrize(
    ("module", "clause", "one", "two"),
    [
        (Scores(), "with mask", "x=1x32x48:float32", "mask=1x32:bool"),
        (Reader(), "with attention_mask", "input_ids=1x32:int64", "attention_mask=1x32:bool"),
        (Segments(), "of another length", "ids=1x32:int64", "ids=1x256:int64"),
        (Clips(), "of another length", "x16x224x224:float32", "x32x224x224:float32"),
        (Enhances(), "of another length", "waveform=1x1x16000", "waveform=1x1x128000"),
    ],
)
def test_a_call_that_might_as_well_be_another_is_refused(module, clause, one, two):
    with pytest.raises(UndecidedError) as caught:
        capture_lent("module", module)
    said = str(caught.value)
    wanted = f"{clause} it runs other operators, and nothing says which call is meant: state "
    assert wanted in said
    first, second = said.partition(wanted)[2].split(", or ")
    assert one in first
    assert two in second
    # What is told is what goes on.
    texts = re.findall(r"--input (\S+)", second)
    assert ModuleCaller("module", read_inputs(texts)).capture(module).network.graph.nodes


@pytest.mark.parametrize("module", [Filled(), Stated()])
def test_a_call_is_answered_where_others_have_its_graph(module):
    assert capture_lent("module", module).assumed.inputs


def test_a_call_that_is_stated_is_meant():
    given = read_inputs(["x=1x32x48:float32"])
    without = ModuleCaller("module", given).capture(Scores()).network
    masked = read_inputs(["x=1x32x48:float32", "mask=1x32:bool"])
    assert without.topology != ModuleCaller("module", masked).capture(Scores()).network.topology
