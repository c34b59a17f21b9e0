"""Inputs of modules with several: what attributes state of them, and no half for the whole."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from nar.own.inputs import NoInputsError, infer_inputs
from nar.own.usual import usual_inputs


def shapes(inferred):
    given = [*inferred.inputs.args, *inferred.inputs.kwargs.values()]
    return [tuple(each.shape) if isinstance(each, torch.Tensor) else each for each in given]


class Pair(nn.Module):
    """Reads an image, a text, or both."""

    def __init__(self, length=20):
        super().__init__()
        self.visual = nn.Conv2d(3, 32, 16, 16)
        self.tokens, self.places = nn.Embedding(500, 32), nn.Parameter(torch.zeros(length, 32))
        self.text = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, image: torch.Tensor | None = None, text: torch.Tensor | None = None):
        seen = self.visual(image).flatten(2).mean(-1) if image is not None else None
        if text is None:
            return seen
        read = self.text(self.tokens(text) + self.places)
        return seen, read[torch.arange(len(read)), text.argmax(-1)]


class Unreadable(Pair):
    """Its text is an object of its own class."""

    def forward(self, image=None, text=None):
        if text is None:
            return self.visual(image)
        return self.visual(image), self.text(self.tokens(text.ids) + self.places)


def test_half_of_a_model_is_not_answered_as_the_whole():
    inferred = infer_inputs("module", Pair())
    assert shapes(inferred) == [(1, 3, 224, 224), (1, 20)]
    with pytest.raises(NoInputsError, match="of the weights only"):
        infer_inputs("module", Unreadable())


class Denoiser(nn.Module):
    """Its widths stand in its configuration, as those of transformers that denoise."""

    def __init__(self, joint=96, pooled=48, width=32, channels=16):
        super().__init__()
        self.config = SimpleNamespace(
            joint_attention_dim=joint, pooled_projection_dim=pooled, in_channels=channels
        )
        self.inward, self.out = nn.Linear(channels, width), nn.Linear(width, channels)
        self.context, self.pooled = nn.Linear(joint, width), nn.Linear(pooled, width)
        self.rotary = nn.Linear(3, width)

    def forward(
        self, hidden_states, encoder_hidden_states=None, pooled_projections=None, timestep=None,
        img_ids=None, txt_ids=None,
    ):  # fmt: skip
        step = self.pooled(pooled_projections) + timestep[:, None]
        both = torch.cat([self.context(encoder_hidden_states), self.inward(hidden_states)], 1)
        places = self.rotary(torch.cat([txt_ids, img_ids]))
        return self.out((both + places + step[:, None])[:, encoder_hidden_states.shape[1] :])


class Film(nn.Module):
    """Wants to know the grid on which its sequence lies."""

    def __init__(self, channels=8, caption=40):
        super().__init__()
        self.config = SimpleNamespace(caption_channels=caption)
        self.inward, self.caption = nn.Linear(channels, 24), nn.Linear(caption, 24)
        self.rotary = nn.Linear(3, 24)

    def forward(
        self, hidden_states, encoder_hidden_states, num_frames: int | None = None,
        height: int | None = None, width: int | None = None,
    ):  # fmt: skip
        sides = [torch.arange(side, device=hidden_states.device) for side in
                 (num_frames, height, width)]  # fmt: skip
        grid = torch.stack(torch.meshgrid(*sides, indexing="ij"), -1).flatten(0, 2)
        x = self.inward(hidden_states) + self.rotary(grid.float())
        context = self.caption(encoder_hidden_states)
        return F.scaled_dot_product_attention(x, context, context)


class Forecast(nn.Module):
    """Its mapping has no feature of a kind that the module says it lacks."""

    def __init__(self, hist=2, stat=0, series=1):
        super().__init__()
        self.h, self.input_size, self.n_series = 12, 24, series
        self.hist_exog_size, self.stat_exog_size = hist, stat
        self.recurrent = nn.LSTM(series + hist, 16, batch_first=True)
        self.head = nn.Linear(16 * 24 + stat, 12)

    def forward(self, windows_batch):
        parts = [windows_batch["insample_y"], windows_batch["hist_exog"]]
        fixed = windows_batch["stat_exog"]
        x = torch.cat([part for part in parts if part is not None], -1)
        x = self.recurrent(x)[0].flatten(1)
        return self.head(x if fixed is None else torch.cat([x, fixed.flatten(1)], 1))


def test_what_a_module_states_of_its_inputs_is_believed():
    denoiser = infer_inputs("module", Denoiser())
    assert shapes(denoiser)[0] == (1, 32, 16)
    assert {name: tuple(given.shape) for name, given in denoiser.inputs.kwargs.items()} == {
        "encoder_hidden_states": (1, 32, 96), "pooled_projections": (1, 48), "timestep": (1,),
        "img_ids": (32, 3), "txt_ids": (32, 3),
    }  # fmt: skip
    assert shapes(infer_inputs("module", Film())) == [(1, 32, 8), (1, 32, 40), 2, 4, 4]
    assert denoiser.is_sure


@pytest.mark.parametrize(
    ("module", "wanted"),
    [
        (Forecast(), [(1, 24, 1), (1, 24, 2), None]),
        (Forecast(hist=0), [(1, 24, 1), None, None]),
        (Forecast(hist=3, stat=4, series=5), [(1, 24, 5), (1, 24, 3), (1, 4)]),
    ],
)
def test_a_forecast_is_given_the_series_that_it_states(module, wanted):
    (mapping,) = infer_inputs("module", module).inputs.args
    assert [None if value is None else tuple(value.shape) for value in mapping.values()] == wanted


class Local(nn.Module):
    """Cuts what is longer than its window."""

    def __init__(self, window=64, longest=1024):
        super().__init__()
        self.window_size, self.max_seq_len = window, longest
        self.tokens, self.out = nn.Embedding(99, 32), nn.Linear(32, 32)

    def forward(self, x):
        x, many = self.tokens(x), x.shape[1]
        if many > self.window_size:
            x = F.pad(x, (0, 0, 0, -many % self.window_size)).unflatten(1, (-1, self.window_size))
        return self.out(F.scaled_dot_product_attention(x, x, x))


class Routed(nn.Module):
    """Gives its best tokens to a second layer."""

    def __init__(self):
        super().__init__()
        self.num_heavy_tokens = 100
        self.gate, self.light, self.heavy = nn.Linear(32, 1), nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x):
        if x.shape[1] <= self.num_heavy_tokens:
            return self.light(x) + self.heavy(x)
        best = self.gate(x).topk(self.num_heavy_tokens, 1).indices.expand(-1, -1, 32)
        return self.light(x).scatter_add(1, best, self.heavy(x.gather(1, best)))


@pytest.mark.parametrize(
    ("module", "length"), [(Local(), 128), (Local(longest=100), 100), (Local(8), 32),
                           (Routed(), 200)]
)  # fmt: skip
def test_a_sequence_is_longer_than_what_a_module_takes_at_once(module, length):
    assert infer_inputs("module", module).inputs.args[0].shape[1] == length


class Attends(nn.Module):
    """Its assertion names the argument that it lacks, without marks."""

    def __init__(self):
        super().__init__()
        self.query, self.value = nn.Linear(48, 48), nn.Linear(48, 48)

    def forward(self, x, mask=None, context=None):
        assert context is not None, "context must be passed in if this module attends to another"
        value = self.value(context)
        return F.scaled_dot_product_attention(self.query(x), value, value)


def test_an_argument_that_an_error_names_is_given():
    inferred = infer_inputs("module", Attends())
    assert list(inferred.inputs.kwargs) == ["context"]
    assert shapes(inferred)[0][-1] == shapes(inferred)[1][-1] == 48


class AnyWidth(nn.Module):
    """Weighs as many columns as come."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.scale = nn.Linear(1, 1)

    def forward(self, x):
        return self.scale((x * self.weight).sum(-1, keepdim=True))


