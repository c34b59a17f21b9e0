"""onnxruntime's operators in standard form: fused, packed and quantised ones.

Each optimised and each 4-bit export is made of them. A fused operator becomes the nodes that a
plain export has; a packed weight becomes a weight of the shape that it stands for, so that its
parameters count. Caches of keys and values, masks and tables of angles say nothing about a design.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from nar.capture.onnx.bodies import constant_of, node_of
from nar.capture.onnx.calls import (
    RUNTIME,
    Expand,
    RuntimeCall,
    activated,
    attended,
    first_channels,
    is_bytes,
    last_channels,
    names_of_parts,
    parted,
    plus,
    product_of,
    same,
    shaped,
)
from nar.capture.onnx.decoders import DECODERS
from nar.capture.onnx.facts import onnx
from nar.capture.onnx.lookups import EMBEDDINGS, EXPERTS

_BLOCKED: Final = "com.microsoft.nchwc"  # the same operators on blocks of channels
_STANDARD: Final = frozenset({"", "ai.onnx"})
_FLOAT, _INT64, _BOOL = 1, 7, 9  # types of elements in ``onnx.proto``
_FOREIGN: Final = "-"  # no operator of the standard
# Operators of onnxruntime -> the operator of `nar.capture.onnx.ops` that is the same, and the
# inputs that it reads.
_RENAMED: Final[Mapping[str, tuple[str, slice]]] = {
    **{name: (name, slice(None)) for name in (
        "DequantizeLinear", "FusedMatMul", "GatherND", "Gelu", "GridSample", "Inverse", "Irfft",
        "LayerNormalization", "Pad", "QuantizeLinear", "RMSNormalization", "Range", "Rfft",
        "SimplifiedLayerNormalization", "Trilu", "UnfoldTensor", "Unique",
    )},
    "BitmaskDropout": ("Dropout", slice(1)), "CDist": ("Distance", slice(2)),
    "ComplexMul": ("Mul", slice(2)), "ComplexMulConj": ("Mul", slice(2)),
    "MRotaryEmbedding": ("RotaryEmbedding", slice(1)), "MaxpoolWithMask": ("MaxPool", slice(1)),
    "QuickGelu": ("Gelu", slice(1)), "RotaryEmbedding": ("RotaryEmbedding", slice(1)),
    "SampleOp": ("Identity", slice(1)), "SparseToDenseMatMul": ("FusedMatMul", slice(2)),
    "TorchEmbedding": ("Gather", slice(2)), "TransposeMatMul": ("FusedMatMul", slice(2)),
}  # fmt: skip
# Operators of onnxruntime: the standard operator on floats, the inputs that hold values, and the
# input that holds the scale of the result. A zero point follows each scale.
_ON_FLOATS: Final[Mapping[str, tuple[str, slice, int]]] = {
    "QLinearAdd": ("Add", slice(0, 6, 3), 6),
    "QLinearMul": ("Mul", slice(0, 6, 3), 6),
    "QLinearSigmoid": ("Sigmoid", slice(1), 3),
    "QLinearLeakyRelu": ("LeakyRelu", slice(1), 3),
    "QLinearSoftmax": ("Softmax", slice(1), 3),
    "QLinearAveragePool": ("AveragePool", slice(1), 3),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", slice(1), 3),
    "QLinearReduceMean": ("ReduceMean", slice(1), 3),
    "QLinearConcat": ("Concat", slice(2, None, 3), 0),
    "QGemm": ("Gemm", slice(0, 7, 3), 7),
}
# Attributes of these operators that the standard lacks.
_OWN_ATTRIBUTES: Final = frozenset({"channels_last", "metric", "opset", "seed"})


def standard_name(node: Any) -> str:  # noqa: ANN401
    """The operator of `nar.capture.onnx.ops` that a node is; a name that none has for others."""
    return str(node.op_type) if node.domain in _STANDARD else _FOREIGN


def standard_nodes(graph: Any) -> Iterator[Any]:  # noqa: ANN401
    """The nodes of a ``GraphProto``, with onnxruntime's operators as standard operators.

    Weights that are stored in another form are added to the initializers.
    """
    weights = {tensor.name: tensor for tensor in graph.initializer}
    before = set(weights)
    for node in _on_floats(graph.node):
        expand = _EXPANSIONS.get(node.domain, {}).get(node.op_type)
        if expand is None:
            yield node
        else:
            yield from expand(RuntimeCall.of(node, weights))
    graph.initializer.extend(weights[name] for name in weights.keys() - before)


def _renamed(operator: str, inputs: slice) -> Expand:
    """A standard operator of some of the inputs, with the same outputs and attributes."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        stated = {n: v for n, v in call.attributes.items() if n not in _OWN_ATTRIBUTES}
        node = node_of(operator, call.inputs[inputs], call.result, **stated)
        node.output.extend(call.outputs[1:])
        yield node

    return expand


