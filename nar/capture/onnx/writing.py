"""A model of another format as an ONNX model: what the readers of such formats write to.

One standard form has one set of rules: whatever is written here is captured as an ONNX file is.
Numbers of weights are never written, only their shapes.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from nar.capture.onnx.bodies import weight_of
from nar.capture.onnx.facts import Numbers, onnx
from nar.capture.trace import Shape
from nar.graphs.graph import MAX_NODES

# Has the operators of `nar.capture.onnx.facts` in the form of inputs.
_OPSET: Final = 21
# Chosen: a graph has at most this many nodes, and its longest spelling about twice as many: each
# convolution of a format that keeps channels last has a transposition on both sides, which is none.
MOST_OPERATORS: Final = 2 * MAX_NODES


class ModelWriter:
    """Collects the nodes of one model in the order in which they run.

    Nodes go to the innermost body that is open. Weights and constants belong to the whole model.

    Args:
        domain: Domain of operators that the standard lacks: the name of the format.
    """

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self._open: list[list[Any]] = [[]]
        self._tensors: dict[str, Any] = {}
        self._stated: dict[str, Any] = {}
        self._numbers: dict[tuple[str, Shape, bytes], str] = {}
        self._written = 0
        self._run = 0

    def node(
        self,
        operator: str,
        inputs: Iterable[str],
        *outputs: str,
        domain: str = "",
        **stated: Any,  # noqa: ANN401
    ) -> str:
        """Write a node, and give the name of its first result.

        Args:
            operator: An operator of the standard, or of the domain.
            inputs: Names of values; an empty one is left out.
            outputs: Names of the results; a new name where none is given.
            domain: The domain of the operator.
            stated: Attributes.

        Raises:
            ValueError: There are too many operators.
        """
        self._written += 1
        _check_count(self._written)
        results = list(outputs) or [f"value {self._written}"]
        self._open[-1].append(
            onnx("helper").make_node(operator, list(inputs), results, domain=domain, **stated)
        )
        return results[0]

    def count(self, operators: int = 1) -> None:
        """Count operators of the file, or a body, of which no node may be written.

        Raises:
            ValueError: There are too many.
        """
        self._run += operators
        _check_count(self._run)

    def unknown(self, operator: str, inputs: Iterable[str], outputs: Sequence[str]) -> None:
        """Write an operator of the format that the standard lacks."""
        self.node(operator, inputs, *outputs, domain=self._domain)

    def numbers(self, numbers: Any, kind: type = np.int64) -> str:  # noqa: ANN401
        """The name of a constant of a few numbers; equal constants have one name."""
        array: Numbers = np.asarray(numbers, kind)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._numbers:
            name = self._numbers[key] = f"numbers {len(self._numbers)}"
            self._tensors[name] = onnx("numpy_helper").from_array(array, name)
        return self._numbers[key]

    def named(self, name: str, numbers: str) -> str:
        """A constant of a few numbers under a name of its own."""
        tensor = self._tensors[name] = type(self._tensors[numbers])()
        tensor.CopyFrom(self._tensors[numbers])
        tensor.name = name
        return name

    def weight(self, name: str, shape: Shape) -> str:
        """The name of a learned tensor, entered at its first use."""
        if name not in self._tensors:
            self._tensors[name] = weight_of(name, shape)
        return name

    def hidden(self, name: str, shape: Shape) -> str:
        """The name of whole numbers that nobody reads."""
        tensor = weight_of(name, shape)
        tensor.data_type = tensor.INT64
        self._tensors.setdefault(name, tensor)
        return name

    def is_hidden(self, name: str) -> bool:
        """Whether a tensor holds whole numbers that nobody reads."""
        tensor = self._tensors.get(name)
        return tensor is not None and tensor.data_type == tensor.INT64 and not tensor.raw_data

    def blank(self, shape: Shape) -> str:
        """The name of a constant that holds nothing of the model: what a state begins with."""
        extents = [max(extent, 1) for extent in shape] or [1]
        return self.node("RandomUniform", [], shape=extents)

    def reshaped(self, value: str, shape: Shape) -> str:
        """A value in another shape."""
        return self.node("Reshape", [value, self.numbers(shape)])

    def transposed(self, value: str, order: Sequence[int]) -> str:
        """A value with its axes in another order."""
        return self.node("Transpose", [value], perm=list(order))

    def state(self, name: str, shape: Shape | None, *, is_float: bool = True) -> None:
        """Note the type that the file states of a value."""
        self._stated[name] = _typed(name, shape, is_float=is_float)

    def begin_body(self) -> None:
        """Begin the body of a node: the nodes that follow are its nodes."""
        self._open.append([])

    def end_body(self, inputs: Iterable[str], outputs: Iterable[str]) -> Any:  # noqa: ANN401
        """The body since `begin_body`."""
        return self._graph(self._open.pop(), map(_untyped, inputs), map(_untyped, outputs))

    def model(
        self, inputs: Iterable[tuple[str, Shape | None, bool]], outputs: Iterable[str]
    ) -> Any:  # noqa: ANN401
        """The model of all nodes.

        Args:
            inputs: Name and shape of each input, and whether its numbers are floats.
            outputs: Names of its results.

        Raises:
            ValueError: It has no node.
        """
        if not self._written:
            raise ValueError("wanted a model with operators, came none")
        entries = [_typed(name, shape, is_float=is_float) for name, shape, is_float in inputs]
        results = [self._stated.get(name) or _untyped(name) for name in outputs]
        graph = self._graph(self._open.pop(), entries, results)
        graph.initializer.extend(self._tensors.values())
        graph.value_info.extend(self._stated.values())
        opset = onnx("helper").make_opsetid("", _OPSET)
        return onnx("helper").make_model(graph, opset_imports=[opset])

    def _graph(self, nodes: list[Any], inputs: Iterable[Any], outputs: Iterable[Any]) -> Any:  # noqa: ANN401
        return onnx("helper").make_graph(nodes, self._domain, list(inputs), list(outputs))


def _check_count(count: int) -> None:
    if count > MOST_OPERATORS:
        raise ValueError(f"wanted at most {MOST_OPERATORS:,} operators, came more")


def few_numbers(content: bytes, kind: str, shape: Shape) -> Numbers | None:
    """The numbers that bytes of a file hold; None where they are others than the shape wants."""
    form = np.dtype(kind).newbyteorder("<")
    if len(content) % form.itemsize:
        return None
    array = np.frombuffer(content, form)
    return array.reshape(shape) if array.size == int(np.prod(shape)) else None


def _typed(name: str, shape: Shape | None, *, is_float: bool) -> Any:  # noqa: ANN401
    """A value with its type; an extent that is open has no name."""
    proto = onnx().TensorProto
    extents = None if shape is None else [extent if extent > 0 else "?" for extent in shape]
    kind = proto.FLOAT if is_float else proto.INT64
    return onnx("helper").make_tensor_value_info(name, kind, extents)


def _untyped(name: str) -> Any:  # noqa: ANN401
    return onnx("helper").make_empty_tensor_value_info(name)
