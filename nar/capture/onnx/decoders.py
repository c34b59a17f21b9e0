"""Operators of onnxruntime that models of text are made of, in standard form.

Attention of groups of heads over a cache, in pages or not; linear attention; causal convolutions
that carry a state; gated norms and activations; several products of few bits in one operator.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from nar.capture.onnx.bodies import constant_of, node_of
from nar.capture.onnx.calls import (
    Expand,
    RuntimeCall,
    activated,
    attended,
    gated,
    names_of_parts,
    parted,
    plus,
    product_of,
    same,
    shaped,
)
from nar.capture.onnx.facts import RECURRENCE


@dataclass(frozen=True, slots=True)
class _GroupedQueries:
    """Attention of groups of query heads; a packed query holds key and value, too.

    Attributes:
        norms: The inputs that hold the weights of the norms of query and key heads.
        added: The inputs that hold what is added to the scores, and a sink beside them.
        causal: The attribute that says that no token sees those after it.
    """

    norms: tuple[int, int] | None = None
    added: tuple[int, ...] = ()
    causal: str = "is_causal"

    def __call__(self, call: RuntimeCall) -> Iterator[Any]:
        """``(query, key, value, caches ...)``, whose keys may be the values, too."""
        parts, heads = names_of_parts(call), call.number("num_heads")
        keys = call.number("kv_num_heads", heads)
        given = [call.input(place) for place in range(3)]
        if call.attributes.get("kv_cache_layout") == "LATENT":
            given[2] = f"{parts[2]}/latent"
            yield from _channels(given[1], 0, call.number("v_head_size"), given[2])
        elif not given[1]:
            given = [f"{part}/flat" for part in parts]
            yield parted(call.inputs[0], given, (heads, keys, keys))
        for place, (source, part) in enumerate(zip(given, parts, strict=True)):
            yield from self._placed(call, place, source, part)
        parts += [call.input(place) for place in self.added if call.input(place)][:1]
        is_causal = bool(call.number(self.causal, 1))
        yield from attended(call, parts, heads, keys, is_causal=is_causal)

    def _placed(self, call: RuntimeCall, place: int, source: str, part: str) -> Iterator[Any]:
        """A query or a key with its norm and its place; a value as it is."""
        weight = call.input(self.norms[place]) if self.norms and place < 2 else ""
        if weight:
            yield node_of("SimplifiedLayerNormalization", [source, weight], f"{part}/norm", axis=-1)
            source = f"{part}/norm"
        is_turned = call.number("do_rotary") and place < 2
        yield node_of("RotaryEmbedding" if is_turned else "Identity", [source], part)


def _channels(value: str, first: int, end: int, result: str) -> Iterator[Any]:
    """Some of the channels, which are the last axis."""
    bounds = {"from": first, "to": end, "axis": -1}
    for name, bound in bounds.items():
        yield constant_of(f"{result}/{name}", np.array([bound]))
    yield node_of("Slice", [value, *(f"{result}/{name}" for name in bounds)], result)


def _linear_attention(call: RuntimeCall) -> Iterator[Any]:
    """``LinearAttention(query, key, value, state, decay, rate)`` over (batch, length, width)."""
    queries, keys = call.number("q_num_heads"), call.number("kv_num_heads")
    rule = str(call.attributes.get("update_rule", "gated_delta"))
    read = []
    for place, heads in ((0, queries), (1, keys), (2, keys), (4, keys)):
        if place < 4 or "gated" in rule:
            read.append(f"{call.result}/{place}")
            yield from shaped(call.input(place), [0, 0, heads, -1], read[-1])
    rates = [call.input(5)] if "delta" in rule else []
    apart, scale = f"{call.result}/heads", float(call.attributes.get("scale", 0))
    yield node_of(RECURRENCE, [*read, *rates], apart, update_rule=rule, scale=scale)
    yield from shaped(apart, [0, 0, -1], call.result)


def _delta_net(call: RuntimeCall) -> Iterator[Any]:
    """``GatedDeltaNet(query, key, value, lengths, decay, rate, state, log, bias, ...)``.

    The decay may be that of the gate ``-exp(log) softplus(decay + bias)``.
    """
    name = f"{call.result}/{{}}".format
    rule = str(call.attributes.get("update_rule", "gated_delta"))
    read = list(call.inputs[:2])
    if call.number("qk_l2_norm"):
        read = [name("query"), name("key")]
        for source, part in zip(call.inputs, read, strict=False):
            yield node_of("LpNormalization", [source], part, axis=-1, p=2)
    read.append(call.inputs[2])
    if "gated" in rule:
        read.append(call.input(4))
        if call.input(7):
            read[-1] = name("decay")
            kind = call.attributes.get("gate_activation")
            yield from _decay(call, "Sigmoid" if kind in ("sigmoid", "kda") else "Softplus")
    if "delta" in rule:
        rate = call.input(5)
        if call.attributes.get("beta_activation") == "sigmoid":
            yield node_of("Sigmoid", [rate], name("rate"))
            rate = name("rate")
        read.append(rate)
    scale = float(call.attributes.get("scale", 0))
    yield node_of(RECURRENCE, read, call.result, update_rule=rule, scale=scale)


def _decay(call: RuntimeCall, activation: str) -> Iterator[Any]:
    name = f"{call.result}/{{}}".format
    yield from plus(call.input(4), [call.input(8)], name("biased"))
    yield node_of(activation, [name("biased")], name("gate"))
    yield node_of("Exp", [call.input(7)], name("rates"))
    yield node_of("Neg", [name("rates")], name("negative"))
    yield node_of("Mul", [name("negative"), name("gate")], name("decay"))


def _attention_gate(call: RuntimeCall) -> Iterator[Any]:
    """``LinearAttentionGate(value, bias, scale, rate)``: a decay, and a rate of change."""
    name = f"{call.result}/{{}}".format
    yield from plus(call.inputs[0], [call.inputs[1]], name("biased"))
    yield node_of("Softplus", [name("biased")], name("gate"))
    yield node_of("Mul", [name("gate"), call.inputs[2]], call.result)
    if call.input(3):
        yield node_of("Sigmoid", [call.input(3)], call.given(1))


def _causal_conv(call: RuntimeCall) -> Iterator[Any]:
    """``CausalConvWithState(value, weight, bias, state)``: by channel, none sees a later place."""
    value, result = call.inputs[0], call.result
    if call.number("input_channels"):
        first, width = call.number("input_channel_offset"), call.number("input_channels")
        value = f"{result}/channels"
        yield from _channels(call.inputs[0], first, first + width, value)
    if not call.number("channels_last"):
        yield from _by_channel(call, value, call.input(2), result)
        return
    yield from shaped(value, [0, 0, -1], f"{result}/flat")
    yield from _on_turned(call, f"{result}/flat", call.input(2), f"{result}/sequence")
    yield node_of("Shape", [value], f"{result}/extents")
    yield node_of("Reshape", [f"{result}/sequence", f"{result}/extents"], result)


def _causal_conv_of_tokens(call: RuntimeCall) -> Iterator[Any]:
    """``VarlenCausalConvWithState(tokens, weight, lengths, bias, state)``: sequences in a row."""
    if call.input(6):
        yield call.unread("VarlenCausalConvWithState")  # its weights differ from token to token
        return
    name = f"{call.result}/{{}}".format
    yield node_of("Unsqueeze", [call.inputs[0]], name("batch"), axes=[0])
    yield from _on_turned(call, name("batch"), call.input(3), name("sequence"))
    yield node_of("Squeeze", [name("sequence")], call.result, axes=[0])


def _on_turned(call: RuntimeCall, value: str, bias: str, result: str) -> Iterator[Any]:
    """The convolution of (batch, length, channels)."""
    yield node_of("Transpose", [value], f"{result}/turned", perm=[0, 2, 1])
    yield from _by_channel(call, f"{result}/turned", bias, f"{result}/channels first")
    yield node_of("Transpose", [f"{result}/channels first"], result, perm=[0, 2, 1])


def _by_channel(call: RuntimeCall, value: str, bias: str, result: str) -> Iterator[Any]:
    """The convolution of (batch, channels, places)."""
    channels, _, *kernel = call.extents(call.inputs[1]) or (1, 1, 1)
    dilation = call.number("dilation", 1)
    *others, last = kernel
    begins = [(extent - 1) // 2 for extent in others]
    ends = [extent // 2 for extent in others]
    stated = {
        "group": channels, "kernel_shape": kernel, "dilations": [*[1] * len(others), dilation],
        "pads": [*begins, (last - 1) * dilation, *ends, 0],
    }  # fmt: skip
    operands = [value, call.inputs[1], *([bias] if bias else [])]
    yield node_of("Conv", operands, f"{result}/bare", **stated)
    yield from activated(call.attributes.get("activation", "none"), f"{result}/bare", result)


def _gated_norm(call: RuntimeCall) -> Iterator[Any]:
    """``GatedRMSNorm(value, weight, gate)``: the norm of each head, times the activated gate."""
    norm, gate = f"{call.result}/norm", f"{call.result}/gate"
    yield node_of("SimplifiedLayerNormalization", call.inputs[:2], norm, axis=-1)
    yield from activated(call.attributes.get("activation", "silu"), call.inputs[2], gate)
    yield node_of("Mul", [norm, gate], call.result)


def _gated_sum(call: RuntimeCall) -> Iterator[Any]:
    """``GatedAdd(value, other, gate, weight)``: a weight makes the gate of a value."""
    name = f"{call.result}/{{}}".format
    gate = call.inputs[2]
    if call.input(3):
        yield node_of("MatMul", [gate, call.input(3)], name("product"))
        yield node_of("Sigmoid", [name("product")], name("gate"))
        gate = name("gate")
    yield node_of("Mul", [call.inputs[1], gate], name("gated"))
    yield node_of("Add", [call.inputs[0], name("gated")], call.result)


def _gated_activation(call: RuntimeCall) -> Iterator[Any]:
    """``SwiGLU(gate, value)``; without a value, the gate's second half is the value."""
    gate, value = call.inputs[0], call.input(1)
    if not value:
        gate, value = f"{call.result}/gate", f"{call.result}/value"
        yield parted(call.inputs[0], [gate, value])
    yield from gated(call, "swiglu", gate, value, call.result)


