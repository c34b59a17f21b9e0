"""Layers that torch has fused or quantised are the layers that they stand for."""

import warnings

import pytest
import torch
from torch import nn

from nar.capture import capture_module


class Fused(nn.Module):
    """Attention by torch's fused operator."""

    def __init__(self, layer, parts):
        super().__init__()
        self.layer, self.parts = layer, parts

    def forward(self, *inputs):
        inputs = inputs * self.parts
        layer = self.layer
        weights = (layer.in_proj_weight, layer.in_proj_bias)
        last = (layer.out_proj.weight, layer.out_proj.bias)
        result, _ = torch._native_multi_head_attention(
            *inputs, 32, 4, *weights, *last, need_weights=False
        )
        return result


class Plain(Fused):
    """The same by the layer."""

    def forward(self, *inputs):
        return self.layer(*inputs * self.parts, need_weights=False)[0]


@pytest.mark.parametrize("parts", [1, 3], ids=["cross", "self"])
def test_fused_attention(parts):
    layer = nn.MultiheadAttention(32, 4, batch_first=True)
    inputs = tuple(torch.zeros(2, 7, 32) for _ in range(3 // parts))
    fused, plain = (capture_module(kind(layer, parts).eval(), inputs) for kind in (Fused, Plain))
    assert fused.unread is None
    assert fused.graph == plain.graph


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_fused_encoder_layer(norm_first, activation):
    layer = nn.TransformerEncoderLayer(
        32, 4, 64, activation=activation, batch_first=True, norm_first=norm_first
    ).eval()
    x = torch.zeros(2, 7, 32)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing warns of branches
        traced = torch.jit.trace(layer, x)
    assert "_transformer_encoder_layer_fwd" in str(traced.inlined_graph)
    assert capture_module(traced, x).graph == capture_module(layer, x).graph


class InEightBits(nn.Module):
    """A linear layer whose weight is a buffer of whole numbers, with a scale for each row."""

    def __init__(self, inputs, outputs, dtype):
        super().__init__()
        self.register_buffer("weight", torch.zeros(outputs, inputs).to(dtype))
        self.register_buffer("scale", torch.ones(outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        weight = self.weight.to(x.dtype) * self.scale[:, None]
        return nn.functional.linear(x, weight, self.bias)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn])
def test_a_weight_in_eight_bits_is_a_weight(dtype):
    plain = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))
    quantised = nn.Sequential(InEightBits(32, 64, dtype), nn.ReLU(), InEightBits(64, 8, dtype))
    wanted, came = (capture_module(each, torch.zeros(2, 32)) for each in (plain, quantised))
    assert came.graph == wanted.graph


def test_a_buffer_of_one_axis_in_eight_bits_is_no_weight():
    module = nn.Linear(8, 8)
    module.register_buffer("kinds", torch.zeros(8, dtype=torch.int8))
    assert capture_module(module, torch.zeros(1, 8)).graph.parameters == 72


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Linear(32, 8), (2, 32)),
        (nn.Linear(32, 8, bias=False), (2, 32)),
        (nn.LSTM(4, 6, 2, bidirectional=True), (3, 2, 4)),
        (nn.GRU(4, 6), (3, 2, 4)),
    ],
)
def test_a_layer_that_is_quantised_while_it_runs(layer, shape):
    plain = nn.Sequential(layer).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.ao has moved
        kinds = {nn.Linear, nn.LSTM, nn.GRU}
        packed = torch.ao.quantization.quantize_dynamic(plain, kinds, dtype=torch.qint8)
        came = capture_module(packed, torch.zeros(shape))
    assert came.unread is None
    assert came.graph == capture_module(plain, torch.zeros(shape)).graph
