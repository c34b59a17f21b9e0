"""ONNX operators: how a node enters a trace, and by name what each operator becomes there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from nar.capture.onnx.facts import RECURRENCE, UNKNOWN_SHAPE, WITH_HEADS
from nar.capture.sizes import (
    attention_sizes,
    channel_ratio,
    covers,
    layer_sizes,
    mean_class,
    pair_sizes,
    window,
)
from nar.capture.trace import CAUSAL, Shape, TraceBuilder

_NO_END = 2**31 - 1  # exporters write at least this for the end of an axis


@dataclass(frozen=True, slots=True)
class OnnxCall:
    """One node: its attributes, its operands as values, and the facts about them.

    Attributes:
        attributes: Decoded attributes by name.
        values: Values of the inputs; inputs that are left out do not count.
        shapes: Their shapes, `UNKNOWN_SHAPE` where inference found none.
        numbers: The numbers of each input that is a small constant, in the order of ``values``.
        shape: Shape of the first output, or of one part of a split.
    """

    attributes: Mapping[str, Any]
    values: tuple[int, ...]
    shapes: tuple[Shape, ...]
    numbers: tuple[tuple[float, ...] | None, ...]
    shape: Shape

    def axes(self, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Axes given as an attribute or as a constant second input, as they stand."""
        given = self.attributes.get("axes", self.attributes.get("axis"))
        if given is None and len(self.numbers) > 1 and self.numbers[1] is not None:
            given = [int(number) for number in self.numbers[1]]
        if given is None:
            return default
        return (given,) if isinstance(given, int) else tuple(given)


EmitOnnx = Callable[[TraceBuilder, OnnxCall], int]


def onnx_fold(_builder: TraceBuilder, call: OnnxCall) -> int:
    """A structural operator: its result is the value that it reads."""
    return call.values[0]


def onnx_constant(builder: TraceBuilder, call: OnnxCall) -> int:
    """A result that holds nothing of its operands."""
    return builder.constant(call.shape)


def onnx_node(operator: str, operands: int | None = None) -> EmitOnnx:
    """One operation that reads its first operands, or all."""

    def emit(builder: TraceBuilder, call: OnnxCall) -> int:
        return builder.emit(operator, call.values[:operands], call.shape)

    return emit


def onnx_part(operator: str) -> EmitOnnx:
    """Moves parts of a value; transparent where the first operand comes through whole."""

    def emit(builder: TraceBuilder, call: OnnxCall) -> int:
        elements = prod(call.shape)
        if elements and elements == prod(call.shapes[0]):
            return call.values[0]
        return builder.emit(operator, call.values[:1], call.shape)

    return emit


def onnx_slice(builder: TraceBuilder, call: OnnxCall) -> int:
    """``Slice(data, starts, ends, axes, steps)``; transparent where it takes all of its axes."""
    starts, ends = (*call.numbers[1:3], None, None)[:2]
    is_from_start = starts is not None and not any(starts)
    is_to_end = ends is not None and min(ends, default=0) >= _NO_END
    is_every = len(call.numbers) < 5 or set(call.numbers[4] or ()) == {1.0}
    if is_from_start and is_to_end and is_every:
        return call.values[0]
    return onnx_part("slice")(builder, call)


def onnx_concat(builder: TraceBuilder, call: OnnxCall) -> int:
    """``Concat(parts...)``, which keeps its axis, counted from the end where the rank is known."""
    is_known = call.shape != UNKNOWN_SHAPE
    axes = _negative(call.axes(), len(call.shape)) if is_known else ()
    return builder.emit("concat", call.values, call.shape, numbers=axes)


def onnx_pad(builder: TraceBuilder, call: OnnxCall) -> int:
    """``Pad(data, amounts, fill)``, which keeps its fill and how many axes it pads."""
    amounts, fill = (*call.numbers[1:3], None, None)[:2]
    is_constant = call.attributes.get("mode", "constant") == "constant"
    if not is_constant or amounts is None or min(amounts, default=-1) < 0:
        return onnx_part("pad")(builder, call)
    rank = len(amounts) // 2
    first = min(
        (position % rank for position, amount in enumerate(amounts) if amount), default=rank
    )
    if first == rank:
        return call.values[0]
    numbers = ((fill or (0.0,))[0], float(rank - first))
    return builder.emit("pad", call.values[:1], call.shape, numbers=numbers)


