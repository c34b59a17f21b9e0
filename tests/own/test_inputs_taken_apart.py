"""Inputs of forwards that take one parameter apart, begin from states, or meet in one layer."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from nar.own.inputs import infer_inputs


def texts(module):
    return list(infer_inputs("module", module).texts)


class Speaker(nn.Module):
    """Takes a batch as its data loader gives it: one tuple."""

    def __init__(self, letters=40, width=24, mels=12):
        super().__init__()
        self.table, self.read = nn.Embedding(letters, width), nn.LSTM(mels, width, batch_first=True)
        self.out = nn.Linear(2 * width, mels)

    def forward(self, inputs):
        text_inputs, text_lengths, mels, max_len = inputs
        said = self.table(text_inputs).mean(1) * (text_lengths > max_len)[:, None]
        heard, _ = self.read(mels.transpose(1, 2))
        return self.out(torch.cat((said[:, None].expand_as(heard), heard), -1))


def test_a_tuple_is_as_many_inputs_as_the_forward_takes_it_apart_into():
    assert texts(Speaker()) == [
        "inputs.0=1x32:int64",
        "inputs.1=1:int64",
        "inputs.2=1x12x128:float32",
        "inputs.3=1:int64",
    ]


class Flow(nn.Module):
    """A spectrogram and a sound in one."""

    def __init__(self):
        super().__init__()
        self.up, self.out = nn.ConvTranspose1d(10, 10, 8, 8), nn.Conv1d(11, 4, 1)

    def forward(self, forward_input):
        spect, audio = forward_input
        spect = self.up(spect)[:, :, : audio.size(1)]
        return self.out(torch.cat((spect, audio[:, None, : spect.size(2)]), 1))


class ByPlace(nn.Module):
    """Its parts are picked by their places."""

    def __init__(self):
        super().__init__()
        self.near, self.far = nn.Linear(6, 4), nn.Linear(9, 4)

    def forward(self, pair):
        near = pair[0]
        far = pair[1]
        return self.near(near) + self.far(far)


class AnyNumber(nn.Module):
    """Takes four arguments without names, or one object that has them."""

    def __init__(self):
        super().__init__()
        self.of_nodes, self.of_edges = nn.Linear(7, 8), nn.Linear(3, 8)

    def forward(self, *argv):
        if len(argv) == 3:
            x, edge_index, edge_attr = argv[0], argv[1], argv[2]
        elif len(argv) == 1:
            x, edge_index, edge_attr = argv[0].x, argv[0].edge_index, argv[0].edge_attr
        else:
            raise ValueError("unmatched number of arguments")
        nodes = self.of_nodes(x)
        return nodes.index_add(0, edge_index[1], nodes[edge_index[0]] * self.of_edges(edge_attr))


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (Flow(), ["forward_input.0=1x10x128:float32", "forward_input.1=1x16000:float32"]),
        (ByPlace(), ["pair.0=1x6:float32", "pair.1=1x9:float32"]),
        (AnyNumber(), ["x=16x7:float32", "edge_index=2x24:int64", "edge_attr=24x3:float32"]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_parts_have_the_kinds_of_their_names(module, expected):
    assert texts(module) == expected


class Unbound(nn.Module):
    """Reads the shape of what it unpacks in a branch: that is one tensor."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        if x.dim() == 4:
            a, b = x
            x = a + b
        return self.out(x)


def test_what_has_a_shape_is_one_tensor():
    assert texts(Unbound()) == ["x=1x5:float32"]


class Babbler(nn.Module):
    """Time comes first, and a method makes its states."""

    def __init__(self, layers=2, width=12):
        super().__init__()
        self.width = width
        self.table = nn.Embedding(50, width)
        self.rnns = nn.ModuleList(nn.LSTM(width, width) for _ in range(layers))

    def forward(self, input, hidden):
        raw = self.table(input)
        for rnn, state in zip(self.rnns, hidden, strict=True):
            raw, _ = rnn(raw, state)
        return raw

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        state = lambda: weight.new_zeros(1, bsz, self.width)  # noqa: E731
        return [(state(), state()) for _ in self.rnns]


