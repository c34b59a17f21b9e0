"""Values of a TensorFlow Lite file, and its operators that work on their numbers and their shapes.

The format keeps channels last; the standard keeps them first. Convolutions, and whatever works on
their results, are written with channels first, between transpositions that are no operations.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np

from nar.capture.onnx.facts import Numbers
from nar.capture.onnx.writing import ModelWriter
from nar.capture.tflite_file import LiteGraph, LiteOperator, LiteTensor
from nar.capture.trace import Shape

_IMAGE: Final = 4  # axes: batch, height, width, channels
# Chosen: bodies in bodies; files that people hold have two.
_MOST_DEPTH: Final = 16


def _to_first(rank: int) -> tuple[int, ...]:
    """The order of axes that brings the last one behind the batch."""
    return (0, rank - 1, *range(1, rank - 1))


def _to_last(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)


class GraphWriter:
    """Writes one graph of a file.

    Values have the number of their tensor. Each is known with channels last, with channels first,
    or both; what is missing is written when it is read.

    Args:
        graphs: All graphs of the file.
        number: Number of the graph.
        writer: What is written to.
        rules: What writes an operator, by its name.
        above: Numbers of the graphs whose operators this one is the body of.

    Attributes:
        means: Names of values that are means.
        opposites: Values that are the opposite of a mean, or its product -> that without a sign.
        layers: Results of recurrent layers -> operator, source, weights.
        turned: Sequences that were turned round -> as they were before.
        variables: Names of variables of the file -> what they hold before the first run; None
            where that is not known.
        changed: Variables that a run assigns: what they hold is data.
    """

    def __init__(
        self,
        graphs: Sequence[LiteGraph],
        number: int,
        writer: ModelWriter,
        rules: "Mapping[str, Rule]",
        above: tuple[int, ...] = (),
    ) -> None:
        if not 0 <= number < len(graphs):
            raise ValueError(f"wanted a graph among {len(graphs)}, came number {number}")
        if number in above or len(above) >= _MOST_DEPTH:
            raise ValueError(
                f"wanted graphs in at most {_MOST_DEPTH} others and not in themselves, came graph "
                f"{number} in {above}"
            )
        self.writer = writer
        self._graphs, self._rules, self._above = graphs, rules, (*above, number)
        self._graph = graphs[number]
        self._last: dict[int, str] = {}
        self._first: dict[int, str] = {}
        self.means: set[str] = set()
        self.opposites: dict[str, str] = {}
        self.layers: dict[str, tuple[str, str, list[str]]] = {}
        self.turned: dict[str, str] = {}
        self.variables: dict[str, str | None] = {}
        self.changed = _changed_variables(graphs) if not above else frozenset()

    def inner(self, number: int) -> "GraphWriter":
        """The scope of a graph that an operator of this one runs."""
        self.writer.count()
        inner = GraphWriter(self._graphs, number, self.writer, self._rules, self._above)
        inner.variables, inner.changed = self.variables, self.changed
        return inner

    @property
    def operators(self) -> tuple[LiteOperator, ...]:
        """Its operators."""
        return self._graph.operators

    @property
    def inputs(self) -> tuple[int, ...]:
        """The tensors that the graph is given."""
        return self._graph.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Its results."""
        return self._graph.outputs

    def write(self) -> None:
        """Write every operator."""
        for operator in self._graph.operators:
            self.writer.count()
            rule = self._rules.get(operator.name)
            if rule is None:
                values = [self.value(place) for place in operator.inputs if place >= 0]
                names = [self.named(place) for place in operator.outputs]
                self.writer.unknown(operator.name, values, names)
            else:
                rule(self, operator)

    def named(self, place: int) -> str:
        """A name for the result of an operator that the standard lacks."""
        name = f"unknown {'.'.join(map(str, self._above))}.{place}"
        tensor = self.tensor(place)
        self.writer.state(name, tensor.shape, is_float=tensor.is_float)
        self._last[place] = name
        return name

    def bind(self, place: int, name: str = "") -> str:
        """Give a tensor of the graph a value from outside."""
        name = name or f"input {'.'.join(map(str, self._above))}.{place}"
        self.tensor(place)
        self._last[place] = name
        return name

    def tensor(self, place: int) -> LiteTensor:
        """A tensor of the graph.

        Raises:
            ValueError: It has none of that number.
        """
        if not 0 <= place < len(self._graph.tensors):
            raise ValueError(
                f"wanted a tensor among {len(self._graph.tensors)}, came number {place}"
            )
        return self._graph.tensors[place]

    def shape(self, place: int) -> Shape:
        """The shape of a tensor."""
        return self.tensor(place).shape

    def numbers(self, place: int) -> Numbers | None:
        """The few numbers of a constant."""
        return self.tensor(place).numbers

    def is_first(self, place: int) -> bool:
        """Whether a value is known with channels first: it is a map of features."""
        return place in self._first

    def value(self, place: int) -> str:
        """The name of a value as the file lays it out."""
        if place not in self._last:
            first = self._first.get(place)
            self._last[place] = (
                self._constant(place)
                if first is None
                else self.writer.transposed(first, _to_last(len(self.shape(place))))
            )
        return self._last[place]

    def first(self, place: int) -> str:
        """The name of a value with channels first."""
        if place not in self._first:
            value = self.value(place)
            self._first[place] = self.writer.transposed(value, _to_first(len(self.shape(place))))
        return self._first[place]

    def put(self, place: int, name: str) -> None:
        """Note the name of a result as the file lays it out."""
        tensor = self.tensor(place)
        self._last[place] = name
        self.writer.state(name, tensor.shape, is_float=tensor.is_float)

    def put_first(self, place: int, name: str) -> None:
        """Note the name of a result with channels first."""
        tensor = self.tensor(place)
        self._first[place] = name
        order = _to_first(len(tensor.shape))
        self.writer.state(
            name, tuple(tensor.shape[axis] for axis in order), is_float=tensor.is_float
        )

    def _constant(self, place: int) -> str:
        tensor = self.tensor(place)
        if tensor.is_learned:
            return self.writer.weight(f"buffer {tensor.buffer} {tensor.shape}", tensor.shape)
        if tensor.numbers is not None:
            return self.writer.numbers(tensor.numbers, np.float32 if tensor.is_float else np.int64)
        if tensor.is_stored:
            return self.writer.hidden(f"buffer {tensor.buffer} {tensor.shape}", tensor.shape)
        if tensor.is_state or 0 in tensor.shape:
            return self.writer.blank(tensor.shape)
        raise ValueError(
            f"wanted operators in the order in which they run, an operator reads tensor {place} "
            f"({tensor.name}) before it is made"
        )