def onnx_chain(operator: str) -> EmitOnnx:
    """An operator over any number of operands is a chain of binary ones."""

    def emit(builder: TraceBuilder, call: OnnxCall) -> int:
        value = call.values[0]
        for operand in call.values[1:]:
            value = builder.emit(operator, (value, operand), call.shape)
        return value

    return emit


def onnx_quotient(builder: TraceBuilder, call: OnnxCall) -> int:
    """A division; with a numerator of 1, a reciprocal."""
    if call.numbers[0] == (1.0,):
        return builder.emit("reciprocal", call.values[1:], call.shape)
    return builder.emit("div", call.values, call.shape)


def onnx_power(builder: TraceBuilder, call: OnnxCall) -> int:
    """Powers of a half and of minus a half have names of their own."""
    exponent = (call.numbers[1] or (0.0,))[0]
    operator = {0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}.get(exponent, "pow")
    operands = call.values if operator == "pow" else call.values[:1]
    return builder.emit(operator, operands, call.shape)


def onnx_clip(builder: TraceBuilder, call: OnnxCall) -> int:
    """Clamping at 0 is relu, between 0 and 6 relu6."""
    given = [numbers[0] if numbers else None for numbers in call.numbers[1:]]
    low, high = ((given or [call.attributes.get("min")]) + [call.attributes.get("max")])[:2]
    operator = {(0, None): "relu", (0, 6): "relu6", (-1, 1): "hard_tanh"}.get((low, high), "clamp")
    return builder.emit(operator, call.values[:1], call.shape)


def onnx_reduction(operator: str) -> EmitOnnx:
    """One operation that keeps the axes it reduces, counted from the end where the rank is known.

    A mean over all places is a global pooling.
    """

    def emit(builder: TraceBuilder, call: OnnxCall) -> int:
        shape = call.shapes[0]
        axes = _negative(call.axes(), len(shape))
        rank = len(shape) if shape != UNKNOWN_SHAPE else len(axes) + 2
        kind = mean_class(axes, rank) if operator == "mean" else operator
        return builder.emit(kind, call.values[:1], call.shape, numbers=axes)

    return emit


