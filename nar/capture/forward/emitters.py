"""How a call of one ATen operator enters the trace. `aten` says which emitter an operator has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import torch
from torch import Tensor

from nar.capture.sizes import (
    attention_sizes,
    channel_ratio,
    covers,
    layer_sizes,
    mean_class,
    pair_sizes,
    window,
)
from nar.capture.trace import CAUSAL, NO_ATTRIBUTES, Shape, TraceBuilder
from nar.capture.values import storage_key


@dataclass(frozen=True, slots=True)
class AtenCall:
    """An operator's arguments, its tensor operands as values, and the shape it gave.

    Attributes:
        name: ATen name without overload and without the underscore of in-place variants.
        args: Positional arguments.
        kwargs: Keyword-only arguments.
        values: Tensor arguments in order, lists of tensors laid flat.
        shapes: Their shapes.
        shape: Shape of the (first) result.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    values: tuple[int, ...]
    shapes: tuple[Shape, ...]
    shape: Shape

    def argument(self, position: int, default: object = None) -> Any:  # noqa: ANN401
        """A positional argument, or ``default`` where the call leaves it out."""
        return self.args[position] if position < len(self.args) else default

    def literals(self) -> tuple[float, ...]:
        """Python numbers among the positional arguments."""
        return tuple([a for a in self.args if type(a) in (int, float)])


Emit = Callable[[TraceBuilder, AtenCall], int]
Table = Mapping[str, Emit]


def read_through(_builder: TraceBuilder, call: AtenCall) -> int:
    """A structural operator: its result is the value that it reads."""
    return call.values[0]


def constant(builder: TraceBuilder, call: AtenCall) -> int:
    """A result that holds nothing of its operands."""
    return builder.constant(call.shape)


def node(operator: str) -> Emit:
    """One operation that reads every tensor argument."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        return builder.emit(operator, call.values, call.shape)

    return emit


def ordered(builder: TraceBuilder, call: AtenCall) -> int:
    """A comparison by size; of all pairs of positions, it is a causal mask."""
    sizes = pair_sizes(call.shapes, call.shape)
    return builder.emit("compare", call.values, call.shape, sizes=sizes)


def followed(emit: Emit, activation: str) -> Emit:
    """An operator with an activation at once, or without any."""

    def emit_both(builder: TraceBuilder, call: AtenCall) -> int:
        value = emit(builder, call)
        return builder.emit(activation, (value,), call.shape) if activation else value

    return emit_both


def bits(operator: str) -> Emit:
    """One operation over bits; what it takes out of a packed weight knows the weight."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        source = builder.operations[call.values[0]]
        tensor = next(each for each in call.args if isinstance(each, Tensor))
        is_packed = (
            source.operator == "constant" and not source.reads_data and len(source.shape) > 1
        )
        is_packed = is_packed and tensor.dtype is not torch.bool
        sizes = source.sizes or ({"packed": call.values[0]} if is_packed else NO_ATTRIBUTES)
        return builder.emit(operator, call.values, call.shape, numbers=call.literals(), sizes=sizes)

    return emit


def _unpacked(builder: TraceBuilder, value: int, shape: Shape) -> int:
    """The learned tensor, where a value is the numbers that are packed in a buffer."""
    root = builder.operations[value].sizes.get("packed")
    is_weight = builder.operations[value].operator == "constant" and root is not None
    return builder.packed(("bits", root, shape), shape) if is_weight else value


def arithmetic(operator: str) -> Emit:
    """One operation that keeps its literal operands for the rewrites."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        return builder.emit(operator, call.values, call.shape, numbers=call.literals())

    return emit


def part(operator: str) -> Emit:
    """Moves parts of a value; transparent where nothing is left out, added or repeated."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        return _moved(builder, call, operator)

    return emit


def _moved(
    builder: TraceBuilder, call: AtenCall, operator: str, numbers: tuple[float, ...] = ()
) -> int:
    elements = prod(call.shape)
    for value, shape in zip(call.values, call.shapes, strict=True):
        if elements and prod(shape) == elements:
            return value
    return builder.emit(operator, call.values, call.shape, numbers=numbers)


