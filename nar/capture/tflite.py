"""Capture of a TensorFlow Lite file: its operators written as a standard model.

Quantised numbers stand for the floats that they were, so a quantised file has the graph of its
float design. A fused activation is an operator that follows. A loop over the cells of one layer is
the layer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

from nar.capture.onnx.bodies import STATE
from nar.capture.onnx.file import capture_model
from nar.capture.onnx.writing import ModelWriter
from nar.capture.record import Capture
from nar.capture.tflite_file import LiteOperator, read_lite
from nar.capture.tflite_ops import (
    GraphWriter,
    Rule,
    activated,
    added,
    along,
    chain,
    clipped,
    elementwise,
    inverse_root,
    multiplied,
    opposite,
    packed,
    padded,
    parts,
    passed_on,
    reduced,
    reshaped,
    resized,
    shuffled,
    sliced,
    softmax,
    split,
    squared,
    squared_difference,
    strided,
    transposed,
    unpacked,
    variable_of,
)
from nar.capture.trace import Shape


def capture_tflite(path: Path, *, name: str) -> Capture:
    """The graph of a TensorFlow Lite model. Float constants of several numbers are its parameters.

    Args:
        path: A ``.tflite`` file. Of its numbers only those are read that say where to read.
        name: Name of the model, for errors.

    Raises:
        CaptureError: The file is missing, or is at fault.
    """
    return capture_model(partial(_model, path), name=name)


def _model(path: Path) -> Any:  # noqa: ANN401
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        graphs = read_lite(content)
        writer = ModelWriter("tflite")
        scope = GraphWriter(graphs, 0, writer, RULES)
        names = [scope.bind(place) for place in graphs[0].inputs]
        scope.write()
        outputs = [scope.value(place) for place in graphs[0].outputs]
        tensors = [scope.tensor(place) for place in graphs[0].inputs]
        shapes = [(each.shape, each.is_float) for each in tensors]
        entries = [(name, *known) for name, known in zip(names, shapes, strict=True)]
        return writer.model(entries, outputs)


def _padding(code: int) -> str:
    return "VALID" if code else "SAME_UPPER"


def _bias(scope: GraphWriter, operator: LiteOperator, place: int) -> list[str]:
    """The bias of a layer, where it has one."""
    there = operator.inputs[place : place + 1]
    return [scope.value(each) for each in there if each >= 0]


def _conv(scope: GraphWriter, operator: LiteOperator) -> None:
    """A convolution: weights (out, height, width, in)."""
    weights = scope.first(operator.inputs[1])
    channels, inner = scope.shape(operator.inputs[0])[-1], scope.shape(operator.inputs[1])[-1]
    groups = channels // inner if inner and not channels % inner else 1
    dilations = [operator.stated(5, default=1), operator.stated(4, default=1)]
    _convolve(scope, operator, weights, groups, dilations, 3)


def _depthwise(scope: GraphWriter, operator: LiteOperator) -> None:
    """A convolution of each channel by itself: weights (1, height, width, out)."""
    weights = scope.writer.transposed(scope.value(operator.inputs[1]), (3, 0, 1, 2))
    groups = scope.shape(operator.inputs[0])[-1]
    dilations = [operator.stated(6, default=1), operator.stated(5, default=1)]
    _convolve(scope, operator, weights, groups, dilations, 4)


def _convolve(
    scope: GraphWriter,
    operator: LiteOperator,
    weights: str,
    groups: int,
    dilations: list[int],
    activation: int,
) -> None:
    source, kernel = operator.inputs[:2]
    strides = [operator.stated(2, default=1), operator.stated(1, default=1)]
    stated: dict[str, Any] = {
        "group": groups,
        "strides": strides,
        "dilations": dilations,
        "auto_pad": _padding(operator.stated(0, "b")),
    }
    value, result = scope.first(source), operator.outputs[0]
    # A convolution of a sequence is one of an image of height 1.
    height = (scope.shape(source)[1], scope.shape(kernel)[1], scope.shape(result)[1])
    is_flat = height == (1, 1, 1)
    if is_flat:
        axis = scope.writer.numbers([2])
        value, weights = (scope.writer.node("Squeeze", [each, axis]) for each in (value, weights))
        stated |= {"strides": strides[1:], "dilations": dilations[1:]}
    value = scope.writer.node("Conv", [value, weights, *_bias(scope, operator, 2)], **stated)
    value = activated(scope, value, operator.stated(activation, "b"))
    if is_flat:
        value = scope.writer.node("Unsqueeze", [value, scope.writer.numbers([2])])
    scope.put_first(result, value)


def _conv_transpose(scope: GraphWriter, operator: LiteOperator) -> None:
    """``(shape of the result, weights (out, height, width, in), input, bias)``."""
    _, weights, source = operator.inputs[:3]
    turned = scope.writer.transposed(scope.value(weights), (3, 0, 1, 2))
    value = scope.writer.node(
        "ConvTranspose",
        [scope.first(source), turned, *_bias(scope, operator, 3)],
        strides=[operator.stated(2, default=1), operator.stated(1, default=1)],
        auto_pad=_padding(operator.stated(0, "b")),
    )
    scope.put_first(operator.outputs[0], activated(scope, value, operator.stated(3, "b")))


def _conv_3d(scope: GraphWriter, operator: LiteOperator) -> None:
    """A convolution of a volume: weights (depth, height, width, in, out)."""
    weights = scope.writer.transposed(scope.value(operator.inputs[1]), (4, 3, 0, 1, 2))
    value = scope.writer.node(
        "Conv",
        [scope.first(operator.inputs[0]), weights, *_bias(scope, operator, 2)],
        strides=[operator.stated(field, default=1) for field in (1, 3, 2)],
        dilations=[operator.stated(field, default=1) for field in (5, 7, 6)],
        auto_pad=_padding(operator.stated(0, "b")),
    )
    scope.put_first(operator.outputs[0], activated(scope, value, operator.stated(4, "b")))


def _pool(name: str) -> Rule:
    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        value = scope.writer.node(
            name,
            [scope.first(operator.inputs[0])],
            kernel_shape=[operator.stated(4, default=1), operator.stated(3, default=1)],
            strides=[operator.stated(2, default=1), operator.stated(1, default=1)],
            auto_pad=_padding(operator.stated(0, "b")),
        )
        scope.put_first(operator.outputs[0], activated(scope, value, operator.stated(5, "b")))

    return rule


def _linear(scope: GraphWriter, operator: LiteOperator) -> None:
    """``input weights' + bias``: weights (out, in)."""
    source, weights = operator.inputs[:2]
    rank, inner = len(scope.shape(source)), scope.shape(weights)[-1]
    value = scope.value(source)
    is_kept = operator.stated(2, "?") and scope.shape(source)[-1:] == (inner,)
    if not (is_kept or rank == 2):
        value = scope.writer.reshaped(value, (-1, inner))
    turned = scope.writer.transposed(scope.value(weights), (1, 0))
    value = scope.writer.node("MatMul", [value, turned])
    for bias in _bias(scope, operator, 2):
        value = scope.writer.node("Add", [value, bias])
    value = activated(scope, value, operator.stated(0, "b"))
    result = operator.outputs[0]
    if not (is_kept or len(scope.shape(result)) == 2):
        value = scope.writer.reshaped(value, scope.shape(result))
    scope.put(result, value)