def _negative(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple(sorted(axis if axis < 0 else axis - rank for axis in axes))


def onnx_softmax(operator: str) -> EmitOnnx:
    """One operation that keeps its axis, by default the last."""

    def emit(builder: TraceBuilder, call: OnnxCall) -> int:
        axes = _negative(call.axes((-1,)), len(call.shapes[0]))
        return builder.emit(operator, call.values, call.shape, numbers=axes)

    return emit


def onnx_matmul(builder: TraceBuilder, call: OnnxCall) -> int:
    """A matrix product."""
    left, right = call.shapes[:2]
    return _matmul(builder, call, (_side(left, -2), _side(left, -1), _side(right, -1)))


def onnx_gemm(builder: TraceBuilder, call: OnnxCall) -> int:
    """``alpha A' B' + beta C``."""
    left, right = call.shapes[:2]
    rows, inner = (-1, -2) if call.attributes.get("transA") else (-2, -1)
    columns = -2 if call.attributes.get("transB") else -1
    value = _matmul(builder, call, (_side(left, rows), _side(left, inner), _side(right, columns)))
    for bias in call.values[2:]:
        value = builder.emit("add", (value, bias), call.shape)
    return value


def onnx_fused_product(builder: TraceBuilder, call: OnnxCall) -> int:
    """``alpha A' B'``: its scale is a literal, as a plain export has it."""
    value = onnx_gemm(builder, call)
    alpha = float(call.attributes.get("alpha", 1))
    return value if alpha == 1 else builder.emit("mul", (value,), call.shape, numbers=(alpha,))


def _matmul(builder: TraceBuilder, call: OnnxCall, sizes: tuple[int, int, int]) -> int:
    builder.flops += 2 * prod(call.shape) * sizes[1]
    return builder.emit("matmul", call.values[:2], call.shape, numbers=sizes)


def _side(shape: Shape, axis: int) -> int:
    return shape[axis] if len(shape) >= -axis else 0


def onnx_einsum(builder: TraceBuilder, call: OnnxCall) -> int:
    """A contraction of two tensors is a matrix product of some axis order."""
    if len(call.values) == 2:
        return _matmul(builder, call, (0, 0, 0))
    return builder.emit("linalg", call.values, call.shape)


def onnx_conv(builder: TraceBuilder, call: OnnxCall) -> int:
    """``Conv(input, weight, bias)``: weight (out, in / groups, kernel...)."""
    weight = call.shapes[1]
    groups = int(call.attributes.get("group", 1))
    channels = (weight[1] * groups, weight[0])
    builder.flops += 2 * prod(weight[1:]) * prod(call.shape)
    depthwise = "conv_depthwise" if groups == channels[0] else "conv_grouped"
    operator = "conv" if groups == 1 else depthwise
    attributes = _window(call, weight[2:]) | channel_ratio(*channels)
    sizes = layer_sizes(*channels)
    return builder.emit(operator, call.values, call.shape, attributes=attributes, sizes=sizes)


def onnx_conv_transpose(builder: TraceBuilder, call: OnnxCall) -> int:
    """``ConvTranspose(input, weight, bias)``: weight (in, out / groups, kernel...)."""
    weight = call.shapes[1]
    channels = (weight[0], weight[1] * int(call.attributes.get("group", 1)))
    builder.flops += 2 * prod(weight[1:]) * prod(call.shapes[0])
    attributes = _window(call, weight[2:]) | channel_ratio(*channels)
    return builder.emit(
        "conv_transpose",
        call.values,
        call.shape,
        attributes=attributes,
        sizes=layer_sizes(*channels),
    )


def onnx_pool(operator: str) -> EmitOnnx:
    """A pooling with its window, or over all places at once."""

    def emit(builder: TraceBuilder, call: OnnxCall) -> int:
        kernel = tuple(call.attributes["kernel_shape"])
        is_bare = not any(call.attributes.get("pads", ()))
        if is_bare and covers(kernel, call.shapes[0], call.shape):
            return builder.emit(f"adaptive_{operator}", call.values[:1], call.shape)
        attributes = _window(call, kernel)
        return builder.emit(operator, call.values[:1], call.shape, attributes=attributes)

    return emit


def onnx_response_norm(builder: TraceBuilder, call: OnnxCall) -> int:
    """``LRN(input)`` as torch computes it: ``x / (bias + alpha * mean of squares) ** beta``.

    The mean is over neighbouring channels, a pooling with one axis more than the image has.
    """
    (value,) = call.values
    default = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    alpha, beta, bias = (float(call.attributes.get(name, default[name])) for name in default)
    axes = max(len(call.shape) - 2, 1) if call.shape != UNKNOWN_SHAPE else 2
    kernel = (int(call.attributes["size"]), *[1] * axes)
    ones = [1] * len(kernel)
    square = builder.emit("mul", (value, value), call.shape)
    mean = builder.emit("avg_pool", (square,), call.shape, attributes=window(kernel, ones, ones))
    for operator, number in (("mul", alpha), ("add", bias), ("pow", beta)):
        mean = builder.emit(operator, (mean,), call.shape, numbers=(number,))
    return builder.emit("div", (value, mean), call.shape)


def _window(call: OnnxCall, kernel: Shape) -> dict[str, int]:
    ones = [1] * len(kernel)
    stride = call.attributes.get("strides", ones)
    return window(kernel, stride, call.attributes.get("dilations", ones))


def onnx_gather(builder: TraceBuilder, call: OnnxCall) -> int:
    """One place of an axis is a slice, many are an index; rows of a learned table are an embedding.

    The index of an embedding has a batch axis, even where it holds positions that no input changes.
    A table of biases is read by an index without batch: that is a weight.
    """
    table, index = (builder.operations[value] for value in call.values)
    if index.operator == "constant" and index.elements == 1:
        return builder.emit("slice", call.values[:1], call.shape)
    are_rows = len(table.shape) == 2 and call.attributes.get("axis", 0) == 0
    if table.operator == "parameter" and are_rows and len(call.shapes[1]) > 1:
        return builder.emit("embedding", call.values, call.shape)
    return builder.emit("index", call.values, call.shape)


def onnx_ordered(builder: TraceBuilder, call: OnnxCall) -> int:
    """A comparison by size; of all pairs of positions, it is a causal mask."""
    sizes = pair_sizes(call.shapes, call.shape)
    return builder.emit("compare", call.values, call.shape, sizes=sizes)


def onnx_trilu(builder: TraceBuilder, call: OnnxCall) -> int:
    """One of the two triangles."""
    operator = "triu" if call.attributes.get("upper", 1) else "tril"
    return builder.emit(operator, call.values[:1], call.shape)


def onnx_attention(builder: TraceBuilder, call: OnnxCall) -> int:
    """``Attention(query, key, value, mask...)`` over (batch, heads, length, width)."""
    query = call.shapes[0]
    heads = query[1] if len(query) == 4 else int(call.attributes.get("q_num_heads", 0))
    if UNKNOWN_SHAPE not in call.shapes[:3]:
        key, value = call.shapes[1:3]
        is_apart = len(query) == WITH_HEADS
        scores = prod(query[:-1]) * key[-2] * (1 if is_apart else heads)
        of_values = int(call.attributes.get("kv_num_heads") or heads)
        widths = ((query, 1 if is_apart else heads), (value, 1 if is_apart else of_values))
        builder.flops += 2 * scores * sum(each[-1] // max(parts, 1) for each, parts in widths)
    sizes = _attention_sizes(call, heads)
    return builder.emit(
        "attention", call.values, call.shape, attributes={"heads": heads}, sizes=sizes
    )


def _attention_sizes(call: OnnxCall, heads: int) -> dict[str, int]:
    """Sizes of attention over (batch, heads, length, width) or (batch, length, heads x width)."""
    shapes = call.shapes[:3]
    sizes = dict(CAUSAL) if call.attributes.get("is_causal") else {}
    if call.attributes.get("local_window_size", 0) > 0:
        sizes["window"] = call.attributes["local_window_size"]
    if UNKNOWN_SHAPE in shapes or not heads:
        return sizes | ({"heads": heads} if heads else {})
    if len(shapes[0]) == WITH_HEADS:
        return sizes | attention_sizes(*shapes)
    of_keys = call.attributes.get("kv_num_heads", heads)
    counts = (heads, of_keys, of_keys)
    by_head = [
        (shape[0], count, shape[-2], shape[-1] // count)
        for shape, count in zip(shapes, counts, strict=True)
    ]
    return sizes | attention_sizes(*by_head)


# The same numbers in another shape, order, type or place; dropout outside training.
FOLDED = (
    "Identity Reshape Transpose Squeeze Unsqueeze Flatten Cast CastLike Expand Dropout BitCast "
    "QuantizeLinear DequantizeLinear DynamicQuantizeLinear "  # a number in fewer bits is the same
    "Stacked Optional OptionalGetElement ExpandDims"
)


def onnx_recurrence(builder: TraceBuilder, call: OnnxCall) -> int:
    """Linear attention over (..., heads, width): the step that each token takes, once.

    The state decays and takes in the product of key and value; of the value, what the state holds
    for the key is taken off where the rule says so. The query reads the state.
    """
    query, key, value, *others = call.values
    shape, rule = call.shapes[2], str(call.attributes["update_rule"])
    width, held = call.shapes[1][-1], (*shape[:-1], call.shapes[1][-1], shape[-1])

    def product(left: int, right: int, result: Shape, inner: int) -> int:
        builder.flops += 2 * prod(result) * inner
        rows, columns = (result[-2], result[-1]) if result == held else (1, result[-1])
        return builder.emit("matmul", (left, right), result, numbers=(rows, inner, columns))

    state = builder.constant(held, reads_data=True)
    if "gated" in rule:
        decay = builder.emit("exp", (others[0],), call.shapes[3])
        state = builder.emit("mul", (state, decay), held)
    if "delta" in rule:
        known = product(key, state, shape, width)
        value = builder.emit("sub", (value, known), shape)
        value = builder.emit("mul", (value, others[-1]), shape)
    state = builder.emit("add", (state, product(key, value, held, 1)), held)
    scale = call.attributes.get("scale") or width**-0.5
    result = product(query, state, call.shape, width)
    return builder.emit("mul", (result,), call.shape, numbers=(scale,))


def onnx_state(builder: TraceBuilder, call: OnnxCall) -> int:
    """What a step of a loop reads of the step before: data, even where it begins with zeros."""
    (value,) = call.values
    if builder.operations[value].operator == "constant":
        return builder.constant(call.shape, reads_data=True)
    return value


# Operators whose result holds nothing of the tensors that they read.
CONSTANTS = (
    "Shape Size ConstantOfShape Range EyeLike RandomNormal RandomUniform RandomNormalLike "
    "RandomUniformLike HannWindow HammingWindow BlackmanWindow"
)
NODES = {
    "Relu": "relu", "LeakyRelu": "leaky_relu", "PRelu": "prelu", "Elu": "elu", "Selu": "selu",
    "Celu": "celu", "Gelu": "gelu", "Swish": "silu", "Mish": "mish", "Sigmoid": "sigmoid",
    "Tanh": "tanh", "HardSwish": "hard_swish", "HardSigmoid": "hard_sigmoid",
    "Softplus": "softplus", "Softsign": "softsign", "ThresholdedRelu": "threshold",
    "Shrink": "threshold", "Erf": "erf", "Neg": "neg", "Reciprocal": "reciprocal", "Sqrt": "sqrt",
    "Exp": "exp", "Log": "log", "Abs": "abs", "Sign": "sign", "Floor": "round", "Ceil": "round",
    "Round": "round", "Sin": "sin", "Cos": "cos", "Sinh": "sin", "Cosh": "cos", "Tan": "tan",
    "Atan": "atan", "Asin": "atan", "Acos": "atan", "Asinh": "atan", "Acosh": "atan",
    "Atanh": "atan", "Add": "add", "Sub": "sub", "Mul": "mul", "Mod": "remainder",
    "InstanceNormalization": "instance_norm", "LayerNormalization": "layer_norm",
    "GroupNormalization": "group_norm", "RMSNormalization": "rms_norm",
    "SimplifiedLayerNormalization": "rms_norm", "LpNormalization": "l2_norm",
    "MeanVarianceNormalization": "layer_norm", "Where": "where",
    "Equal": "compare", "IsNaN": "compare", "IsInf": "compare", "And": "logical",
    "Or": "logical", "Not": "logical", "Xor": "logical", "BitwiseAnd": "logical",
    "BitwiseOr": "logical", "BitwiseXor": "logical", "BitwiseNot": "logical", "ArgMax": "argmax",
    "ArgMin": "argmax", "CumSum": "cumsum", "Unique": "sort", "NonZero": "index",
    "GatherND": "index", "Compress": "index", "GatherElements": "gather",
    "ScatterND": "scatter", "ScatterElements": "scatter", "Scatter": "scatter",
    "TensorScatter": "scatter", "ReverseSequence": "flip", "DepthToSpace": "pixel_shuffle",
    "SpaceToDepth": "pixel_shuffle", "GridSample": "grid_sample", "AffineGrid": "grid_sample",
    "GlobalAveragePool": "adaptive_avg_pool", "GlobalMaxPool": "adaptive_max_pool",
    "GlobalLpPool": "lp_pool", "LpPool": "lp_pool", "MaxUnpool": "upsample",
    "MaxRoiPool": "roi_align", "RoiAlign": "roi_align", "NonMaxSuppression": "nms",
    "DeformConv": "deform_conv", "LSTM": "lstm", "GRU": "gru", "RNN": "rnn", "Det": "linalg",
    "DFT": "fft", "STFT": "stft", "Bernoulli": "random", "Multinomial": "random",
    "Col2Im": "fold", "Hardmax": "argmax", "Compare": "compare", "Roll": "roll",
    "Resize": "upsample", "Upsample": "upsample", "TopK": "topk",
    "BatchNormalization": "batch_norm", "SequenceAt": "slice", "ConcatFromSequence": "concat",
    "Distance": "distance", "InverseDFT": "ifft", "Inverse": "linalg", "Rfft": "fft",
    "Irfft": "ifft", "CropAndResize": "roi_align", "UnfoldTensor": "unfold",
}  # fmt: skip
# Sizes, indices, running statistics, scales and zero points say nothing about the design.
OPERANDS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("Resize", "Upsample", "TopK"), (0,)),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"), (0,)),
    "BatchNormalization": (0, 1, 2), "ConvInteger": (0, 1, 4), "MatMulInteger": (0, 1),
    "QLinearConv": (0, 3, 8), "QLinearMatMul": (0, 3),
}  # fmt: skip
# Operators whose integer operands are learned numbers, quantised.
QUANTISED = frozenset({
    "DequantizeLinear", "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul",
})  # fmt: skip
# Positions of the learned inputs of layers. Files without weights make tensors of zeros there.
WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "Conv": (1, 2), "ConvTranspose": (1, 2), "Gemm": (1, 2), "MatMul": (1,),
    "BatchNormalization": (1, 2), **dict.fromkeys(("GRU", "LSTM", "RNN"), (1, 2, 3)),
    "PRelu": (1,),
}  # fmt: skip
PARTS = {
    "Split": "split", "SplitInShares": "split", "SplitToSequence": "split", "Tile": "repeat",
}  # fmt: skip
REDUCTIONS = {
    "ReduceMean": "mean", "ReduceSum": "sum", "ReduceProd": "prod", "ReduceMax": "max",
    "ReduceMin": "min", "ReduceL1": "vector_norm", "ReduceL2": "vector_norm",
    "ReduceLogSumExp": "logsumexp", "ReduceLogSum": "logsumexp", "ReduceSumSquare": "sum",
}  # fmt: skip


