"""Quantised ONNX graphs: numbers in fewer bits are the same design, written as floats are.

What onnxruntime writes beside the standard is written as the standard has it, scales that are
measured while a model runs are left out, and a bias that is added afterwards is the layer's own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nar.capture.onnx.library import onnx

Nodes = list[Any]

_RUNTIME: Final = "com.microsoft"
# Operators of onnxruntime: what each is on floats, and which inputs hold values. After each value
# stand its scale and its zero point.
_ON_FLOATS: Final[Mapping[str, tuple[str, slice]]] = {
    "QLinearAdd": ("Add", slice(0, 6, 3)),
    "QLinearMul": ("Mul", slice(0, 6, 3)),
    "QLinearSigmoid": ("Sigmoid", slice(1)),
    "QLinearLeakyRelu": ("LeakyRelu", slice(1)),
    "QLinearSoftmax": ("Softmax", slice(1)),
    "QLinearAveragePool": ("AveragePool", slice(1)),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", slice(1)),
    "QLinearReduceMean": ("ReduceMean", slice(1)),
    "QLinearConcat": ("Concat", slice(2, None, 3)),
    "QGemm": ("Gemm", slice(0, 7, 3)),
}
# A convolution on whole numbers has no place for a bias of its own; here it is the fifth input.
_WITHOUT_BIAS: Final = "ConvInteger"
_BIAS: Final = 4


def on_floats(nodes: Sequence[Any]) -> Iterator[Any]:
    """The nodes, those of onnxruntime as standard ones on values that were quantised before."""
    for node in nodes:
        known = _ON_FLOATS.get(node.op_type) if node.domain == _RUNTIME else None
        if known is None:
            yield node
            continue
        operator, places = known
        values = []
        for place in range(len(node.input))[places]:
            if node.input[place]:
                values.append(f"{node.output[0]}/{place}")
                yield node_of("DequantizeLinear", node.input[place : place + 2], values[-1])
        made = node_of(operator, values, node.output[0])
        made.attribute.extend(node.attribute)
        yield made


def unscaled(nodes: Nodes, fixed: set[str]) -> Nodes:
    """The nodes without products by a scale that `DynamicQuantizeLinear` measures.

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
        if node.op_type != "Mul" or len(factors) > 1:
            kept.append(node)
        elif factors and factors[0] not in fixed:
            kept.append(node_of("Identity", factors, node.output[0]))
        else:
            scales.update(node.output)
    return kept


def with_biases(nodes: Nodes, learned: set[str]) -> Nodes:
    """The nodes, a learned vector that is added to a `ConvInteger` as an input of it.

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
    """Who makes a value that has one reader, seen through some operators; None if nobody does."""
    node = maker.get(name)
    while node is not None and reads[name] == 1 and node.op_type in through:
        name = node.input[0]
        node = maker.get(name)
    return node if reads[name] == 1 else None


def _name_of(maker: Mapping[str, Any], name: str) -> str:
    """What a reshaped value was called before."""
    node = maker.get(name)
    return node.input[0] if node is not None and node.op_type == "Reshape" else name


def node_of(operator: str, inputs: Sequence[str], output: str) -> Any:  # noqa: ANN401
    """A standard node without attributes."""
    return onnx("helper").make_node(operator, list(inputs), [output])
