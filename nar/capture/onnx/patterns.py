"""Several ONNX nodes that stand for one operator: found by name, before the graph is read.

Exporters write ``group_norm`` as an instance norm of a reshaped tensor and ``roll`` as two slices
that change places.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from nar.capture.onnx.facts import Facts, onnx
from nar.capture.onnx.quantised import Nodes, node_of, unscaled, with_biases
from nar.capture.trace import Shape


def simplified(graph: Any, facts: Facts) -> Nodes:  # noqa: ANN401
    """The nodes of a ``GraphProto``, each pattern as one node, in topological order still.

    Args:
        graph: The graph.
        facts: Shapes and numbers of its values.
    """
    learned = {tensor.name for tensor in graph.initializer}
    outputs = [entry.name for entry in graph.output]
    nodes = unscaled(list(graph.node), learned | set(facts.numbers))
    nodes = with_biases(nodes, learned)
    nodes = _GroupNorms(nodes, outputs, learned, facts).merged()
    return _with_rolls(nodes, facts)


class _GroupNorms:
    """Finds ``Reshape, InstanceNormalization, Reshape`` and the learned scale and shift after it.

    Args:
        nodes: All nodes.
        outputs: What the graph gives back.
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
        """The nodes with each group norm as one, at the place of its last node."""
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
        """Every node after the instance norm that belongs to it, and the one that replaces all."""
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
        """The one node that reads a node's result, if it is of that operator."""
        name = node.output[0]
        reader = self._reader.get(name) if self._reads[name] == 1 else None
        return reader if reader is not None and reader.op_type == operator else None


def _with_rolls(nodes: Nodes, facts: Facts) -> Nodes:
    """The nodes, a concatenation of an axis' end and its beginning as ``Roll``."""
    makers: dict[str, Any] = {}
    kept = []
    for node in nodes:
        source = _rolled(node, makers, facts) if node.op_type == "Concat" else None
        if source is not None:
            before = makers.get(source)
            if before is not None and before.op_type == "Roll":
                source = before.input[0]  # along several axes it is one roll still
            node = node_of("Roll", [source], node.output[0])
        makers.update((name, node) for name in node.output)
        kept.append(node)
    return kept


def _rolled(node: Any, makers: dict[str, Any], facts: Facts) -> str | None:  # noqa: ANN401
    """What a concatenation rolls along its axis, if it does."""
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
