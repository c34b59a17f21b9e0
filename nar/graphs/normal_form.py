"""The graph that a deployed model shares with its source: a view beside the graph as written.

To deploy a model, people fold its batch norms into the layers before them, and merge parallel
branches into one convolution and adapters of low rank into the layers that they adapt. The graphs
before and after have the same normal form.

Sums are found from the inputs on, then layers are put in their place, in time linear in nodes and
edges. Linear layers that read one value, added up, are one layer (`LinearSum`). A value that other
nodes read as well is no part of a sum: these nodes need it as it is. Graphs hold neither shapes nor
numbers, so a vector is taken for one number for each channel, and a batch norm for a norm over the
channels of the layer before it.

Query, key and value of an attention may come from one packed layer that was itself a sum. Capture
reads a packed layer as three layers, unless an adapter is added to it before it is taken apart::

    x -> linear -----------> add -> split -> attention    is  x -> linear -> attention
    x -> linear -> linear --/                                 x -> linear --/
                                                              x -> linear --/
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log2
from typing import Final

import numpy as np

from nar.graphs.canonical import Adjacency, Coded, canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, Trait, ids_with_any, op_id

# Raise it when the normal form of any graph changes: stored fingerprints are then made anew.
NORMAL_FORM_VERSION: Final = 2

_BATCH_NORM, _MUL = map(op_id, ("batch_norm", "mul"))
_POOLINGS = ids_with_any(Trait.POOLS_TO_SIZE)
_HAVE_PARTS = ids_with_any(Trait.SEVERAL_VALUES)
_VECTORS = slice(ATTRIBUTES.index("parameter_operands"), ATTRIBUTES.index("constant_operands") + 1)
_SQUARE = 1  # value of the attribute kernel_shape
_LINEAR, _CONV, _DEPTHWISE = map(op_id, ("linear", "conv", "conv_depthwise"))
_CONVOLUTIONS = ids_with_any(Trait.MERGES_BRANCHES)
_THREEFOLD = round(4 * log2(3))  # value of the attribute channel_ratio
_KERNEL = ATTRIBUTES.index("kernel")
_KERNEL_SHAPE = ATTRIBUTES.index("kernel_shape")
_STRIDE = ATTRIBUTES.index("stride")
_CHANNEL_RATIO = ATTRIBUTES.index("channel_ratio")


@dataclass(frozen=True, slots=True)
class LinearLayer:
    """A layer with weights.

    Attributes:
        op_id: Id of the operator.
        attributes: Attributes in the order of `nar.graphs.ops.ATTRIBUTES`.
    """

    op_id: int
    attributes: tuple[int, ...]

    @property
    def keeps_shape(self) -> bool:
        """Whether the result of the layer can be added to the value that it reads."""
        is_changing = self.attributes[_STRIDE] > 1 or self.attributes[_CHANNEL_RATIO] != 0
        return self.op_id in _CONVOLUTIONS and not is_changing

    def added_to(self, other: "LinearLayer") -> "LinearLayer | None":
        """The layer with the larger window; None if the layers differ in more than windows."""
        kernel = max(self.attributes[_KERNEL], other.attributes[_KERNEL])
        layers = (self, other)
        shapes = {x.attributes[_KERNEL_SHAPE] for x in layers if x.attributes[_KERNEL] == kernel}
        one, same = (x._with_window(kernel, max(shapes)) for x in layers)
        if one != same or self.op_id not in _CONVOLUTIONS | {_LINEAR}:
            return None
        return one if len(shapes) == 1 else one._with_window(kernel, _SQUARE)

    def takes_in(self, down: "LinearLayer", up: "LinearLayer") -> bool:
        """Whether two layers in sequence are a change of this layer, of a rank below its widths.

        Adapters are trained as such pairs (LoRA). For a convolution, the first layer has its window
        and the second has none. Ratios of widths are rounded, so their sum may differ by one.
        """
        first, second, both = (x.attributes[_CHANNEL_RATIO] for x in (down, up, self))
        is_narrow = first < 0 < second and abs(first + second - both) <= 1
        return is_narrow and up.is_pointwise and down._as_wide_as(self) == self

    @property
    def is_pointwise(self) -> bool:
        """Whether the layer only mixes channels."""
        if self.op_id == _LINEAR:
            return True
        is_plain = self.attributes[_KERNEL] == self.attributes[_STRIDE] == 1
        return is_plain and self.op_id == _CONV

    def third(self) -> "LinearLayer | None":
        """A third of a linear layer three times as wide as its source; None of other layers."""
        if self.op_id != _LINEAR or self.attributes[_CHANNEL_RATIO] != _THREEFOLD:
            return None
        attributes = list(self.attributes)
        attributes[_CHANNEL_RATIO] = 0
        return LinearLayer(self.op_id, tuple(attributes))

    def _as_wide_as(self, other: "LinearLayer") -> "LinearLayer":
        attributes = list(self.attributes)
        attributes[_CHANNEL_RATIO] = other.attributes[_CHANNEL_RATIO]
        return LinearLayer(self.op_id, tuple(attributes))

    def _with_window(self, kernel: int, shape: int) -> "LinearLayer":
        attributes = list(self.attributes)
        attributes[_KERNEL], attributes[_KERNEL_SHAPE] = kernel, shape
        return LinearLayer(self.op_id, tuple(attributes))


@dataclass(frozen=True, slots=True)
class LinearSum:
    """The value of a node as a sum of linear layers that all read one other node.

    Attributes:
        source: The node that is read.
        layer: The layer that can stand for all layers together; None if there are no layers.
        layers: How many layers are added up.
        norms: How many batch norms of the source itself are added.
        has_source: Whether the source itself is added, too.
        is_scaled: Whether a learned scale, and no shift, comes last.
        parts: Operands of the node, and their operands, that are not needed once one layer stands
            for the sum.
    """

    source: int
    layer: LinearLayer | None = None
    layers: int = 0
    norms: int = 0
    has_source: bool = False
    is_scaled: bool = False
    parts: tuple[int, ...] = ()

    @property
    def is_one_layer(self) -> bool:
        """Whether one layer stands for the sum.

        A plain residual around one layer is a design of its own, unless the layer is depthwise:
        depthwise layers are deployed without the residual. A layer with a scale is a design of its
        own, too, and so is a sum of linear layers, which may work along different axes. A change of
        low rank does not count as a layer of the sum.
        """
        if self.layer is None or self.is_scaled:
            return False
        is_residual = self.has_source and self.layers + self.norms == 1
        is_linear_sum = self.layers > 1 and self.layer.op_id == _LINEAR
        return not is_linear_sum and (not is_residual or self.layer.op_id == _DEPTHWISE)

    def of(self, *parts: int, is_scaled: bool | None = None) -> "LinearSum":
        """The same sum as the value of a node with the operands ``parts``."""
        is_scaled = self.is_scaled if is_scaled is None else is_scaled
        return replace(self, parts=parts, is_scaled=is_scaled)

    def with_source(self, *parts: int) -> "LinearSum | None":
        """The sum and its source added up; None if the source has another shape."""
        return _fitting(replace(self, has_source=True, is_scaled=False, parts=parts))

    def averaged(self, *parts: int) -> "LinearSum | None":
        """The mean of linear layers, of a node with the operands ``parts``; None for other sums."""
        is_linear = self.layer is not None and self.layer.op_id == _LINEAR and not self.is_scaled
        return replace(self, layers=1, parts=parts) if is_linear and self.layers > 1 else None

    def added_to(self, other: "LinearSum", *parts: int) -> "LinearSum | None":
        """Two sums added up; None if no layer can stand for both."""
        if self.source != other.source:
            return None
        layer = self.layer or other.layer
        if self.layer and other.layer:
            layer = self.layer.added_to(other.layer)
            if layer is None:
                return None
        return _fitting(
            LinearSum(
                self.source,
                layer,
                self.layers + other.layers,
                self.norms + other.norms,
                self.has_source or other.has_source,
                parts=parts,
            )
        )


def _fitting(total: LinearSum) -> LinearSum | None:
    reads_source = total.has_source or total.norms > 0
    fits = total.layer is None or total.layer.keeps_shape or not reads_source
    return total if fits else None


class LinearSums:
    """The sums of a graph.

    Attributes:
        order: Nodes, each after its operands.
        operands: Operands of each node.
        behind_norms: Each node itself; for a batch norm that its readers take in, its source.
        of: The value of each node as a sum; None if it is no sum.

    Args:
        adjacency: Operands and readers of the graph.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        graph, self.operands, self.order = adjacency.graph, adjacency.operands, adjacency.order
        self.behind_norms = list(range(graph.nodes))
        self.of: list[LinearSum | None] = [None] * graph.nodes
        self._op_ids = graph.op_ids.tolist()
        self._rows = graph.attributes.tolist()
        self._vectors = graph.attributes[:, _VECTORS].sum(axis=1).tolist()
        self._reader = [0] * graph.nodes  # the last reader
        self._read_once, self._read_by_linear = self._readers()
        for node in self.order:
            rule = _RULES.get(self._op_ids[node])
            if rule is not None:
                self.of[node] = rule(self, node)

    def _readers(self) -> tuple[list[bool], list[bool]]:
        """For each node: whether one node reads it; whether only linear layers read it."""
        counts = [0] * len(self.operands)
        linear = [0] * len(self.operands)
        for node, sources in enumerate(self.operands):
            takes_norm = self._op_ids[node] == _LINEAR and len(sources) == 1
            for source in sources:
                self._reader[source] = node
                counts[source] += 1
                linear[source] += takes_norm
        by_linear = [0 < count == some for count, some in zip(counts, linear, strict=True)]
        return [count == 1 for count in counts], by_linear

    def layer(self, node: int) -> LinearSum | None:
        """A layer is a sum of one layer; the head of a network takes in the batch norm before it.

        ``pooling -> batch_norm -> linear`` is ``pooling -> linear``: LeViT and RepViT. Elsewhere
        the two may work along different axes.
        """
        if len(self.operands[node]) != 1:
            return None  # its weights are computed
        source = self.behind_norms[self.operands[node][0]]
        return LinearSum(source, LinearLayer(self._op_ids[node], tuple(self._rows[node])), layers=1)

    def batch_norm(self, node: int) -> LinearSum | None:
        """``x -> conv -> batch_norm`` is ``x -> conv``; a norm of any other value is a branch."""
        if len(self.operands[node]) != 1:
            return None
        (value,) = self.operands[node]
        inner = self._one_layer(value)
        if inner is not None:
            return inner.of(value)
        if self._read_by_linear[node] and self._op_ids[value] in _POOLINGS:
            self.behind_norms[node] = value
        return LinearSum(value, norms=1)

    def addition(self, node: int) -> LinearSum | None:
        """Branches of one value, and the value itself, added up or subtracted.

        ::

            x -> conv 3x3 -> batch_norm -> add -> add    is  x -> conv 3x3
            x -> conv 1x1 -> batch_norm --/       /
            x -> batch_norm ---------------------/

            x -> conv_depthwise -> add    is  x -> conv_depthwise
            x -------------------/

            x -> conv -> add    stays: a residual
            x ---------/

            x -> linear -----------> add    is  x -> linear
            x -> linear -> linear --/           (LoRA: the second branch is narrow in between)

        Parts of one value are several values: branches after a ``split`` stay.
        """
        operands = self.operands[node]
        if len(operands) == 1:
            return self._shifted(node)
        if len(operands) != 2 or self._vectors[node]:
            return None
        first, second = operands
        adapted = self._adapted(first, second) or self._adapted(second, first)
        if adapted is not None:
            return adapted
        one, other = self._inner(first), self._inner(second)
        total: LinearSum | None = None
        if one is not None and other is not None:
            total = one.added_to(other, first, second)
        elif one is not None and one.source == second:
            total = one.with_source(first)
        elif other is not None and other.source == first:
            total = other.with_source(second)
        return None if total is None or self._has_parts(total.source) else total

    def _adapted(self, value: int, change: int) -> LinearSum | None:
        """A layer with a change of low rank, which may be scaled: ``linear -> linear -> mul``."""
        parts = [change, *(self.operands[change] if self._is_scaled(change) else ())]
        base, up = self._one_layer(value), self._one_layer(parts[-1])
        down = self._one_layer(up.source) if up is not None else None
        if base is None or up is None or down is None or base.source != down.source:
            return None
        is_change = (
            base.layer and down.layer and up.layer and base.layer.takes_in(down.layer, up.layer)
        )
        return base.of(value, *parts, up.source) if is_change else None

    def _is_scaled(self, value: int) -> bool:
        """Whether a value is another value times a number or a vector."""
        is_product = self._op_ids[value] == _MUL and len(self.operands[value]) == 1
        return is_product and self._read_once[value] and self._vectors[value] <= 1

    def _one_layer(self, value: int) -> LinearSum | None:
        """A value as a sum, if one layer can stand for it and only one node reads it."""
        inner = self._inner(value)
        return inner if inner is not None and inner.is_one_layer else None

    def _has_parts(self, value: int) -> bool:
        """Whether two readers of a value may read different parts of it."""
        return self._op_ids[value] in _HAVE_PARTS

    def _shifted(self, node: int) -> LinearSum | None:
        """A bias: ``conv -> add(number)``, or ``conv -> mul(vector) -> add(vector)``.

        The number is often the 0 at which a sum of branches begins. A vector alone may be anything,
        such as the embedding of positions.
        """
        (value,) = self.operands[node]
        inner, vectors = self._inner(value), self._vectors[node]
        if inner is None or vectors > inner.is_scaled:
            return None
        return inner.of(value, is_scaled=inner.is_scaled and not vectors)

    def scale(self, node: int) -> LinearSum | None:
        """``conv -> mul(vector)``: part of a larger sum, but a design of its own where it ends."""
        if len(self.operands[node]) != 1 or self._vectors[node] != 1:
            return None
        (value,) = self.operands[node]
        inner = self._one_layer(value)
        return None if inner is None else inner.of(value, is_scaled=True)

    def average(self, node: int) -> LinearSum | None:
        """``linear + linear -> div(number)``: the mean of two heads, deployed as one (RepViT)."""
        if len(self.operands[node]) != 1 or self._vectors[node]:
            return None
        (value,) = self.operands[node]
        inner = self._inner(value)
        return None if inner is None else inner.averaged(value)

    def only_reader(self, value: int, op: int) -> int | None:
        """The only reader of a value, if it is of the operator ``op``; else None."""
        reader = self._reader[value]
        is_only = self._read_once[value] and self._op_ids[reader] == op
        return reader if is_only else None

    def _inner(self, value: int) -> LinearSum | None:
        """A value as a sum, if only one node reads it."""
        return self.of[value] if self._read_once[value] else None


