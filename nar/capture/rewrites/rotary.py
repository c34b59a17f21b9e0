"""Rules for rotary position embeddings (RoFormer, arXiv:2104.09864) in all their spellings.

Pairs of channels are turned by an angle that depends on the position: (a, b) becomes
(a cos - b sin, b cos + a sin). Which channels make a pair, and in which direction they turn, is a
matter of how weights are stored; the angles are constants. One class stands for all spellings.
"""

from collections.abc import Iterator
from dataclasses import replace

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import NO_ATTRIBUTES, Operation

_ANGLES = frozenset({"constant", "parameter"})
_SUMS = frozenset({"add", "sub"})


def complex_product(match: Matcher, operation: Operation) -> Operation | None:
    """Pairs of real numbers, taken for complex ones, times constants."""
    for value, angles in match.pairs(operation):
        if match[angles].operator == "constant" and match[value].operator != "constant":
            sources = {match.whole_of(part) for part in match[value].operands}
            is_joined = match[value].operator == "concat" and len(sources) == 1
            source = sources.pop() if is_joined else value
            return _rotary(operation, value if source is None else source)
    return replace(operation, operator="mul")


def turned(match: Matcher, operation: Operation) -> Operation | None:
    """X * cos + turn(x) * sin, where turn(x) joins one half of x and minus the other."""
    for other, product in match.pairs(operation):
        for value in _turned_halves(match, product):
            if _is_scaled(match, other, value):
                return _rotary(operation, value)
    return None


def _turned_halves(match: Matcher, product: int) -> Iterator[int]:
    """X where the factors of the product are angles and turn(x)."""
    if match[product].operator != "mul":
        return
    tensors = [t for t in match.factors(match[product])[0] if match[t].operator not in _ANGLES]
    if len(tensors) == 1 and match[tensors[0]].operator == "concat":
        halves = match[tensors[0]].operands
        signed = [_signed(match, half) for half in halves]
        sources = {match.whole_of(half) for _, half in signed}
        if len(halves) == 2 and {sign for sign, _ in signed} == {1, -1} and len(sources) == 1:
            yield from (source for source in sources if source is not None)


def _signed(match: Matcher, value: int) -> tuple[int, int]:
    """(1, x), or (-1, x) where the value is -x."""
    operation = match[value]
    if operation.operator == "neg":
        return -1, operation.operands[0]
    tensors = match.tensors(operation)
    if operation.operator == "mul" and len(tensors) == 1 and match.numbers(operation) == [-1]:
        return -1, tensors[0]
    return 1, value


def _is_scaled(match: Matcher, product: int, value: int) -> bool:
    """Whether the product is the value times angles."""
    if match[product].operator != "mul" or product == value:
        return False
    tensors = match.factors(match[product], {value})[0]
    others = [tensor for tensor in tensors if tensor != value]
    return len(tensors) == len(others) + 1 and _are_angles(match, others)


def _are_angles(match: Matcher, values: list[int]) -> bool:
    return bool(values) and all(match[value].operator in _ANGLES for value in values)


def turned_halves(match: Matcher, operation: Operation) -> Operation | None:
    """(a cos - b sin) joined with (b cos + a sin), where a and b are the halves of x."""
    if len(operation.operands) != 2:
        return None
    terms = [term for half in operation.operands for term in _terms(match, half)]
    sources = {match.whole_of(part) for _, part in terms}
    if len(terms) != 4 or len(sources) != 1 or sum(sign for sign, _ in terms) != 2:
        return None
    (source,) = sources
    return None if source is None else _rotary(operation, source)


def _terms(match: Matcher, value: int) -> Iterator[tuple[int, int]]:
    """(sign, part) of a sum of two parts, each times angles; fewer if it is no such sum."""
    total = match[value]
    if total.operator not in _SUMS or len(total.operands) != 2:
        return
    second = -1 if total.operator == "sub" else 1
    for sign, operand in zip((1, second), total.operands, strict=True):
        outer, product = _signed(match, operand)
        if match[product].operator != "mul":
            return
        tensors = match.factors(match[product])[0]
        parts = [tensor for tensor in tensors if match[tensor].operator not in _ANGLES]
        if len(parts) != 1 or len(tensors) < 2:
            return
        inner, part = _signed(match, parts[0])
        yield sign * outer * inner, part


def turned_in_part(match: Matcher, operation: Operation) -> Operation | None:
    """Parts of one value, some or all of them turned: some channels, some tokens, or each axis."""
    sources: set[int | None] = set()
    for value in operation.operands:
        is_turned = match[value].operator == "rotary"
        sources.add(match.whole_of(match[value].operands[0] if is_turned else value))
    is_any = any(match[value].operator == "rotary" for value in operation.operands)
    if not is_any or len(sources) != 1 or None in sources:
        return None
    (source,) = sources
    is_all = source is not None and match[source].elements == operation.elements
    return _rotary(operation, source) if is_all and source is not None else None


def _rotary(operation: Operation, value: int) -> Operation:
    return replace(
        operation, operator="rotary", operands=(value,), numbers=(), attributes=NO_ATTRIBUTES
    )
