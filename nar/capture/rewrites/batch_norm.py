"""Rule for batch norms written out in arithmetic: their statistics are constants."""

from dataclasses import replace

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import Operation
from nar.graphs.ops import Trait, with_any

_CONVOLUTIONS = with_any(Trait.CONVOLVES) & with_any(Trait.FOLDS_NORM)
_AFFINE = frozenset({"add", "sub", "mul", "div"})
_SHIFTS = frozenset({"add", "sub"})
# From the last: add a learned bias, scale by a learned weight, by a constant, shift by a constant.
_STEPS = ((True, "parameter"), (False, "parameter"), (False, "constant"), (True, "constant"))


def frozen_norm(match: Matcher, operation: Operation) -> Operation | None:
    """A batch norm whose statistics are constants: x * scale + shift of the channels.

    All of (x - mean) / deviation * weight + bias is a batch norm anywhere. In fewer steps it has
    to stand on a convolution, and at least one vector is constant.
    """
    channels, source, is_constant, is_full = 0, -1, False, True
    for step, wanted in enumerate(_STEPS):
        current = operation if step == 0 else match[source]
        operands = _affine_step(match, current, channels)
        if operands is None:
            return None
        source, vector = operands
        channels = match[vector].elements
        is_constant = is_constant or match[vector].operator == "constant"
        is_full = is_full and wanted == (current.operator in _SHIFTS, match[vector].operator)
        if match[source].operator in _CONVOLUTIONS and step and is_constant:
            return _batch_norm(operation, source)
        if step < len(_STEPS) - 1 and not match.is_read_once(source):
            return None
    return _batch_norm(operation, source) if is_full else None


def _batch_norm(operation: Operation, source: int) -> Operation:
    return replace(operation, operator="batch_norm", operands=(source,), numbers=())


def _affine_step(match: Matcher, operation: Operation, channels: int) -> tuple[int, int] | None:
    """(value, vector) of arithmetic between a value and one number for each channel."""
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