def _router_and_gate(call: RuntimeCall) -> Iterator[Any]:
    """``RouterGateUpProj(value, weight)``: scores of experts, and a gated value, by one layer."""
    product, rest = f"{call.result}/product", f"{call.result}/rest"
    gate, value = f"{rest}/gate", f"{rest}/value"
    columns, scores = (call.extents(call.inputs[1]) or (0, 0))[-1], call.number("router_size")
    yield node_of("MatMul", call.inputs[:2], product)
    yield parted(product, [call.result, rest], (scores, columns - scores))
    yield parted(rest, [gate, value])
    yield from gated(call, "swiglu", gate, value, call.given(1))


def _scaled_activation(call: RuntimeCall) -> Iterator[Any]:
    """``ScaledSiLU(value, scale)``."""
    scale = call.input(1)
    if not scale:
        scale = f"{call.result}/scale"
        yield constant_of(scale, np.float32(call.attributes.get("alpha", 1.0)))
    yield node_of("Mul", [call.inputs[0], scale], f"{call.result}/scaled")
    yield node_of("Swish", [f"{call.result}/scaled"], call.result)


def _turned_norm(call: RuntimeCall) -> Iterator[Any]:
    """``RMSNormRotary(heads, weight, places ...)``: heads become channels."""
    name = f"{call.result}/{{}}".format
    value, width = call.inputs[0], call.number("input_width")
    if width:
        start = call.number("input_start")
        yield from _channels(call.inputs[0], start, start + width, name("cut"))
        value = name("cut")
    yield node_of("SimplifiedLayerNormalization", [value, call.inputs[1]], call.given(1), axis=-1)
    yield node_of("RotaryEmbedding", [call.given(1)], name("turned"))
    if not call.number("flatten_batch"):
        yield from shaped(name("turned"), [0, 0, -1], call.result)
        return
    yield from shaped(name("turned"), [0, 0, -1], name("channels"))
    yield node_of("Flatten", [name("channels")], name("tokens"), axis=2)
    yield node_of("Unsqueeze", [name("tokens")], call.result, axes=[0])


