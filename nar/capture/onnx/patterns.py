"""Patterns of several ONNX nodes that stand for one operator, replaced before a graph is read.

Exporters write ``group_norm`` as an instance norm of a reshaped tensor and ``roll`` as two slices
that change places.

Quantised graphs become the graphs of the same designs on floats. Operators of onnxruntime become
standard operators. A ReLU that onnxruntime leaves to a quantisation becomes a node again. Scales
that are measured while a model runs are left out. A bias added after a layer becomes its own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from nar.capture.onnx.bodies import Nodes, node_of
from nar.capture.onnx.facts import Facts, onnx
from nar.capture.onnx.runtime import standard_nodes
from nar.capture.trace import Shape

# Inputs that hold the zero point of the result.
_ZERO_POINTS: Final[Mapping[str, slice]] = {
    "QuantizeLinear": slice(2, 3),
    "QLinearConv": slice(7, 8),
    "QLinearMatMul": slice(7, 8),
}
# Layers, and operators that keep the signs of their first input.
_LAYERS: Final = frozenset(
    {"Conv", "ConvTranspose", "Gemm", "MatMul", "QLinearConv", "QLinearMatMul"}
)
_PASSED: Final = frozenset({"QuantizeLinear", "DequantizeLinear"})
# The standard gives ConvInteger four inputs and no bias; here its bias is the fifth input.
_WITHOUT_BIAS: Final = "ConvInteger"
# What is done to a learned vector before it is added.
_AS_STORED: Final = frozenset({"Cast", "Floor", "Identity", "Reshape", "Round"})
_BIAS: Final = 4  # its position, counted from 0


def in_standard_form(graph: Any) -> Nodes:  # noqa: ANN401
    """The nodes of a ``GraphProto``: onnxruntime's operators as standard ones, and every ReLU."""
    nodes = list(standard_nodes(graph))
    fixed = {tensor.name for tensor in graph.initializer}
    lowest = {tensor.name for tensor in graph.initializer if _is_lowest(tensor)}
    return list(_with_relus(nodes, fixed, lowest))


def _with_relus(nodes: Iterable[Any], fixed: set[str], lowest: set[str]) -> Iterator[Any]:
    """The nodes, with each ReLU that a quantisation has replaced.

    A quantisation whose lowest number is zero cuts off everything below zero: ::

        Conv -- QuantizeLinear        Conv -- Relu -- QuantizeLinear

    Args:
        nodes: All nodes, in topological order.
        fixed: Names of initializers; names of values that depend on initializers alone are added.
        lowest: Names of zero points at the lowest number of their type.
    """
    signed: set[str] = set()
    for node in nodes:
        read = [name for name in node.input if name and name not in fixed]
        if not read:
            fixed.update(node.output)
        is_cut = not lowest.isdisjoint(node.input[_ZERO_POINTS.get(node.op_type, slice(0))])
        if _is_signed(node.op_type, read, signed):
            signed.update(node.output)
        if not (is_cut and signed.issuperset(node.output)):
            yield node
        elif node.op_type == "QuantizeLinear":
            yield from _cut(node.input[0], node.input[1:], node.output[0], signed)
        else:
            whole, whole_as_float = (f"{node.output[0]}/{name}" for name in ("whole", "float"))
            made = node_of(node.op_type, node.input, whole)
            made.attribute.extend(node.attribute)
            yield made
            yield node_of("DequantizeLinear", [whole, *node.input[6:8]], whole_as_float)
            yield from _cut(whole_as_float, node.input[6:8], node.output[0], signed)


def _is_signed(operator: str, read: Sequence[str], signed: set[str]) -> bool:
    """Whether a result may be negative: of a layer, of a sum, or of a signed value passed on."""
    handed_on = not signed.isdisjoint(read[:1])
    if operator == "Add":
        return len(read) > 1 or handed_on
    return operator in _LAYERS or (operator in _PASSED and handed_on)


def _cut(value: str, parameters: Sequence[str], result: str, signed: set[str]) -> Iterator[Any]:
    """Nodes for ReLU of a value, quantised."""
    signed.discard(result)
    yield node_of("Relu", [value], f"{result}/cut")
    yield node_of("QuantizeLinear", [f"{result}/cut", *parameters], result)


def _is_lowest(tensor: Any) -> bool:  # noqa: ANN401
    """Whether a tensor of the file is the lowest whole number of its type."""
    if prod(tensor.dims) != 1 or onnx("external_data_helper").uses_external_data(tensor):
        return False
    number = onnx("numpy_helper").to_array(tensor)
    is_whole = np.issubdtype(number.dtype, np.integer)
    return is_whole and bool(number.item() == np.iinfo(number.dtype).min)


