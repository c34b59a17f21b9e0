"""Rules for activations written out in arithmetic."""

from dataclasses import replace
from math import isclose

from nar.capture.match import Matcher
from nar.capture.trace import Operation

_GATES = {"sigmoid": "silu", "hard_sigmoid": "hard_swish"}
_POLYNOMIAL = frozenset({"mul", "div", "add", "pow"})
_QUICK_GELU = 1.702


def gated(match: Matcher, operation: Operation) -> Operation | None:
    """X * gate(x): silu, hard swish, mish, and gelu by x * sigmoid(1.702 x)."""
    for value, gate in match.pairs(operation):
        inner = match[gate]
        if inner.operator in _GATES and inner.operands[0] == value:
            return _activation(operation, _GATES[inner.operator], value)
        if (
            inner.operator == "tanh"
            and match.only_operand(inner.operands[0], ("softplus",)) == value
        ):
            return _activation(operation, "mish", value)
        if inner.operator == "sigmoid" and _is_scaled(match, inner.operands[0], value):
            return _activation(operation, "gelu", value)
    return None


def _is_scaled(match: Matcher, scaled: int, value: int) -> bool:
    if match.only_operand(scaled, ("mul",)) != value:
        return False
    return any(
        isclose(number, _QUICK_GELU, rel_tol=1e-3) for number in match.numbers(match[scaled])
    )


def gelu(match: Matcher, operation: Operation) -> Operation | None:
    """0.5 x (1 + erf(x / sqrt 2)), or with tanh of a cubic polynomial in x."""
    tensors, scale = match.factors(operation)
    if len(tensors) != 2 or not isclose(scale, 0.5, rel_tol=1e-3):
        return None
    for value, gate in (tensors, tensors[::-1]):
        curve = match.only_operand(gate, ("add",))
        if curve is None or match[curve].operator not in ("erf", "tanh"):
            continue
        if match.cone_reads_only(match[curve].operands[0], value, _POLYNOMIAL):
            return _activation(operation, "gelu", value)
    return None


def hard_sigmoid(match: Matcher, operation: Operation) -> Operation | None:
    """relu6(x + 3) / 6."""
    tensors, scale = match.factors(operation)
    if len(tensors) != 1 or not isclose(scale, 1 / 6, rel_tol=1e-3):
        return None
    value = _shifted_relu6(match, tensors[0])
    return None if value is None else _activation(operation, "hard_sigmoid", value)


def hard_swish(match: Matcher, operation: Operation) -> Operation | None:
    """X * relu6(x + 3) / 6, divided last."""
    tensors, scale = match.factors(operation)
    if len(tensors) != 2 or not isclose(scale, 1 / 6, rel_tol=1e-3):
        return None
    for value, gate in (tensors, tensors[::-1]):
        if _shifted_relu6(match, gate) == value:
            return _activation(operation, "hard_swish", value)
    return None


def _shifted_relu6(match: Matcher, gate: int) -> int | None:
    shifted = match.only_operand(gate, ("relu6",))
    if shifted is None or match.numbers(match[shifted]) != [3]:
        return None
    return match.only_operand(shifted, ("add",))


def _activation(operation: Operation, operator: str, value: int) -> Operation:
    return replace(operation, operator=operator, operands=(value,), numbers=())