Rule: TypeAlias = Callable[[GraphWriter, LiteOperator], None]


def variable_of(handle: LiteOperator) -> str:
    """The name of the variable that a handle stands for."""
    parts = [handle.options.text(field) for field in range(2)] if handle.options else []
    return f"variable {'/'.join(parts)}"


def _changed_variables(graphs: Sequence[LiteGraph]) -> frozenset[str]:
    """The variables that are assigned outside of the graphs that run once, before all others."""
    once = {
        each.stated(0) for graph in graphs for each in graph.operators if each.name == "CALL_ONCE"
    }
    changed: set[str] = set()
    for number, graph in enumerate(graphs):
        handles: dict[int, str] = {}
        for each in graph.operators if number not in once else ():
            if each.name == "VAR_HANDLE":
                handles.update(dict.fromkeys(each.outputs, variable_of(each)))
            elif each.name == "ASSIGN_VARIABLE":
                changed.update(handles[place] for place in each.inputs[:1] if place in handles)
    return frozenset(changed)


# Fused activations by their codes: an operator, and the bounds of a cut.
_ACTIVATIONS: Final[Mapping[int, tuple[str, tuple[float, ...]]]] = {
    1: ("Relu", ()),
    2: ("Clip", (-1, 1)),
    3: ("Clip", (0, 6)),
    4: ("Tanh", ()),
    5: ("Sign", ()),
}


def activated(scope: GraphWriter, value: str, code: int) -> str:
    """A value behind a fused activation."""
    operator, bounds = _ACTIVATIONS.get(code, ("", ()))
    if not operator:
        return value
    limits = [scope.writer.numbers(bound, np.float32) for bound in bounds]
    return scope.writer.node(operator, [value, *limits])


