"""Layers whose weights are packed, quantised: their names and their numbers are in one object."""

from math import prod

from torch import Tensor

from nar.capture.forward.emitters import AtenCall, Emit, conv_class
from nar.capture.sizes import channel_ratio, layer_sizes, window
from nar.capture.trace import Shape, TraceBuilder
from nar.capture.values import storage_key


def packed_linear(activation: str = "") -> Emit:
    """A linear layer whose weight is packed, quantised: ``linear_dynamic(input, packed, ...)``."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        weight, bias = call.args[1].unpack()
        out, inner = weight.shape
        sizes = (prod(call.shape[:-1]), inner, out)
        builder.flops += 2 * prod(call.shape) * inner
        learned, *biases = _learned(builder, weight, bias, (out, inner))
        value = builder.emit("matmul", (call.values[0], learned), call.shape, numbers=sizes)
        for each in biases:
            value = builder.emit("add", (value, each), call.shape)
        return builder.emit(activation, (value,), call.shape) if activation else value

    return emit


def packed_convolution(builder: TraceBuilder, call: AtenCall) -> int:
    """A convolution whose weight is packed: ``conv2d(input, packed, ...)``, transposed or not."""
    packed, source = call.args[1], call.shapes[0]
    weight, bias = packed.unpack()
    rank, transposed, groups = len(source) - 2, bool(packed.transpose()), int(packed.groups())
    shape = (*weight.shape[:2], *weight.shape[-rank:])  # one axis is packed as the last of two
    builder.flops += 2 * prod(shape[1:]) * prod(source if transposed else call.shape)
    ends = [list(each())[-rank:] for each in (packed.stride, packed.dilation)]
    channels = (source[1], call.shape[1])
    operands = (call.values[0], *_learned(builder, weight, bias, shape))
    return builder.emit(
        "conv_transpose" if transposed else conv_class(groups, channels[0]),
        operands,
        call.shape,
        attributes=window(shape[2:], *ends) | channel_ratio(*channels),
        sizes=layer_sizes(*channels),
    )


def packed_embedding(builder: TraceBuilder, call: AtenCall) -> int:
    """Rows of a packed table: ``embedding_byte(packed, indices)``."""
    table = call.args[0].unpack()
    learned = _learned(builder, table, None, tuple(table.shape))
    return builder.emit("embedding", (*learned, *call.values), call.shape)


def _learned(
    builder: TraceBuilder, weight: Tensor, bias: Tensor | None, shape: Shape
) -> tuple[int, ...]:
    """A weight and its bias: the packed object is another one at every call, its weight is not."""
    key = storage_key(weight)
    learned = builder.packed((key, "weight"), shape, weight)
    if bias is None:
        return (learned,)
    return learned, builder.packed((key, "bias"), tuple(bias.shape), weight)


def few_bits(builder: TraceBuilder, call: AtenCall) -> int:
    """A product with a packed weight, (out, in): ``_weight_int4pack_mm(input, weight, ...)``."""
    (*rows, inner), out = call.shapes[0], call.shape[-1]
    weight = call.values[1]
    if builder.operations[weight].operator == "constant":
        weight = builder.packed(("few bits", weight), (out, inner))
    builder.flops += 2 * prod(call.shape) * inner
    sizes = (prod(rows), inner, out)
    return builder.emit("matmul", (call.values[0], weight), call.shape, numbers=sizes)


def packed_recurrent(operator: str, gates: int) -> Emit:
    """A recurrent layer whose weights are packed: ``quantized_lstm(input, state, packed, ...)``."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        source, width = call.shapes[0], call.shapes[1][-1]
        has_biases, layers = call.args[3], call.args[4]
        directions = call.shapes[1][0] // layers
        inputs = [source[-1], *[directions * width] * (layers - 1)]
        rows = directions * gates * width
        matrices = sum(rows * (each + width) for each in inputs)
        biases = 2 * rows * layers if has_biases else 0
        builder.flops += 2 * matrices * prod(source[:-1])
        first = call.args[2][0]
        learned = builder.packed(id(first), (matrices + biases,), first)
        ratio = channel_ratio(source[-1], call.shape[-1])
        operands = (call.values[0], learned)
        sizes = layer_sizes(source[-1], call.shape[-1])
        return builder.emit(operator, operands, call.shape, attributes=ratio, sizes=sizes)

    return emit
