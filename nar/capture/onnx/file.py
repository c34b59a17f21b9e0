"""Capture of an ONNX file: its graph only, never weights that lie in other files."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

import numpy as np

from nar.base.errors import CaptureError, one_line
from nar.capture.graphs import to_capture
from nar.capture.onnx.bodies import attributes_of, in_line
from nar.capture.onnx.facts import facts_of, onnx, operator_name
from nar.capture.onnx.ops import OPERANDS, QUANTISED, SPLITS, WEIGHTS, OnnxCall, onnx_table
from nar.capture.onnx.patterns import in_standard_form, simplified
from nar.capture.onnx.runtime import standard_name
from nar.capture.record import Capture
from nar.capture.trace import Trace, TraceBuilder, TraceExtras, input_values, port

# Chosen: a weight is compared with as many tables of its shape; language models have one or two.
_MOST_TABLES: Final = 4


def capture_onnx(path: Path, *, name: str) -> Capture:
    """The graph of an ONNX model. Float initializers are its parameters, integer ones constants.

    Args:
        path: A ``.onnx`` file. External data is not read: dimensions are in the file itself.
        name: Name of the model, for errors.

    Raises:
        CaptureError: No such file, no ONNX model, or one without nodes.
        MissingLibraryError: onnx is not installed.
    """
    return capture_model(partial(_load, path), name=name)


def capture_model(load: Callable[[], Any], *, name: str) -> Capture:
    """The graph of a model that is read from outside.

    Args:
        load: Gives a ``ModelProto``, and raises whatever a wrong file raises.
        name: Name of the model, for errors.

    Raises:
        CaptureError: The model cannot be read.
        MissingLibraryError: onnx is not installed.
    """
    onnx()
    operator = "-"
    # A file from outside can be wrong in any way; whatever follows from that is one error.
    try:
        reader = OnnxReader(_in_one_form(load()))
        try:
            trace = reader.trace()
        finally:
            operator = reader.last_operator
    except Exception as error:
        raise CaptureError(name, operator, one_line(error)) from error
    capture = to_capture(trace, name=name)
    return replace(capture, unknown_facts={**capture.unknown_facts, **reader.facts.unknown})


def _load(path: Path) -> Any:  # noqa: ANN401
    if path.stat().st_size > _MOST_BYTES:
        model = onnx().load_model_from_string(_without_weights(path))
    else:
        model = onnx().load(path, load_external_data=False)
    return model


def _in_one_form(model: Any) -> Any:  # noqa: ANN401
    """A model without functions, bodies and operators of onnxruntime."""
    if not model.graph.node:
        raise ValueError("wanted an ONNX model with nodes, came none")
    if model.functions:
        model = onnx("inliner").inline_local_functions(model)
    in_line(model.graph)
    nodes = in_standard_form(model.graph)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


# What a message of a file may hold: tensors, the fields of their numbers, and messages around them.
# Numbers are those of ``onnx.proto``.
_NUMBERS: Final = None
_TENSOR: Final = dict.fromkeys((4, 5, 6, 7, 9, 10, 11), _NUMBERS)
_ATTRIBUTE: Final[dict[int, Any]] = {5: _TENSOR, 10: _TENSOR}
_GRAPH: Final = {1: {5: _ATTRIBUTE}, 5: _TENSOR, 15: {1: _TENSOR, 2: _TENSOR}}
_ATTRIBUTE.update({6: _GRAPH, 11: _GRAPH})  # a body
_MODEL: Final = {7: _GRAPH, 25: {7: {5: _ATTRIBUTE}}}
_ELSEWHERE: Final = bytes([14 << 3, 1])  # ``data_location: EXTERNAL``
_MOST_BYTES: Final = 2**31 - 1  # of a message, by the libraries of protobuf
# Chosen: more numbers than this are a weight, of which the shape is enough.
_MOST_WEIGHT_BYTES: Final = 1 << 20
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5  # wire types of protobuf


def _without_weights(path: Path) -> bytes:
    """The bytes of a model without the numbers of its weights, which are never in memory.

    Raises:
        ValueError: The file is no message of protobuf.
        OSError: It cannot be read.
    """
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        try:
            return _kept(content, 0, len(content), _MODEL)
        except (IndexError, KeyError, RecursionError) as error:
            raise ValueError("wanted a model of ONNX, came a file that is none") from error


def _kept(content: mmap, start: int, end: int, held: Mapping[int, Any]) -> bytes:
    """The part of a message that is kept: all but the numbers of large tensors."""
    parts: list[bytes] = []
    is_left_out = False
    while start < end:
        field = start
        key, start = _varint(content, start)
        number, kind = key >> 3, key & 7
        length, body = _extent(content, start, kind)
        start = body + length
        if start > end:
            raise IndexError(start)
        inner = held.get(number, held)
        if kind != _LENGTH or inner is held:
            parts.append(content[field:start])
        elif inner is not _NUMBERS:
            inside = _kept(content, body, start, inner)
            parts += [_as_varint(key), _as_varint(len(inside)), inside]
        elif length <= _MOST_WEIGHT_BYTES:
            parts.append(content[field:start])
        else:
            is_left_out = True
    return b"".join([*parts, _ELSEWHERE] if is_left_out else parts)


def _extent(content: mmap, start: int, kind: int) -> tuple[int, int]:
    """How many bytes the value of a field has, and where they begin."""
    if kind == _LENGTH:
        return _varint(content, start)
    if kind == _VARINT:
        return _varint(content, start)[1] - start, start
    return {_EIGHT: 8, _FOUR: 4}[kind], start


def _varint(content: mmap, start: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    number = shift = 0
    while True:
        byte = content[start]
        number |= (byte & 0x7F) << shift
        start, shift = start + 1, shift + 7
        if byte < 0x80:
            return number, start
        if shift > 63:
            raise IndexError(start)


def _as_varint(number: int) -> bytes:
    content = bytearray()
    while number > 0x7F:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*content, number])


class OnnxReader:
    """Writes one ONNX graph to a trace.

    Args:
        model: A ``ModelProto`` without local functions.

    Attributes:
        last_operator: The last operator read, for error reports.
        facts: Shapes and numbers of its values.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        self.last_operator = "-"
        self._graph = model.graph
        self.facts = facts_of(model)
        self._builder = TraceBuilder()
        self._initializers = {tensor.name: tensor for tensor in self._graph.initializer}
        self._quantised = {
            name
            for node in self._graph.node
            if node.op_type in QUANTISED
            for name in _operands(node)
        }
        self._weights = {
            node.input[position]
            for node in self._graph.node
            for position in WEIGHTS.get(node.op_type, ())
            if position < len(node.input)
        }
        self._tables = defaultdict(list)
        looked_up = (node.input[0] for node in self._graph.node if node.op_type == "Gather")
        for name in dict.fromkeys(looked_up):
            if name in self._initializers:
                self._tables[self.facts.shape(name)].append(self._initializers[name])
        self._values: dict[str, int] = {}
        self._parameters = 0

    def trace(self) -> Trace:
        """All nodes, in the order of the file, which is topological."""
        inputs = [entry for entry in self._graph.input if entry.name not in self._initializers]
        known = [
            (self.facts.shape(entry.name), _is_float(_element(entry.type))) for entry in inputs
        ]
        for entry, value in zip(inputs, input_values(self._builder, known), strict=True):
            self._values[entry.name] = value
        for node in simplified(self._graph, self.facts):
            self.last_operator = node.op_type
            self._builder.path = _module_of(node)
            outputs = [name for name in node.output if name]
            if node.op_type in SPLITS:
                self._values.update({name: self._node(node, name) for name in outputs})
            else:
                value = self._value(node, node.output[0])
                self._values.update(dict.fromkeys(outputs, value))
        outputs = [self._read(output.name) for output in self._graph.output]
        beside = TraceExtras(self._signature(inputs), self._signature(self._graph.output))
        return self._builder.trace(outputs, self._parameters, beside)

    def _signature(self, entries: Iterable[Any]) -> tuple[str, ...]:
        return tuple(
            port(entry.name, _kind(_element(entry.type)), self.facts.shape(entry.name))
            for entry in entries
        )

    def _value(self, node: Any, output: str) -> int:  # noqa: ANN401
        # A file whose weights were removed makes tensors of their shapes.
        if node.op_type == "ConstantOfShape" and output in self._weights:
            return self._parameter(output)
        if output in self.facts.numbers or node.op_type == "Constant":
            return self._constant(output)
        # Weights of equal values are stored once; the others are copies of the stored one.
        if node.op_type == "Identity" and self._is_learned(node.input[0]):
            return self._parameter(output)
        return self._node(node, output)

    def _node(self, node: Any, output: str) -> int:  # noqa: ANN401
        emit = onnx_table().get(standard_name(node))
        names = _operands(node)
        numbers = [self.facts.numbers.get(name) for name in names]
        call = OnnxCall(
            attributes_of(node),
            tuple([self._read(name) for name in names]),
            tuple([self.facts.shape(name) for name in names]),
            tuple([None if n is None else tuple(n.astype(float).flatten()) for n in numbers]),
            self.facts.shape(output),
        )
        if emit is None:
            operator = operator_name(node)
            self._builder.count_unknown(operator)
            return self._builder.emit(operator, call.values, call.shape)
        return emit(self._builder, call)

    def _read(self, name: str) -> int:
        if name not in self._values:
            learned = self._is_learned(self._initializers[name].name)
            self._values[name] = self._parameter(name) if learned else self._constant(name)
        return self._values[name]

    def _is_learned(self, name: str) -> bool:
        tensor = self._initializers.get(name)
        if tensor is None or prod(tensor.dims) <= 1:
            return False
        return _is_float(tensor.data_type) or name in self._quantised

    def _parameter(self, name: str) -> int:
        shape = self.facts.shape(name)
        weight, tables = self._initializers.get(name), self._tables.get(shape[::-1], ())
        if weight is None or not any(are_tied(each, weight) for each in tables[:_MOST_TABLES]):
            self._parameters += prod(shape)
        return self._builder.parameter(name, shape)

    def _constant(self, name: str) -> int:
        numbers = self.facts.numbers.get(name)
        number = float(numbers.item()) if numbers is not None and numbers.size == 1 else None
        return self._builder.constant(self.facts.shape(name), number=number)