def _lifted(scope: GraphWriter, place: int, rank: int) -> str:
    """An operand of arithmetic with channels first, of as many axes as the result has."""
    shape = scope.shape(place)
    if len(shape) == rank:
        return scope.first(place)
    if prod(shape) == 1:
        return scope.value(place)
    full = (*[1] * (rank - len(shape)), *shape)
    return scope.writer.transposed(scope.writer.reshaped(scope.value(place), full), _to_first(rank))


def _is_map(scope: GraphWriter, operator: LiteOperator) -> bool:
    """Whether an operator works on maps of features, and keeps their axes."""
    rank = len(scope.shape(operator.outputs[0]))
    return any(
        place >= 0 and scope.is_first(place) and len(scope.shape(place)) == rank
        for place in operator.inputs
    )


def _apply(
    scope: GraphWriter, operator: LiteOperator, write: Callable[[list[str]], str], fused: int = 0
) -> None:
    """Write an operator that works on each number, with the channels where its operands have them.

    Args:
        scope: The graph.
        operator: The operator.
        write: Writes nodes for operands, and gives their result.
        fused: Code of a fused activation.
    """
    result = operator.outputs[0]
    places = [place for place in operator.inputs if place >= 0]
    if _is_map(scope, operator):
        rank = len(scope.shape(result))
        value = write([_lifted(scope, place, rank) for place in places])
        scope.put_first(result, activated(scope, value, fused))
    else:
        value = write([scope.value(place) for place in places])
        scope.put(result, activated(scope, value, fused))


def elementwise(name: str, *, activation: int | None = None, **stated: Any) -> Rule:  # noqa: ANN401
    """An operator of the standard that works on each number.

    Args:
        name: The operator.
        activation: The field of a fused activation; None where there is none.
        stated: Attributes.
    """

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        fused = 0 if activation is None else operator.stated(activation, "b")
        _apply(scope, operator, lambda values: scope.writer.node(name, values, **stated), fused)

    return rule


def clipped(*bounds: float) -> Rule:
    """A cut at bounds."""

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        limits = [scope.writer.numbers(bound, np.float32) for bound in bounds]
        _apply(scope, operator, lambda values: scope.writer.node("Clip", [*values, *limits]))

    return rule


def chain(*names: str) -> Rule:
    """Operators one after another, the first of all operands."""

    def write(scope: GraphWriter, values: list[str]) -> str:
        for name in names:
            values = [scope.writer.node(name, values)]
        return values[0]

    return lambda scope, operator: _apply(scope, operator, partial(write, scope))


def squared(scope: GraphWriter, operator: LiteOperator) -> None:
    """A product of a value with itself."""
    _apply(scope, operator, lambda values: scope.writer.node("Mul", values * 2))


def squared_difference(scope: GraphWriter, operator: LiteOperator) -> None:
    """The difference of two values, squared."""

    def write(values: list[str]) -> str:
        return scope.writer.node("Mul", [scope.writer.node("Sub", values)] * 2)

    _apply(scope, operator, write)


def opposite(scope: GraphWriter, operator: LiteOperator) -> None:
    """The opposite of a value."""

    def write(values: list[str]) -> str:
        value = scope.writer.node("Neg", values)
        if values[0] in scope.means:
            scope.opposites[value] = values[0]
        return value

    _apply(scope, operator, write)


def multiplied(scope: GraphWriter, operator: LiteOperator) -> None:
    """A product."""

    def write(values: list[str]) -> str:
        value = scope.writer.node("Mul", values)
        if not scope.opposites.keys().isdisjoint(values):
            factors = [scope.opposites.get(each, each) for each in values]
            scope.opposites[value] = scope.writer.node("Mul", factors)
        return value

    _apply(scope, operator, write, operator.stated(0, "b"))


def added(scope: GraphWriter, operator: LiteOperator) -> None:
    """A sum. ``shift + -mean * scale``, as Keras writes norms, is ``shift - mean * scale``."""

    def write(values: list[str]) -> str:
        for value, other in (values, values[::-1]):
            if value in scope.opposites:
                return scope.writer.node("Sub", [other, scope.opposites[value]])
        return scope.writer.node("Add", values)

    _apply(scope, operator, write, operator.stated(0, "b"))


def inverse_root(scope: GraphWriter, operator: LiteOperator) -> None:
    """One over the root."""
    power = scope.writer.numbers(-0.5, np.float32)
    _apply(scope, operator, lambda values: scope.writer.node("Pow", [*values, power]))


