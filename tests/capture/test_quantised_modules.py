"""Modules in few bits are their float design: static quantisation, and packed weights."""

import pytest
import torch
import torch.ao.quantization as quantization
from torch import nn
from torch.ao.nn.quantized import FloatFunctional
from torch.nn import functional as F

from nar.capture import capture_module

pytestmark = pytest.mark.filterwarnings("ignore")  # torch deprecates what people have in files


class Image(nn.Module):
    """Convolutions, a shortcut and a head, as eager static quantisation wants them."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.norm, self.act = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.pool, self.swish = nn.MaxPool2d(2), nn.Hardswish()
        self.plus = FloatFunctional()
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.act(self.norm(self.first(self.quant(x))))
        x = self.plus.add_relu(x, self.swish(self.second(x)))
        return self.dequant(self.head(self.pool(x).mean((2, 3))))


class Words(nn.Module):
    """Steps of words: an embedding, a layer over steps, a layer norm and a head."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.steps, self.norm = nn.Conv1d(12, 6, 3), nn.LayerNorm(6)
        self.leaky, self.head = nn.LeakyReLU(0.1), nn.Linear(6, 4)
        self.plus = FloatFunctional()

    def forward(self, x):
        x = self.leaky(self.steps(self.quant(x))).transpose(1, 2)
        x = self.plus.cat([self.norm(x), x], dim=1)
        return self.dequant(self.head(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.up, self.out = nn.ConvTranspose2d(4, 6, 2, stride=2), nn.Conv2d(6, 1, 1)
        self.times = FloatFunctional()

    def forward(self, x):
        x = self.up(self.quant(x))
        return self.dequant(self.out(self.times.mul(x, x)))


def quantised(module, x, fused=()):
    """The module after eager static quantisation."""
    torch.backends.quantized.engine = "qnnpack"
    module = module.eval()
    module.qconfig = quantization.get_default_qconfig("qnnpack")
    module = quantization.fuse_modules(module, [list(fused)]) if fused else module
    quantization.prepare(module, inplace=True)
    module(x)
    return quantization.convert(module, inplace=True)


@pytest.fixture(autouse=True)
def engine():
    before = torch.backends.quantized.engine
    yield
    torch.backends.quantized.engine = before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "shape"), [(Image, (2, 3, 12, 12)), (Words, (2, 12, 9)), (Decoder, (1, 4, 5, 5))]
)
def test_static_quantisation_is_the_float_design(kind, shape):
    x = torch.rand(shape)
    captured = capture_module(quantised(kind(), x), x)
    plain = capture_module(kind().eval(), x)
    assert captured.network.exact == plain.network.exact
    assert captured.unread is None


@pytest.mark.slow
def test_a_norm_that_was_fused_is_gone(text_of):
    x = torch.rand(2, 3, 12, 12)
    captured = capture_module(quantised(Image(), x, ("first", "norm", "act")), x)
    assert text_of(captured.graph).startswith("input; conv 0; relu 1; conv_grouped 2; hard_swish 3")
    assert captured.graph.parameters == 8 * 27 + 8 + 8 * 36 + 8 + 45


class Twice(nn.Module):
    """The same convolution and the same layer, each called two times."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.same, self.head = nn.Conv2d(4, 4, 3, padding=1), nn.Linear(6, 6)

    def forward(self, x):
        x = self.same(self.same(self.quant(x)))
        return self.dequant(self.head(self.head(x)))


def test_weights_of_a_layer_that_is_called_twice_count_once():
    x = torch.rand(1, 4, 6, 6)
    captured = capture_module(quantised(Twice(), x), x)
    assert captured.network.exact == capture_module(Twice().eval(), x).network.exact


class Packed(nn.Module):
    """A layer of 64 to 32 features whose weights are eight to a whole number, as GPTQ has them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("qweight", torch.zeros(8, 32, dtype=torch.int32))
        self.register_buffer("qzeros", torch.zeros(1, 4, dtype=torch.int32))
        self.register_buffer("scales", torch.ones(1, 32))
        self.register_buffer("shifts", torch.arange(0, 32, 4, dtype=torch.int32).unsqueeze(0))
        self.bias = nn.Parameter(torch.zeros(32))

    def weight(self):
        bits = torch.bitwise_right_shift(self.qweight.unsqueeze(1), self.shifts.view(1, 8, 1))
        zeros = torch.bitwise_right_shift(self.qzeros.unsqueeze(2), self.shifts.unsqueeze(0))
        numbers, zeros = bits.bitwise_and(15).view(64, 32), zeros.bitwise_and(15).view(1, 32)
        return (numbers - zeros).float() * self.scales

    def forward(self, x):
        return x @ self.weight() + self.bias


class ByTable(nn.Module):
    """A layer of 64 to 32 features, two to a byte, each the place of a number of a table."""

    def __init__(self):
        super().__init__()
        self.register_buffer("packed", torch.zeros(1024, 1, dtype=torch.uint8))
        self.register_buffer("table", torch.linspace(-1, 1, 16))
        self.register_buffer("absmax", torch.ones(2048 // 64, 1))
        self.bias = nn.Parameter(torch.zeros(32))

    def forward(self, x):
        high, low = self.packed >> 4, self.packed & 0xF
        places = torch.cat([high, low], dim=1).flatten().int()
        weight = (self.table[places].view(-1, 64) * self.absmax).view(32, 64)
        return F.linear(x, weight, self.bias)


class ByKernel(nn.Module):
    """A layer of 64 to 32 features by an operator of torch for four bits."""

    def __init__(self):
        super().__init__()
        whole = torch.zeros(32, 64, dtype=torch.int32)
        packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(whole, 1)
        self.register_buffer("packed", packed)
        self.register_buffer("scales", torch.ones(2, 32, 2))
        self.bias = nn.Parameter(torch.zeros(32))

    def forward(self, x):
        y = torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.packed, 32, self.scales)
        return y + self.bias


class InBytes(nn.Module):
    """A layer of 64 to 32 features by an operator of torch for eight bits."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.zeros(32, 64, dtype=torch.int8))
        self.register_buffer("scales", torch.ones(32))
        self.bias = nn.Parameter(torch.zeros(32))

    def forward(self, x):
        return torch.ops.aten._weight_int8pack_mm(x, self.weight, self.scales) + self.bias


@pytest.mark.parametrize("kind", [Packed, ByTable, ByKernel, InBytes])
def test_a_layer_of_packed_weights_is_a_linear_layer(kind):
    x = torch.zeros(3, 64)
    packed = capture_module(nn.Sequential(kind(), nn.ReLU(), nn.Linear(32, 2)), x)
    plain = capture_module(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2)), x)
    assert packed.network.exact == plain.network.exact
    assert packed.graph.parameters == 64 * 32 + 32 + 66


def test_a_product_with_fixed_numbers_is_no_layer(text_of):
    class Filters(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("filters", torch.zeros(64, 32))
            self.register_buffer("mask", torch.ones(4, 64, dtype=torch.bool))

        def forward(self, x):
            kept = (self.mask & self.mask.flip(0)).float() @ self.filters
            return x @ self.filters + kept[:1]

    text = text_of(capture_module(Filters(), torch.zeros(3, 64)).graph)
    assert text == "input; matmul 0; add 1"