def unscaled(nodes: Nodes, fixed: set[str]) -> Nodes:
    """The nodes without products and quotients of a scale that `DynamicQuantizeLinear` measures.

    Args:
        nodes: All nodes.
        fixed: Names of initializers and of known numbers.
    """
    scales: set[str] = set()
    kept = []
    for node in nodes:
        if node.op_type == "DynamicQuantizeLinear":
            scales.update(node.output[1:])
        factors = [name for name in node.input if name not in scales]
        is_divided = node.op_type == "Div" and factors == list(node.input[:1])
        if not (node.op_type == "Mul" or is_divided) or len(factors) > 1:
            kept.append(node)
        elif factors and (is_divided or factors[0] not in fixed):
            kept.append(node_of("Cast" if is_divided else "Identity", factors, node.output[0]))
        else:
            scales.update(node.output)
    return kept


def with_biases(nodes: Nodes, learned: set[str]) -> Nodes:
    """The nodes, with each learned vector that is added to a `ConvInteger` as an input of it.

    Args:
        nodes: All nodes, without scales.
        learned: Names of initializers.
    """
    maker = {name: node for node in nodes for name in node.output}
    reads = Counter(name for node in nodes for name in node.input)
    made: dict[str, Any] = {}
    for node in nodes:
        pairs = (node.input, node.input[::-1]) if node.op_type == "Add" else ()
        for value, bias in pairs:
            layer = _made_by(maker, value, ("Cast", "Identity"), reads)
            vector = _name_of(maker, bias)
            if layer is not None and layer.op_type == _WITHOUT_BIAS and vector in learned:
                inputs = [*layer.input, "", ""][:_BIAS]
                replaced = node_of(_WITHOUT_BIAS, [*inputs, vector], layer.output[0])
                replaced.attribute.extend(layer.attribute)
                made[layer.output[0]] = replaced
                made[node.output[0]] = node_of("Identity", [value], node.output[0])
    return [made.get(node.output[0], node) if node.output else node for node in nodes]


def _made_by(
    maker: Mapping[str, Any], name: str, through: Sequence[str], reads: Mapping[str, int]
) -> Any:  # noqa: ANN401
    """The node that makes a value with one reader, looking through some operators; None if none."""
    node = maker.get(name)
    while node is not None and reads[name] == 1 and node.op_type in through:
        name = node.input[0]
        node = maker.get(name)
    return node if reads[name] == 1 else None


def _name_of(maker: Mapping[str, Any], name: str) -> str:
    """The name of a value before it was reshaped or rounded, or its own."""
    node = maker.get(name)
    while node is not None and node.op_type in _AS_STORED:
        name = node.input[0]
        node = maker.get(name)
    return name


def simplified(graph: Any, facts: Facts) -> Nodes:  # noqa: ANN401
    """The nodes of a ``GraphProto``, each pattern as one node, still in topological order.

    Args:
        graph: The graph.
        facts: Shapes and numbers of its values.
    """
    learned = {tensor.name for tensor in graph.initializer}
    outputs = [entry.name for entry in graph.output]
    nodes = unscaled(list(graph.node), learned | set(facts.numbers))
    nodes = with_biases(nodes, learned)
    nodes = _GroupNorms(nodes, outputs, learned, facts).merged()
    nodes = _with_affine(nodes, outputs, {tensor.name: tensor for tensor in graph.initializer})
    return _with_rolls(nodes, facts)