class Masked(Attends):
    """Takes a mask, and runs without."""

    def forward(self, x, mask=None):
        scores = self.query(x) @ self.value(x).transpose(1, 2)
        return scores if mask is None else scores.masked_fill(mask[:, None], -1.0)


def test_what_might_as_well_be_otherwise_is_doubted():
    assert infer_inputs("module", Masked()).doubts == (
        "it may be called with mask too, which runs more",
    )
    (doubt,) = infer_inputs("module", AnyWidth()).doubts
    assert doubt == "no layer asks for the width of x"


class Sorted(nn.Module):
    """Nodes are put in the order of their graphs, which may be None and must not."""

    def __init__(self):
        super().__init__()
        self.inward, self.out = nn.Linear(20, 16), nn.Linear(16, 3)

    def forward(self, x, edge_index, batch=None):
        x = self.inward(x)[batch.sort(stable=True).indices]
        return self.out(torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]]))


class Towers(nn.Module):
    """Parts its features among towers before any layer reads them."""

    def __init__(self):
        super().__init__()
        self.towers, self.out = nn.Parameter(torch.zeros(4, 15, 8)), nn.Linear(32, 2)

    def forward(self, x, edge_index):
        x = torch.einsum("ntd,tde->nte", x.view(-1, 4, 15), self.towers).flatten(1)
        return self.out(torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]]))