def _turned_pair(call: RuntimeCall) -> Iterator[Any]:
    """``GemmaRotaryEmbedding(angles, query, query turned by a half, key, key ...)``."""
    for place, source in enumerate((call.inputs[1], call.inputs[3])):
        yield node_of("RotaryEmbedding", [source], call.given(place))


def _memory_gate(call: RuntimeCall) -> Iterator[Any]:
    """``EngramGate(key, query, value, weight, weight, weight)``: keys say how much of a value."""
    name = f"{call.result}/{{}}".format
    for part, (value, weight) in {"key": (0, 3), "query": (1, 4)}.items():
        inputs = [call.inputs[value], call.inputs[weight]]
        yield node_of("SimplifiedLayerNormalization", inputs, name(part), axis=-1)
    yield node_of("Mul", [name("key"), name("query")], name("products"))
    yield node_of("ReduceSum", [name("products")], name("sum"), axes=[-1], keepdims=1)
    width = (call.extents(call.inputs[3]) or (1,))[-1]
    yield constant_of(name("root"), np.float32(width**0.5))
    yield node_of("Div", [name("sum"), name("root")], name("likeness"))
    yield node_of("Abs", [name("likeness")], name("size"))
    yield constant_of(name("least"), np.float32(1e-6))
    yield node_of("Max", [name("size"), name("least")], name("positive"))
    yield node_of("Sqrt", [name("positive")], name("flat"))
    yield node_of("Sign", [name("likeness")], name("sign"))
    yield node_of("Mul", [name("sign"), name("flat")], name("signed"))
    yield node_of("Sigmoid", [name("signed")], name("gate"))
    yield node_of("Unsqueeze", [call.inputs[2]], name("value"), axes=[2])
    yield node_of("Mul", [name("gate"), name("value")], call.result)
    if call.input(5):
        inputs = [call.result, call.input(5)]
        yield node_of("SimplifiedLayerNormalization", inputs, call.given(1), axis=-1)


