"""Capture of an ONNX file: its graph only, never weights that lie in other files."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module, util
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from nar.capture.forward.dispatch import one_line
from nar.capture.graphs import to_capture
from nar.capture.onnx.emitters import UNKNOWN_SHAPE, OnnxCall
from nar.capture.onnx.folding import fold_integers
from nar.capture.onnx.ops import SPLITS, onnx_table
from nar.capture.record import Capture
from nar.capture.trace import Shape, Trace, TraceBuilder
from nar.errors import CaptureError, MissingLibraryError

_MAX_NUMBERS = 16  # constants this small may be axes, bounds or literals


def capture_onnx(path: Path, *, name: str) -> Capture:
    """The graph of an ONNX model. Float initializers are its parameters, integer ones constants.

    Args:
        path: A ``.onnx`` file. External data is not read: dimensions are in the file itself.
        name: Name of the model, for errors.

    Raises:
        CaptureError: No such file, no ONNX model, or one without nodes.
        MissingLibraryError: onnx is not installed.
    """
    if util.find_spec("onnx") is None:
        raise MissingLibraryError("onnx is not installed: pip install 'nar[onnx]'")
    operator = "-"
    # A file from outside can be wrong in any way; whatever follows from that is one error.
    try:
        reader = OnnxReader(_load(path))
        try:
            trace = reader.trace()
        finally:
            operator = reader.last_operator
    except Exception as error:
        raise CaptureError(name, operator, one_line(error)) from error
    return to_capture(trace, name=name)


@cache
def _onnx(module: str = "onnx") -> ModuleType:
    return import_module(module)


def _load(path: Path) -> Any:  # noqa: ANN401
    model = _onnx().load(path, load_external_data=False)
    if not model.graph.node:
        raise ValueError("wanted an ONNX model with nodes, came none")
    if model.functions:
        model = _onnx("onnx.inliner").inline_local_functions(model)
    fold_integers(model.graph)
    return _onnx("onnx.shape_inference").infer_shapes(model, data_prop=True)


class OnnxReader:
    """Writes one ONNX graph to a trace.

    Args:
        model: A ``ModelProto`` with inferred shapes.

    Attributes:
        last_operator: The last operator read, for error reports.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        self.last_operator = "-"
        self._graph = model.graph
        self._builder = TraceBuilder()
        self._initializers = {tensor.name: tensor for tensor in self._graph.initializer}
        self._values: dict[str, int] = {}
        self._numbers: dict[str, tuple[float, ...]] = {}
        self._shapes = dict(_shapes(self._graph))
        self._parameters = 0

    def trace(self) -> Trace:
        """All nodes, in the order of the file, which is topological."""
        for entry in self._graph.input:
            if entry.name not in self._initializers:
                self._values[entry.name] = self._input(entry)
        for node in self._graph.node:
            self.last_operator = node.op_type
            outputs = [name for name in node.output if name]
            if node.op_type in SPLITS:
                self._values.update({name: self._node(node, name) for name in outputs})
                continue
            is_constant = node.op_type == "Constant"
            value = self._constant(node) if is_constant else self._node(node, node.output[0])
            self._values.update(dict.fromkeys(outputs, value))
        outputs = [self._read(output.name) for output in self._graph.output]
        return self._builder.trace(outputs, self._parameters)

    def _input(self, entry: Any) -> int:  # noqa: ANN401
        shape = self._shape(entry.name)
        if _is_float(entry.type.tensor_type.elem_type):
            return self._builder.input(shape)
        return self._builder.constant(shape, reads_data=True)

    def _node(self, node: Any, output: str) -> int:  # noqa: ANN401
        emit = onnx_table().get(node.op_type) if node.domain in ("", "ai.onnx") else None
        taken = 3 if node.op_type == "BatchNormalization" else None  # statistics are not learned
        names = [name for name in node.input[:taken] if name]
        call = OnnxCall(
            {
                entry.name: _onnx("onnx.helper").get_attribute_value(entry)
                for entry in node.attribute
            },
            tuple([self._read(name) for name in names]),
            tuple([self._shape(name) for name in names]),
            tuple([self._numbers.get(name) for name in names]),
            self._shape(output),
        )
        if emit is None:
            operator = f"{node.domain or 'onnx'}::{node.op_type}"
            self._builder.count_unknown(operator)
            return self._builder.emit(operator, call.values, call.shape)
        return emit(self._builder, call)

    def _shape(self, name: str) -> Shape:
        if name in self._initializers:
            return tuple(self._initializers[name].dims)
        return self._shapes.get(name, UNKNOWN_SHAPE)

    def _read(self, name: str) -> int:
        if name not in self._values:
            self._values[name] = self._initializer(name)
        return self._values[name]

    def _initializer(self, name: str) -> int:
        tensor = self._initializers[name]
        elements = prod(tensor.dims)
        if _is_float(tensor.data_type) and elements > 1:
            self._parameters += elements
            return self._builder.parameter(name, tuple(tensor.dims))
        return self._literal(name, tensor)

    def _constant(self, node: Any) -> int:  # noqa: ANN401
        entry = node.attribute[0]
        value = _onnx("onnx.helper").get_attribute_value(entry)
        if entry.name in ("value", "sparse_value"):
            return self._literal(node.output[0], value)
        self._numbers[node.output[0]] = tuple(float(n) for n in np.atleast_1d(value))
        return self._number(node.output[0], np.shape(value))

    def _literal(self, name: str, tensor: Any) -> int:  # noqa: ANN401
        helper = _onnx("onnx.numpy_helper")
        is_here = not _onnx("onnx.external_data_helper").uses_external_data(tensor)
        if is_here and prod(tensor.dims) <= _MAX_NUMBERS:
            self._numbers[name] = tuple(float(n) for n in helper.to_array(tensor).flatten())
        return self._number(name, tuple(tensor.dims))

    def _number(self, name: str, shape: Shape) -> int:
        numbers = self._numbers.get(name, ())
        return self._builder.constant(shape, number=numbers[0] if len(numbers) == 1 else None)


def _shapes(graph: Any) -> Iterator[tuple[str, Shape]]:  # noqa: ANN401
    for entry in (*graph.input, *graph.value_info, *graph.output):
        tensor = entry.type.tensor_type
        if tensor.HasField("shape"):
            yield entry.name, tuple(dim.dim_value for dim in tensor.shape.dim)


def _is_float(code: int) -> bool:
    kind = _onnx("onnx.helper").tensor_dtype_to_np_dtype(code)
    return not np.issubdtype(kind, np.integer) and kind != np.bool_
