"""Operators of onnxruntime that look up rows of tables, in standard form."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from nar.capture.onnx.bodies import constant_of, node_of
from nar.capture.onnx.calls import Call, Expand, is_bytes, plus

_INT64: Final = 7  # of the types of elements in ``onnx.proto``


def _embedding_norm(call: Call) -> Iterator[Any]:
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


def _quantised_embedding_norm(call: Call) -> Iterator[Any]:
    """``QEmbedLayerNormalization``: the same of tables and weights of whole numbers."""
    read = [call.input(place) for place in range(7)]
    for place in range(2, 7):
        if read[place]:
            read[place] = call.learned(read[place], *call.extents(read[place]))
    yield from _embedding_norm(replace(call, inputs=tuple(read), outputs=call.outputs[:1]))


def _packed_rows(call: Call) -> Iterator[Any]:
    """Rows of a table of few bits."""
    *rows, columns = call.extents(call.inputs[0])
    proto_bits = 8 if is_bytes(call.weights.get(call.inputs[0])) else call.number("bits", 4)
    table = call.learned(call.inputs[0], *rows, columns * proto_bits // call.number("bits", 4))
    yield node_of("Gather", [table, call.inputs[1]], call.result, axis=call.number("gather_axis"))


def _packed_words(call: Call) -> Iterator[Any]:
    """``GatherPacked(table, index)``: rows of a table in blocks of few bits."""
    rows, _ = call.extents(call.inputs[0]) or (0, 0)
    table = call.learned(call.inputs[0], rows, call.number("K"))
    yield node_of("Gather", [table, call.inputs[1]], call.result, axis=0)


def _words_of_characters(call: Call) -> Iterator[Any]:
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