_RULES: dict[int, Callable[[LinearSums, int], LinearSum | None]] = {
    **dict.fromkeys(ids_with_any(Trait.FOLDS_NORM), LinearSums.layer),
    _BATCH_NORM: LinearSums.batch_norm,
    op_id("add"): LinearSums.addition,
    op_id("sub"): LinearSums.addition,
    _MUL: LinearSums.scale,
    op_id("div"): LinearSums.average,
}


_SPLIT, _ATTENTION = op_id("split"), op_id("attention")


def normal_form(graph: ComputationalGraph) -> ComputationalGraph:
    """The graph that a deployed model shares with its source.

    Parameter total and FLOPs stay as in the graph as written: graphs hold no counts for each node.

    Args:
        graph: A valid graph in any numbering.

    Returns:
        A graph in canonical order; the graph itself where there is nothing to fold.
    """
    folded = _folded(Adjacency(graph))
    return graph if folded is graph else canonical(folded)


def inference_fingerprint(graph: ComputationalGraph) -> str:
    """Sha256 (hex) of the normal form with its attributes: "the same at inference".

    The parameter total is left out, because folding changes it and graphs hold no counts for each
    node: `nar.graphs.fingerprints.same_at_inference` compares the totals, too.

    Args:
        graph: A valid graph in any numbering.
    """
    return inference_fingerprint_of(Adjacency(graph).coded())


