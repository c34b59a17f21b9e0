"""Rules for activations written out in arithmetic."""

from dataclasses import replace
from math import inf, isclose

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import Operation

_GATES = {"sigmoid": "silu", "hard_sigmoid": "hard_swish"}
_POLYNOMIAL = frozenset({"mul", "div", "add", "pow", "neg"})
_QUICK_GELU = 1.702  # x * sigmoid(1.702 x): Hendrycks and Gimpel, arXiv:1606.08415


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
    for gate in match.factors(operation)[0]:
        # 1 + erf(x), and 1 - erf(-x), which is what a complement of erf becomes.
        curve = match.only_operand(gate, ("add", "sub"))
        if curve is None or match[curve].operator not in ("erf", "tanh"):
            continue
        argument = match[curve].operands[0]
        # Where x is a product itself, its factors must stay together.
        for whole in (frozenset[int](), match.cone(argument, _POLYNOMIAL)):
            value = _gated_by(match, operation, gate, 0.5, whole)
            if value is not None and match.cone_reads_only(argument, value, _POLYNOMIAL):
                return _activation(operation, "gelu", value)
    return None


def _gated_by(
    match: Matcher, operation: Operation, gate: int, scale: float, whole: frozenset[int]
) -> int | None:
    """X where the operation is scale * x * gate."""
    tensors, factor = match.factors(operation, whole)
    if len(tensors) != 2 or gate not in tensors or not isclose(factor, scale, rel_tol=1e-3):
        return None
    return tensors[0] if tensors[1] == gate else tensors[1]


def hard_sigmoid(match: Matcher, operation: Operation) -> Operation | None:
    """relu6(x + 3) / 6."""
    tensors, scale = match.factors(operation)
    if len(tensors) != 1 or not isclose(scale, 1 / 6, rel_tol=1e-3):
        return None
    value = _shifted_relu6(match, tensors[0])
    return None if value is None else _activation(operation, "hard_sigmoid", value)


def hard_swish(match: Matcher, operation: Operation) -> Operation | None:
    """X * relu6(x + 3) / 6, divided last."""
    for gate in match.factors(operation)[0]:
        value = _shifted_relu6(match, gate)
        if value is None:
            continue
        if _gated_by(match, operation, gate, 1 / 6, frozenset({value})) == value:
            return _activation(operation, "hard_swish", value)
    return None


def relu6(match: Matcher, operation: Operation) -> Operation | None:
    """Clamping from above right after relu."""
    value = match.only_operand(operation.operands[0], ("relu",))
    if value is None or operation.numbers != (-inf, 6):
        return None
    return _activation(operation, "relu6", value)


def softmax(match: Matcher, operation: Operation) -> Operation | None:
    """Exp(x) over its sum along one axis; the greatest value may be subtracted from x first."""
    for powers, total in match.quotients(operation):
        axes = match[total].numbers
        is_total = match.only_operand(total, ("sum",)) == powers and len(axes) == 1
        value = match.only_operand(powers, ("exp",))
        if value is None or not is_total or not _sums_axis(operation, match[total], int(axes[0])):
            continue
        return replace(
            operation, operator="softmax", operands=(_below_zero(match, value),), numbers=axes
        )
    return None


def _sums_axis(operation: Operation, total: Operation, axis: int) -> bool:
    """Whether the sum is along ``axis`` of the result itself, not along an axis of a view of it."""
    rank = len(operation.shape)
    return -rank <= axis < rank and total.elements * operation.shape[axis] == operation.elements


def _below_zero(match: Matcher, value: int) -> int:
    """X where the value is x - max(x)."""
    shifted = match[value]
    if shifted.operator != "sub" or len(shifted.operands) != 2:
        return value
    source, greatest = shifted.operands
    return source if match.only_operand(greatest, ("max",)) == source else value


def _shifted_relu6(match: Matcher, gate: int) -> int | None:
    shifted = match.only_operand(gate, ("relu6",))
    if shifted is None or match.numbers(match[shifted]) != [3]:
        return None
    return match.only_operand(shifted, ("add",))


def _activation(operation: Operation, operator: str, value: int) -> Operation:
    return replace(operation, operator=operator, operands=(value,), numbers=())