def _on_floats(nodes: Iterable[Any]) -> Iterator[Any]:
    """The nodes, with operators on quantised values as standard operators on floats.

    Every value keeps the type that its other readers want: ::

        q -- QLinearSigmoid -- p      q -- DequantizeLinear -- Sigmoid -- QuantizeLinear -- p
    """
    for node in nodes:
        known = _ON_FLOATS.get(node.op_type) if node.domain == RUNTIME else None
        if known is None:
            yield node
            continue
        operator, places, scale = known
        result = node.output[0]
        values = []
        for place in range(len(node.input))[places]:
            if node.input[place]:
                values.append(f"{result}/{place}")
                yield node_of("DequantizeLinear", node.input[place : place + 2], values[-1])
        # A product whose scale is left out is a float already.
        is_float = not "".join(node.input[scale : scale + 1])
        of_floats = result if is_float else f"{result}/float"
        call = RuntimeCall.of(node, {})
        expand = _by_channel(_renamed(operator, slice(None)), (0,))
        yield from expand(replace(call, inputs=tuple(values), outputs=(of_floats,)))
        if not is_float:
            parameters = [name for name in node.input[scale : scale + 2] if name]
            yield node_of("QuantizeLinear", [of_floats, *parameters], result)


def _as_floats(operator: str, inputs: slice) -> Expand:
    """An operator on whole numbers, as that on floats: the standard has no such types."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        values = []
        for place, name in enumerate(call.inputs[inputs]):
            values.append(f"{call.result}/{place} as float")
            yield node_of("Cast", [name], values[-1], to=_FLOAT)
        yield from _renamed(operator, slice(None))(replace(call, inputs=tuple(values)))

    return expand


def _by_channel(expand: Expand, images: tuple[int, ...], *, always: bool = False) -> Expand:
    """An operator on images whose channels are last, as that on images of the standard.

    Args:
        expand: The operator on images of the standard.
        images: The inputs that are images.
        always: Whether channels are last, where no attribute says so.
    """

    def expanded(call: RuntimeCall) -> Iterator[Any]:
        if not call.number("channels_last", int(always)):
            yield from expand(call)
            return
        inputs, rank = list(call.inputs), _rank(call)
        for place in images:
            if call.input(place):
                inputs[place] = f"{call.result}/{place} by channel"
                yield first_channels(call.input(place), rank, inputs[place])
        result = f"{call.result}/by channel"
        yield from expand(replace(call, inputs=tuple(inputs), outputs=(result,)))
        yield last_channels(result, rank, call.result)

    return expanded


def _rank(call: RuntimeCall) -> int:
    """How many axes the images of a convolution or of a pooling have."""
    kernel = call.attributes.get("kernel_shape", ())
    weight = max((len(call.extents(name)) for name in call.inputs[1:]), default=0)
    if kernel:
        return len(kernel) + _BEFORE_PLACES
    return weight if weight > _BEFORE_PLACES else _IMAGE


_BEFORE_PLACES, _IMAGE = 2, 4  # axes: batch and channels, and with height and width


def _activated(operator: str) -> Expand:
    """An activation of a value to which a bias may be added."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        biased = f"{call.result}/biased"
        yield from plus(call.inputs[0], call.inputs[1:2], biased)
        yield node_of(operator, [biased], call.result)

    return expand