# Each part is a value of its own until the graph is laid out.
SPLITS = frozenset({"Split", "SplitInShares", "SplitToSequence"})


def onnx_table() -> Mapping[str, EmitOnnx]:
    """ONNX operator type -> emitter."""
    return {
        **dict.fromkeys(FOLDED.split(), onnx_fold),
        **dict.fromkeys(CONSTANTS.split(), onnx_constant),
        **{name: onnx_node(operator) for name, operator in NODES.items()},
        **{name: onnx_part(operator) for name, operator in PARTS.items()},
        **{name: onnx_reduction(operator) for name, operator in REDUCTIONS.items()},
        "Slice": onnx_slice,
        "Concat": onnx_concat,
        "Pad": onnx_pad,
        "Sum": onnx_chain("add"),
        "Max": onnx_chain("maximum"),
        "Min": onnx_chain("minimum"),
        "Mean": onnx_chain("add"),
        "Div": onnx_quotient,
        "Pow": onnx_power,
        "Clip": onnx_clip,
        "Softmax": onnx_softmax("softmax"),
        "LogSoftmax": onnx_softmax("log_softmax"),
        **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), onnx_matmul),
        "FusedMatMul": onnx_fused_product,
        "Gemm": onnx_gemm,
        "Einsum": onnx_einsum,
        "LRN": onnx_response_norm,
        **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), onnx_conv),
        "ConvTranspose": onnx_conv_transpose,
        "MaxPool": onnx_pool("max_pool"),
        "AveragePool": onnx_pool("avg_pool"),
        "Gather": onnx_gather,
        "Trilu": onnx_trilu,
        **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), onnx_ordered),
        "Attention": onnx_attention,
        "RotaryEmbedding": onnx_node("rotary", 1),
        "State": onnx_state,
        RECURRENCE: onnx_recurrence,
    }
