"""Rules for norms written out in arithmetic."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from operator import mul

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import LEAVES, Operation, Shape
from nar.graphs.ops import Trait, with_any

_NORM_OF = {"mean": "rms_norm", "sum": "l2_norm"}
_MEANS = ("mean", "adaptive_avg_pool")
_INVERSES = ("rsqrt", "reciprocal")
_GUARDS = ("add", "clamp", "maximum")  # an epsilon that keeps a denominator off zero


def norm(match: Matcher, operation: Operation) -> Operation | None:
    """X / sqrt(mean(x^2) + eps), the same of x - mean(x), or with a sum for the mean."""
    for value, size, scales in _measured(match, operation):
        magnitude = _magnitude(match, size)
        if magnitude is None:
            continue
        kind, measured = magnitude
        bare, weights = (value, scales) if measured == value else _unweighted(match, value)
        weights = scales or weights
        source = _centred(match, bare)
        if source is not None and kind != "sum" and source in (measured, _centred(match, measured)):
            if _is_by_instance(match, bare):
                layer = _norm(operation, "instance_norm", (source,))
                return replace(layer, operands=(source, *weights))
            averaged = operation.elements // (match[size].elements or 1)
            layer = _norm(operation, "layer_norm", (source,), averaged)
            return _scaled(match, layer, weights[0], operation.shape) if weights else layer
        if measured == bare and kind in _NORM_OF:
            return _norm(operation, _NORM_OF[kind], (bare, *weights))
    return None


def _measured(match: Matcher, operation: Operation) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(x, size, scale) of x / size, and of x * (scale / size), where a scale is learned."""
    for value, size in match.quotients(operation, _INVERSES):
        yield value, size, ()
    for value, factor in match.pairs(operation) if operation.operator == "mul" else ():
        inverse, scales = _unweighted(match, factor)
        scaled = match.only_operand(inverse, _INVERSES) if scales else None
        if scaled is not None:
            yield value, scaled, scales


def shifted_norm(match: Matcher, operation: Operation) -> Operation | None:
    """X * k + (shift - mean(x) * k), where k is the scale over the deviation of x.

    TensorFlow and its exporters write norms so: the mean is subtracted last.
    """
    for product, rest in match.pairs(operation):
        difference = match[rest]
        if match[product].operator != "mul" or difference.operator != "sub":
            continue
        shift, moved = (*difference.operands, -1)[:2] if len(difference.operands) == 2 else (-1, -1)
        for value, factor in match.pairs(match[product]):
            centre = _factor_beside(match, moved, factor)
            if centre is None or match.only_operand(centre, _MEANS) != value:
                continue
            layer = _by_deviation(match, operation, value, centre, factor)
            if layer is not None and match.is_parameter(shift):
                return replace(layer, operands=(*layer.operands, shift))
            if layer is not None and match[shift].operator in LEAVES:
                return layer
    return None


def _factor_beside(match: Matcher, product: int, factor: int) -> int | None:
    """The other factor of a product of two tensors."""
    if product < 0 or match[product].operator != "mul":
        return None
    others = [other for one, other in match.pairs(match[product]) if one == factor]
    return others[0] if others else None


def _by_deviation(
    match: Matcher, operation: Operation, value: int, centre: int, factor: int
) -> Operation | None:
    """The norm of a value whose factor is one over its deviation, times a learned scale."""
    inverse, scales = _unweighted(match, factor)
    if match[inverse].operator == "mul" and match.numbers(match[inverse]) == [1]:
        inverse = match.tensors(match[inverse])[0]  # torch writes 1 / x as a product with 1
    size = match.only_operand(inverse, _INVERSES)
    magnitude = None if size is None else _magnitude(match, size)
    if magnitude is None or magnitude[0] == "sum":
        return None
    if value not in (magnitude[1], _centred(match, magnitude[1])):
        return None
    is_by_instance = match[centre].operator == "adaptive_avg_pool"
    operator = "instance_norm" if is_by_instance else "layer_norm"
    return _norm(operation, operator, (value, *scales))