def _skipping_norm(operator: str) -> Expand:
    """``norm(input + bias + skip) * weights``; the sum is an output, too."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        norm_weights = 2 if operator == "LayerNormalization" else 1
        value, skip, *others = call.inputs
        total = call.given(3)
        yield from plus(value, [*others[norm_weights : norm_weights + 1], skip], total)
        scales = [name for name in others[:norm_weights] if name]
        yield node_of(operator, [total, *scales], call.result, axis=-1)

    return expand


def _fused_layer(operator: str, operands: int) -> Expand:
    """A layer, a shortcut and an activation in one."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        kind = call.attributes.get("activation", "")
        own = ("activation", "activation_params", "channels_last")
        attributes = {
            name: value
            for name, value in call.attributes.items()
            if name not in own and not name.startswith("activation_")
        }
        bare, summed = f"{call.result}/bare", f"{call.result}/summed"
        yield node_of(
            operator, [name for name in call.inputs[:operands] if name], bare, **attributes
        )
        yield from plus(bare, call.inputs[operands : operands + 1], summed)
        yield node_of(kind or "Identity", [summed], call.result)

    return expand


def _product_and_gelu(call: RuntimeCall) -> Iterator[Any]:
    """``gelu(input @ weight + bias)``."""
    product, biased = f"{call.result}/product", f"{call.result}/biased"
    yield node_of("MatMul", call.inputs[:2], product)
    yield from plus(product, call.inputs[2:3], biased)
    yield node_of("Gelu", [biased], call.result)


def _product(call: RuntimeCall) -> Iterator[Any]:
    """``input @ weight``, and what is added to it."""
    product = f"{call.result}/product"
    yield node_of("MatMul", call.inputs[:2], product)
    yield from plus(product, call.inputs[2:], call.result)


def _packed_product(call: RuntimeCall) -> Iterator[Any]:
    """A product with a weight of few bits: ``(input, weight, scales, zeros, order, bias)``.

    The weight is that of a layer; it may be read the other way around.
    """
    inner, outer = call.number("K"), call.number("N")
    if not call.number("transB", 1):
        inner, outer = outer, inner
    weight = (call.inputs[1], inner, outer)
    yield from product_of(call, call.inputs[0], weight, call.input(5), call.result)


def _blob_product(call: RuntimeCall) -> Iterator[Any]:
    """``MatMulFpQ4(input, weight, shape of the weight)``."""
    extents = _numbers(call, call.inputs[2]) or [0, 0]
    weight = (call.inputs[1], extents[0], extents[-1])
    yield from product_of(call, call.inputs[0], weight, "", call.result)


def _numbers(call: RuntimeCall, name: str) -> list[int]:
    """The numbers of a tensor of the file, none where it is no tensor of the file."""
    if name not in call.weights:
        return []
    return [int(each) for each in onnx("numpy_helper").to_array(call.weights[name]).flatten()]


