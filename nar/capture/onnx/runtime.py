"""onnxruntime's operators in standard form: fused, packed and quantised ones.

Each optimised and each 4-bit export is made of them. A fused operator becomes the nodes that a
plain export has; a packed weight becomes a weight of the shape that it stands for, so that its
parameters count. Caches of keys and values, masks and tables of angles say nothing about a design.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
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
_FOREIGN: Final = "-"  # no operator of the standard
# Operators of onnxruntime -> the operator of `nar.capture.onnx.ops` that is the same.
_RENAMED: Final[Mapping[str, str]] = {
    **{name: name for name in (
        "DequantizeLinear", "Gelu", "GridSample", "LayerNormalization", "Pad", "QuantizeLinear",
        "RMSNormalization", "RotaryEmbedding", "SimplifiedLayerNormalization", "Trilu", "Unique",
    )},
    "BitmaskDropout": "Dropout", "CDist": "Distance", "CropAndResize": "RoiAlign",
    "ExpandDims": "Identity", "Inverse": "Det", "Irfft": "InverseDFT", "MaxpoolWithMask": "MaxPool",
    "NhwcMaxPool": "MaxPool", "QuickGelu": "Gelu", "RemovePadding": "Identity",
    "RestorePadding": "Identity", "Rfft": "DFT", "SparseToDenseMatMul": "MatMul",
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
    """``Attention(input, weight, bias, ...)``: one layer makes query, key and value."""
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
    for place, part in enumerate(parts[1:], start=1):
        if place < len(call.outputs) and call.outputs[place]:
            yield node_of("Identity", [part], call.outputs[place])


def _multi_head(call: _Call) -> Iterator[Any]:
    """``MultiHeadAttention(query, key, value, bias, ...)``; a packed query holds all three."""
    parts, bias = _names(call), call.input(3)
    given = [call.input(place) for place in range(3)]
    if not given[1]:
        made = [f"{part}/unbiased" for part in parts]
        yield _cut(given[0], made, axis=3)
        given = made
    elif not given[2]:
        made = [f"{part}/unbiased" for part in parts[1:]]
        yield _cut(given[1], made, axis=3)
        given = [given[0], *made]
    width = sum(call.extents(bias)) // 3
    for place, (source, part) in enumerate(zip(given, parts, strict=True)):
        cut = f"{part}/bias"
        if bias and width:
            for name, bound in (("from", place * width), ("to", (place + 1) * width)):
                yield constant_of(f"{cut}/{name}", np.array([bound]))
            yield node_of("Slice", [bias, f"{cut}/from", f"{cut}/to"], cut)
        yield from _sum(source, [cut] if bias and width else [], part)
    is_causal = bool(call.number("unidirectional"))
    yield from _attended(call, parts, call.number("num_heads"), is_causal=is_causal)


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
    "Attention": _attention, "DecoderMaskedSelfAttention": _attention, "QAttention": _attention,
    "BiasAdd": _added, "BiasDropout": _added,
    "BiasGelu": _activated("Gelu"), "FastGelu": _activated("Gelu"),
    "BiasSoftmax": _activated("Softmax"), "BiasSplitGelu": _split_gelu,
    "DecoderMaskedMultiHeadAttention": _multi_head, "MultiHeadAttention": _multi_head,
    "DynamicQuantizeLSTM": _quantised_lstm,
    "DynamicQuantizeMatMul": _quantised_product(4), "MatMulIntegerToFloat": _quantised_product(6),
    "EmbedLayerNormalization": _embedding_norm,
    "FusedConv": _fused_layer("Conv", 3), "NhwcFusedConv": _fused_layer("Conv", 3),
    "FusedGemm": _fused_layer("Gemm", 3), "FusedMatMulActivation": _fused_layer("FusedMatMul", 2),
    "GatherBlockQuantized": _packed_rows, "GemmFastGelu": _product_and_gelu,
    "GroupNorm": _grouped_norm, "GroupQueryAttention": _grouped_query,
    "MatMulBnb4": _packed_product, "MatMulFpQ4": _packed_product, "MatMulNBits": _packed_product,
    "SkipLayerNormalization": _skipping_norm("LayerNormalization"),
    "SkipSimplifiedLayerNormalization": _skipping_norm("SimplifiedLayerNormalization"),
}  # fmt: skip