def _product(scope: GraphWriter, operator: LiteOperator) -> None:
    """A product of matrices, each of which may be transposed."""
    factors = []
    for field, place in enumerate(operator.inputs[:2]):
        value, rank = scope.value(place), len(scope.shape(place))
        if operator.stated(field, "?"):
            value = scope.writer.transposed(value, (*range(rank - 2), rank - 1, rank - 2))
        factors.append(value)
    scope.put(operator.outputs[0], scope.writer.node("MatMul", factors))


def _concat(scope: GraphWriter, operator: LiteOperator) -> None:
    values, axis, is_map = along(scope, operator, operator.stated(0))
    value = _both_ways(scope, values) or scope.writer.node("Concat", values, axis=axis)
    value = activated(scope, value, operator.stated(1, "b"))
    (scope.put_first if is_map else scope.put)(operator.outputs[0], value)


def _gathered(scope: GraphWriter, operator: LiteOperator) -> None:
    """``(table, index)``."""
    table, index = operator.inputs[:2]
    if operator.stated(1):
        stated: dict[str, Any] = {"batch_dims": operator.stated(1)}
        name = "GatherND"
    else:
        name, stated = "Gather", {"axis": operator.stated(0)}
    value = scope.writer.node(name, [scope.value(table), scope.value(index)], **stated)
    scope.put(operator.outputs[0], value)