def _quantised_product(bias: int) -> Expand:
    """A product with a weight of whole numbers; the place of its bias differs."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        weight = call.learned(call.inputs[1], *call.extents(call.inputs[1]))
        value, product = (f"{call.result}/{name}" for name in ("value", "product"))
        yield node_of("Cast", [call.inputs[0]], value, to=_FLOAT)
        yield node_of("MatMul", [value, weight], product)
        yield from plus(product, [call.input(bias)], call.result)

    return expand


def _quantised_lstm(call: RuntimeCall) -> Iterator[Any]:
    """``DynamicQuantizeLSTM(X, W, R, B, ...)``, whose weights are whole numbers, turned."""
    turned = []
    for name in call.inputs[1:3]:
        directions, rows, columns = call.extents(name) or (1, 0, 0)
        turned.append(call.learned(name, directions, columns, rows))
    others = call.inputs[3:8]
    node = node_of("LSTM", [call.inputs[0], *turned, *others], call.result, **call.attributes)
    node.output.extend(call.outputs[1:])
    yield node


def _attention(call: RuntimeCall) -> Iterator[Any]:
    """``Attention(input, weight, bias, ...)``: one layer makes query, key and value.

    What is added to the scores is the sixth input.
    """
    yield from _projected(call, call.input(5))


def _quantised_attention(call: RuntimeCall) -> Iterator[Any]:
    """``QAttention(input, weight, bias, scales, ...)``, which adds nothing to the scores."""
    yield from _projected(call)


def _projected(call: RuntimeCall, added: str = "") -> Iterator[Any]:
    mixed = f"{call.result}/mixed"
    weight = call.inputs[1]
    extents = call.extents(weight)
    if is_bytes(call.weights.get(weight)):
        weight = call.learned(weight, *extents)
    yield node_of("MatMul", [call.inputs[0], weight], f"{mixed}/product")
    yield from plus(f"{mixed}/product", call.inputs[2:3], mixed)
    widths = call.attributes.get("qkv_hidden_sizes") or [extents[-1] // 3 if extents else 0] * 3
    parts = names_of_parts(call)
    yield parted(mixed, parts, widths)
    is_causal = bool(call.number("unidirectional"))
    parts += [added] if added else []
    yield from attended(call, parts, call.number("num_heads"), is_causal=is_causal)


def _multi_head(call: RuntimeCall) -> Iterator[Any]:
    """``MultiHeadAttention(query, key, value, bias, ...)``; a packed query holds all three.

    What is added to the scores is the sixth input.
    """
    yield from _many_heads(call, call.input(5))


def _packed_heads(call: RuntimeCall) -> Iterator[Any]:
    """``PackedMultiHeadAttention(query, key, value, bias, ...)`` over (tokens, width)."""
    yield from _many_heads(call, call.input(6), axes=1)


def _many_heads(call: RuntimeCall, added: str, axes: int = 2) -> Iterator[Any]:
    """Attention of given parts; ``axes`` stand before the width, or before heads and parts."""
    parts = names_of_parts(call)
    given = [call.input(place) for place in range(3)]
    packed = {1: 0, 2: 1}.get(sum(map(bool, given)))  # the input that holds several parts
    if packed is not None:
        made = [f"{part}/cut" for part in parts[packed:]]
        given = [*given[:packed], *(f"{part}/unbiased" for part in parts[packed:])]
        yield parted(call.inputs[packed], made, axis=axes + 1)
        for source, flat in zip(made, given[packed:], strict=True):
            yield from shaped(source, [*[0] * axes, -1], flat)
    yield from _biased(call, given, call.input(3), parts)
    is_causal = bool(call.number("unidirectional"))
    parts += [added] if added else []
    yield from attended(call, parts, call.number("num_heads"), is_causal=is_causal)


def _biased(
    call: RuntimeCall, given: Iterable[str], bias: str, parts: Iterable[str]
) -> Iterator[Any]:
    """Query, key and value, to each of which a third of one bias is added."""
    width = sum(call.extents(bias)) // 3
    for place, (source, part) in enumerate(zip(given, parts, strict=True)):
        cut = f"{part}/bias"
        if bias and width:
            for name, bound in (("from", place * width), ("to", (place + 1) * width)):
                yield constant_of(f"{cut}/{name}", np.array([bound]))
            yield node_of("Slice", [bias, f"{cut}/from", f"{cut}/to"], cut)
        yield from plus(source, [cut] if bias and width else [], part)


def _decoder_attention(call: RuntimeCall) -> Iterator[Any]:
    """``DecoderAttention(query, key, weight, weight, bias, ...)`` over (length, batch, width).

    One layer makes the query; another one makes key and value.
    """
    parts, turned = names_of_parts(call), f"{call.result}/turned"
    made = [f"{part}/product" for part in parts]
    both = f"{call.result}/key and value"
    for source, weight, result in zip(call.inputs, call.inputs[2:4], (made[0], both), strict=False):
        yield node_of("Transpose", [source], f"{result}/turned", perm=[1, 0, 2])
        yield node_of("MatMul", [f"{result}/turned", weight], result)
    yield parted(both, made[1:])
    yield from _biased(call, made, call.input(4), parts)
    within = replace(call, outputs=(turned, *call.outputs[1:]))
    yield from attended(within, parts, call.number("num_heads"))
    yield node_of("Transpose", [turned], call.result, perm=[1, 0, 2])


def _longformer(call: RuntimeCall) -> Iterator[Any]:
    """``LongformerAttention(input, weight, bias, mask, weight, bias, flags)``.

    Flagged tokens have layers of their own and see every token; others see their neighbours on
    both sides, of which the attribute gives one.
    """
    heads = {"num_heads": call.number("num_heads")}
    kinds = {
        "global": (call.inputs[4:6], heads),
        "local": (call.inputs[1:3], heads | {"local_window_size": 2 * call.number("window")}),
    }
    names = [f"{call.result}/{kind}" for kind in kinds]
    for name, (weights, attributes) in zip(names, kinds.values(), strict=True):
        yield from _projected(
            RuntimeCall((call.inputs[0], *weights), (name,), attributes, call.weights)
        )
    flags = f"{call.result}/flags"
    yield from shaped(call.inputs[6], [0, 0, 1], flags)
    yield node_of("Cast", [flags], f"{flags}/are set", to=_BOOL)
    yield node_of("Where", [f"{flags}/are set", *names], call.result)


def _three_layers(call: RuntimeCall) -> Iterator[Any]:
    """Attention of an input, three weights and three biases, and of what is added to scores."""
    parts = names_of_parts(call)
    for part, weight, bias in zip(parts, call.inputs[1:4], call.inputs[4:7], strict=True):
        yield node_of("MatMul", [call.inputs[0], weight], f"{part}/product")
        yield from plus(f"{part}/product", [bias], part)
    parts += [call.input(7)] if call.input(7) else []
    is_causal = bool(call.number("unidirectional"))
    yield from attended(call, parts, call.number("num_heads"), is_causal=is_causal)


def _in_order(expand: Expand, places: Iterable[tuple[int, int | None]], scale: int) -> Expand:
    """An operator on 8-bit matrices in an order of their own, as that on floats.

    Args:
        expand: What is done to floats.
        places: The inputs that it reads, each with the input that holds its scale.
        scale: The input that holds the scale of the result.
    """

    def expanded(call: RuntimeCall) -> Iterator[Any]:
        read = []
        for place, measure in places:
            name = call.input(place)
            if name and measure is not None:
                yield node_of(
                    "DequantizeLinear", [name, call.input(measure)], f"{call.result}/{place}"
                )
                name = f"{call.result}/{place}"
            read.append(name)
        result = f"{call.result}/float"
        yield from expand(replace(call, inputs=tuple(read), outputs=(result,)))
        yield node_of("QuantizeLinear", [result, call.input(scale)], call.result)

    return expanded


def _grouped_norm(call: RuntimeCall) -> Iterator[Any]:
    """``GroupNorm(input, weight, bias)``, with SiLU where an attribute says so."""
    bare = f"{call.result}/bare"
    yield node_of("GroupNormalization", call.inputs[:3], bare)
    yield node_of("Swish" if call.number("activation") else "Identity", [bare], call.result)


def _skipping_grouped_norm(call: RuntimeCall) -> Iterator[Any]:
    """``SkipGroupNorm(input, weight, bias of the norm, skip, bias)``; the sum is an output, too."""
    total = call.given(1)
    yield from plus(call.inputs[0], [call.input(4), call.input(3)], total)
    inputs = (total, *call.inputs[1:3])
    yield from _grouped_norm(replace(call, inputs=inputs, outputs=call.outputs[:1]))


def _without_padding(call: RuntimeCall) -> Iterator[Any]:
    """``RemovePadding(input, counts)``: the tokens of all sequences, and where they stood."""
    yield node_of("Flatten", [call.inputs[0]], call.result, axis=2)
    extents = f"{call.result}/extents"
    yield node_of("Shape", [call.inputs[0]], extents, start=0, end=2)
    for name in filter(None, call.outputs[1:]):
        yield node_of("ConstantOfShape", [extents], name)


def _with_padding(call: RuntimeCall) -> Iterator[Any]:
    """``RestorePadding(tokens, places)``: sequences, whose batch and length the places have."""
    yield from _of_places(call.inputs[0], call.inputs[1], [-1], call.result)


def _of_places(value: str, places: str, extents: Iterable[int], result: str) -> Iterator[Any]:
    """Nodes that give packed tokens the axes of their places and further extents."""
    shape = f"{result}/shape"
    yield node_of("Shape", [places], f"{shape}/first")
    yield constant_of(f"{shape}/last", np.array([*extents], np.int64))
    yield node_of("Concat", [f"{shape}/first", f"{shape}/last"], shape, axis=0)
    yield node_of("Reshape", [value, shape], result)


def _relative_bias(call: RuntimeCall) -> Iterator[Any]:
    """``RelativePositionBias(table, queries, keys)``: a row of the table for each distance."""
    shape, index, rows = (f"{call.result}/{name}" for name in ("shape", "index", "rows"))
    lengths = [f"{shape}/{place}" for place in (1, 2)]
    yield constant_of(f"{shape}/0", np.array([1]))
    for name, length in zip(lengths, call.inputs[1:3], strict=True):
        yield from shaped(length, [1], name)
    yield node_of("Concat", [f"{shape}/0", *lengths], shape, axis=0)
    yield node_of("ConstantOfShape", [shape], f"{index}/zeros")
    yield node_of("Cast", [f"{index}/zeros"], index, to=_INT64)
    yield node_of("Gather", [call.inputs[0], index], rows, axis=0)
    yield node_of("Transpose", [rows], call.result, perm=[0, 3, 1, 2])


def _gated_bias(call: RuntimeCall) -> Iterator[Any]:
    """``GatedRelativePositionBias(query, bias, positions, weight, bias, factor, places)``.

    With two gates u and r of each head of the query: ``(u (r factor - 1) + 2) positions``.
    """
    query, bias, positions, weight, addend, factor = call.inputs[:6]
    name = f"{call.result}/{{}}".format
    heads, (size, width) = call.number("num_heads"), call.extents(weight) or (-1, 2)
    yield from plus(query, [bias], name("biased"))
    if call.input(6):
        yield from _of_places(name("biased"), call.input(6), [heads, size], name("heads"))
    else:
        yield from shaped(name("biased"), [0, 0, heads, size], name("heads"))
    yield node_of("Transpose", [name("heads")], name("turned"), perm=[0, 2, 1, 3])
    yield node_of("MatMul", [name("turned"), weight], name("product"))
    yield from plus(name("product"), [addend], name("layer"))
    yield from shaped(name("layer"), [0, 0, 0, 2, width // 2], name("pairs"))
    yield constant_of(name("last"), np.array([-1]))
    yield node_of("ReduceSum", [name("pairs"), name("last")], name("sums"), keepdims=0)
    yield node_of("Sigmoid", [name("sums")], name("gates"))
    yield parted(name("gates"), [name("u"), name("r")])
    for number in (1, 2):
        yield constant_of(name(number), np.float32(number))
    yield node_of("Mul", [name("r"), factor], name("scaled"))
    yield node_of("Sub", [name("scaled"), name(1)], name("lower"))
    yield node_of("Mul", [name("u"), name("lower")], name("gated"))
    yield node_of("Add", [name("gated"), name(2)], name("gate"))
    yield node_of("Mul", [name("gate"), positions], call.result)


def _split_gelu(call: RuntimeCall) -> Iterator[Any]:
    """One half, through GELU, gates the other."""
    biased, (value, gate) = f"{call.result}/biased", names_of_parts(call)[:2]
    yield from plus(call.inputs[0], call.inputs[1:2], biased)
    yield parted(biased, [value, gate])
    yield node_of("Gelu", [gate], f"{gate}/gelu")
    yield node_of("Mul", [value, f"{gate}/gelu"], call.result)


def _added(call: RuntimeCall) -> Iterator[Any]:
    yield from plus(call.inputs[0], call.inputs[1:3], call.result)


def _chosen(call: RuntimeCall) -> Iterator[Any]:
    """``QLinearWhere(condition, value, scale, zero, value, scale, zero, scale, zero)``."""
    values = [f"{call.result}/{place}" for place in (1, 4)]
    for place, name in zip((1, 4), values, strict=True):
        yield node_of("DequantizeLinear", call.inputs[place : place + 3], name)
    yield node_of("Where", [call.inputs[0], *values], f"{call.result}/float")
    yield node_of("QuantizeLinear", [f"{call.result}/float", *call.inputs[7:9]], call.result)


def _float8_product(call: RuntimeCall) -> Iterator[Any]:
    """``GemmFloat8(value, weight, bias, scales ...)``, which may activate the sum."""
    own = ("alpha", "beta", "transA", "transB")
    stated = {name: call.attributes[name] for name in own if name in call.attributes}
    operands = [name for name in call.inputs[:3] if name]
    yield node_of("Gemm", operands, f"{call.result}/bare", **stated)
    kind = call.attributes.get("activation", "NONE")
    yield from activated(kind, f"{call.result}/bare", call.result)


def _padded_conv(call: RuntimeCall) -> Iterator[Any]:
    """``ConvTransposeWithDynamicPads(value, weight, padding, bias)``."""
    pads = _numbers(call, call.input(2))
    stated = {**call.attributes, **({"pads": pads} if pads else {})}
    operands = [*call.inputs[:2], *([call.input(3)] if call.input(3) else [])]
    yield node_of("ConvTranspose", operands, call.result, **stated)


def _resized_crops(call: RuntimeCall) -> Iterator[Any]:
    """``CropAndResize(images, regions, images of regions, size)``."""
    size = _numbers(call, call.input(3))
    stated = dict(zip(("output_height", "output_width"), size, strict=False))
    index = f"{call.result}/images"
    yield node_of("Cast", [call.inputs[2]], index, to=_INT64)
    operands = [*call.inputs[:2], index]
    yield node_of("RoiAlign" if size else "CropAndResize", operands, call.result, **stated)


def _new_axis(call: RuntimeCall) -> Iterator[Any]:
    """``ExpandDims(value, axis)``."""
    axes = _numbers(call, call.inputs[1])
    stated = {"axes": axes} if axes else {}
    yield node_of("Unsqueeze" if axes else "ExpandDims", call.inputs[:1], call.result, **stated)


def _in_blocks(call: RuntimeCall) -> Iterator[Any]:
    """``QuantizeBFP(value)``: the value, and what is needed to have it back."""
    yield node_of("Identity", call.inputs[:1], call.result)
    for name in filter(None, call.outputs[1:]):
        yield node_of("Shape", call.inputs[:1], name)


def _of_blocks(call: RuntimeCall) -> Iterator[Any]:
    """``DequantizeBFP(blocks, shape, strides)``: a value, or a weight of the file."""
    blocks, shape = call.inputs[:2]
    extents = _numbers(call, shape)
    if blocks in call.weights and extents:
        yield node_of("Identity", [call.learned(blocks, *extents)], call.result)
    else:
        yield node_of("Reshape", [blocks, shape], call.result)


def _reordered(turn: Callable[[str, int, str], Any]) -> Expand:
    """Another order of channels in memory, which may be last on one side."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        if call.number("channels_last"):
            yield turn(call.inputs[0], _IMAGE, call.result)
        else:
            yield node_of("Identity", call.inputs[:1], call.result)

    return expand