def multiplied(builder: TraceBuilder, call: AtenCall) -> int:
    """A product; ``complex_mul`` where a factor is made of pairs of real numbers."""
    tensors = [each for each in call.args if isinstance(each, Tensor)]
    made = [builder.operations[value] for value in call.values]
    is_of_pairs = any(
        tensor.is_complex()
        and operation.operator != "constant"
        and (operation.elements == 2 * prod(shape) or operation.operator == "concat")
        for tensor, operation, shape in zip(tensors, made, call.shapes, strict=False)
    )
    operator = "complex_mul" if is_of_pairs else "mul"
    return builder.emit(operator, call.values, call.shape, numbers=call.literals())


def concat(builder: TraceBuilder, call: AtenCall) -> int:
    """``cat(tensors, axis)``, which keeps its axis, counted from the end."""
    axes = negative_axes(call.argument(1, 0), len(call.shape))
    return _moved(builder, call, "concat", axes)


def pad(builder: TraceBuilder, call: AtenCall) -> int:
    """``constant_pad_nd(input, amounts, fill)``, which keeps its fill and how many axes it pads."""
    amounts = list(call.args[1])
    if not any(amounts):
        return call.values[0]
    axes = 1 + max(position for position, amount in enumerate(amounts) if amount) // 2
    numbers = (float(call.argument(2) or 0), float(axes)) if min(amounts) >= 0 else ()
    return builder.emit("pad", call.values, call.shape, numbers=numbers)


def reduction(operator: str) -> Emit:
    """One operation that keeps the axes it reduces, counted from the end; without any, all axes."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        axes = negative_axes(call.argument(1), len(call.shapes[0]))
        return builder.emit(operator, call.values, call.shape, numbers=axes)

    return emit


def mean(builder: TraceBuilder, call: AtenCall) -> int:
    """A mean over all places is global pooling, wherever the channels stand."""
    rank = len(call.shapes[0])
    axes = negative_axes(call.argument(1), rank)
    return builder.emit(mean_class(axes, rank), call.values, call.shape, numbers=axes)


def negative_axes(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes as negative numbers in ascending order."""
    if axes is None or axes in ([], ()):
        return tuple(range(-rank, 0))
    if isinstance(axes, int):
        axes = (axes,)
    return tuple(sorted(axis if axis < 0 else axis - rank for axis in axes))


def clamp(builder: TraceBuilder, call: AtenCall) -> int:
    """Clamping at 0 is relu, between 0 and 6 relu6."""
    bounds = (call.argument(1), call.argument(2))
    if call.name == "clamp_max":
        bounds = (None, bounds[0])
    operator = {(0, None): "relu", (0, 6): "relu6", (-1, 1): "hard_tanh"}.get(bounds, "clamp")
    numbers = tuple(
        [
            end if bound is None else float(bound)
            for bound, end in zip(bounds, (-inf, inf), strict=True)
            if bound is None or isinstance(bound, int | float)
        ]
    )
    return builder.emit(operator, call.values, call.shape, numbers=numbers)


def glu(builder: TraceBuilder, call: AtenCall) -> int:
    """One half gates the other, in the operations of a model that writes the gate out."""
    value, gate = (builder.emit("split", call.values[:1], call.shape) for _ in range(2))
    gate = builder.emit("sigmoid", (gate,), call.shape)
    return builder.emit("mul", (value, gate), call.shape)


def hardtanh(builder: TraceBuilder, call: AtenCall) -> int:
    """Relu6 reaches ATen as a hard tanh between 0 and 6."""
    bounds = (call.argument(1, -1), call.argument(2, 1))
    operator = "relu6" if bounds == (0, 6) else "hard_tanh"
    return builder.emit(operator, call.values, call.shape)


