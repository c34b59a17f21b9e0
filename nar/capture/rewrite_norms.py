"""Rules for norms written out in arithmetic."""

from collections.abc import Iterator
from dataclasses import replace

from nar.capture.match import Matcher
from nar.capture.trace import Operation

_NORM_OF = {"mean": "rms_norm", "sum": "l2_norm"}
_CONVOLUTIONS = frozenset({"conv", "conv_grouped", "conv_depthwise", "conv_transpose"})
_AFFINE = frozenset({"add", "sub", "mul", "div"})
_MAX_AFFINE_STEPS = 4
_GUARDS = ("add", "clamp", "maximum")  # an epsilon that keeps a denominator off zero


def norm(match: Matcher, operation: Operation) -> Operation | None:
    """X / sqrt(mean(x^2) + eps), the same of x - mean(x), or with a sum."""
    for value, size in _quotients(match, operation):
        found = _magnitude(match, size)
        if found is None:
            continue
        kind, measured = found
        bare, weights = (value, ()) if measured == value else _unweighted(match, value)
        source = _centred(match, bare)
        if source is not None and kind != "sum" and source in (measured, _centred(match, measured)):
            return _norm(operation, "layer_norm", (source, *weights))
        if measured == bare and kind in _NORM_OF:
            return _norm(operation, _NORM_OF[kind], (bare, *weights))
    return None


def _norm(operation: Operation, operator: str, operands: tuple[int, ...]) -> Operation:
    return replace(operation, operator=operator, operands=operands, numbers=())


def _unweighted(match: Matcher, value: int) -> tuple[int, tuple[int, ...]]:
    """The value below a learned scale, and that scale."""
    if match[value].operator == "mul":
        for inner, weight in match.pairs(match[value]):
            if match.is_parameter(weight):
                return inner, (weight,)
    return value, ()


def _quotients(match: Matcher, operation: Operation) -> Iterator[tuple[int, int]]:
    """(numerator, denominator squared or not) of a division, or of a product with a reciprocal."""
    if operation.operator == "div" and len(operation.operands) == 2:
        yield operation.operands[0], operation.operands[1]
    if operation.operator == "mul":
        for value, inverse in match.pairs(operation):
            size = match.only_operand(inverse, ("rsqrt", "reciprocal"))
            if size is not None:
                yield value, size


def _magnitude(match: Matcher, value: int) -> tuple[str, int] | None:
    """("mean" | "sum" | "var", x) of an expression that measures how large x is."""
    value = match.skip(match.skip(match.skip(value, _GUARDS), ("sqrt",)), _GUARDS)
    measure = match[value]
    if measure.operator == "vector_norm":
        return "sum", measure.operands[0]
    if measure.operator == "var":
        return "var", measure.operands[0]
    if measure.operator not in _NORM_OF:
        return None
    base = _squared(match, measure.operands[0])
    return None if base is None else (measure.operator, base)


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
    return source if match.only_operand(centre, ("mean",)) == source else None


def norm_weight(match: Matcher, operation: Operation) -> Operation | None:
    """A learned scale right after a norm that has none."""
    return _absorb(match, operation, {"rms_norm": 1, "layer_norm": 1})


def norm_bias(match: Matcher, operation: Operation) -> Operation | None:
    """A learned shift right after a scaled norm."""
    return _absorb(match, operation, {"layer_norm": 2})


def frozen_norm(match: Matcher, operation: Operation) -> Operation | None:
    """A batch norm whose statistics are constants: x * scale + shift of a convolution's channels.

    In up to four steps, as (x - mean) / deviation * weight + bias; at least one vector is constant.
    """
    channels, source, is_constant = 0, -1, False
    for step in range(_MAX_AFFINE_STEPS):
        found = _affine_step(match, operation if step == 0 else match[source], channels)
        if found is None:
            return None
        source, vector = found
        channels = match[vector].elements
        is_constant = is_constant or match[vector].operator == "constant"
        if match[source].operator in _CONVOLUTIONS and step and is_constant:
            return _norm(operation, "batch_norm", (source,))
        if not match.is_read_once(source):
            return None
    return None


def _affine_step(match: Matcher, operation: Operation, channels: int) -> tuple[int, int] | None:
    """(value, vector) of arithmetic between a value and one number for each channel."""
    if operation.operator not in _AFFINE:
        return None
    for value, vector in match.pairs(operation):
        elements = match[vector].elements
        is_vector = match[vector].operator in ("constant", "parameter") and elements > 1
        if is_vector and elements == (channels or elements) and elements in operation.shape:
            return value, vector
    return None


def _absorb(match: Matcher, operation: Operation, operands: dict[str, int]) -> Operation | None:
    for value, learned in match.pairs(operation):
        layer = match[value]
        is_open = operands.get(layer.operator) == len(layer.operands)
        if is_open and match.is_parameter(learned) and match.is_read_once(value):
            return replace(layer, operands=(*layer.operands, learned), shape=operation.shape)
    return None