def _looked_up(scope: GraphWriter, operator: LiteOperator) -> None:
    """``(index, table)``."""
    index, table = operator.inputs[:2]
    value = scope.writer.node("Gather", [scope.value(table), scope.value(index)], axis=0)
    scope.put(operator.outputs[0], value)


def _plain(name: str, operands: int | None = None, **stated: Any) -> Rule:  # noqa: ANN401
    """An operator of the standard whose operands are as the file lays them out.

    Args:
        name: The operator.
        operands: How many of its operands are read; all where it is None.
        stated: Attributes.
    """

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        places = [place for place in operator.inputs[:operands] if place >= 0]
        value = scope.writer.node(name, [scope.value(place) for place in places], **stated)
        for result in operator.outputs:
            scope.put(result, value)

    return rule


def _turned(scope: GraphWriter, operator: LiteOperator) -> None:
    source = scope.value(operator.inputs[0])
    value = scope.writer.node("ReverseSequence", [source])
    scope.turned[value] = source
    scope.put(operator.outputs[0], value)


def _shape_of(scope: GraphWriter, operator: LiteOperator) -> None:
    """The shape of a value, which the file states."""
    scope.put(operator.outputs[0], scope.writer.numbers(scope.shape(operator.inputs[0])))


def _filled(scope: GraphWriter, operator: LiteOperator) -> None:
    scope.put(operator.outputs[0], scope.writer.blank(scope.shape(operator.outputs[0])))


def _handle(scope: GraphWriter, operator: LiteOperator) -> None:
    """What stands for a variable."""
    name = variable_of(operator)
    scope.variables.setdefault(name, None)
    scope.bind(operator.outputs[0], name)


def _once(scope: GraphWriter, operator: LiteOperator) -> None:
    """A graph that runs before all others: it gives variables what they begin with."""
    inner = scope.inner(operator.stated(0))
    if any(each.name == "ASSIGN_VARIABLE" for each in inner.operators):
        inner.write()


def _assigned(scope: GraphWriter, operator: LiteOperator) -> None:
    """``(handle, value)``. A variable that each run assigns holds data."""
    handle, value = operator.inputs[:2]
    name = scope.value(handle)
    if name not in scope.changed:
        scope.variables[name] = scope.value(value)


def _read(scope: GraphWriter, operator: LiteOperator) -> None:
    """What a variable holds: weights, or data that was kept from the run before."""
    held = scope.variables.get(scope.value(operator.inputs[0]))
    if held is None:
        held = scope.writer.node(STATE, [scope.writer.blank(scope.shape(operator.outputs[0]))])
    scope.put(operator.outputs[0], held)


def _normed(scope: GraphWriter, operator: LiteOperator) -> None:
    values, axis, is_map = along(scope, operator, -1)
    value = scope.writer.node("LpNormalization", values, axis=axis, p=2)
    (scope.put_first if is_map else scope.put)(operator.outputs[0], value)


