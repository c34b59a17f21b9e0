"""Rows of tables and mixtures of experts of onnxruntime, in standard form."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from nar.capture.onnx.bodies import constant_of, node_of
from nar.capture.onnx.calls import (
    Expand,
    RuntimeCall,
    activated,
    gated,
    is_bytes,
    parted,
    plus,
    shaped,
)

_INT64: Final = 7  # of the types of elements in ``onnx.proto``


def _embedding_norm(call: RuntimeCall) -> Iterator[Any]:
    """Layer norm of the sum of the rows of up to three tables."""
    ids, segments, words, positions, kinds = call.inputs[:5]
    places = call.input(8) or f"{call.result}/places"
    if not call.input(8):
        yield node_of("Shape", [ids], f"{call.result}/extents")
        yield node_of("ConstantOfShape", [f"{call.result}/extents"], f"{places}/zeros")
        yield node_of("Cast", [f"{places}/zeros"], places, to=_INT64)
    rows: list[str] = []
    for table, index in ((words, ids), (kinds, segments), (positions, places)):
        if table and index:
            rows.append(f"{call.result}/rows {len(rows)}")
            yield node_of("Gather", [table, index], rows[-1], axis=0)
    total = call.given(2)
    yield from plus(rows[0], rows[1:], total)
    yield node_of("LayerNormalization", [total, *call.inputs[5:7]], call.result, axis=-1)


def _quantised_embedding_norm(call: RuntimeCall) -> Iterator[Any]:
    """``QEmbedLayerNormalization``: the same of tables and weights of whole numbers."""
    read = [call.input(place) for place in range(7)]
    for place in range(2, 7):
        if read[place]:
            read[place] = call.learned(read[place], *call.extents(read[place]))
    yield from _embedding_norm(replace(call, inputs=tuple(read), outputs=call.outputs[:1]))


def _packed_rows(call: RuntimeCall) -> Iterator[Any]:
    """Rows of a table of few bits."""
    *rows, columns = call.extents(call.inputs[0])
    proto_bits = 8 if is_bytes(call.weights.get(call.inputs[0])) else call.number("bits", 4)
    table = call.learned(call.inputs[0], *rows, columns * proto_bits // call.number("bits", 4))
    yield node_of("Gather", [table, call.inputs[1]], call.result, axis=call.number("gather_axis"))


def _packed_words(call: RuntimeCall) -> Iterator[Any]:
    """``GatherPacked(table, index)``: rows of a table in blocks of few bits."""
    rows, _ = call.extents(call.inputs[0]) or (0, 0)
    table = call.learned(call.inputs[0], rows, call.number("K"))
    yield node_of("Gather", [table, call.inputs[1]], call.result, axis=0)


def _words_of_characters(call: RuntimeCall) -> Iterator[Any]:
    """``WordConvEmbedding(characters, weight, bias, table)``: a convolution over each word."""
    name = f"{call.result}/{{}}".format
    yield node_of("Gather", [call.inputs[3], call.inputs[0]], name("rows"), axis=0)
    yield from _extents_of(name("rows"), {"start": -2}, [-1, 1], name("images"))
    yield node_of("Reshape", [name("rows"), name("images")], name("words"))
    yield node_of("Conv", [name("words"), *call.inputs[1:3]], name("conv"))
    yield node_of("Tanh", [name("conv")], name("active"))
    yield node_of("GlobalMaxPool", [name("active")], name("most"))
    yield node_of("Shape", [call.inputs[0]], name("places"), start=0, end=-1)
    yield constant_of(name("width"), np.array([-1]))
    yield node_of("Concat", [name("places"), name("width")], name("shape"), axis=0)
    yield node_of("Reshape", [name("most"), name("shape")], call.result)


def _extents_of(
    value: str, part: Mapping[str, int], before: list[int], result: str
) -> Iterator[Any]:
    """A shape: some extents, and after them a part of those of a value."""
    yield node_of("Shape", [value], f"{result}/part", **part)
    yield constant_of(f"{result}/before", np.array(before))
    yield node_of("Concat", [f"{result}/before", f"{result}/part"], result, axis=0)


EMBEDDINGS: Final[Mapping[str, Expand]] = {
    "EmbedLayerNormalization": _embedding_norm, "GatherBlockQuantized": _packed_rows,
    "GatherPacked": _packed_words, "QEmbedLayerNormalization": _quantised_embedding_norm,
    "WordConvEmbedding": _words_of_characters,
}  # fmt: skip


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

    def __call__(self, call: RuntimeCall) -> Iterator[Any]:
        """``MoE(tokens, scores of experts, weights ...)``: the best experts of each token."""
        name = f"{call.result}/{{}}".format
        yield from self._routed(call)
        extents = call.extents(call.input(self.places[1][0]))
        yield from shaped(call.inputs[0], [-1, 1, *(extents[1:2] or [0]), 1], name("tokens"))
        yield from self._layer(call, 0, name("tokens"), name("first"))
        yield from self._activated(call)
        yield from shaped(name("hidden"), [0, 0, -1, 1], name("hidden/column"))
        yield from self._layer(call, 1, name("hidden/column"), name("second"))
        yield from shaped(name("shares"), [0, 0, 1], name("shares/column"))
        yield node_of("Mul", [name("second"), name("shares/column")], name("shared"))
        yield constant_of(name("experts"), np.array([1]))
        yield node_of("ReduceSum", [name("shared"), name("experts")], name("sum"), keepdims=0)
        yield node_of("Shape", [call.inputs[0]], name("shape"))
        yield node_of("Reshape", [name("sum"), name("shape")], call.result)

    def _routed(self, call: RuntimeCall) -> Iterator[Any]:
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
            yield node_of("Div", [shares, name("total")], name("parts"))
            shares = name("parts")
        factor = call.attributes.get("routed_scaling_factor", 1.0)
        yield constant_of(name("factor"), np.float32(factor))
        scaled = ("Identity", [shares]) if factor == 1 else ("Mul", [shares, name("factor")])
        yield node_of(*scaled, name("shares"))

    def _layer(self, call: RuntimeCall, which: int, value: str, result: str) -> Iterator[Any]:
        """One layer of the chosen experts on columns (tokens, experts, width, 1)."""
        weight, bias = (call.input(place) for place in self.places[which])
        weight = self._weight(call, weight, f"fc{which + 1}_expert_weight_bits")
        chosen = f"{call.result}/chosen"
        yield node_of("Gather", [weight, chosen], f"{result}/weights", axis=0)
        yield node_of("MatMul", [f"{result}/weights", value], f"{result}/column")
        yield from shaped(f"{result}/column", [0, 0, -1], f"{result}/row")
        if bias:
            yield node_of("Gather", [bias, chosen], f"{result}/bias", axis=0)
        yield from plus(f"{result}/row", [f"{result}/bias"] if bias else [], result)

    @staticmethod
    def _weight(call: RuntimeCall, weight: str, bits: str) -> str:
        """A weight of the experts, as float where it has few bits."""
        if not is_bytes(call.weights.get(weight)):
            return weight
        experts, rows, columns = call.extents(weight)
        numbers = columns * 8 // call.number(bits, call.number("expert_weight_bits", 4))
        # Of this kind, the file has the transpose of the weight.
        is_turned = call.attributes.get("quant_type") == "nvfp4"
        shape = (numbers, rows) if is_turned else (rows, numbers)
        return call.learned(weight, experts, *shape)

    def _activated(self, call: RuntimeCall) -> Iterator[Any]:
        """The hidden values: activated, and where they are gates, times what they gate."""
        name = f"{call.result}/{{}}".format
        kind = call.attributes.get("activation_type", "relu")
        has_third = bool(call.input(self.places[2][0]))
        if not has_third and kind not in _GATED:
            yield from activated(kind, name("first"), name("hidden"))
            return
        gate, value = name("first"), name("value")
        if has_third:
            yield from self._layer(call, 2, name("tokens"), value)
        else:
            gate = name("gate")
            yield parted(name("first"), [gate, value])
        yield from gated(call, kind, gate, value, name("hidden"))


_GATED: Final = frozenset({"geglu", "swiglu"})


def _packed_experts(call: RuntimeCall) -> Iterator[Any]:
    """``MoEPacked(tokens, scores, gates, values, layers out, shares)``, in blocks of few bits."""
    gate, value, last = call.inputs[2], call.input(3), call.inputs[4]
    (experts, inner, _), (_, outer, _) = (call.extents(name) or (1, 0, 0) for name in (gate, last))
    weights = [
        call.learned(name, experts, *shape) if name else ""
        for name, shape in ((gate, (inner, outer)), (last, (outer, inner)), (value, (inner, outer)))
    ]
    inputs = (*call.inputs[:2], weights[0], "", weights[1], "", weights[2], "", call.input(5))
    yield from _Mixture(((2, 3), (4, 5), (6, 7)), 8)(replace(call, inputs=inputs))


EXPERTS: Final[Mapping[str, Expand]] = {
    "MoE": _Mixture(((2, 3), (4, 5), (6, 7))), "MoEPacked": _packed_experts,
    "QMoE": _Mixture(((2, 4), (5, 7), (8, 10)), 14),
}  # fmt: skip