def are_tied(table: Any, weight: Any) -> bool:  # noqa: ANN401
    """Whether a weight is the transpose of an embedding table: exporters store both.

    Args:
        table: An initializer of the graph.
        weight: Another initializer, of the table's shape reversed.
    """
    if table.name == weight.name or any(
        map(onnx("external_data_helper").uses_external_data, (table, weight))
    ):
        return False
    try:
        rows, columns = map(onnx("numpy_helper").to_array, (table, weight))
    except ValueError:  # the file holds no numbers of the tensor
        return False
    return bool(rows.any()) and np.array_equal(rows.T, columns)  # zeros say nothing


def _operands(node: Any) -> list[str]:  # noqa: ANN401
    """Names of the inputs that are read; inputs that are left out do not count."""
    every = list(node.input)
    positions = OPERANDS.get(node.op_type, range(len(every)))
    return [every[position] for position in positions if position < len(every) and every[position]]


def _module_of(node: Any) -> str | None:  # noqa: ANN401
    """The module that ran a node, where its name says it, as in ``/layers.3/q_proj/MatMul``."""
    path, _, _ = node.name.rpartition("/")
    return ".".join(part for part in path.split("/") if part) if node.name[:1] == "/" else None


def _element(kind: Any) -> int:  # noqa: ANN401
    """The code of a tensor's elements; of a sequence or a map, of those of its values."""
    held = getattr(kind, kind.WhichOneof("value") or "tensor_type")
    is_map = kind.WhichOneof("value") == "map_type"
    element = held.value_type if is_map else held.elem_type
    if not isinstance(element, int):
        return _element(element)
    return element or int(onnx().TensorProto.FLOAT)  # of an element of a sequence none is stated


def _kind(code: int) -> str:
    """What the numbers of a type are."""
    kind: str = onnx("helper").tensor_dtype_to_np_dtype(code).kind
    return {"b": "bool", "i": "int", "u": "int", "c": "complex"}.get(kind, "float")


def _is_float(code: int) -> bool:
    kind = onnx("helper").tensor_dtype_to_np_dtype(code)
    return not np.issubdtype(kind, np.integer) and kind != np.bool_