def _norm(
    operation: Operation, operator: str, operands: tuple[int, ...], *numbers: int
) -> Operation:
    return replace(operation, operator=operator, operands=operands, numbers=numbers)


def _unweighted(match: Matcher, value: int) -> tuple[int, tuple[int, ...]]:
    """The value below a learned scale, and that scale."""
    if match[value].operator == "mul":
        for inner, weight in match.pairs(match[value]):
            if match.is_parameter(weight):
                return inner, (weight,)
    return value, ()


def _magnitude(match: Matcher, value: int) -> tuple[str, int] | None:
    """("mean" | "sum" | "var", x) of an expression that measures how large x is."""
    value = match.skip(match.skip(match.skip(value, _GUARDS), ("sqrt",)), _GUARDS)
    measure = match[value]
    if measure.operator == "vector_norm":
        return "sum", measure.operands[0]
    if measure.operator == "var":
        return "var", measure.operands[0]
    if measure.operator == "sub":
        base = _variance(match, measure)
        return None if base is None else ("var", base)
    if measure.operator not in (*_NORM_OF, *_MEANS):
        return None
    base = _squared(match, measure.operands[0])
    return None if base is None else (measure.operator, base)


def _variance(match: Matcher, measure: Operation) -> int | None:
    """X where the difference is mean(x^2) - mean(x)^2."""
    if len(measure.operands) != 2:
        return None
    first, second = measure.operands
    square, centre = match.only_operand(first, _MEANS), _squared(match, second)
    if square is None or centre is None:
        return None
    base = match.only_operand(centre, _MEANS)
    return base if base is not None and _squared(match, square) == base else None


def _squared(match: Matcher, value: int) -> int | None:
    square = match[value]
    is_power = square.operator == "pow" and match.numbers(square) in ([2], [])
    is_product = square.operator == "mul" and len(set(square.operands)) == 1
    return square.operands[0] if is_power or is_product else None


def _centred(match: Matcher, value: int) -> int | None:
    """X where the value is x - mean(x)."""
    difference = match[value]
    if difference.operator != "sub" or len(difference.operands) != 2:
        return None
    source, centre = difference.operands
    return source if match.only_operand(centre, _MEANS) == source else None


def _is_by_instance(match: Matcher, centred: int) -> bool:
    """Whether x - mean(x) averages over all places, for each channel of each image separately."""
    return match[match[centred].operands[1]].operator == "adaptive_avg_pool"


def affine_batch_norm(match: Matcher, operation: Operation) -> Operation | None:
    """A learned scale, and then a shift, right after a batch norm that has none of its own.

    Caffe and many frameworks after it have a layer for each.
    """
    for value, vector in match.pairs(operation):
        layer = match[value]
        is_open = layer.operator == "batch_norm" and not layer.numbers
        own = sum(map(match.is_parameter, layer.operands[1:])) if is_open else _OWN_VECTORS
        most = 0 if operation.operator == "mul" else 1
        channels = layer.shape[1:2]
        if (
            own <= most
            and match.is_parameter(vector)
            and channels == (match[vector].elements,)
            and match.is_read_once(value)
        ):
            return replace(layer, operands=(*layer.operands, vector), shape=operation.shape)
    return None


def norm_weight(match: Matcher, operation: Operation) -> Operation | None:
    """A learned scale right after a norm that has none."""
    for layer, weight in _open_layers(
        match, operation, dict.fromkeys(("rms_norm", "layer_norm", "instance_norm"), 1)
    ):
        return _scaled(match, layer, weight, operation.shape)
    return None


def norm_bias(match: Matcher, operation: Operation) -> Operation | None:
    """A learned shift right after a scaled norm."""
    for layer, bias in _open_layers(
        match, operation, dict.fromkeys(("layer_norm", "group_norm", "instance_norm"), 2)
    ):
        return replace(layer, operands=(*layer.operands, bias), shape=operation.shape)
    return None