def power(builder: TraceBuilder, call: AtenCall) -> int:
    """Powers of a half and of minus a half have names of their own."""
    exponent = call.argument(1)
    operator = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}.get(
        exponent if isinstance(exponent, int | float) else 0, "pow"
    )
    return builder.emit(operator, call.values, call.shape, numbers=call.literals())


def convolution(builder: TraceBuilder, call: AtenCall) -> int:
    """``convolution(input, weight, bias, stride, padding, dilation, transposed, _, groups)``."""
    source, weight = call.shapes[0], call.shapes[1]
    transposed, groups = bool(call.args[6]), int(call.args[8])
    channels = (source[1], call.shape[1])
    builder.flops += 2 * prod(weight[1:]) * prod(source if transposed else call.shape)
    attributes = window(weight[2:], call.args[3], call.args[5]) | channel_ratio(*channels)
    operator = "conv_transpose" if transposed else conv_class(groups, channels[0])
    sizes = layer_sizes(*channels)
    return builder.emit(operator, call.values, call.shape, attributes=attributes, sizes=sizes)


def conv_class(groups: int, in_channels: int) -> str:
    """The operator of a convolution by its groups."""
    if groups == 1:
        return "conv"
    return "conv_depthwise" if groups == in_channels else "conv_grouped"


def pool(operator: str, spatial: int) -> Emit:
    """``pool(input, kernel, stride, padding, dilation...)``; an empty stride is the kernel."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        kernel = extents(call.args[1], spatial)
        is_bare = not any(extents(call.argument(3, 0), spatial))
        if is_bare and covers(kernel, call.shapes[0], call.shape):
            return builder.emit(f"adaptive_{operator}", call.values[:1], call.shape)
        stride = extents(call.argument(2) or kernel, spatial)
        dilation = call.argument(4) if operator == "max_pool" else None
        attributes = window(kernel, stride, extents(dilation or 1, spatial))
        return builder.emit(operator, call.values[:1], call.shape, attributes=attributes)

    return emit


def extents(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for every axis, or the numbers as they are."""
    given = (value,) if isinstance(value, int) else tuple(value)
    return given * rank if len(given) == 1 else given


def product(builder: TraceBuilder, call: AtenCall) -> int:
    """A matrix product of the last two tensors, plus the first where there are three."""
    first, second = call.shapes[-2:]
    *bias, left, right = call.values
    left, right = _unpacked(builder, left, first), _unpacked(builder, right, second)
    rows = first[-2] if len(first) > 1 else 1
    columns = second[-1] if len(second) > 1 else 1
    builder.flops += 2 * prod(call.shape) * first[-1]
    sizes = (rows, first[-1], columns)
    value = builder.emit("matmul", (left, right), call.shape, numbers=sizes)
    for addend in bias:
        value = builder.emit("add", (value, addend), call.shape)
    return value


def sparse_product(builder: TraceBuilder, call: AtenCall) -> int:
    """``_sparse_addmm(addend, left, right)``, whose addend counts nothing where beta is 0."""
    if call.kwargs.get("beta", 1) != 0:
        return product(builder, call)
    return product(builder, replace(call, values=call.values[1:], shapes=call.shapes[1:]))


def last_operand(_builder: TraceBuilder, call: AtenCall) -> int:
    """A sparse tensor is its values; where they stand is data beside it."""
    return call.values[-1]


def linear(builder: TraceBuilder, call: AtenCall) -> int:
    """``linear(input, weight, bias)``: the product and the sum into which ATen takes it apart."""
    source, weight = call.shapes[0], call.shapes[1]
    inner, out = weight[-1], (weight[0] if len(weight) > 1 else 1)
    builder.flops += 2 * prod(call.shape) * inner
    operands = (call.values[0], _unpacked(builder, call.values[1], weight))
    if any(builder.operations[value].reads_data for value in operands):
        sizes = (prod(source[:-1]), inner, out)
        value = builder.emit("matmul", operands, call.shape, numbers=sizes)
    else:  # a layer that reads learned tokens, where a product of two factors would be a weight
        ratio = channel_ratio(inner, out)
        value = builder.emit("linear", operands, call.shape, numbers=(out, inner), attributes=ratio)
    for bias in call.values[2:]:
        value = builder.emit("add", (value, bias), call.shape)
    return value