def _normed(call: RuntimeCall, total: str) -> Iterator[Any]:
    """The norm of the first input, to which the second is added."""
    value, weight = f"{call.result}/normed", call.input(2)
    yield from plus(call.inputs[0], [call.input(1)], total)
    operator = "SimplifiedLayerNormalization" if weight else "Identity"
    yield node_of(operator, [total, *([weight] if weight else [])], value)


def _projections(
    call: RuntimeCall, parts: Iterable[str], columns: Sequence[int], total: str
) -> Iterator[Any]:
    """Layers of few bits on one norm: three inputs of each hold weight, scales and bias."""
    inner = call.number("K")
    yield from _normed(call, total)
    for place, (part, outer) in enumerate(zip(parts, columns, strict=True)):
        weight, bias = call.inputs[3 + 3 * place], call.input(5 + 3 * place)
        yield from product_of(call, f"{call.result}/normed", (weight, inner, outer), bias, part)


def _query_key_value(call: RuntimeCall) -> Iterator[Any]:
    """``MatMulNBitsQkv(value, other, weight of the norm, ...)``: three layers of few bits."""
    own, shared = call.number("Nq"), call.number("Nkv")
    parts = [call.given(place) for place in range(3)]
    yield from _projections(call, parts, (own, shared, shared), call.given(3))


