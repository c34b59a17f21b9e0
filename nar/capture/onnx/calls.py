"""A node of onnxruntime, and the standard nodes that several rules write in its place."""

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

RUNTIME: Final = "com.microsoft"  # domain of onnxruntime's operators
_ACTIVATIONS: Final[Mapping[str, str]] = {
    "geglu": "Gelu", "gelu": "Gelu", "identity": "Identity", "none": "Identity", "relu": "Relu",
    "silu": "Swish", "swiglu": "Swish", "swish": "Swish",
}  # fmt: skip
_SQUARED: Final = frozenset({"relu2", "relu_squared"})


@dataclass(frozen=True, slots=True)
class RuntimeCall:
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
    def of(cls, node: Any, weights: Weights) -> "RuntimeCall":  # noqa: ANN401
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

    def unread(self, operator: str) -> Any:  # noqa: ANN401
        """The node as it is, which is told as unknown."""
        node = node_of(operator, self.inputs, self.result, domain=RUNTIME)
        node.output.extend(self.outputs[1:])
        return node

    def given(self, place: int) -> str:
        """Name of an output; a name that nothing reads where the output is left out."""
        is_there = place < len(self.outputs) and self.outputs[place]
        return self.outputs[place] if is_there else f"{self.result}/output {place}"


Expand = Callable[[RuntimeCall], Iterator[Any]]


def plus(value: str, addends: Iterable[str], result: str) -> Iterator[Any]:
    """Nodes that add further values to a value, one after another."""
    present = [each for each in addends if each]
    for place, addend in enumerate(present, start=1):
        name = result if place == len(present) else f"{result}/sum {place}"
        yield node_of("Add", [value, addend], name)
        value = name
    if not present:
        yield node_of("Identity", [value], result)


def shaped(value: str, extents: Iterable[int], result: str) -> Iterator[Any]:
    """Nodes that give a value another shape: 0 for an extent as it is, -1 for what is left."""
    yield constant_of(f"{result}/shape", np.array([*extents], np.int64))
    yield node_of("Reshape", [value, f"{result}/shape"], result)


def names_of_parts(call: RuntimeCall) -> list[str]:
    """Names for query, key and value."""
    return [f"{call.result}/{part}" for part in ("query", "key", "value")]


def parted(value: str, parts: list[str], shares: Iterable[int] = (), axis: int = -1) -> Any:  # noqa: ANN401
    """A node that cuts an axis into parts, whose widths are to each other as shares."""
    stated = list(shares) or [1] * len(parts)
    node = node_of(SHARED_OUT, [value], parts[0], axis=axis, shares=stated)
    node.output.extend(parts[1:])
    return node


def attended(
    call: RuntimeCall, parts: list[str], heads: int, keys: int = 0, *, is_causal: bool = False
) -> Iterator[Any]:
    """Nodes for attention of query, key, value and what is added to the scores.

    Args:
        call: The node, whose outputs after the first one hold keys and values.
        parts: Names of the values.
        heads: How many heads the query has.
        keys: How many heads key and value have; as many as the query if 0.
        is_causal: Whether no token sees those after it.
    """
    stated = {"q_num_heads": heads, "kv_num_heads": keys or heads}
    stated |= {"is_causal": int(is_causal), "local_window_size": call.number("local_window_size")}
    yield node_of("Attention", parts, call.result, **stated)
    for place, part in enumerate(parts[1:3], start=1):
        if place < len(call.outputs) and call.outputs[place]:
            yield node_of("Identity", [part], call.outputs[place])


def same(operator: str, inputs: slice = slice(2), **attributes: int) -> Expand:
    """A standard operator of some of the inputs."""

    def expand(call: RuntimeCall) -> Iterator[Any]:
        read = [name for name in call.inputs[inputs] if name]
        yield node_of(operator, read, call.result, **attributes)

    return expand


def is_bytes(tensor: Any) -> bool:  # noqa: ANN401
    """Whether a tensor of the file is of whole numbers of 8 bits."""
    return tensor is not None and tensor.data_type in (tensor.INT8, tensor.UINT8)


def activated(kind: str, value: str, result: str) -> Iterator[Any]:
    """Nodes for an activation that an attribute names, in capitals or not."""
    kind = kind.lower() if kind.lower() in _ACTIVATIONS else kind
    if kind in _SQUARED:
        yield node_of("Relu", [value], f"{result}/root")
        yield node_of("Mul", [f"{result}/root", f"{result}/root"], result)
    else:
        yield node_of(_ACTIVATIONS.get(kind, kind), [value], result)


def gated(call: RuntimeCall, kind: str, gate: str, value: str, result: str) -> Iterator[Any]:
    """Nodes for a value times an activated gate, within the bounds that attributes state."""
    is_swish = kind == "swiglu"
    limit = call.attributes.get("swiglu_limit", call.attributes.get("limit", 0.0))
    if is_swish and limit > 0:
        for bound, number in (("low", -limit), ("high", limit)):
            yield constant_of(f"{result}/{bound}", np.float32(number))
        bounds = [f"{result}/low", f"{result}/high"]
        for each in (gate, value):
            yield node_of("Clip", [each, *bounds], f"{each}/cut off")
        gate, value = f"{gate}/cut off", f"{value}/cut off"
    addend = call.attributes.get("activation_beta", 0.0)
    if is_swish and addend:
        yield constant_of(f"{result}/addend", np.float32(addend))
        yield node_of("Add", [value, f"{result}/addend"], f"{value}/added")
        value = f"{value}/added"
    # ``x sigmoid(1.702 x)`` is the quick form of GELU.
    is_quick = is_swish and round(call.attributes.get("activation_alpha", 1.0), 2) == 1.7
    yield from activated("gelu" if is_quick else kind, gate, f"{result}/activated")
    yield node_of("Mul", [f"{result}/activated", value], result)


def product_of(
    call: RuntimeCall, value: str, weight: tuple[str, int, int], bias: str, result: str
) -> Iterator[Any]:
    """Nodes for a product with a weight that is stored in another form.

    Args:
        call: The node.
        value: Name of what is multiplied.
        weight: Name of the stored weight, and how many features it reads and gives.
        bias: Name of what is added to the product, empty for nothing.
        result: Name of the result.
    """
    name, inner, outer = weight
    product = f"{result}/product"
    yield node_of("MatMul", [value, call.learned(name, inner, outer)], product)
    yield from plus(product, [bias], result)


def first_channels(value: str, rank: int, result: str) -> Any:  # noqa: ANN401
    """A node that puts the last axis after the batch."""
    return node_of("Transpose", [value], result, perm=[0, rank - 1, *range(1, rank - 1)])


def last_channels(value: str, rank: int, result: str) -> Any:  # noqa: ANN401
    """A node that puts the axis after the batch last."""
    return node_of("Transpose", [value], result, perm=[0, *range(2, rank), 1])