def attention(builder: TraceBuilder, call: AtenCall) -> int:
    """Scaled dot-product attention of query, key, value and any mask, each (..., length, width)."""
    query, key, value = call.shapes[:3]
    scores = prod(query[:-1]) * key[-2]
    builder.flops += 2 * scores * (query[-1] + value[-1])
    heads = {"heads": query[1]} if len(query) == 4 else {}
    sizes = attention_sizes(query, key, value)
    if _is_causal(call):
        sizes |= CAUSAL
    return builder.emit("attention", call.values, call.shape, attributes=heads, sizes=sizes)


# Place of ``is_causal`` among the positional arguments; in most spellings it is the sixth.
_IS_CAUSAL = {
    "_scaled_dot_product_flash_attention": 4,
    "_scaled_dot_product_flash_attention_for_cpu": 4,
    "_scaled_dot_product_efficient_attention": 6,
    "_scaled_dot_product_cudnn_attention": 6,
}


def _is_causal(call: AtenCall) -> bool:
    """Whether attention masks what comes after each query; arguments by name stand last."""
    place = _IS_CAUSAL.get(call.name, 5)
    by_place = call.args[: len(call.args) - len(call.kwargs)]
    given = call.kwargs.get("is_causal", by_place[place] if place < len(by_place) else False)
    return given is True


def _layer(builder: TraceBuilder, value: int, shape: Shape, weight: int, bias: int) -> int:
    """A linear layer with a bias, whose result has a shape."""
    inner = builder.operations[weight].shape[-1]
    sizes = (prod(shape[:-1]), inner, shape[-1])
    builder.flops += 2 * prod(shape) * inner
    result = builder.emit("matmul", (value, weight), shape, numbers=sizes)
    return builder.emit("add", (result, bias), shape)


