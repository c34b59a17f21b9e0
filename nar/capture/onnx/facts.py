"""The known shape, and the small known numbers, of each value of an ONNX graph.

Exporters compute shapes with operators: ``Shape``, ``Gather``, ``Concat``, ``Reshape``. These are
computed here, node by node; an extent that the file leaves open has the value of an example.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, util
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import MissingLibraryError
from nar.capture.trace import Shape


@cache
def onnx(module: str = "") -> ModuleType:
    """The onnx library, or the module of it that is named.

    Raises:
        MissingLibraryError: It is not installed.
    """
    if util.find_spec("onnx") is None:
        raise MissingLibraryError("onnx is not installed: pip install 'nar-search[onnx]'")
    return import_module(f"onnx.{module}" if module else "onnx")


Numbers = NDArray[Any]

MAX_NUMBERS = 16  # chosen: constants up to this size may be axes, extents, bounds or literals
UNKNOWN_SHAPE: Shape = (0,)
# Chosen: extents that stand for open ones: one example, an image of ImageNet's size or a sequence.
_BATCH, _SIDE, _LENGTH = 1, 224, 16
_IMAGE_RANK = 4  # batch, channels, height, width
# Errors of numpy and of onnx where numbers do not fit an operator.
_NOT_COMPUTED = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
_COMPUTED = frozenset({
    "Abs", "Add", "And", "Cast", "Ceil", "Concat", "ConstantOfShape", "DequantizeLinear", "Div",
    "Equal", "Expand", "Floor", "Gather", "Greater", "GreaterOrEqual", "Identity", "Less",
    "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Range", "ReduceMax",
    "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Slice", "Sqrt", "Squeeze", "Sub",
    "Transpose", "Unsqueeze", "Where",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """Known facts of the values of a graph, by name.

    Attributes:
        shapes: Shapes, 0 for an extent that depends on data.
        numbers: Values that hold a few numbers which no input and no weight changes.
        unknown: How often a fact could not be computed: ``shape of`` or ``number of``, and the
            operator whose result it is.
    """

    shapes: dict[str, Shape] = field(default_factory=dict)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)

    def shape(self, name: str) -> Shape:
        """The shape of a value, `UNKNOWN_SHAPE` if it is not known."""
        return self.shapes.get(name, UNKNOWN_SHAPE)


def facts_of(model: Any) -> Facts:  # noqa: ANN401
    """The facts that follow from the graph of a ``ModelProto`` without its inputs.

    Args:
        model: A model without local functions. Its nodes are in topological order.
    """
    inference = _Inference(model)
    for node in model.graph.node:
        inference.visit(node)
    return inference.facts


def operator_name(node: Any) -> str:  # noqa: ANN401
    """The operator of a node with its domain: ``onnx::Relu``."""
    return f"{node.domain or 'onnx'}::{node.op_type}"


class _Inference:
    def __init__(self, model: Any) -> None:  # noqa: ANN401
        self.facts = Facts()
        self._types: dict[str, Any] = {}
        self._data: dict[str, Any] = {}
        self._opsets = {entry.domain or "": entry.version for entry in model.opset_import}
        self._imports = list(model.opset_import)
        self._extents: dict[str, int] = {}
        graph = model.graph
        for tensor in graph.initializer:
            self._learn_tensor(tensor.name, tensor)
        for entry in graph.input:
            if entry.name not in self._types:
                self._open_extents(entry.type)
                self._learn_type(entry.name, self._closed(entry.type))
        self._stated = {entry.name: entry.type for entry in (*graph.value_info, *graph.output)}

    def visit(self, node: Any) -> None:  # noqa: ANN401
        """Learn the types and the numbers of the outputs of one node."""
        if node.op_type == "Constant":
            self._learn_constant(node)
            return
        kinds = self._inferred(node)
        for name in filter(None, node.output):
            kind = kinds.get(name)
            if (kind is None or not _is_whole(kind)) and name in self._stated:
                kind = self._closed(self._stated[name])
            if kind is not None:
                self._learn_type(name, kind)
            if kind is None or _is_shapeless(kind):
                self.facts.unknown[f"shape of {operator_name(node)}"] += 1
        result = self._computed(node)
        if result is not None:
            self._learn_numbers(node.output[0], result)

    def _inferred(self, node: Any) -> Mapping[str, Any]:  # noqa: ANN401
        """Types of a node's outputs, none where an input or the operator is not known."""
        names = [name for name in node.input if name]
        if any(name not in self._types for name in names):
            return {}
        defs, shapes, checker = onnx("defs"), onnx("shape_inference"), onnx("checker")
        try:
            schema = defs.get_schema(node.op_type, self._opsets.get(node.domain, 1), node.domain)
            result: Mapping[str, Any] = shapes.infer_node_outputs(
                schema,
                node,
                {name: self._types[name] for name in names},
                {name: self._data[name] for name in names if name in self._data},
                opset_imports=self._imports,
            )
        # An operator that the library does not know, a node that is wrong, shapes that do not fit.
        except (defs.SchemaError, checker.ValidationError, shapes.InferenceError):
            return {}
        return result

    def _computed(self, node: Any) -> Numbers | None:  # noqa: ANN401
        """The result of a node over known numbers, unless it is long or cannot be computed."""
        known, output = self.facts.numbers, node.output[0]
        if node.op_type in ("Shape", "Size") and not node.domain:
            return _extents(node, self.facts.shapes.get(node.input[0]))
        names = [name for name in node.input if name]
        elements = prod(self.facts.shape(output))
        # Several quantised numbers may be a weight; a single number is none.
        most = 1 if node.op_type == "DequantizeLinear" else MAX_NUMBERS
        is_small = output in self.facts.shapes and elements <= most
        if node.domain or node.op_type not in _COMPUTED or not is_small:
            return None
        if not all(name in known for name in names):
            return None
        try:
            evaluator = onnx("reference").ReferenceEvaluator(node, opsets=self._opsets)
            return np.asarray(evaluator.run(None, {name: known[name] for name in names})[0])
        except _NOT_COMPUTED:
            self.facts.unknown[f"number of {operator_name(node)}"] += 1
            return None

    def _learn_constant(self, node: Any) -> None:  # noqa: ANN401
        entry = node.attribute[0]
        value = onnx("helper").get_attribute_value(entry)
        name = node.output[0]
        if entry.name == "value":
            self._learn_tensor(name, value, is_constant=True)
        elif entry.name.startswith(("value_int", "value_float")):
            kind = np.int64 if entry.name.startswith("value_int") else np.float32
            self._learn_numbers(name, np.asarray(value, kind))
        else:
            self.facts.shapes[name] = tuple(getattr(value, "dims", ()))

    def _learn_tensor(self, name: str, tensor: Any, *, is_constant: bool = False) -> None:  # noqa: ANN401
        """Note a tensor of the file. A small float initializer is known but may be learned."""
        is_here = not onnx("external_data_helper").uses_external_data(tensor)
        if prod(tensor.dims) <= MAX_NUMBERS and is_here:
            array = onnx("numpy_helper").to_array(tensor)
            self._data[name] = tensor
            if is_constant or array.dtype.kind in "iub" or array.size == 1:
                self.facts.numbers[name] = array
        kind = onnx("helper").make_tensor_type_proto(tensor.data_type, tensor.dims)
        self._learn_type(name, kind)

    def _learn_numbers(self, name: str, numbers: Numbers) -> None:
        self._learn_tensor(name, onnx("numpy_helper").from_array(numbers, name), is_constant=True)

    def _learn_type(self, name: str, kind: Any) -> None:  # noqa: ANN401
        self._types[name] = kind
        if kind.tensor_type.HasField("shape"):
            extents = kind.tensor_type.shape.dim
            self.facts.shapes[name] = tuple(dim.dim_value for dim in extents)

    def _open_extents(self, kind: Any) -> None:  # noqa: ANN401
        extents = kind.tensor_type.shape.dim
        for axis, dim in enumerate(extents):
            if not dim.HasField("dim_value"):
                dim.dim_param = dim.dim_param or f"axis {axis} of {len(extents)}"
                self._extents.setdefault(dim.dim_param, _example_extent(axis, len(extents)))

    def _closed(self, kind: Any) -> Any:  # noqa: ANN401
        """A type with an example's extents where the file leaves them open."""
        closed = type(kind)()
        closed.CopyFrom(kind)
        for dim in closed.tensor_type.shape.dim:
            if dim.dim_param in self._extents:
                dim.dim_value = self._extents[dim.dim_param]
        return closed


def _example_extent(axis: int, rank: int) -> int:
    if axis == 0:
        return _BATCH
    return _SIDE if rank == _IMAGE_RANK and axis > 1 else _LENGTH


def _is_whole(kind: Any) -> bool:  # noqa: ANN401
    tensor = kind.tensor_type
    return tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim)


def _is_shapeless(kind: Any) -> bool:  # noqa: ANN401
    """Whether a type is that of a tensor of any shape; a sequence has none."""
    return kind.HasField("tensor_type") and not kind.tensor_type.HasField("shape")


def _extents(node: Any, shape: Shape | None) -> Numbers | None:  # noqa: ANN401
    """The result of ``Shape`` or ``Size``, if the shape is known whole."""
    if shape is None or 0 in shape:
        return None
    if node.op_type == "Size":
        return np.asarray(prod(shape), np.int64)
    bounds = dict(_integers(node))
    return np.asarray(shape[bounds.get("start", 0) : bounds.get("end", len(shape))], np.int64)


def _integers(node: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401
    return ((entry.name, int(entry.i)) for entry in node.attribute)
