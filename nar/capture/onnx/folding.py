"""Integer arithmetic of constants in an ONNX graph, done before shapes are inferred.

PyTorch writes the axes of a view this way. Shape inference does not compute them, and no shape
below would be known.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.integer[Any]]

_MAX_NUMBERS = 16  # as many axes as a tensor may have, and more
_OPERATORS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Mod": np.mod,
    "Reshape": lambda numbers, shape: _reshaped(numbers, shape.tolist()),
}


def fold_integers(graph: Any) -> None:  # noqa: ANN401
    """Make constants of the nodes that compute a few integers from constants.

    Args:
        graph: A ``GraphProto`` in topological order, changed in place.
    """
    helper, arrays = import_module("onnx.helper"), import_module("onnx.numpy_helper")
    known = {tensor.name: tensor for tensor in graph.initializer if _is_small(tensor)}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            known[node.output[0]] = node.attribute[0].t
        operator = _OPERATORS.get(node.op_type)
        operands = [known[name] for name in node.input if name in known]
        if operator is None or len(operands) != 2 or not all(map(_is_small, operands)):
            continue
        result = operator(*[arrays.to_array(operand) for operand in operands])
        known[node.output[0]] = arrays.from_array(np.asarray(result), node.output[0])
        constant = helper.make_node("Constant", [], list(node.output), value=known[node.output[0]])
        node.CopyFrom(constant)


def _reshaped(numbers: Numbers, shape: list[int]) -> Numbers:
    """In a shape where 0 keeps an extent as it is."""
    return numbers.reshape([extent or numbers.shape[axis] for axis, extent in enumerate(shape)])


def _is_small(tensor: Any) -> bool:  # noqa: ANN401
    """Whether a tensor holds a few integers, in the file itself."""
    return (
        prod(tensor.dims) <= _MAX_NUMBERS
        and tensor.data_type in (tensor.INT32, tensor.INT64)
        and tensor.data_location == tensor.DEFAULT
    )