def inference_fingerprint_of(written: Coded) -> str:
    """The inference fingerprint of a graph with codes, which serve if there is nothing to fold."""
    folded = _folded(written.adjacency)
    form = written if folded is written.adjacency.graph else Adjacency(folded).coded()
    return form.exact(parameters=0)


def _folded(adjacency: Adjacency) -> ComputationalGraph:
    """The normal form in some numbering; the graph itself where there is nothing to fold."""
    graph, sums = adjacency.graph, LinearSums(adjacency)
    layers, gone = _layers_for_sums(sums)
    if not gone:
        return graph
    parts = _unpacked(sums, layers)
    gone.difference_update(*parts.values())
    kept = [node for node in range(graph.nodes) if node not in gone]
    number = {node: position for position, node in enumerate(kept)}
    edges = [
        (number[sums.behind_norms[part]], number[node])
        for node in kept
        for source in ([layers[node].source] if node in layers else sums.operands[node])
        for part in parts.get(source, (source,))
    ]
    op_ids, attributes = graph.op_ids.copy(), graph.attributes.copy()
    for node, total in layers.items():
        if total.layer is not None:
            op_ids[node], attributes[node] = total.layer.op_id, total.layer.attributes
    return replace(
        graph,
        op_ids=op_ids[kept],
        attributes=attributes[kept],
        edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
    )