class _GroupNorms:
    """Finds ``Reshape, InstanceNormalization, Reshape`` and the learned scale and shift after it.

    Args:
        nodes: All nodes.
        outputs: Names of the outputs of the graph.
        learned: Names of initializers.
        facts: Shapes of values.
    """

    def __init__(
        self, nodes: Nodes, outputs: Sequence[str], learned: set[str], facts: Facts
    ) -> None:
        self._nodes, self._facts = nodes, facts
        self._maker = {name: node for node in nodes for name in node.output if name}
        self._reader = {name: node for node in nodes for name in node.input}
        self._reads = Counter(name for node in nodes for name in node.input)
        self._reads.update(outputs)
        copies = {n.output[0] for n in nodes if n.op_type == "Identity" and n.input[0] in learned}
        self._learned = learned | copies
        # A norm without weights is scaled by ones and shifted by zeros.
        self._fixed = self._learned | {n.output[0] for n in nodes if n.op_type == "Constant"}

    def merged(self) -> Nodes:
        """The nodes with each group norm as one node, in the place of its last node."""
        dropped: set[str] = set()
        made: dict[str, Any] = {}
        for node in self._nodes:
            if node.op_type == "InstanceNormalization" and self._is_reshaped(node):
                *inner, last, norm = self._group_norm(node)
                dropped.update(each.output[0] for each in (node, *inner))
                made[last.output[0]] = norm
        kept = (node for node in self._nodes if not node.output or node.output[0] not in dropped)
        return [made.get(node.output[0], node) if node.output else node for node in kept]

    def _is_reshaped(self, node: Any) -> bool:  # noqa: ANN401
        before = self._maker.get(node.input[0])
        if before is None or before.op_type != "Reshape":
            return False
        source, groups = (self._facts.shape(each.input[0]) for each in (before, node))
        return source != groups and self._next(node, "Reshape") is not None

    def _group_norm(self, node: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """The nodes after the instance norm that belong to it, then the node that replaces all."""
        source = self._maker[node.input[0]].input[0]
        chain: Nodes = [self._next(node, "Reshape")]
        weights: list[str] = []
        for operator in ("Mul", "Add"):
            following = self._next(chain[-1], operator)
            if following is None or self._fixed.isdisjoint(following.input):
                break
            chain.append(following)
            weights.extend(self._learned.intersection(following.input))
        return (
            *chain,
            node_of("GroupNormalization", [source, *weights], chain[-1].output[0]),
        )

    def _next(self, node: Any, operator: str) -> Any:  # noqa: ANN401
        """The only reader of a node's result, if it is of that operator."""
        name = node.output[0]
        reader = self._reader.get(name) if self._reads[name] == 1 else None
        return reader if reader is not None and reader.op_type == operator else None


def _with_affine(nodes: Nodes, outputs: Sequence[str], weights: Mapping[str, Any]) -> Nodes:
    """The nodes, with the learned scale and shift after a batch norm of ones and zeros as its own.

    Caffe has a layer for each; a converter fills the norm's own scale with ones.

    Args:
        nodes: All nodes.
        outputs: Names of the outputs of the graph.
        weights: Tensors of the file.
    """
    reader = {name: node for node in nodes for name in node.input}
    reads = Counter([*outputs, *(name for node in nodes for name in node.input)])
    made: dict[str, Any] = {}
    dropped: set[str] = set()
    for node in nodes:
        if node.op_type != "BatchNormalization" or not _is_bare(node, weights):
            continue
        last, vectors = node, list(node.input[1:3])
        for place, operator in enumerate(("Mul", "Add")):
            after = reader.get(last.output[0]) if reads[last.output[0]] == 1 else None
            if after is None or after.op_type != operator:
                break
            learned = [name for name in after.input if name in weights]
            if not learned or not _fits(weights, learned[0], node):
                break
            dropped.add(last.output[0])
            last, vectors[place] = after, learned[0]
        if last is not node:
            inputs = [node.input[0], *vectors, *node.input[3:]]
            made[last.output[0]] = node_of("BatchNormalization", inputs, last.output[0])
    kept = (node for node in nodes if not node.output or node.output[0] not in dropped)
    return [made.get(node.output[0], node) if node.output else node for node in kept]


def _is_bare(node: Any, weights: Mapping[str, Any]) -> bool:  # noqa: ANN401
    """Whether the scale of a norm is of ones, and its shift of zeros."""
    for name, number in zip(node.input[1:3], (1, 0), strict=False):
        tensor = weights.get(name)
        if tensor is None or onnx("external_data_helper").uses_external_data(tensor):
            return False
        if not (onnx("numpy_helper").to_array(tensor) == number).all():
            return False
    return True


def _fits(weights: Mapping[str, Any], name: str, norm: Any) -> bool:  # noqa: ANN401
    """Whether a tensor has a number for each channel of a norm."""
    channels: int = prod(weights[norm.input[1]].dims)
    return channels > 1 and channels == int(prod(weights[name].dims))


def _with_rolls(nodes: Nodes, facts: Facts) -> Nodes:
    """The nodes, with each concatenation of the end and the beginning of an axis as ``Roll``."""
    makers: dict[str, Any] = {}
    kept = []
    for node in nodes:
        source = _rolled(node, makers, facts) if node.op_type == "Concat" else None
        if source is not None:
            before = makers.get(source)
            if before is not None and before.op_type == "Roll":
                source = before.input[0]  # rolls along several axes are one roll
            node = node_of("Roll", [source], node.output[0])
        makers.update((name, node) for name in node.output)
        kept.append(node)
    return kept


def _rolled(node: Any, makers: dict[str, Any], facts: Facts) -> str | None:  # noqa: ANN401
    """The value that a concatenation rolls along its axis, or None."""
    parts = [makers[name] for name in node.input if name in makers]
    if len(node.input) != 2 or [part.op_type for part in parts] != ["Slice", "Slice"]:
        return None
    source = parts[0].input[0]
    shape = facts.shape(source)
    axis = onnx("helper").get_attribute_value(node.attribute[0]) % max(len(shape), 1)
    end, beginning = (_bounds(part, shape, facts) for part in parts)
    if parts[1].input[0] != source or end is None or beginning is None:
        return None
    cut = end[1]
    if 2 * cut == shape[axis]:  # halves that change places: sines before cosines
        return None
    return source if (end, beginning) == ((axis, cut, shape[axis]), (axis, 0, cut)) else None


def _bounds(node: Any, shape: Shape, facts: Facts) -> tuple[int, int, int] | None:  # noqa: ANN401
    """(axis, first, end) of a slice along one axis without steps."""
    if len(node.input) < 4:
        return None
    given = [facts.numbers.get(name) for name in node.input[1:] if name]
    if any(numbers is None or numbers.size != 1 for numbers in given):
        return None
    start, end, axis, *steps = (int(numbers.item()) for numbers in given if numbers is not None)
    if steps not in ([], [1]):
        return None
    axis %= len(shape)
    first, last, _ = slice(start, end).indices(shape[axis])
    return axis, first, last