def passed_on(scope: GraphWriter, operator: LiteOperator) -> None:
    """A result that is the first operand: numbers in fewer bits, or in another type."""
    source, result = operator.inputs[0], operator.outputs[0]
    if scope.is_first(source):
        scope.put_first(result, scope.first(source))
    else:
        scope.put(result, scope.value(source))


def along(scope: GraphWriter, operator: LiteOperator, axis: int) -> tuple[list[str], int, bool]:
    """Operands of one rank, with the axis along which an operator works.

    Returns:
        Names of the operands, the axis of them, and whether their channels are first.
    """
    rank = len(scope.shape(operator.outputs[0])) or 1
    axis = int(axis) % rank
    is_map = _is_map(scope, operator)
    places = [place for place in operator.inputs if place >= 0]
    values = [scope.first(place) if is_map else scope.value(place) for place in places]
    return values, _to_first(rank).index(axis) if is_map else axis, is_map


def softmax(name: str) -> Rule:
    """A softmax along the last axis, or its logarithm."""

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        values, axis, is_map = along(scope, operator, -1)
        value = scope.writer.node(name, values, axis=axis)
        (scope.put_first if is_map else scope.put)(operator.outputs[0], value)

    return rule


def reduced(name: str) -> Rule:
    """A reduction over the axes of the second operand."""

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        source, given = operator.inputs[:2]
        rank, axes = len(scope.shape(source)), scope.numbers(given)
        keeps = int(operator.stated(0, "?"))
        if axes is None or rank < _IMAGE or not (scope.is_first(source) and keeps):
            value = scope.writer.node(
                name, [scope.value(source), scope.value(given)], keepdims=keeps
            )
            if name == "ReduceMean":
                scope.means.add(value)
            scope.put(operator.outputs[0], value)
            return
        moved = [_to_first(rank).index(int(axis) % rank) for axis in axes.flatten()]
        value = scope.writer.node(
            name, [scope.first(source), scope.writer.numbers(moved)], keepdims=1
        )
        scope.put_first(operator.outputs[0], value)

    return rule


def reshaped(scope: GraphWriter, operator: LiteOperator) -> None:
    """The same numbers in another shape."""
    result = operator.outputs[0]
    scope.put(result, scope.writer.reshaped(scope.value(operator.inputs[0]), scope.shape(result)))


def transposed(scope: GraphWriter, operator: LiteOperator) -> None:
    """The same numbers with their axes in another order."""
    source, given = operator.inputs[:2]
    order = scope.numbers(given)
    axes = range(len(scope.shape(source)))[::-1] if order is None else order.flatten().tolist()
    scope.put(operator.outputs[0], scope.writer.transposed(scope.value(source), list(axes)))


def padded(**mode: str) -> Rule:
    """A border around a value: ``(input, (axes, before and after), fill)``."""

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        source, given, *fill = operator.inputs
        rank, amounts, result = len(scope.shape(source)), scope.numbers(given), operator.outputs[0]
        fills = [scope.value(place) for place in fill]
        if amounts is None or amounts.shape != (rank, 2):
            value = scope.writer.node("Pad", [scope.value(source), scope.value(given)], **mode)
            scope.put(result, value)
            return
        # An image that is padded along its places is a map of features, wherever it comes from.
        is_map = scope.is_first(source) or (rank >= _IMAGE and not amounts[[0, -1]].any())
        order = _to_first(rank) if is_map else tuple(range(rank))
        moved = scope.writer.numbers(amounts[list(order)].T.flatten())
        value = scope.first(source) if is_map else scope.value(source)
        padded = scope.writer.node("Pad", [value, moved, *fills], **mode)
        (scope.put_first if is_map else scope.put)(result, padded)

    return rule


def resized(mode: str) -> Rule:
    """A map of features of another height and width."""

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        source, result = operator.inputs[0], operator.outputs[0]
        batch, height, width, channels = scope.shape(result)
        sizes = scope.writer.numbers([batch, channels, height, width])
        value = scope.writer.node("Resize", [scope.first(source), "", "", sizes], mode=mode)
        scope.put_first(result, value)

    return rule


