"""What capture sees beside a graph: widths, heads, masks, windows, paths, inputs and outputs."""

import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from nar.base.errors import CaptureError
from nar.capture import capture_module
from nar.capture.exported import capture_exported
from nar.capture.onnx.file import capture_onnx
from nar.graphs.ops import op_name


def by_operator(captured, operator):
    """The details of the operators of a class, in the order of the graph."""
    names = map(op_name, captured.graph.op_ids.tolist())
    return [each for name, each in zip(names, captured.details, strict=True) if name == operator]


class Attention(nn.Module):
    """Self-attention over (batch, length, 32), 4 heads of 8, fewer heads of keys, any mask."""

    def __init__(self, key_heads=4, attend=F.scaled_dot_product_attention, **stated):
        super().__init__()
        self.q, self.out = nn.Linear(32, 32), nn.Linear(32, 32)
        self.k, self.v = nn.Linear(32, 8 * key_heads), nn.Linear(32, 8 * key_heads)
        self.key_heads, self.attend = key_heads, attend
        for name, value in stated.items():
            setattr(self, name, value)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            layer(x).view(batch, length, -1, 8).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        k, v = (
            each[:, :, None].expand(-1, -1, 4 // self.key_heads, -1, -1).flatten(1, 2)
            for each in (k, v)
        )
        return self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def written_out(q, k, v):
    mask = torch.ones(q.shape[2], k.shape[2]).tril().bool()
    scores = (q @ k.transpose(-1, -2) / 8**0.5).masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ v


def by_positions(q, k, v):
    places = torch.arange(q.shape[2])
    mask = places[None, None, :, None] >= places[None, None, None, :]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(4, 6, 6))

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)


def padded(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(6, 6).bool())


def seen(module):
    captured = capture_module(module, torch.zeros(2, 6, 32))
    [attention] = by_operator(captured, "attention")
    return attention


@pytest.mark.parametrize("attend", [causal, written_out, by_positions])
@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_heads_are_those_of_the_layers_however_attention_is_written(attend, key_heads):
    attention = seen(Attention(key_heads, attend))
    assert (attention.heads, attention.key_value_heads, attention.head_size) == (4, key_heads, 8)
    assert (attention.mask, attention.window, attention.output_width) == ("causal", 0, 32)


@pytest.mark.parametrize(
    ("attend", "mask"),
    [(F.scaled_dot_product_attention, "none"), (Biased(), "learned"), (padded, "constant")],
)
def test_a_mask_has_a_kind(attend, mask):
    assert seen(Attention(attend=attend)).mask == mask


@pytest.mark.parametrize(
    ("stated", "window"),
    [
        ({"sliding_window": 4}, 4),
        ({"sliding_window": None}, 0),
        ({"window_size": (2, 3)}, 6),
        ({"window_size": "many"}, 0),
        ({"one_sided_attn_window_size": 3}, 6),
        ({"one_sided_attn_window_size": None}, 0),
        ({}, 0),
    ],
)
def test_a_window_is_what_the_module_states(stated, window):
    assert seen(Attention(attend=causal, **stated)).window == window


def test_a_module_that_states_it_is_causal_is_believed_where_the_mask_does_not_tell():
    assert seen(Attention(attend=padded, is_causal=True)).mask == "causal"
    assert seen(Attention(is_causal=True)).mask == "none"


def test_heads_of_three_axes_follow_from_the_layer():
    module = nn.MultiheadAttention(32, 4, batch_first=True)
    x = torch.zeros(2, 6, 32)
    captured = capture_module(module, (x, x, x))
    [attention] = by_operator(captured, "attention")
    assert (attention.heads, attention.key_value_heads, attention.head_size) == (4, 4, 8)


class Convolved(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU())
        self.left, self.right = nn.Conv2d(16, 8, 1), nn.Conv2d(16, 24, 1)
        self.head = nn.Linear(32, 5)

    def forward(self, image):
        x = self.stem(image)
        x = torch.cat([self.left(x), self.right(x)], 1)
        return {"logits": self.head(x.mean((2, 3))), "map": x}