def _scaled(match: Matcher, layer: Operation, weight: int, shape: Shape) -> Operation:
    """A norm with its weight; a group norm if the weight does not fit the axes that are averaged.

    Args:
        match: The trace.
        layer: A norm without weight; written out, its number is how many elements it averages.
        weight: A learned scale of its result.
        shape: Shape of the scaled result, which may be a view of the norm's result.
    """
    averaged = int(layer.numbers[0]) if layer.numbers else 0
    trailing = set(accumulate(reversed(layer.shape), mul)) if shape == layer.shape else set[int]()
    is_grouped = averaged > 1 and match[weight].elements not in (averaged, *trailing)
    operator = "group_norm" if layer.operator == "layer_norm" and is_grouped else layer.operator
    return replace(layer, operator=operator, operands=(*layer.operands, weight), shape=shape)


def _open_layers(
    match: Matcher, operation: Operation, operands: dict[str, int]
) -> Iterator[tuple[Operation, int]]:
    """(norm, learned tensor) of arithmetic between both; ``operands`` a norm must have so far."""
    for value, learned in match.pairs(operation):
        layer = match[value]
        is_open = operands.get(layer.operator) == len(layer.operands)
        if is_open and match.is_parameter(learned) and match.is_read_once(value):
            yield layer, learned


# Rule for batch norms written out in arithmetic: their statistics are constants.

_CONVOLUTIONS = with_any(Trait.CONVOLVES) & with_any(Trait.FOLDS_NORM)
_AFFINE = frozenset({"add", "sub", "mul", "div"})
_OWN_VECTORS = 2  # of a batch norm: its scale and its shift
_SHIFTS = frozenset({"add", "sub"})
# From the last: of a norm whose statistics are parameters.
_LEARNED_STEPS = ("add", "mul", "sub")
# From the last: add a learned bias, scale by a learned weight, by a constant, shift by a constant.
_STEPS = ((True, "parameter"), (False, "parameter"), (False, "constant"), (True, "constant"))


def frozen_norm(match: Matcher, operation: Operation) -> Operation | None:
    """A batch norm whose statistics are constants: x * scale + shift of the channels.

    The whole of (x - mean) / deviation * weight + bias is a batch norm anywhere. Fewer steps are a
    batch norm only after a convolution, and only if at least one vector is constant. Where all are
    learned, (x - mean) * scale + shift is one anywhere: Keras keeps statistics as parameters.
    """
    channels, source, is_constant, is_full, operators = 0, -1, False, True, []
    for step, wanted in enumerate(_STEPS):
        current = operation if step == 0 else match[source]
        operands = _affine_step(match, current, channels)
        if operands is None:
            return None
        source, vector = operands
        channels = match[vector].elements
        is_constant = is_constant or match[vector].operator == "constant"
        operators.append(current.operator)
        is_full = is_full and wanted == (current.operator in _SHIFTS, match[vector].operator)
        is_after_layer = match[source].operator in _CONVOLUTIONS and step and is_constant
        is_learned = not is_constant and tuple(operators) == _LEARNED_STEPS
        if is_after_layer or is_learned:
            return _batch_norm(operation, source)
        if step < len(_STEPS) - 1 and not match.is_read_once(source):
            return None
    return _batch_norm(operation, source) if is_full else None


def _batch_norm(operation: Operation, source: int) -> Operation:
    # The number says that the norm has vectors of its own, which are no operands here.
    return replace(operation, operator="batch_norm", operands=(source,), numbers=(_OWN_VECTORS,))


def _affine_step(match: Matcher, operation: Operation, channels: int) -> tuple[int, int] | None:
    """(value, vector) of arithmetic between a value and a vector of a number for each channel."""
    if operation.operator not in _AFFINE:
        return None
    for value, vector in match.pairs(operation):
        elements = match[vector].elements
        is_vector = match[vector].operator in ("constant", "parameter") and elements > 1
        is_divided = operation.operator == "div" and value != operation.operands[0]
        is_channels = elements == (channels or elements) and elements in operation.shape
        if is_vector and is_channels and not is_divided:
            return value, vector
    return None