def _attended(
    builder: TraceBuilder, sources: Sequence[int], shapes: Sequence[Shape], call: AtenCall
) -> int:
    """Attention of three values, each through its part of one packed layer, and a layer after it.

    Args:
        builder: Receives the operations.
        sources: Query, key and value.
        shapes: Their shapes, (batch, length, width).
        call: Its number of heads is the first or second whole number; its first four values after
            the tensors that it reads are the weights of both layers and their biases.
    """
    _, heads = call.literals()[:2]
    packed, packed_bias, weight, bias = call.values[_reads(call) :][:4]
    width = builder.operations[packed].shape[-1]
    parts = [
        _layer(
            builder,
            source,
            (*shape[:-1], width),
            builder.emit("slice", (packed,), (width, width)),
            builder.emit("slice", (packed_bias,), (width,)),
        )
        for source, shape in zip(sources, shapes, strict=True)
    ]
    query, key = shapes[0], shapes[1]
    builder.flops += 4 * prod(query[:-1]) * key[-2] * width
    sizes = layer_sizes(width, width) | {"heads": int(heads), "head_size": width // int(heads)}
    attended = builder.emit(
        "attention", parts, query, attributes={"heads": int(heads)}, sizes=sizes
    )
    return _layer(builder, attended, query, weight, bias)


def _reads(call: AtenCall) -> int:
    """How many values stand before the weights: query, key and value, or one source of them."""
    return 3 if call.name == "_native_multi_head_attention" else 1


def multi_head(builder: TraceBuilder, call: AtenCall) -> int:
    """``_native_multi_head_attention(query, key, value, ...)``, as the layer that it stands for."""
    return _attended(builder, call.values[:3], call.shapes[:3], call)


def encoder_layer(builder: TraceBuilder, call: AtenCall) -> int:
    """``_transformer_encoder_layer_fwd(source, ...)``: attention and two layers, with norms."""
    source, shape = call.values[0], call.shapes[0]
    norms, (first, first_bias, last, last_bias) = call.values[5:9], call.values[9:13]
    gelu, norm_first = (each for each in call.args if isinstance(each, bool))
    inner = (*shape[:-1], builder.operations[first].shape[0])

    def attend(value: int) -> int:
        return _attended(builder, [value] * 3, [shape] * 3, call)

    def feed(value: int) -> int:
        hidden = _layer(builder, value, inner, first, first_bias)
        hidden = builder.emit("gelu" if gelu else "relu", (hidden,), inner)
        return _layer(builder, hidden, shape, last, last_bias)

    value = source
    for place, part in enumerate((attend, feed)):
        weights = norms[2 * place : 2 * place + 2]
        if norm_first:
            normal = builder.emit("layer_norm", (value, *weights), shape)
            value = builder.emit("add", (value, part(normal)), shape)
        else:
            total = builder.emit("add", (value, part(value)), shape)
            value = builder.emit("layer_norm", (total, *weights), shape)
    return value


def scaled_product(builder: TraceBuilder, call: AtenCall) -> int:
    """``_scaled_mm(left, right, scale, scale, bias)``: scales are part of the numbers."""
    value = product(builder, replace(call, values=call.values[:2], shapes=call.shapes[:2]))
    for bias in call.values[4:5]:
        value = builder.emit("add", (value, bias), call.shape)
    return value


def recurrent(operator: str) -> Emit:
    """A whole recurrent layer over a sequence: each step multiplies by every weight matrix once."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        source, *others = call.shapes
        weights = sum(prod(shape) for shape in others if len(shape) == 2)
        builder.flops += 2 * weights * prod(source[:-1])
        ratio = channel_ratio(source[-1], call.shape[-1])
        sizes = layer_sizes(source[-1], call.shape[-1])
        return builder.emit(operator, call.values, call.shape, attributes=ratio, sizes=sizes)

    return emit


def cell(operator: str) -> Emit:
    """One step of a recurrent layer: its number is how many states it reads after its input."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        source, state = call.shapes[0], call.shapes[1]
        states = 2 if operator == "lstm" else 1
        weights = sum(prod(shape) for shape in call.shapes[1 + states :] if len(shape) == 2)
        builder.flops += 2 * weights * prod(source[:-1])
        ratio = channel_ratio(source[-1], state[-1])
        return builder.emit(
            operator,
            call.values,
            state,
            numbers=(float(states),),
            attributes=ratio,
            sizes=layer_sizes(source[-1], state[-1]),
        )

    return emit


def first_operand(operator: str) -> Emit:
    """One operation that reads its first tensor; the other tensors only steer it."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        return builder.emit(operator, call.values[:1], call.shape)

    return emit


def unknown(name: str) -> Emit:
    """An operator outside the vocabulary: it keeps its name and is counted."""

    def emit(builder: TraceBuilder, call: AtenCall) -> int:
        builder.count_unknown(name)
        return builder.emit(name, call.values, call.shape)

    return emit


_STATISTICS_FROM_INPUT = 3  # ATen's signature of a batch norm: its flags follow weight and bias
_DECOMPOSED = frozenset({"native_batch_norm", "_native_batch_norm_legit"})


def batch_norm(builder: TraceBuilder, call: AtenCall) -> int:
    """A batch norm; ATen makes an instance norm of (n, c, ...) a batch norm of (1, n c, ...)."""
    operator = "instance_norm" if _is_by_instance(builder, call) else "batch_norm"
    return builder.emit(operator, call.values, call.shape)


def _is_by_instance(builder: TraceBuilder, call: AtenCall) -> bool:
    """Whether a batch norm reads all images as channels of one, and so averages in each image."""
    batch, channels, *_ = call.shapes[0]
    if batch != 1:
        return False
    images, each, *_ = (*builder.operations[call.values[0]].shape, 0, 0)
    reads_statistics = any(flag is True for flag in call.args[_STATISTICS_FROM_INPUT:6])
    return (images > 1 and images * each == channels) or (
        reads_statistics and call.name in _DECOMPOSED
    )


# Layers whose weights are packed, quantised: their names and their numbers are in one object.


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