@pytest.mark.parametrize(
    ("module", "wanted"), [(Sorted(), [(16, 20), (2, 24), (16,)]), (Towers(), [(16, 60), (2, 24)])]
)
def test_a_graph_is_parted_and_ordered(module, wanted):
    assert shapes(infer_inputs("module", module)) == wanted


class Frequencies(nn.Module):
    """Weighs maps by a sum over them, and says so by an expansion that fails."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Conv2d(12, 12, 1)
        self.register_buffer("weight", torch.ones(1, 12, 1, 1))

    def forward(self, x):
        return x * self.gate(self.weight.expand(x.shape[:2] + x.shape[2:]).mean((2, 3), True))


def test_an_expansion_says_how_many_axes_an_input_lacks():
    assert shapes(infer_inputs("module", Frequencies()))[0][:2] == (1, 12)


class Patient(nn.Module):
    """A mapping with a mapping in it."""

    def __init__(self):
        super().__init__()
        self.recurrent, self.ward = nn.GRU(12, 16, batch_first=True), nn.Embedding(9, 16)
        self.age, self.head = nn.Linear(3, 16), nn.Linear(48, 2)

    def forward(self, record):
        person = record["person"]
        parts = (self.age(person["measures"]), self.ward(person["ward"]))
        return self.head(torch.cat([self.recurrent(record["signal"])[0][:, -1], *parts], 1))


def test_a_mapping_in_a_mapping_is_found():
    (record,) = infer_inputs("module", Patient()).inputs.args
    assert list(record) == ["person", "signal"]
    assert {name: tuple(each.shape) for name, each in record["person"].items()} == {
        "measures": (1, 3),
        "ward": (1,),
    }
    assert tuple(record["signal"].shape) == (1, 32, 12)


class Scales(nn.Module):
    """Goes through maps of several scales, in blocks that begin with other layers."""

    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Identity(), nn.Conv2d(width, 4, 1)) for width in widths
        )

    def forward(self, maps):
        total = 0.0
        for scale, (block, each) in enumerate(zip(self.blocks, maps, strict=True)):
            total = total + F.interpolate(block(each), scale_factor=2.0**scale)
        return total


def test_maps_of_several_scales_are_found():
    (maps,) = infer_inputs("module", Scales()).inputs.args
    assert [tuple(each.shape) for each in maps] == [
        (1, 8, 64, 64), (1, 16, 32, 32), (1, 32, 16, 16),
    ]  # fmt: skip


class Policy(nn.Module):
    """One step of a cell that has two states."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(6, 20), nn.Linear(20, 3)

    def forward(self, seen, state):
        state = self.cell(seen, state)
        return self.head(state[0]), state


def test_a_cell_gets_both_of_its_states():
    inferred = infer_inputs("module", Policy())
    seen, state = inferred.inputs.args
    assert [tuple(each.shape) for each in (seen, *state)] == [(1, 6), (1, 20), (1, 20)]
    assert inferred.is_sure