CONVOLVED = [
    ("conv", "stem.0", 3, 16),
    ("batch_norm", "stem.1", None, 16),
    ("relu", "stem.2", None, 16),
    ("conv", "left", 16, 8),
    ("conv", "right", 16, 24),
    ("concat", "", None, 32),
    ("adaptive_avg_pool", "", None, 32),
    ("linear", "head", 32, 5),
]


def test_widths_and_paths_of_a_convolutional_network():
    captured = capture_module(Convolved(), torch.zeros(1, 3, 16, 16))
    names = map(op_name, captured.graph.op_ids.tolist())
    came = {
        (name, each.path, each.input_width, each.output_width)
        for name, each in zip(names, captured.details, strict=True)
        if name != "input"
    }
    assert came == set(CONVOLVED)
    assert captured.details.inputs == ("image float 1x3x16x16",)
    assert captured.details.outputs == ("logits float 1x5", "map float 1x32x14x14")


@pytest.mark.slow
def test_an_exported_program_tells_the_same(tmp_path):
    module, x = Convolved().eval(), torch.zeros(1, 3, 16, 16)
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "a.pt2")
    captured = capture_exported(tmp_path / "a.pt2", name="a")
    of_module = capture_module(module, x)
    assert captured.network.exact == of_module.network.exact
    assert [(each.path, each.output_width) for each in captured.details] == [
        (each.path, each.output_width) for each in of_module.details
    ]
    assert captured.details.inputs == ("image float 1x3x16x16",)


def test_a_file_of_onnx_tells_widths_and_what_names_of_nodes_say(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], name="/stem/conv/Conv", kernel_shape=[3, 3]),
        helper.make_node("Relu", ["y"], ["z"], name="Relu_1"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, ["batch", 3, 8, 8])],
        [helper.make_tensor_value_info("z", 1, None)],
        [helper.make_tensor("w", 1, [4, 3, 3, 3], [0.0] * 108)],
    )
    onnx.save(helper.make_model(graph), tmp_path / "a.onnx")
    details = capture_onnx(tmp_path / "a.onnx", name="a").details
    assert [(each.path, each.input_width, each.output_width) for each in details] == [
        (None, None, None),
        ("stem.conv", 3, 4),
        (None, None, 4),
    ]
    assert details.inputs == ("x float 1x3x8x8",)
    assert details.outputs == ("z float 1x4x6x6",)


def test_layers_of_words_and_steps_have_widths():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.steps = nn.Embedding(100, 12), nn.LSTM(12, 10, bidirectional=True)
            self.tags = nn.Linear(20, 7)

        def forward(self, ids):
            return self.tags(self.steps(self.words(ids))[0])

    captured = capture_module(Tagger(), torch.zeros(5, 1, dtype=torch.long))
    assert [(each.path, each.input_width, each.output_width) for each in captured.details] == [
        ("words", 100, 12),
        ("steps", 12, 20),
        ("tags", 20, 7),
    ]
    assert captured.details.inputs == ("ids int 5x1",)


def test_a_shared_module_has_one_path_and_details_change_no_graph():
    class Shared(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first = self.second = nn.Linear(width, width)

        def forward(self, x):
            return self.second(F.relu(self.first(x)))

    narrow, wide = (capture_module(Shared(width), torch.zeros(1, width)) for width in (4, 8))
    assert [each.path for each in by_operator(narrow, "linear")] == ["first", "first"]
    assert narrow.network.topology == wide.network.topology
    assert narrow.details != wide.details


def test_an_error_names_the_module_that_it_left():
    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(8, 4))

        def forward(self, x):
            return self.layers(x)

    with pytest.raises(CaptureError) as caught:
        capture_module(Failing(), torch.zeros(1, 4))
    assert caught.value.path == "layers.1"
    assert "capture failed at aten::linear in layers.1: " in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.path) == (str(caught.value), "layers.1")