def shuffled(name: str) -> Rule:
    """Channels become places, or places channels."""

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        value = scope.writer.node(
            name, [scope.first(operator.inputs[0])], blocksize=operator.stated(0, default=1)
        )
        scope.put_first(operator.outputs[0], value)

    return rule


def sliced(scope: GraphWriter, operator: LiteOperator) -> None:
    """``(input, first places, extents)``."""
    source, begin, size = operator.inputs[:3]
    starts, sizes = scope.numbers(begin), scope.numbers(size)
    if starts is None or sizes is None:
        _cut_out(scope, operator, [scope.value(begin), scope.value(size)])
        return
    ends = [
        int(start + extent) if extent >= 0 else whole
        for start, extent, whole in zip(
            starts.flatten(), sizes.flatten(), scope.shape(source), strict=True
        )
    ]
    _cut_out(scope, operator, [scope.writer.numbers(starts), scope.writer.numbers(ends)])


def strided(scope: GraphWriter, operator: LiteOperator) -> None:
    """``(input, first places, ends, steps)``, with masks of the axes that are taken otherwise."""
    source, *places = operator.inputs[:4]
    given = [scope.numbers(place) for place in places]
    known = [each.flatten().tolist() for each in given if each is not None]
    whole_from, whole_to, gaps, new, single = (operator.stated(field) for field in range(5))
    if len(known) < len(places) or gaps or new:
        values = [scope.value(place) for place in places]
        _cut_out(scope, operator, values[:2] if gaps or new else [*values[:2], "", values[2]])
        return
    axes = range(len(known[0]))
    starts, ends, steps = known
    for axis in axes:
        extent = scope.shape(source)[axis]
        if single >> axis & 1:
            ends[axis] = starts[axis] + 1 if starts[axis] != -1 else extent
        if whole_from >> axis & 1:
            starts[axis] = 0 if steps[axis] > 0 else extent
        if whole_to >> axis & 1:
            ends[axis] = extent if steps[axis] > 0 else -extent - 1
    cut = [starts, ends, list(axes), steps]
    _cut_out(scope, operator, [scope.writer.numbers(each) for each in cut])


def _cut_out(scope: GraphWriter, operator: LiteOperator, bounds: list[str]) -> None:
    result = operator.outputs[0]
    value = scope.writer.node("Slice", [scope.value(operator.inputs[0]), *bounds])
    scope.put(result, scope.writer.reshaped(value, scope.shape(result)))


def split(source: int, axis: int) -> Rule:
    """A cut of an axis into parts.

    Args:
        source: Which operand is cut.
        axis: Which operand says along which axis.
    """

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        place = operator.inputs[source]
        along, rank = scope.numbers(operator.inputs[axis]), len(scope.shape(place))
        if along is None:
            raise ValueError("wanted a cut along an axis that the file states, came another")
        at, is_map = int(along.item()) % rank, scope.is_first(place)
        widths = [scope.shape(each)[at] for each in operator.outputs]
        value = scope.first(place) if is_map else scope.value(place)
        names = parts(scope, value, widths, _to_first(rank).index(at) if is_map else at)
        for each, name in zip(operator.outputs, names, strict=True):
            (scope.put_first if is_map else scope.put)(each, name)

    return rule


def parts(scope: GraphWriter, value: str, widths: Sequence[int], axis: int) -> list[str]:
    """Names of the parts of a value that is cut along an axis."""
    names = [f"{value}/part {number}" for number in range(len(widths))]
    scope.writer.node("Split", [value, scope.writer.numbers(widths)], *names, axis=axis)
    return names


def unpacked(scope: GraphWriter, operator: LiteOperator) -> None:
    """A cut into the places of an axis, which is left out."""
    source = operator.inputs[0]
    axis = operator.stated(1) % len(scope.shape(source))
    names = parts(scope, scope.value(source), [1] * len(operator.outputs), axis)
    for place, name in zip(operator.outputs, names, strict=True):
        scope.put(place, scope.writer.reshaped(name, scope.shape(place)))


def packed(scope: GraphWriter, operator: LiteOperator) -> None:
    """Values on a new axis."""
    result = operator.outputs[0]
    axis = operator.stated(1) % len(scope.shape(result))
    at = scope.writer.numbers([axis])
    values = [scope.writer.node("Unsqueeze", [scope.value(place), at]) for place in operator.inputs]
    scope.put(result, scope.writer.node("Concat", values, axis=axis))