class Stepper(nn.Module):
    """A cell with one state, made without a batch being asked for."""

    def __init__(self):
        super().__init__()
        self.both, self.out = nn.Linear(9 + 6, 6), nn.Linear(6, 3)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.both(torch.cat((x, hidden), 1)))
        return self.out(hidden), hidden

    def initHidden(self):
        return torch.zeros(1, 6)


class Follower(nn.Module):
    """Its batch comes first."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 7, batch_first=True)

    def forward(self, x, h_c):
        return self.rnn(x, h_c)[0]

    def init_state(self, count):
        return torch.zeros(1, count, 7)


class Pair(nn.Module):
    """The states of its cell come before its input."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(5, 7)

    def forward(self, prev_hidden, x):
        return self.cell(x, prev_hidden)[0]


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (
            Babbler(1),
            ["input=32x1:int64", "hidden.0.0=1x1x12:float32", "hidden.0.1=1x1x12:float32"],
        ),
        (Stepper(), ["x=1x9:float32", "hidden=1x6:float32"]),
        (Follower(), ["x=1x32x5:float32", "h_c=1x1x7:float32"]),
        (Pair(), ["prev_hidden.0=1x7:float32", "prev_hidden.1=1x7:float32", "x=1x5:float32"]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_states_are_those_that_a_method_of_the_module_makes(module, expected):
    assert texts(module) == expected


class Letters(nn.Module):
    """Its letters become vectors of one and zeros, without a table."""

    def __init__(self):
        super().__init__()
        self.see, self.out = nn.Conv2d(1, 8, 3), nn.Linear(8 + 20, 20)

    def forward(self, image, text):
        seen = self.see(image).mean((2, 3))
        ones = torch.zeros(len(text), 20).scatter_(1, text[:, :1], 1.0)
        return self.out(torch.cat((seen, ones), 1))


class Picked(nn.Module):
    """What it picks is told by the call alone."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(16, 4)

    def forward(self, x, which):
        return self.out(x).gather(1, which)


class Coded(nn.Module):
    """Its words are codes of a class each."""

    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(6, 8), nn.Linear(8 + 11, 2)

    def forward(self, x, words):
        codes = F.one_hot(words, 11).float().mean(1)
        return self.out(torch.cat((self.a(x), codes), 1))


class Indexed(nn.Module):
    """Its indices are those of rows."""

    def __init__(self):
        super().__init__()
        self.rows = nn.Linear(12, 4)

    def forward(self, x, chosen):
        return torch.index_select(self.rows(x), 0, chosen)


@pytest.mark.parametrize(
    ("module", "name"),
    [(Letters(), "text"), (Picked(), "which"), (Coded(), "words"), (Indexed(), "chosen")],
    ids=lambda each: str(each) if isinstance(each, str) else type(each).__name__,
)
def test_what_picks_by_its_place_holds_integers(module, name):
    found = next(text for text in texts(module) if text.startswith(f"{name}="))
    assert found.endswith(":int64")


class Field(nn.Module):
    """Splits points from directions."""

    def __init__(self, points=3, views=3):
        super().__init__()
        self.sizes = [points, views]
        self.a, self.out = nn.Linear(points, 32), nn.Linear(32 + views, 4)

    def forward(self, x):
        points, views = torch.split(x, self.sizes, dim=-1)
        return self.out(torch.cat([self.a(points), views], -1))


class Gated(nn.Module):
    """Splits the channels of a map."""

    def __init__(self):
        super().__init__()
        self.out = nn.Conv2d(4, 3, 3)

    def forward(self, x):
        a, b, c = x.split([4, 4, 2], 1)
        return self.out(a * b.sigmoid()) + c.mean(1, keepdim=True)[..., 2:, 2:]


class Heads(nn.Module):
    """Splits a sequence that has to be named."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, hidden_states):
        left, right = torch.split(hidden_states, [8, 5], dim=-1)
        return self.out(self.norm(left)) * right.mean(-1, keepdim=True)


@pytest.mark.parametrize(
    ("module", "axis", "extent"),
    [(Field(), -1, 6), (Field(10, 7), -1, 17), (Gated(), 1, 10), (Heads(), -1, 13)],
)
def test_what_is_split_is_as_long_as_its_parts_together(module, axis, extent):
    inferred = infer_inputs("module", module)
    (given,) = [*inferred.inputs.args, *inferred.inputs.kwargs.values()]
    assert given.shape[axis] == extent


class Forecaster(nn.Module):
    """A past and a future meet before the layer that says how wide both are."""

    def __init__(self, width=7, marks=4, ahead=24):
        super().__init__()
        self.ahead = ahead
        self.past, self.marks = nn.Conv1d(width, 32, 3, padding=1), nn.Linear(marks, 32)
        self.out = nn.Linear(32, width)

    def forward(self, x_enc, x_mark_enc, x_dec, x_mark_dec):
        mean = x_enc.mean(1, keepdim=True).repeat(1, self.ahead, 1)
        start = torch.cat([x_dec, mean], 1)
        read = self.past(x_enc.permute(0, 2, 1)).transpose(1, 2) + self.marks(x_mark_enc)
        ahead = self.past(start.permute(0, 2, 1)).transpose(1, 2) + self.marks(x_mark_dec)
        return self.out(torch.cat([read, ahead], 1))


class Joints(nn.Module):
    """A norm over joints and channels stands before what wants three channels."""

    def __init__(self, channels=3, joints=25):
        super().__init__()
        self.norm, self.out = nn.BatchNorm1d(channels * joints), nn.Conv2d(channels, 8, 1)

    def forward(self, x):
        n, c, t, v, m = x.size()
        x = x.permute(0, 4, 3, 1, 2).contiguous().view(n * m, v * c, t)
        x = self.norm(x).view(n, m, v, c, t).permute(0, 1, 3, 4, 2).contiguous()
        return self.out(x.view(n * m, c, t, v)).mean((2, 3))


class Differing(nn.Module):
    """Two images are compared before the first layer."""

    def __init__(self):
        super().__init__()
        self.out = nn.Conv2d(6, 8, 3)

    def forward(self, before, after):
        return self.out(torch.cat([after - before, before * after], 1))


class Segments(nn.Module):
    """So many images are one sample."""

    def __init__(self, segments=5):
        super().__init__()
        self.segments, self.see = segments, nn.Conv2d(3, 6, 3)

    def forward(self, input):
        seen = self.see(input.view(-1, 3, *input.shape[-2:])).mean((2, 3))
        return seen.view(-1, self.segments, 6).mean(1)


@pytest.mark.parametrize(
    ("module", "shapes"),
    [
        (Forecaster(), [(16, 7), (16, 4), (16, 7), (40, 4)]),
        (Joints(), [(3, 25, 25, 25)]),
        (Joints(3, 18), [(3, 18, 18, 18)]),
        (Differing(), [(3, 224, 224), (3, 224, 224)]),
        (Segments(), [(15, 224, 224)]),
    ],
)
def test_extents_that_depend_on_each_other_change_together(module, shapes):
    inferred = infer_inputs("module", module)
    given = [*inferred.inputs.args, *inferred.inputs.kwargs.values()]
    assert [tuple(each.shape[1:]) for each in given] == shapes


class Clips(nn.Module):
    """Reads each frame of a clip by itself."""

    def __init__(self, frames=16):
        super().__init__()
        self.see, self.time = nn.Conv2d(3, 8, 16, 16), nn.Parameter(torch.zeros(frames, 8))

    def forward(self, x):
        b, c, t, h, w = x.shape
        seen = self.see(x.transpose(1, 2).reshape(b * t, c, h, w)).mean((2, 3))
        return seen.view(b, t, -1) + self.time


def test_what_reads_colours_of_five_axes_reads_frames():
    assert texts(Clips()) == ["x=1x3x16x224x224:float32"]


class Labelled(nn.Module):
    """Its label reaches a table that is a hundredth of the weights."""

    def __init__(self, classes=3):
        super().__init__()
        self.see, self.classes = nn.Conv2d(3, 16, 8, 8), nn.Embedding(classes, 16)

    def forward(self, x, y=None):
        seen = self.see(x)
        return seen if y is None else seen + self.classes(y)[..., None, None]


def test_a_label_that_is_left_out_is_said():
    inferred = infer_inputs("module", Labelled())
    assert [each for each in inferred.doubts if "called with y too" in each]
    assert infer_inputs("module", Labelled(400)).texts[1] == "y=1:int64"