def _layers_for_sums(sums: LinearSums) -> tuple[dict[int, LinearSum], set[int]]:
    """The last node of each sum that becomes one layer, and the nodes that the layers replace."""
    layers: dict[int, LinearSum] = {}
    gone: set[int] = set()
    for node in reversed(sums.order):
        if sums.behind_norms[node] != node:
            gone.add(node)
            continue
        total = sums.of[node]
        if total is None or not total.parts:
            continue
        if node not in gone and total.is_one_layer:
            layers[node] = total
        if node in gone or node in layers:
            gone.update(total.parts)
    return layers, gone


def _unpacked(sums: LinearSums, layers: dict[int, LinearSum]) -> dict[int, tuple[int, ...]]:
    """Put three layers in the place of each packed layer that only an attention reads, in parts.

    Args:
        sums: Sums of the graph.
        layers: Nodes that become one layer; the parts of packed layers are added.

    Returns:
        For each split that goes, the three nodes that are read in its place: the node of the layer,
        the split, and the first operand of the sum.
    """
    parts: dict[int, tuple[int, ...]] = {}
    for node, total in list(layers.items()):
        layer = total.layer.third() if total.layer else None
        split = sums.only_reader(node, _SPLIT)
        if layer is None or split is None or sums.only_reader(split, _ATTENTION) is None:
            continue
        parts[split] = (node, split, total.parts[0])
        layers.update(dict.fromkeys(parts[split], replace(total, layer=layer)))
    return parts
