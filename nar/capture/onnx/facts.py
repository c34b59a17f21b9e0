"""The known shape, and the small known numbers, of each value of an ONNX graph.

Exporters compute shapes with operators: ``Shape``, ``Gather``, ``Concat``, ``Reshape``. These are
computed here, node by node; an extent that the file leaves open has the value of an example.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nar.capture.trace import Shape


@cache
def onnx(module: str = "") -> ModuleType:
    """The onnx library, or the module of it that is named: it takes 0.2 s to import."""
    return import_module(f"onnx.{module}" if module else "onnx")


Numbers = NDArray[Any]

MAX_NUMBERS = 16  # chosen: constants up to this size may be axes, extents, bounds or literals
# An operator that no file has: a state to which each token adds, and of which each token reads.
RECURRENCE = "LinearRecurrence"
UNKNOWN_SHAPE: Shape = (0,)
# Chosen: extents that stand for open ones: one example, an image of ImageNet's size or a sequence.
_BATCH, _SIDE, _LENGTH = 1, 224, 16
_IMAGE_RANK = 4  # batch, channels, height, width
# Chosen: a window of 512 samples wants a length of 16 grown twice; 4 ** 6 is a minute of audio.
_GROWTH, _MOST_GROWTHS = 4, 6
# Chosen: names that exporters give to every open extent, which do not say that two are equal.
_NAMELESS = frozenset({"?", "-1", "None", "unk", "unknown"})
# Errors of numpy and of onnx where numbers do not fit an operator.
_NOT_COMPUTED = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
_COMPUTED = frozenset({
    "Abs", "Add", "And", "Cast", "Ceil", "Clip", "Concat", "ConstantOfShape", "DequantizeLinear",
    "Div", "Equal", "Expand", "Flatten", "Floor", "Gather", "Greater", "GreaterOrEqual", "Identity",
    "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "Range",
    "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Round", "ScatterND", "Sign",
    "Slice", "Sqrt", "Squeeze", "Sub", "Tile", "Transpose", "Unsqueeze", "Where", "Xor",
})  # fmt: skip
# Attributes of old operators, which later operators have as inputs in this order: old operators
# are not all in the library's evaluator.
_AS_INPUTS: Mapping[str, tuple[str, ...]] = {
    "Clip": ("min", "max"), "ReduceMean": ("axes",), "ReduceSum": ("axes",),
    "Squeeze": ("axes",), "Unsqueeze": ("axes",),
}  # fmt: skip
# The last opset in which an operator has the form of attributes.
_OLD_OPSETS: Mapping[str, int] = {
    "Clip": 10, "ReduceMean": 17, "ReduceSum": 12, "Squeeze": 12, "Unsqueeze": 12,
}  # fmt: skip
_NEW_OPSET = 21  # has all operators of `_COMPUTED` in the form of inputs
_WINDOWS = frozenset({"AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool", "QLinearConv"})
# Gives the shapes of the outputs of a node from those of its inputs.
ShapeRule = Callable[[Any, Sequence[Shape]], Sequence[Shape]]


def _first(_node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    return shapes[:1]


def _on_new_axis(_node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of the results of all steps of a loop, of which there is one."""
    return ((1, *shapes[0]),)