def _upsampled(call: RuntimeCall) -> Iterator[Any]:
    """``Upsample(value)``, whose scales are an attribute."""
    scales = f"{call.result}/scales"
    yield constant_of(scales, np.array(call.attributes.get("scales", [1] * _IMAGE), np.float32))
    yield node_of("Resize", [call.inputs[0], "", scales], call.result)


_EXPANDED: Final[Mapping[str, Expand]] = {
    **{name: _renamed(*known) for name, known in _RENAMED.items()},
    **DECODERS, **EMBEDDINGS, **EXPERTS,
    "Attention": _attention, "DecoderMaskedSelfAttention": _attention,
    "PackedAttention": _attention, "QAttention": _quantised_attention,
    "DecoderAttention": _decoder_attention, "LongformerAttention": _longformer,
    "BiasAdd": _added, "BiasDropout": _added, "BitmaskBiasDropout": _added,
    "ConvTransposeWithDynamicPads": _padded_conv, "CropAndResize": _resized_crops,
    "DequantizeBFP": _of_blocks, "ExpandDims": _new_axis, "GemmFloat8": _float8_product,
    "BiasGelu": _activated("Gelu"), "FastGelu": _activated("Gelu"),
    "BiasSoftmax": _activated("Softmax"), "BiasSplitGelu": _split_gelu,
    "DecoderMaskedMultiHeadAttention": _multi_head, "MultiHeadAttention": _multi_head,
    "PackedMultiHeadAttention": _packed_heads,
    "DequantizeWithOrder": same("DequantizeLinear"), "QuantizeWithOrder": same("QuantizeLinear"),
    "DynamicQuantizeLSTM": _quantised_lstm,
    "DynamicQuantizeMatMul": _quantised_product(4), "MatMulInteger16": _quantised_product(2),
    "MatMulIntegerToFloat": _quantised_product(6),
    "FusedConv": _fused_layer("Conv", 3),
    "NhwcConv": _by_channel(_renamed("Conv", slice(3)), (0,), always=True),
    "NhwcFusedConv": _by_channel(_fused_layer("Conv", 3), (0, 3), always=True),
    "NhwcMaxPool": _by_channel(_renamed("MaxPool", slice(1)), (0,), always=True),
    "QLinearConv": _by_channel(_renamed("QLinearConv", slice(None)), (0,)),
    "QLinearWhere": _chosen, "QuantizeBFP": _in_blocks,
    "FusedGemm": _fused_layer("Gemm", 3), "FusedMatMulActivation": _fused_layer("FusedMatMul", 2),
    "GemmFastGelu": _product_and_gelu,
    "GroupNorm": _grouped_norm, "SkipGroupNorm": _skipping_grouped_norm,
    "MulInteger": _as_floats("Mul", slice(0, 3, 2)),
    "ReduceSumInteger": _as_floats("ReduceSum", slice(1)),
    "GatedRelativePositionBias": _gated_bias, "RelativePositionBias": _relative_bias,
    # It forbids to say the same words again, of which the design knows nothing.
    "NGramRepeatBlock": same("Identity", slice(1, 2)),
    "QOrderedAttention": _in_order(
        _three_layers,
        ((0, 1), (5, 8), (6, 9), (7, 10), (11, None), (12, None), (13, None), (19, None)),
        16,
    ),
    "QOrderedGelu": _in_order(_activated("Gelu"), ((0, 1),), 2),
    "QOrderedLayerNormalization": _in_order(
        same("LayerNormalization", slice(3), axis=-1), ((0, 1), (2, None), (3, None)), 4
    ),
    "QOrderedLongformerAttention": _in_order(
        _longformer,
        ((0, 1), (2, 3), (4, None), (7, None), (8, 9), (10, None), (12, None)),
        13,
    ),
    "QOrderedMatMul": _in_order(_product, ((0, 1), (2, 3), (5, None), (6, 7)), 4),
    "RemovePadding": _without_padding, "RestorePadding": _with_padding,
    "MatMulBnb4": _packed_product, "MatMulFpQ4": _blob_product, "MatMulNBits": _packed_product,
    "SkipLayerNormalization": _skipping_norm("LayerNormalization"),
    "SkipSimplifiedLayerNormalization": _skipping_norm("SimplifiedLayerNormalization"),
}  # fmt: skip
_IN_BLOCKS: Final[Mapping[str, Expand]] = {
    **{name: _renamed(name, slice(1)) for name in (
        "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool",
    )},
    "Conv": _fused_layer("Conv", 3), "Upsample": _upsampled,
    "ReorderInput": _reordered(first_channels), "ReorderOutput": _reordered(last_channels),
}  # fmt: skip
_EXPANSIONS: Final[Mapping[str, Mapping[str, Expand]]] = {RUNTIME: _EXPANDED, _BLOCKED: _IN_BLOCKS}
READ: Final = frozenset({*_EXPANDED, *_ON_FLOATS})  # names of onnxruntime's operators that are read
