"""onnxruntime's operators in standard form: fused, packed and quantised ones.

Each optimised and each 4-bit export is made of them. A fused operator becomes the nodes that a
plain export has; a packed weight becomes a weight of the shape that it stands for, so that its
parameters count. Caches of keys and values, masks and tables of angles say nothing about a design.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from nar.capture.onnx.bodies import (
    SHARED_OUT,
    Weights,
    attributes_of,
    constant_of,
    node_of,
    weight_of,
)

_RUNTIME: Final = "com.microsoft"
_STANDARD: Final = frozenset({"", "ai.onnx"})
_INT64, _BOOL = 7, 9  # types of elements in ``onnx.proto``
_FOREIGN: Final = "-"  # no operator of the standard
# Operators of onnxruntime -> the operator of `nar.capture.onnx.ops` that is the same.
_RENAMED: Final[Mapping[str, str]] = {
    **{name: name for name in (
        "DequantizeLinear", "Gelu", "GridSample", "LayerNormalization", "Pad", "QuantizeLinear",
        "RMSNormalization", "RotaryEmbedding", "SimplifiedLayerNormalization", "Trilu", "Unique",
    )},
    "BitmaskDropout": "Dropout", "CDist": "Distance", "CropAndResize": "RoiAlign",
    "ExpandDims": "Identity", "Inverse": "Det", "Irfft": "InverseDFT", "MaxpoolWithMask": "MaxPool",
    "NhwcMaxPool": "MaxPool", "QuickGelu": "Gelu", "Rfft": "DFT", "SparseToDenseMatMul": "MatMul",
    "TransposeMatMul": "FusedMatMul", "FusedMatMul": "FusedMatMul",
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
_OWN_ATTRIBUTES: Final = frozenset({"channels_last", "opset"})


def standard_name(node: Any) -> str:  # noqa: ANN401
    """The operator of `nar.capture.onnx.ops` that a node is; a name that none has for others."""
    if node.domain in _STANDARD:
        return str(node.op_type)
    return _RENAMED.get(node.op_type, _FOREIGN) if node.domain == _RUNTIME else _FOREIGN


def standard_nodes(graph: Any) -> Iterator[Any]:  # noqa: ANN401
    """The nodes of a ``GraphProto``, with onnxruntime's operators as standard operators.

    Weights that are stored in another form are added to the initializers.
    """
    weights = {tensor.name: tensor for tensor in graph.initializer}
    before = set(weights)
    for node in _on_floats(graph.node):
        expand = _EXPANDED.get(node.op_type) if node.domain == _RUNTIME else None
        if expand is None:
            yield node
        else:
            yield from expand(_Call.of(node, weights))
    graph.initializer.extend(weights[name] for name in weights.keys() - before)


def _on_floats(nodes: Iterable[Any]) -> Iterator[Any]:
    """The nodes, with operators on quantised values as standard operators on floats.

    Every value keeps the type that its other readers want: ::

        q -- QLinearSigmoid -- p      q -- DequantizeLinear -- Sigmoid -- QuantizeLinear -- p
    """
    for node in nodes:
        known = _ON_FLOATS.get(node.op_type) if node.domain == _RUNTIME else None
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
        made = node_of(operator, values, result if is_float else f"{result}/float")
        made.attribute.extend(each for each in node.attribute if each.name not in _OWN_ATTRIBUTES)
        yield made
        if not is_float:
            parameters = [name for name in node.input[scale : scale + 2] if name]
            yield node_of("QuantizeLinear", [made.output[0], *parameters], result)


@dataclass(frozen=True, slots=True)
class _Call:
    """One node of onnxruntime.

    Attributes:
        inputs: Names of its inputs, empty for those that are left out.
        outputs: Names of its outputs.
        attributes: Its attributes.
        weights: Tensors of the file; weights in another form are added.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    weights: Weights

    @classmethod
    def of(cls, node: Any, weights: Weights) -> "_Call":  # noqa: ANN401
        """The call of a node."""
        return cls(tuple(node.input), tuple(node.output), attributes_of(node), weights)

    @property
    def result(self) -> str:
        """Name of the first output."""
        return self.outputs[0]

    def input(self, place: int) -> str:
        """Name of an input, empty where it is left out."""
        return self.inputs[place] if place < len(self.inputs) else ""

    def number(self, name: str, default: int = 0) -> int:
        """An attribute that is a whole number."""
        return int(self.attributes.get(name, default))

    def extents(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor of the file, none where it is no tensor of the file."""
        return tuple(self.weights[name].dims) if name in self.weights else ()

    def learned(self, name: str, *shape: int) -> str:
        """A weight of another shape than the tensor of the file that holds it."""
        made = f"{name}/as float"
        self.weights[made] = weight_of(made, shape)
        return made

    def given(self, place: int) -> str:
        """Name of an output; a name that nothing reads where the output is left out."""
        is_there = place < len(self.outputs) and self.outputs[place]
        return self.outputs[place] if is_there else f"{self.result}/output {place}"


Expand = Callable[[_Call], Iterator[Any]]


def _sum(value: str, addends: Iterable[str], result: str) -> Iterator[Any]:
    """Nodes that add further values to a value, one after another."""
    present = [each for each in addends if each]
    for place, addend in enumerate(present, start=1):
        name = result if place == len(present) else f"{result}/sum {place}"
        yield node_of("Add", [value, addend], name)
        value = name
    if not present:
        yield node_of("Identity", [value], result)


def _activated(operator: str) -> Expand:
    """An activation of a value to which a bias may be added."""

    def expand(call: _Call) -> Iterator[Any]:
        biased = f"{call.result}/biased"
        yield from _sum(call.inputs[0], call.inputs[1:2], biased)
        yield node_of(operator, [biased], call.result)

    return expand


def _skipping_norm(operator: str) -> Expand:
    """``norm(input + bias + skip) * weights``; the sum is an output, too."""

    def expand(call: _Call) -> Iterator[Any]:
        norm_weights = 2 if operator == "LayerNormalization" else 1
        value, skip, *others = call.inputs
        total = call.given(3)
        yield from _sum(value, [*others[norm_weights : norm_weights + 1], skip], total)
        scales = [name for name in others[:norm_weights] if name]
        yield node_of(operator, [total, *scales], call.result, axis=-1)

    return expand


def _embedding_norm(call: _Call) -> Iterator[Any]:
    """Layer norm of the sum of the rows of up to three tables."""
    ids, segments, words, positions, kinds = call.inputs[:5]
    places = call.input(8) or f"{call.result}/places"
    if not call.input(8):
        yield node_of("Shape", [ids], f"{call.result}/extents")
        yield node_of("ConstantOfShape", [f"{call.result}/extents"], places)
    rows: list[str] = []
    for table, index in ((words, ids), (kinds, segments), (positions, places)):
        if table and index:
            rows.append(f"{call.result}/rows {len(rows)}")
            yield node_of("Gather", [table, index], rows[-1], axis=0)
    total = call.given(2)
    yield from _sum(rows[0], rows[1:], total)
    yield node_of("LayerNormalization", [total, *call.inputs[5:7]], call.result, axis=-1)


def _fused_layer(operator: str, operands: int) -> Expand:
    """A layer, a shortcut and an activation in one."""

    def expand(call: _Call) -> Iterator[Any]:
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
        yield from _sum(bare, call.inputs[operands : operands + 1], summed)
        yield node_of(kind or "Identity", [summed], call.result)

    return expand


def _product_and_gelu(call: _Call) -> Iterator[Any]:
    """``gelu(input @ weight + bias)``."""
    product, biased = f"{call.result}/product", f"{call.result}/biased"
    yield node_of("MatMul", call.inputs[:2], product)
    yield from _sum(product, call.inputs[2:3], biased)
    yield node_of("Gelu", [biased], call.result)


def _product(call: _Call) -> Iterator[Any]:
    """``input @ weight``, and what is added to it."""
    product = f"{call.result}/product"
    yield node_of("MatMul", call.inputs[:2], product)
    yield from _sum(product, call.inputs[2:], call.result)


def _packed_product(call: _Call) -> Iterator[Any]:
    """A product with a weight of few bits: ``(input, weight, scales, zeros, order, bias)``."""
    inner, columns = call.number("K"), call.number("N")
    weight = call.learned(call.inputs[1], inner, columns)
    product = f"{call.result}/product"
    yield node_of("MatMul", [call.inputs[0], weight], product)
    yield from _sum(product, [call.input(5)], call.result)


def _quantised_product(bias: int) -> Expand:
    """A product with a weight of whole numbers; the place of its bias differs."""

    def expand(call: _Call) -> Iterator[Any]:
        weight = call.learned(call.inputs[1], *call.extents(call.inputs[1]))
        product = f"{call.result}/product"
        yield node_of("MatMul", [call.inputs[0], weight], product)
        yield from _sum(product, [call.input(bias)], call.result)

    return expand


def _packed_rows(call: _Call) -> Iterator[Any]:
    """Rows of a table of few bits."""
    *rows, columns = call.extents(call.inputs[0])
    proto_bits = 8 if _is_bytes(call.weights.get(call.inputs[0])) else call.number("bits", 4)
    table = call.learned(call.inputs[0], *rows, columns * proto_bits // call.number("bits", 4))
    yield node_of("Gather", [table, call.inputs[1]], call.result, axis=call.number("gather_axis"))


def _is_bytes(tensor: Any) -> bool:  # noqa: ANN401
    return tensor is not None and tensor.data_type in (tensor.INT8, tensor.UINT8)


def _quantised_lstm(call: _Call) -> Iterator[Any]:
    """``DynamicQuantizeLSTM(X, W, R, B, ...)``, whose weights are whole numbers, turned."""
    turned = []
    for name in call.inputs[1:3]:
        directions, rows, columns = call.extents(name) or (1, 0, 0)
        turned.append(call.learned(name, directions, columns, rows))
    others = call.inputs[3:8]
    node = node_of("LSTM", [call.inputs[0], *turned, *others], call.result, **call.attributes)
    node.output.extend(call.outputs[1:])
    yield node


def _attention(call: _Call) -> Iterator[Any]:
    """``Attention(input, weight, bias, ...)``: one layer makes query, key and value.

    What is added to the scores is the sixth input.
    """
    yield from _projected(call, call.input(5))


def _quantised_attention(call: _Call) -> Iterator[Any]:
    """``QAttention(input, weight, bias, scales, ...)``, which adds nothing to the scores."""
    yield from _projected(call)


def _projected(call: _Call, added: str = "") -> Iterator[Any]:
    mixed = f"{call.result}/mixed"
    weight = call.inputs[1]
    extents = call.extents(weight)
    if _is_bytes(call.weights.get(weight)):
        weight = call.learned(weight, *extents)
    yield node_of("MatMul", [call.inputs[0], weight], f"{mixed}/product")
    yield from _sum(f"{mixed}/product", call.inputs[2:3], mixed)
    widths = call.attributes.get("qkv_hidden_sizes") or [extents[-1] // 3 if extents else 0] * 3
    parts = _names(call)
    yield _cut(mixed, parts, widths)
    is_causal = bool(call.number("unidirectional"))
    parts += [added] if added else []
    yield from _attended(call, parts, call.number("num_heads"), is_causal=is_causal)


def _names(call: _Call) -> list[str]:
    return [f"{call.result}/{part}" for part in ("query", "key", "value")]


def _cut(value: str, parts: list[str], shares: Iterable[int] = (), axis: int = -1) -> Any:  # noqa: ANN401
    """A node that cuts an axis into parts, whose widths are to each other as shares."""
    stated = list(shares) or [1] * len(parts)
    node = node_of(SHARED_OUT, [value], parts[0], axis=axis, shares=stated)
    node.output.extend(parts[1:])
    return node


def _attended(
    call: _Call, parts: list[str], heads: int, keys: int = 0, *, is_causal: bool = False
) -> Iterator[Any]:
    stated = {"q_num_heads": heads, "kv_num_heads": keys or heads}
    stated |= {"is_causal": int(is_causal), "local_window_size": call.number("local_window_size")}
    yield node_of("Attention", parts, call.result, **stated)
    for place, part in enumerate(parts[1:3], start=1):
        if place < len(call.outputs) and call.outputs[place]:
            yield node_of("Identity", [part], call.outputs[place])


def _multi_head(call: _Call) -> Iterator[Any]:
    """``MultiHeadAttention(query, key, value, bias, ...)``; a packed query holds all three.

    What is added to the scores is the sixth input.
    """
    yield from _many_heads(call, call.input(5))


def _packed_heads(call: _Call) -> Iterator[Any]:
    """``PackedMultiHeadAttention(query, key, value, bias, ...)`` over (tokens, width)."""
    yield from _many_heads(call, call.input(6), axes=1)


def _many_heads(call: _Call, added: str, axes: int = 2) -> Iterator[Any]:
    """Attention of given parts; ``axes`` stand before the width, or before heads and parts."""
    parts = _names(call)
    given = [call.input(place) for place in range(3)]
    packed = {1: 0, 2: 1}.get(sum(map(bool, given)))  # the input that holds several parts
    if packed is not None:
        made = [f"{part}/cut" for part in parts[packed:]]
        given = [*given[:packed], *(f"{part}/unbiased" for part in parts[packed:])]
        yield _cut(call.inputs[packed], made, axis=axes + 1)
        for source, flat in zip(made, given[packed:], strict=True):
            yield from _shaped(source, [*[0] * axes, -1], flat)
    yield from _biased(call, given, call.input(3), parts)
    is_causal = bool(call.number("unidirectional"))
    parts += [added] if added else []
    yield from _attended(call, parts, call.number("num_heads"), is_causal=is_causal)


def _shaped(value: str, extents: Iterable[int], result: str) -> Iterator[Any]:
    """Nodes that give a value another shape: 0 for an extent as it is, -1 for what is left."""
    yield constant_of(f"{result}/shape", np.array([*extents], np.int64))
    yield node_of("Reshape", [value, f"{result}/shape"], result)


def _biased(call: _Call, given: Iterable[str], bias: str, parts: Iterable[str]) -> Iterator[Any]:
    """Query, key and value, to each of which a third of one bias is added."""
    width = sum(call.extents(bias)) // 3
    for place, (source, part) in enumerate(zip(given, parts, strict=True)):
        cut = f"{part}/bias"
        if bias and width:
            for name, bound in (("from", place * width), ("to", (place + 1) * width)):
                yield constant_of(f"{cut}/{name}", np.array([bound]))
            yield node_of("Slice", [bias, f"{cut}/from", f"{cut}/to"], cut)
        yield from _sum(source, [cut] if bias and width else [], part)


def _decoder_attention(call: _Call) -> Iterator[Any]:
    """``DecoderAttention(query, key, weight, weight, bias, ...)`` over (length, batch, width).

    One layer makes the query; another one makes key and value.
    """
    parts, turned = _names(call), f"{call.result}/turned"
    made = [f"{part}/product" for part in parts]
    both = f"{call.result}/key and value"
    for source, weight, result in zip(call.inputs, call.inputs[2:4], (made[0], both), strict=False):
        yield node_of("Transpose", [source], f"{result}/turned", perm=[1, 0, 2])
        yield node_of("MatMul", [f"{result}/turned", weight], result)
    yield _cut(both, made[1:])
    yield from _biased(call, made, call.input(4), parts)
    within = replace(call, outputs=(turned, *call.outputs[1:]))
    yield from _attended(within, parts, call.number("num_heads"))
    yield node_of("Transpose", [turned], call.result, perm=[1, 0, 2])


def _longformer(call: _Call) -> Iterator[Any]:
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
        yield from _projected(_Call((call.inputs[0], *weights), (name,), attributes, call.weights))
    flags = f"{call.result}/flags"
    yield from _shaped(call.inputs[6], [0, 0, 1], flags)
    yield node_of("Cast", [flags], f"{flags}/are set", to=_BOOL)
    yield node_of("Where", [f"{flags}/are set", *names], call.result)


def _three_layers(call: _Call) -> Iterator[Any]:
    """Attention of an input, three weights and three biases, and of what is added to scores."""
    parts = _names(call)
    for part, weight, bias in zip(parts, call.inputs[1:4], call.inputs[4:7], strict=True):
        yield node_of("MatMul", [call.inputs[0], weight], f"{part}/product")
        yield from _sum(f"{part}/product", [bias], part)
    parts += [call.input(7)] if call.input(7) else []
    is_causal = bool(call.number("unidirectional"))
    yield from _attended(call, parts, call.number("num_heads"), is_causal=is_causal)


def _in_order(expand: Expand, places: Iterable[tuple[int, int | None]], scale: int) -> Expand:
    """An operator on 8-bit matrices in an order of their own, as that on floats.

    Args:
        expand: What is done to floats.
        places: The inputs that it reads, each with the input that holds its scale.
        scale: The input that holds the scale of the result.
    """

    def expanded(call: _Call) -> Iterator[Any]:
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


def _same(operator: str, inputs: slice = slice(2), **attributes: int) -> Expand:
    """A standard operator of some of the inputs."""

    def expand(call: _Call) -> Iterator[Any]:
        read = [name for name in call.inputs[inputs] if name]
        yield node_of(operator, read, call.result, **attributes)

    return expand


def _grouped_query(call: _Call) -> Iterator[Any]:
    """``GroupQueryAttention(query, key, value, caches ...)``; a packed query holds all three."""
    parts, heads = _names(call), call.number("num_heads")
    keys = call.number("kv_num_heads", heads)
    given = [call.input(place) for place in range(3)]
    if not given[1]:
        shares = (heads, keys, keys)
        given = [f"{part}/flat" for part in parts]
        yield _cut(call.inputs[0], given, shares)
    is_turned = call.number("do_rotary")
    for place, (source, part) in enumerate(zip(given, parts, strict=True)):
        turned = "RotaryEmbedding" if is_turned and place < 2 else "Identity"
        yield node_of(turned, [source], part)
    yield from _attended(call, parts, heads, keys, is_causal=True)


def _grouped_norm(call: _Call) -> Iterator[Any]:
    """``GroupNorm(input, weight, bias)``, with SiLU where an attribute says so."""
    bare = f"{call.result}/bare"
    yield node_of("GroupNormalization", call.inputs[:3], bare)
    yield node_of("Swish" if call.number("activation") else "Identity", [bare], call.result)


def _skipping_grouped_norm(call: _Call) -> Iterator[Any]:
    """``SkipGroupNorm(input, weight, bias of the norm, skip, bias)``; the sum is an output, too."""
    total = call.given(1)
    yield from _sum(call.inputs[0], [call.input(4), call.input(3)], total)
    inputs = (total, *call.inputs[1:3])
    yield from _grouped_norm(replace(call, inputs=inputs, outputs=call.outputs[:1]))


def _without_padding(call: _Call) -> Iterator[Any]:
    """``RemovePadding(input, counts)``: the tokens of all sequences, and where they stood."""
    yield node_of("Flatten", [call.inputs[0]], call.result, axis=2)
    extents = f"{call.result}/extents"
    yield node_of("Shape", [call.inputs[0]], extents, start=0, end=2)
    for name in filter(None, call.outputs[1:]):
        yield node_of("ConstantOfShape", [extents], name)


def _with_padding(call: _Call) -> Iterator[Any]:
    """``RestorePadding(tokens, places)``: sequences, whose batch and length the places have."""
    yield from _of_places(call.inputs[0], call.inputs[1], [-1], call.result)


def _of_places(value: str, places: str, extents: Iterable[int], result: str) -> Iterator[Any]:
    """Nodes that give packed tokens the axes of their places and further extents."""
    shape = f"{result}/shape"
    yield node_of("Shape", [places], f"{shape}/first")
    yield constant_of(f"{shape}/last", np.array([*extents], np.int64))
    yield node_of("Concat", [f"{shape}/first", f"{shape}/last"], shape, axis=0)
    yield node_of("Reshape", [value, shape], result)


def _relative_bias(call: _Call) -> Iterator[Any]:
    """``RelativePositionBias(table, queries, keys)``: a row of the table for each distance."""
    shape, index, rows = (f"{call.result}/{name}" for name in ("shape", "index", "rows"))
    lengths = [f"{shape}/{place}" for place in (1, 2)]
    yield constant_of(f"{shape}/0", np.array([1]))
    for name, length in zip(lengths, call.inputs[1:3], strict=True):
        yield from _shaped(length, [1], name)
    yield node_of("Concat", [f"{shape}/0", *lengths], shape, axis=0)
    yield node_of("ConstantOfShape", [shape], f"{index}/zeros")
    yield node_of("Cast", [f"{index}/zeros"], index, to=_INT64)
    yield node_of("Gather", [call.inputs[0], index], rows, axis=0)
    yield node_of("Transpose", [rows], call.result, perm=[0, 3, 1, 2])


def _gated_bias(call: _Call) -> Iterator[Any]:
    """``GatedRelativePositionBias(query, bias, positions, weight, bias, factor, places)``.

    With two gates u and r of each head of the query: ``(u (r factor - 1) + 2) positions``.
    """
    query, bias, positions, weight, addend, factor = call.inputs[:6]
    name = f"{call.result}/{{}}".format
    heads, (size, width) = call.number("num_heads"), call.extents(weight) or (-1, 2)
    yield from _sum(query, [bias], name("biased"))
    if call.input(6):
        yield from _of_places(name("biased"), call.input(6), [heads, size], name("heads"))
    else:
        yield from _shaped(name("biased"), [0, 0, heads, size], name("heads"))
    yield node_of("Transpose", [name("heads")], name("turned"), perm=[0, 2, 1, 3])
    yield node_of("MatMul", [name("turned"), weight], name("product"))
    yield from _sum(name("product"), [addend], name("layer"))
    yield from _shaped(name("layer"), [0, 0, 0, 2, width // 2], name("pairs"))
    yield constant_of(name("last"), np.array([-1]))
    yield node_of("ReduceSum", [name("pairs"), name("last")], name("sums"), keepdims=0)
    yield node_of("Sigmoid", [name("sums")], name("gates"))
    yield _cut(name("gates"), [name("u"), name("r")])
    for number in (1, 2):
        yield constant_of(name(number), np.float32(number))
    yield node_of("Mul", [name("r"), factor], name("scaled"))
    yield node_of("Sub", [name("scaled"), name(1)], name("lower"))
    yield node_of("Mul", [name("u"), name("lower")], name("gated"))
    yield node_of("Add", [name("gated"), name(2)], name("gate"))
    yield node_of("Mul", [name("gate"), positions], call.result)


@dataclass(frozen=True, slots=True)
class _Mixture:
    """Experts of one or two layers into the hidden width and one layer out of it.

    Attributes:
        places: The inputs that hold weight and bias of the first layer, of the layer out of the
            hidden width, and of the layer that the first one gates.
        shares: The input that holds the shares of experts; those follow from the scores if none.
    """

    places: tuple[tuple[int, int], ...]
    shares: int | None = None

    def __call__(self, call: _Call) -> Iterator[Any]:
        """``MoE(tokens, scores of experts, weights ...)``: the best experts of each token."""
        name = f"{call.result}/{{}}".format
        yield from self._routed(call)
        extents = call.extents(call.input(self.places[1][0]))
        yield from _shaped(call.inputs[0], [-1, 1, *(extents[1:2] or [0]), 1], name("tokens"))
        yield from self._layer(call, 0, name("tokens"), name("first"))
        yield from self._activated(call)
        yield from _shaped(name("hidden"), [0, 0, -1, 1], name("hidden/column"))
        yield from self._layer(call, 1, name("hidden/column"), name("second"))
        yield from _shaped(name("shares"), [0, 0, 1], name("shares/column"))
        yield node_of("Mul", [name("second"), name("shares/column")], name("shared"))
        yield constant_of(name("experts"), np.array([1]))
        yield node_of("ReduceSum", [name("shared"), name("experts")], name("sum"), keepdims=0)
        yield node_of("Shape", [call.inputs[0]], name("shape"))
        yield node_of("Reshape", [name("sum"), name("shape")], call.result)

    def _routed(self, call: _Call) -> Iterator[Any]:
        """The experts of each token, and their shares."""
        name = f"{call.result}/{{}}".format
        stated = "" if self.shares is None else call.input(self.shares)
        scores = call.inputs[1]
        if not stated:
            yield node_of("Softmax", [scores], name("chances"), axis=-1)
            scores = name("chances")
        yield constant_of(name("many"), np.array([call.number("k", 1)]))
        highest = node_of("TopK", [scores, name("many")], name("highest"), axis=-1)
        highest.output.append(name("chosen"))
        yield highest
        shares = name("highest")
        if stated:
            shares = name("stated")
            yield node_of("GatherElements", [stated, name("chosen")], shares, axis=-1)
        if call.number("normalize_routing_weights"):
            yield constant_of(name("last"), np.array([-1]))
            yield node_of("ReduceSum", [shares, name("last")], name("total"), keepdims=1)
            yield node_of("Div", [shares, name("total")], name("shares"))
        else:
            yield node_of("Identity", [shares], name("shares"))

    def _layer(self, call: _Call, which: int, value: str, result: str) -> Iterator[Any]:
        """One layer of the chosen experts on columns (tokens, experts, width, 1)."""
        weight, bias = (call.input(place) for place in self.places[which])
        weight = self._weight(call, weight, f"fc{which + 1}_expert_weight_bits")
        chosen = f"{call.result}/chosen"
        yield node_of("Gather", [weight, chosen], f"{result}/weights", axis=0)
        yield node_of("MatMul", [f"{result}/weights", value], f"{result}/column")
        yield from _shaped(f"{result}/column", [0, 0, -1], f"{result}/row")
        if bias:
            yield node_of("Gather", [bias, chosen], f"{result}/bias", axis=0)
        yield from _sum(f"{result}/row", [f"{result}/bias"] if bias else [], result)

    @staticmethod
    def _weight(call: _Call, weight: str, bits: str) -> str:
        """A weight of the experts, as float where it has few bits."""
        if not _is_bytes(call.weights.get(weight)):
            return weight
        experts, rows, columns = call.extents(weight)
        numbers = columns * 8 // call.number(bits, call.number("expert_weight_bits", 4))
        # Of this kind, the file has the transpose of the weight.
        is_turned = call.attributes.get("quant_type") == "nvfp4"
        shape = (numbers, rows) if is_turned else (rows, numbers)
        return call.learned(weight, experts, *shape)

    def _activated(self, call: _Call) -> Iterator[Any]:
        """The hidden values: activated, and where they are gates, times what they gate."""
        name = f"{call.result}/{{}}".format
        kind = call.attributes.get("activation_type", "relu")
        has_third = bool(call.input(self.places[2][0]))
        if not has_third and kind not in _GATED:
            yield from self._activation(call, kind, name("first"), name("hidden"))
            return
        gate, value = name("first"), name("value")
        if has_third:
            yield from self._layer(call, 2, name("tokens"), value)
        else:
            gate = name("gate")
            yield _cut(name("first"), [gate, value])
        limit, addend = (
            call.attributes.get(each, 0.0) if kind == "swiglu" else 0.0
            for each in ("swiglu_limit", "activation_beta")
        )
        if limit:
            for bound, number in (("low", -limit), ("high", limit)):
                yield constant_of(name(bound), np.float32(number))
            for each in (gate, value):
                yield node_of("Clip", [each, name("low"), name("high")], f"{each}/cut off")
            gate, value = f"{gate}/cut off", f"{value}/cut off"
        if addend:
            yield constant_of(name("addend"), np.float32(addend))
            yield node_of("Add", [value, name("addend")], f"{value}/added")
            value = f"{value}/added"
        yield from self._activation(call, kind, gate, name("activated"))
        yield node_of("Mul", [name("activated"), value], name("hidden"))

    @staticmethod
    def _activation(call: _Call, kind: str, value: str, result: str) -> Iterator[Any]:
        operator = _ACTIVATIONS.get(kind, kind)
        # ``x sigmoid(1.702 x)`` is the quick form of GELU.
        if kind == "swiglu" and round(call.attributes.get("activation_alpha", 1.0), 2) == 1.7:
            operator = "Gelu"
        if kind == "relu2":
            yield node_of("Relu", [value], f"{result}/root")
            yield node_of("Mul", [f"{result}/root", f"{result}/root"], result)
        else:
            yield node_of(operator, [value], result)


_GATED: Final = frozenset({"geglu", "swiglu"})
_ACTIVATIONS: Final[Mapping[str, str]] = {
    "geglu": "Gelu", "gelu": "Gelu", "identity": "Identity", "relu": "Relu", "silu": "Swish",
    "swiglu": "Swish",
}  # fmt: skip


def _split_gelu(call: _Call) -> Iterator[Any]:
    """One half, through GELU, gates the other."""
    biased, (value, gate) = f"{call.result}/biased", _names(call)[:2]
    yield from _sum(call.inputs[0], call.inputs[1:2], biased)
    yield _cut(biased, [value, gate])
    yield node_of("Gelu", [gate], f"{gate}/gelu")
    yield node_of("Mul", [value, f"{gate}/gelu"], call.result)


def _added(call: _Call) -> Iterator[Any]:
    yield from _sum(call.inputs[0], call.inputs[1:3], call.result)


_EXPANDED: Final[Mapping[str, Expand]] = {
    "Attention": _attention, "DecoderMaskedSelfAttention": _attention,
    "PackedAttention": _attention, "QAttention": _quantised_attention,
    "DecoderAttention": _decoder_attention, "LongformerAttention": _longformer,
    "BiasAdd": _added, "BiasDropout": _added,
    "BiasGelu": _activated("Gelu"), "FastGelu": _activated("Gelu"),
    "BiasSoftmax": _activated("Softmax"), "BiasSplitGelu": _split_gelu,
    "DecoderMaskedMultiHeadAttention": _multi_head, "MultiHeadAttention": _multi_head,
    "PackedMultiHeadAttention": _packed_heads,
    "DequantizeWithOrder": _same("DequantizeLinear"), "QuantizeWithOrder": _same("QuantizeLinear"),
    "DynamicQuantizeLSTM": _quantised_lstm,
    "DynamicQuantizeMatMul": _quantised_product(4), "MatMulIntegerToFloat": _quantised_product(6),
    "EmbedLayerNormalization": _embedding_norm,
    "FusedConv": _fused_layer("Conv", 3), "NhwcFusedConv": _fused_layer("Conv", 3),
    "FusedGemm": _fused_layer("Gemm", 3), "FusedMatMulActivation": _fused_layer("FusedMatMul", 2),
    "GatherBlockQuantized": _packed_rows, "GemmFastGelu": _product_and_gelu,
    "GroupNorm": _grouped_norm, "GroupQueryAttention": _grouped_query,
    "SkipGroupNorm": _skipping_grouped_norm, "SparseAttention": _grouped_query,
    "GatedRelativePositionBias": _gated_bias, "RelativePositionBias": _relative_bias,
    "MoE": _Mixture(((2, 3), (4, 5), (6, 7))), "QMoE": _Mixture(((2, 4), (5, 7), (8, 10)), 14),
    # It forbids to say the same words again, of which the design knows nothing.
    "NGramRepeatBlock": _same("Identity", slice(1, 2)),
    "QOrderedAttention": _in_order(
        _three_layers,
        ((0, 1), (5, 8), (6, 9), (7, 10), (11, None), (12, None), (13, None), (19, None)),
        16,
    ),
    "QOrderedGelu": _in_order(_activated("Gelu"), ((0, 1),), 2),
    "QOrderedLayerNormalization": _in_order(
        _same("LayerNormalization", slice(3), axis=-1), ((0, 1), (2, None), (3, None)), 4
    ),
    "QOrderedLongformerAttention": _in_order(
        _longformer,
        ((0, 1), (2, 3), (4, None), (7, None), (8, 9), (10, None), (12, None)),
        13,
    ),
    "QOrderedMatMul": _in_order(_product, ((0, 1), (2, 3), (5, None), (6, 7)), 4),
    "RemovePadding": _without_padding, "RestorePadding": _with_padding,
    "MatMulBnb4": _packed_product, "MatMulFpQ4": _packed_product, "MatMulNBits": _packed_product,
    "SkipLayerNormalization": _skipping_norm("LayerNormalization"),
    "SkipSimplifiedLayerNormalization": _skipping_norm("SimplifiedLayerNormalization"),
}  # fmt: skip