def _attended(node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of attention: the shape of the query, with as many values as it has heads."""
    query, _, value = shapes[:3]
    stated = dict(_integers(node))
    heads = stated.get("q_num_heads", 1)
    width = value[-1] // (stated.get("kv_num_heads") or heads) * heads
    return ((*query[:-1], value[-1] if len(query) == WITH_HEADS else width),)


WITH_HEADS = 4  # axes: batch, heads, length, width


def _multiplied(node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of a product whose factors may be transposed."""
    turned = dict(_integers(node))
    left, right = (
        (*shape[1:-1], shape[0], shape[-1]) if turned.get(name) else shape
        for shape, name in zip(shapes, ("transBatchA", "transBatchB"), strict=False)
    )
    rows, columns = (
        left[-1 if turned.get("transA") else -2],
        right[-2 if turned.get("transB") else -1],
    )
    batch = max(left[:-2], right[:-2], key=len)
    return ((*batch, rows, columns),)


def _recurrence(_node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of linear attention over (..., heads, width): the most heads, and the width of the value."""
    query, _, value = shapes[:3]
    return ((*query[:-2], max(query[-2], value[-2]), value[-1]),)


def _spectrum(_node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of a Fourier transform of real numbers: half of the frequencies, each of two numbers."""
    *others, length = shapes[0]
    return ((*others, length // 2 + 1, 2),)


def _signal(_node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of the way back."""
    *others, frequencies, _ = shapes[0]
    return ((*others, 2 * (frequencies - 1)),)


def _distances(_node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of each row of one matrix to each of another."""
    return ((shapes[0][0], shapes[1][0]),)


def _unfolded(node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of the windows of an axis, which are a new one."""
    stated, shape = {"dim": -1, "step": 1} | dict(_integers(node)), list(shapes[0])
    axis = stated["dim"] % len(shape)
    shape[axis] = (shape[axis] - stated["size"]) // stated["step"] + 1
    return ((*shape, stated["size"]),)


def _shared_out(node: Any, shapes: Sequence[Shape]) -> Sequence[Shape]:  # noqa: ANN401
    """Of a cut into parts whose widths are to each other as shares."""
    stated = {entry.name: onnx("helper").get_attribute_value(entry) for entry in node.attribute}
    shares, (shape, *_) = stated["shares"], shapes
    axis = stated["axis"] % len(shape)
    widths = [shape[axis] * share // sum(shares) for share in shares]
    return [(*shape[:axis], width, *shape[axis + 1 :]) for width in widths]


# Shapes of operators that the library knows in later opsets alone, or that are onnxruntime's.
_OWN_SHAPES: Mapping[str, ShapeRule] = {
    **dict.fromkeys((
        "Gelu", "GroupNormalization", "HardSwish", "LayerNormalization", "Mish", "RMSNormalization",
        "Inverse", "Roll", "RotaryEmbedding", "SimplifiedLayerNormalization", "State", "Swish",
    ), _first),
    "Distance": _distances,
    "Irfft": _signal,
    "Rfft": _spectrum,
    "Stacked": _on_new_axis,
    "UnfoldTensor": _unfolded,
    RECURRENCE: _recurrence,
    "Attention": _attended,
    "FusedMatMul": _multiplied,
    "SplitInShares": _shared_out,
}  # fmt: skip


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
    for growth in range(_MOST_GROWTHS + 1):
        inference = _Inference(model, _GROWTH**growth)
        for node in model.graph.node:
            inference.visit(node)
        if not inference.is_too_small:
            break
    return inference.facts


def operator_name(node: Any) -> str:  # noqa: ANN401
    """The operator of a node with its domain: ``onnx::Relu``."""
    return f"{node.domain or 'onnx'}::{node.op_type}"


class _Inference:
    """Learns the facts of the values of a model, one node after another.

    Args:
        model: The model.
        growth: How many times longer than usual the examples of open extents are.

    Attributes:
        facts: What is known so far.
        is_too_small: Whether a window did not fit into the example.
    """

    def __init__(self, model: Any, growth: int = 1) -> None:  # noqa: ANN401
        self.facts = Facts()
        self.is_too_small = False
        self._growth = growth
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
        self._read = {name for node in graph.node for name in node.input}
        self._read.update(entry.name for entry in graph.output)

    def visit(self, node: Any) -> None:  # noqa: ANN401
        """Learn the types and the numbers of the outputs of one node."""
        if node.op_type == "Constant":
            self._learn_constant(node)
            return
        kinds = self._inferred(node)
        for place, name in enumerate(node.output):
            if not name:
                continue
            kind = kinds.get(name)
            if (kind is None or not _is_whole(kind)) and name in self._stated:
                kind = self._closed(self._stated[name])
            is_open = kind is None or not kind.WhichOneof("value") or _is_shapeless(kind)
            if is_open and node.op_type in _OWN_SHAPES:
                kind = self._own_type(node, place) or kind
            if kind is not None:
                self._check_size(node, kind)
                self._learn_type(name, kind)
            if name in self._read and (kind is None or _is_shapeless(kind)):
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
            schema = self._schema(node)
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

    def _schema(self, node: Any) -> Any:  # noqa: ANN401
        """The schema of a node's operator, which may be of another opset than the file states."""
        defs, stated = onnx("defs"), self._opsets.get(node.domain, 1)
        if _has_old_form(node):
            stated = min(stated, _OLD_OPSETS[node.op_type])
        try:
            return defs.get_schema(node.op_type, stated, node.domain)
        except defs.SchemaError:
            return defs.get_schema(node.op_type, node.domain)

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
        given = {name: known[name] for name in names}
        opsets = self._opsets
        try:
            if _has_old_form(node):
                node, stated = _in_new_form(node)
                given, opsets = given | stated, {"": _NEW_OPSET}
            evaluator = onnx("reference").ReferenceEvaluator(node, opsets=opsets)
            return np.asarray(evaluator.run(None, given)[0])
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
            self.facts.shapes[name] = tuple(max(dim.dim_value, 0) for dim in extents)

    def _check_size(self, node: Any, kind: Any) -> None:  # noqa: ANN401
        """Note an extent below 1 behind a window."""
        extents = [dim.dim_value for dim in kind.tensor_type.shape.dim if dim.HasField("dim_value")]
        least = min(extents, default=1)
        self.is_too_small |= least < 0 or (least < 1 and node.op_type in _WINDOWS)

    def _own_type(self, node: Any, place: int) -> Any:  # noqa: ANN401
        """The type of an output of an operator of `_OWN_SHAPES`; None if it is not known."""
        shapes = [self.facts.shapes.get(name) for name in node.input if name]
        known = [shape for shape in shapes if shape]
        if not known or shapes[0] is None:
            return None
        try:
            shape = _OWN_SHAPES[node.op_type](node, known)[place]
        except (ArithmeticError, LookupError, ValueError):
            return None
        source = self._types[node.input[0]].tensor_type.elem_type
        return onnx("helper").make_tensor_type_proto(source, shape)

    def _open_extents(self, kind: Any) -> None:  # noqa: ANN401
        extents = kind.tensor_type.shape.dim
        for axis, dim in enumerate(extents):
            if dim.dim_value < 1:
                is_nameless = not dim.dim_param or dim.dim_param in _NAMELESS
                name = f"axis {axis} of {len(extents)}" if is_nameless else dim.dim_param
                dim.dim_param = name
                extent = _example_extent(axis, len(extents))
                self._extents.setdefault(name, extent if axis == 0 else extent * self._growth)

    def _closed(self, kind: Any) -> Any:  # noqa: ANN401
        """A type with an example's extents where the file leaves them open."""
        closed = type(kind)()
        closed.CopyFrom(kind)
        for dim in closed.tensor_type.shape.dim:
            if dim.dim_param in self._extents:
                dim.dim_value = self._extents[dim.dim_param]
            elif dim.dim_value < 0:
                dim.Clear()
        return closed


def _example_extent(axis: int, rank: int) -> int:
    if axis == 0:
        return _BATCH
    return _SIDE if rank == _IMAGE_RANK and axis > 1 else _LENGTH


def _has_old_form(node: Any) -> bool:  # noqa: ANN401
    stated = {entry.name for entry in node.attribute}
    return not stated.isdisjoint(_AS_INPUTS.get(node.op_type, ()))


def _in_new_form(node: Any) -> tuple[Any, dict[str, Numbers]]:  # noqa: ANN401
    """A node whose attributes are inputs, as later opsets have it, and these inputs."""
    value_of = onnx("helper").get_attribute_value
    stated = {entry.name: value_of(entry) for entry in node.attribute}
    wanted = _AS_INPUTS[node.op_type]
    names = {name: f"{node.output[0]}/{name}" for name in wanted if name in stated}
    inputs = [*node.input, *(names.get(name, "") for name in wanted)]
    kept = {name: value for name, value in stated.items() if name not in wanted}
    made = onnx("helper").make_node(node.op_type, inputs, list(node.output), **kept)
    kinds = {True: np.float32, False: np.int64}
    numbers = {
        name: np.asarray(stated[attribute], kinds[isinstance(stated[attribute], float)])
        for attribute, name in names.items()
    }
    return made, numbers


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