def _response_norm(scope: GraphWriter, operator: LiteOperator) -> None:
    size = 2 * operator.stated(0) + 1
    value = scope.writer.node("LRN", [scope.first(operator.inputs[0])], size=size)
    scope.put_first(operator.outputs[0], value)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Where the operands of a layer of cells lie.

    Attributes:
        learned: The weights of the input, those of the state, and the biases, each of all gates.
        others: Whatever else is learned.
    """

    learned: tuple[slice, slice, slice]
    others: tuple[slice, ...] = ()


_LSTM: Final = _Cells(
    (slice(1, 5), slice(5, 9), slice(12, 16)), (slice(9, 12), slice(16, 18), slice(20, 24))
)
_BACKWARD: Final = _Cells(
    (slice(18, 22), slice(22, 26), slice(29, 33)), (slice(26, 29), slice(33, 35))
)
_RNN: Final = _Cells((slice(1, 2), slice(2, 3), slice(3, 4)))
_SEQUENCE: Final = 3  # axes: batch, time, features
# One step of a layer whose gates have one matrix for the input and the state.
_BASIC: Final = _Cells((slice(2, 3), slice(2, 2), slice(3, 4)))
_BASIC_INPUTS: Final = 5  # values, output before, weights, bias, state before


def _cells(name: str, *sides: _Cells, time: int | None = None, merges: int | None = None) -> Rule:
    """A layer of recurrent cells, of one direction or two.

    Args:
        name: The operator of the standard.
        sides: Where the operands of each direction lie.
        time: The field that says whether time comes before the batch; None for a single step.
        merges: The field that says whether both directions are one result.
    """

    def rule(scope: GraphWriter, operator: LiteOperator) -> None:
        source, result = operator.inputs[0], operator.outputs[0]
        shape = scope.shape(source)
        # Both directions of a layer had time first before there was a choice.
        is_by_time = time is not None and bool(operator.stated(time, "?", len(sides) - 1))
        value = scope.value(source)
        if len(shape) == 2:
            value = scope.writer.reshaped(value, (1, *shape))
        elif not is_by_time:
            value = scope.writer.transposed(value, (1, 0, 2))
        weights, states = _weights_of(scope, operator, sides)
        layer = _recurrent(scope, name, value, weights, states, len(sides))
        # (time, directions, batch, states)
        value = scope.writer.transposed(layer, (0, 2, 1, 3) if is_by_time else (2, 0, 1, 3))
        batch = shape[:2] if len(shape) == _SEQUENCE else shape[:1]
        value = scope.writer.reshaped(value, (*batch, len(sides) * states))
        scope.layers[value] = (name, scope.value(source), weights)
        is_one = merges is None or bool(operator.stated(merges, "?"))
        if is_one or len(operator.outputs) < len(sides):
            scope.put(result, value)
            return
        names = parts(scope, value, [states] * len(sides), len(batch))
        for place, part in zip(operator.outputs, names, strict=False):
            scope.put(place, part)

    return rule


def _lstm_step(scope: GraphWriter, operator: LiteOperator) -> None:
    side = _BASIC if len(operator.inputs) == _BASIC_INPUTS else _LSTM
    _cells("LSTM", side)(scope, operator)


def _weights_of(
    scope: GraphWriter, operator: LiteOperator, sides: Sequence[_Cells]
) -> tuple[list[str], int]:
    """Names of the weights of a recurrent layer, and how many states it has."""
    weights, states = [], 0
    for kind in range(3):
        operands = [operator.inputs[side.learned[kind]] for side in sides]
        places = [place for each in operands for place in each if place >= 0]
        shapes = [scope.shape(place) for place in places]
        rows = sum(shape[0] for shape in shapes) // len(sides)
        if shapes:
            states = shapes[-1][-1] if kind == 1 else states or rows // 4
            weights.append(_joined(scope, places, (len(sides), rows, *shapes[0][1:])))
    others = [operator.inputs[part] for side in sides for part in side.others]
    weights += [scope.value(place) for each in others for place in each if place >= 0]
    return weights, states


def _recurrent(
    scope: GraphWriter, name: str, value: str, weights: Sequence[str], states: int, directions: int
) -> str:
    """A recurrent layer of the standard: its result is (time, directions, batch, states)."""
    return scope.writer.node(
        name,
        [value, *weights],
        hidden_size=states,
        direction="bidirectional" if directions > 1 else "forward",
    )


def _both_ways(scope: GraphWriter, values: Sequence[str]) -> str | None:
    """Two layers of one sequence as one layer, where one layer reads it from the end.

    Keras writes a layer of both directions so.
    """
    if len(values) != 2:
        return None
    forward, backward = (
        scope.layers.get(values[0]),
        scope.layers.get(scope.turned.get(values[1], "")),
    )
    if forward is None or backward is None or forward[0] != backward[0]:
        return None
    if scope.turned.get(backward[1]) != forward[1]:
        return None
    return scope.writer.node(forward[0], [forward[1], *forward[2], *backward[2]])


def _joined(scope: GraphWriter, places: Sequence[int], shape: Shape) -> str:
    """The weights of several gates as one."""
    buffers = " ".join(str(scope.tensor(place).buffer) for place in places)
    return scope.writer.weight(f"buffers {buffers}", shape)


def _called(scope: GraphWriter, operator: LiteOperator, number: int) -> None:
    """A graph of the file in the place of an operator."""
    inner = scope.inner(number)
    for place, given in zip(inner.inputs, operator.inputs, strict=True):
        inner.bind(place, scope.value(given))
    inner.write()
    for place, result in zip(inner.outputs, operator.outputs, strict=True):
        scope.put(result, inner.value(place))


def _call(scope: GraphWriter, operator: LiteOperator) -> None:
    _called(scope, operator, operator.stated(0))


def _composite(scope: GraphWriter, operator: LiteOperator) -> None:
    """An operator that the file also gives as a graph of simpler ones."""
    _called(scope, operator, operator.further.number(1) if operator.further else -1)


def _choice(scope: GraphWriter, operator: LiteOperator) -> None:
    """One of two graphs: ``(condition, inputs of both)``."""
    condition, *given = operator.inputs
    values = [scope.value(place) for place in given]
    branches = {}
    for field, name in enumerate(("then_branch", "else_branch")):
        inner = scope.inner(operator.stated(field))
        scope.writer.begin_body()
        for place, value in zip(inner.inputs, values, strict=True):
            inner.bind(place, value)
        inner.write()
        passed = [scope.writer.node("Identity", [inner.value(each)]) for each in inner.outputs]
        branches[name] = scope.writer.end_body((), passed)
    names = [scope.named(place) for place in operator.outputs]
    scope.writer.node("If", [scope.value(condition)], *names, **branches)


def _loop(scope: GraphWriter, operator: LiteOperator) -> None:
    """A graph that is run on its own results: one step, whose states are data."""
    number = operator.stated(1)
    inner = scope.inner(number)
    if _is_loop_of_cells(scope, operator, inner):
        return
    for place, given, last in zip(inner.inputs, operator.inputs, inner.outputs, strict=True):
        tensor = scope.tensor(given)
        if scope.value(given) in scope.variables or (tensor.is_learned and last == place):
            inner.bind(place, scope.value(given))  # no state: every step reads the same
            continue
        begin = scope.writer.blank(tensor.shape) if tensor.is_learned else scope.value(given)
        inner.put(place, scope.writer.node(STATE, [begin]))
    inner.write()
    for place, result in zip(inner.outputs, operator.outputs, strict=True):
        scope.put(result, inner.value(place))


# Operators of a cell -> the layer: how many linear ones, sigmoids and tangents it has.
_LOOPED: Final[Mapping[tuple[int, int, int], str]] = {
    (2, 3, 2): "LSTM",
    (2, 2, 1): "GRU",
    (2, 0, 1): "RNN",
}
# What a loop over cells has beside them: the count of its steps, and the gates as one and apart.
_OF_CELLS: Final = frozenset((
    "FULLY_CONNECTED", "LOGISTIC", "TANH", "GATHER", "ADD", "SUB", "MUL", "SPLIT", "SLICE",
    "STRIDED_SLICE", "CONCATENATION", "RESHAPE", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL",
    "EQUAL", "LOGICAL_AND",
))  # fmt: skip


def _is_loop_of_cells(scope: GraphWriter, operator: LiteOperator, inner: GraphWriter) -> bool:
    """Write a loop over the cells of one layer as the layer, where it is one.

    Keras writes recurrent layers so: time comes first, and the states begin with zeros. A loop with
    anything else in it, or with weights beside those of the cells, is written as it stands.
    """
    named: dict[str, list[LiteOperator]] = {}
    for each in inner.operators:
        if each.name not in _OF_CELLS:
            return False
        named.setdefault(each.name, []).append(each)
    linear, steps = named.get("FULLY_CONNECTED", []), named.get("GATHER", [])
    counts = (len(linear), len(named.get("LOGISTIC", ())), len(named.get("TANH", ())))
    layer = _LOOPED.get(counts)
    if layer is None or len(steps) != 1 or steps[0].inputs[0] not in inner.inputs:
        return False
    (step,) = steps
    own = [each for each in linear if each.inputs[0] != step.outputs[0]]
    if len(own) != 1 or not all(inner.tensor(each.inputs[1]).is_learned for each in linear):
        return False
    kernels, vectors = [each.inputs[1] for each in linear], _vectors(inner, linear, named)
    if not _learned(inner) <= {*kernels, *vectors} or _is_given_weights(scope, operator, inner):
        return False
    source = operator.inputs[inner.inputs.index(step.inputs[0])]
    states, (time, batch, _) = inner.shape(own[0].inputs[1])[-1], scope.shape(source)
    weights = [inner.value(each.inputs[1]) for each in linear if each is not own[0]]
    weights.append(inner.value(own[0].inputs[1]))
    weights += [inner.value(place) for place in vectors]
    value = scope.writer.node(layer, [scope.value(source), *weights])
    scope.writer.state(value, (time, 1, batch, states))
    _put_states(scope, operator, inner, value, states)
    return True


def _vectors(
    inner: GraphWriter, linear: Sequence[LiteOperator], named: Mapping[str, Sequence[LiteOperator]]
) -> list[int]:
    """The biases of a cell."""
    operators = (*linear, *named.get("ADD", ()))
    read = [place for each in operators for place in each.inputs if place >= 0]
    vectors = [place for place in read if len(inner.shape(place)) == 1]
    return [place for place in vectors if inner.tensor(place).is_learned]


def _learned(inner: GraphWriter) -> set[int]:
    """The weights that the operators of a graph read."""
    read = (place for each in inner.operators for place in each.inputs if place >= 0)
    return {place for place in read if inner.tensor(place).is_learned}


def _is_given_weights(scope: GraphWriter, operator: LiteOperator, inner: GraphWriter) -> bool:
    """Whether a loop is given weights from outside, which no step changes."""
    passed = zip(operator.inputs, inner.inputs, inner.outputs, strict=True)
    return any(scope.tensor(given).is_learned and one == other for given, one, other in passed)


def _put_states(
    scope: GraphWriter, operator: LiteOperator, inner: GraphWriter, layer: str, states: int
) -> None:
    """Note what a loop over cells gives: all steps, the last one, and what is no state."""
    steps = scope.writer.node("Identity", [layer])
    for place, given, result in zip(inner.outputs, operator.inputs, operator.outputs, strict=True):
        shape = scope.shape(result)
        if place in inner.inputs:
            scope.put(result, scope.value(given))
        elif shape[-1:] != (states,) or not shape:
            scope.put(result, scope.writer.blank(shape))
        elif len(shape) == _SEQUENCE and shape[0] > 1:
            scope.put(result, scope.writer.reshaped(steps, shape))
        else:
            bounds = [scope.writer.numbers([bound]) for bound in (-1, 2**31 - 1, 0)]
            last = scope.writer.node("Slice", [steps, *bounds])
            scope.put(result, scope.writer.reshaped(last, shape))


RULES: Final[Mapping[str, Rule]] = {
    "CONV_2D": _conv, "DEPTHWISE_CONV_2D": _depthwise, "TRANSPOSE_CONV": _conv_transpose,
    "CONV_3D": _conv_3d, "FULLY_CONNECTED": _linear, "BATCH_MATMUL": _product,
    "AVERAGE_POOL_2D": _pool("AveragePool"), "MAX_POOL_2D": _pool("MaxPool"),
    "L2_POOL_2D": _pool("LpPool"),
    **{name: elementwise(standard, activation=0) for name, standard in {
        "SUB": "Sub", "DIV": "Div",
    }.items()},
    "ADD": added, "MUL": multiplied, "NEG": opposite,
    **{name: elementwise(standard) for name, standard in {
        "RELU": "Relu", "LOGISTIC": "Sigmoid", "TANH": "Tanh", "ELU": "Elu", "EXP": "Exp",
        "LEAKY_RELU": "LeakyRelu", "PRELU": "PRelu", "HARD_SWISH": "HardSwish", "GELU": "Gelu",
        "MAXIMUM": "Max", "MINIMUM": "Min", "SIN": "Sin", "COS": "Cos", "LOG": "Log",
        "SQRT": "Sqrt", "ABS": "Abs", "CEIL": "Ceil", "FLOOR": "Floor", "ROUND": "Round",
        "SIGN": "Sign", "POW": "Pow", "LESS": "Less", "LESS_EQUAL": "LessOrEqual",
        "GREATER": "Greater", "GREATER_EQUAL": "GreaterOrEqual", "EQUAL": "Equal",
        "LOGICAL_OR": "Or", "LOGICAL_AND": "And", "LOGICAL_NOT": "Not", "FLOOR_MOD": "Mod",
        "SELECT": "Where", "SELECT_V2": "Where", "ADD_N": "Sum", "ATAN2": "Atan",
        "COMPLEX_ABS": "Abs", "FlexErf": "Erf", "FlexAddV2": "Add", "FlexSoftplus": "Softplus",
        "BITWISE_XOR": "BitwiseXor",
    }.items()},
    "RELU6": clipped(0, 6), "RELU_N1_TO_1": clipped(-1, 1), "RELU_0_TO_1": clipped(0, 1),
    "NOT_EQUAL": chain("Equal", "Not"), "FLOOR_DIV": chain("Div", "Floor"),
    "SQUARE": squared, "SQUARED_DIFFERENCE": squared_difference, "RSQRT": inverse_root,
    **dict.fromkeys((
        "QUANTIZE", "DEQUANTIZE", "FAKE_QUANT", "DENSIFY", "CAST", "BITCAST", "REAL",
    ), passed_on),
    "CONCATENATION": _concat, "SOFTMAX": softmax("Softmax"), "LOG_SOFTMAX": softmax("LogSoftmax"),
    "MEAN": reduced("ReduceMean"), "SUM": reduced("ReduceSum"),
    "REDUCE_MAX": reduced("ReduceMax"), "REDUCE_MIN": reduced("ReduceMin"),
    "REDUCE_PROD": reduced("ReduceProd"), "REDUCE_ANY": reduced("ReduceMax"),
    "REDUCE_ALL": reduced("ReduceMin"),
    "RESHAPE": reshaped, "SQUEEZE": reshaped, "EXPAND_DIMS": reshaped, "TRANSPOSE": transposed,
    "PAD": padded(), "PADV2": padded(), "MIRROR_PAD": padded(mode="reflect"),
    "RESIZE_BILINEAR": resized("linear"), "RESIZE_NEAREST_NEIGHBOR": resized("nearest"),
    "DEPTH_TO_SPACE": shuffled("DepthToSpace"), "SPACE_TO_DEPTH": shuffled("SpaceToDepth"),
    "SLICE": sliced, "STRIDED_SLICE": strided, "SPLIT": split(1, 0), "SPLIT_V": split(0, 2),
    "PACK": packed, "UNPACK": unpacked, "GATHER": _gathered, "EMBEDDING_LOOKUP": _looked_up,
    "GATHER_ND": _plain("GatherND"), "SCATTER_ND": _plain("ScatterND"), "TILE": _plain("Tile"),
    "BROADCAST_TO": _plain("Expand"), "CUMSUM": _plain("CumSum"), "WHERE": _plain("NonZero"),
    "ARG_MAX": _plain("ArgMax", 1), "ARG_MIN": _plain("ArgMin", 1), "TOPK_V2": _plain("TopK"),
    "REVERSE_V2": _turned, "REVERSE_SEQUENCE": _plain("ReverseSequence", 1),
    "ONE_HOT": _plain("Compare"), "UNIQUE": _plain("Unique"), "RFFT2D": _plain("DFT", 1),
    "DYNAMIC_UPDATE_SLICE": _plain("TensorScatter"), "SPARSE_TO_DENSE": _plain("ScatterND"),
    "NON_MAX_SUPPRESSION_V4": _plain("NonMaxSuppression", 2),
    "NON_MAX_SUPPRESSION_V5": _plain("NonMaxSuppression", 2),
    "TFLite_Detection_PostProcess": _plain("NonMaxSuppression", 2),
    "MULTINOMIAL": _plain("Multinomial"),
    "SHAPE": _shape_of,
    **dict.fromkeys((
        "FILL", "ZEROS_LIKE", "RANGE", "RANK", "BROADCAST_ARGS", "RANDOM_UNIFORM",
        "RANDOM_STANDARD_NORMAL",
    ), _filled),
    "VAR_HANDLE": _handle, "CALL_ONCE": _once, "ASSIGN_VARIABLE": _assigned,
    "READ_VARIABLE": _read, "L2_NORMALIZATION": _normed,
    "LOCAL_RESPONSE_NORMALIZATION": _response_norm,
    "LSTM": _lstm_step,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _cells("LSTM", _LSTM, time=3),
    "BIDIRECTIONAL_SEQUENCE_LSTM": _cells("LSTM", _LSTM, _BACKWARD, time=4, merges=3),
    "RNN": _cells("RNN", _RNN), "UNIDIRECTIONAL_SEQUENCE_RNN": _cells("RNN", _RNN, time=0),
    "CALL": _call, "STABLEHLO_COMPOSITE": _composite, "IF": _choice, "WHILE": _loop,
}  # fmt: skip