def _gated_layers(call: RuntimeCall) -> Iterator[Any]:
    """``MatMulNBitsMlp(value, other, weight of the norm, ...)``: one layer gates another."""
    gate, value = f"{call.result}/gate", f"{call.result}/value"
    yield from _projections(call, [gate, value], [call.number("N")] * 2, call.given(1))
    yield from activated(call.attributes.get("activation", "silu"), gate, f"{gate}/activated")
    yield node_of("Mul", [f"{gate}/activated", value], call.result)


def _adapted_product(call: RuntimeCall) -> Iterator[Any]:
    """``MatMulNBitsQLoRA(value, weight, scales, weight, scales, weight, scales)``."""
    name = f"{call.result}/{{}}".format
    inner, outer = call.number("K"), call.number("N")
    ranks = [prod(call.extents(call.inputs[place])[:1]) for place in (3, 5)]
    rank = ranks[0] if all(ranks) else 0  # an adapter that is left out has no rows
    base = name("base") if rank else call.result
    yield from product_of(call, call.inputs[0], (call.inputs[1], inner, outer), "", base)
    if rank:
        yield from product_of(call, call.inputs[0], (call.inputs[3], inner, rank), "", name("a"))
        yield from product_of(call, name("a"), (call.inputs[5], rank, outer), "", name("b"))
        yield node_of("Add", [base, name("b")], call.result)


def _packed_product(call: RuntimeCall) -> Iterator[Any]:
    """``MatMulPacked(value, weight)``, which may activate the product."""
    weight = (call.inputs[1], call.number("K"), call.number("N"))
    yield from product_of(call, call.inputs[0], weight, "", f"{call.result}/bare")
    kind = call.attributes.get("activation_type", "none")
    yield from activated(kind, f"{call.result}/bare", call.result)


@dataclass(frozen=True, slots=True)
class _StoredProduct:
    """A product with the transpose of a weight, of which a byte holds one or two numbers.

    Attributes:
        in_a_byte: How many numbers a byte holds.
        bias: The input that holds what is added.
    """

    in_a_byte: int
    bias: int

    def __call__(self, call: RuntimeCall) -> Iterator[Any]:
        """``(value, weight, scales, ...)``."""
        rows, columns = call.extents(call.inputs[1]) or (0, 0)
        weight = (call.inputs[1], columns * self.in_a_byte, rows)
        yield from product_of(call, call.inputs[0], weight, call.input(self.bias), call.result)


DECODERS: Final[Mapping[str, Expand]] = {
    "BranchwiseRMSNorm": same("SimplifiedLayerNormalization", axis=-1),
    "CausalConvWithState": _causal_conv, "VarlenCausalConvWithState": _causal_conv_of_tokens,
    "DynamicSparseAttention": _GroupedQueries((14, 15), (16,)),
    "EngramGate": _memory_gate, "GatedAdd": _gated_sum, "GatedDeltaNet": _delta_net,
    "GatedRMSNorm": _gated_norm, "GemmaRotaryEmbedding": _turned_pair,
    "GroupQueryAttention": _GroupedQueries((14, 15), (10, 11), "causal"),
    "LinearAttention": _linear_attention, "LinearAttentionGate": _attention_gate,
    "MatMulBlockQuantizedFp4Weight": _StoredProduct(2, 5),
    "MatMulBlockQuantizedFp8Weight": _StoredProduct(1, 4),
    "MatMulNBitsMlp": _gated_layers, "MatMulNBitsQLoRA": _adapted_product,
    "MatMulNBitsQkv": _query_key_value, "MatMulPacked": _packed_product,
    "PagedAttention": _GroupedQueries((12, 13), (11,)), "RMSNormRotary": _turned_norm,
    "RouterGateUpProj": _router_and_gate,
    "ScaledSiLU": _scaled_activation, "SparseAttention": _GroupedQueries(),
    "SparsePagedAttention": _GroupedQueries((17, 18), (16,)), "SwiGLU": _gated_activation,
}  # fmt: skip