class Coordinates(nn.Module):
    """Reads four numbers of each place, one after the other."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 8)

    def forward(self, hidden_states, img_ids):
        return self.layer(hidden_states), sum(img_ids[:, axis].sin() for axis in range(4))


def test_as_many_numbers_are_given_as_are_read_by_their_place():
    assert shapes(infer_inputs("it", Coordinates()))[1][-1] == 4


class Holes(Coordinates):
    """Has a list with a place that no layer takes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, 8, 3), None])


class Raises(Coordinates):
    """Answers for each attribute that it lacks with an error of another kind."""

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return {}[name]


@pytest.mark.parametrize("module", [Holes(), Raises()], ids=["none in a list", "other errors"])
def test_modules_of_unusual_attributes_are_gone_through(module):
    assert shapes(infer_inputs("it", module))[1][-1] == 4


class Magnifies(nn.Module):
    """Has the weights of three scales and runs those of one."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 16, 3, padding=1)
        self.larger = nn.ModuleList(nn.Conv2d(16, 16, 3, padding=1) for _ in range(2))

    def forward(self, x, scale=None):
        return self.larger[1 if scale == 3 else 0](self.layer(x))


@pytest.mark.slow
def test_a_setting_that_is_left_out_is_doubted_and_not_refused():
    inferred = infer_inputs("it", Magnifies())
    assert shapes(inferred)[0][:2] == (1, 3)
    assert any("of the weights" in each for each in inferred.doubts)


class OfTimm(nn.Module):
    """A text beside an image that a part with a configuration of timm reads."""

    def __init__(self):
        super().__init__()
        self.pair = Pair()
        self.pair.visual.pretrained_cfg = {"input_size": (3, 32, 32)}

    def forward(self, image=None, text=None):
        return self.pair(image, text)


def test_an_image_is_not_all_of_a_module_that_has_a_model_of_timm_in_it():
    assert usual_inputs("it", OfTimm()) is None
    assert usual_inputs("it", nn.Sequential(OfTimm().pair.visual)) is not None


class Augments(nn.Module):
    """Hides a part of its sound where it is told to."""

    def __init__(self):
        super().__init__()
        self.inward = nn.Conv1d(1, 8, 5)

    def forward(self, x, aug):
        x = self.inward(x)
        if aug == True:  # noqa: E712
            x = x.clone().masked_fill_(torch.rand(1) > 2, 0)
        return x


class Typed(Augments):
    """Says that it takes a switch."""

    def forward(self, x, training: bool):
        return nn.functional.dropout(self.inward(x), 0.1, training)


class OnOnly(Augments):
    """Runs where it is on alone."""

    def forward(self, x, train, last):
        if not train and not last:
            raise ValueError("only for training")
        return self.inward(x)


@pytest.mark.parametrize(
    ("module", "switches"), [(Augments(), [False]), (Typed(), [False]), (OnOnly(), [True, True])]
)
def test_what_conditions_alone_read_is_a_switch(module, switches):
    inferred = infer_inputs("module", module)
    assert [each for each in inferred.inputs.args if isinstance(each, bool)] == switches
    assert sum(":=" in text for text in inferred.texts) == len(switches)
    assert any("on only" in each for each in inferred.doubts) == all(switches)


class Guided(nn.Module):
    """Its configuration says whether it is guided; guidance has few of its weights."""

    def __init__(self, **config):
        super().__init__()
        self.config = SimpleNamespace(**config)
        self.inward, self.out = nn.Linear(64, 512), nn.Linear(512, 512)
        self.guide = nn.Linear(1, 8)

    def forward(self, x, guidance: torch.Tensor | None = None):
        x = self.out(self.inward(x))
        if guidance is None:
            return x
        return x + self.guide(guidance.reshape(1, 1)).mean()


@pytest.mark.parametrize(
    ("config", "is_given"),
    [
        ({"guidance_embeds": True}, True),
        ({"use_guidance": True}, True),
        ({"guidance_embeds": False}, False),
        ({}, False),
    ],
)
def test_an_optional_input_that_the_configuration_asks_for_is_given(config, is_given):
    inferred = infer_inputs("module", Guided(**config))
    assert len(inferred.inputs.args) + len(inferred.inputs.kwargs) == 1 + is_given
    told = "it may be called with guidance too: without, under 1% of the weights are not reached"
    assert (told in inferred.doubts) == (not is_given)
