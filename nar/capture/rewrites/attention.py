"""Rules for attention and for its rotary positions, in all their spellings.

Written out in products and a softmax, or fused, attention is one operator.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Final

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import NO_ATTRIBUTES, Operation

_SCALES = frozenset({"mul", "div"})
_ON_SCORES = frozenset({
    "add", "sub", "mul", "div", "where", "masked_fill", "maximum", "tanh",
})  # fmt: skip
# What moves scores, and keeps them: chunks of a sliding window are cut out and put back so.
_MOVES = frozenset({"slice", "split", "pad", "scatter", "concat"})
_MASKS = frozenset({"add", "where", "masked_fill", "maximum"})
# Chosen: a bound on the walk from a softmax up to its product; a scale, a soft cap in three steps,
# a bias, a mask, a sink and a maximum that is taken off stand between the two.
_MAX_STEPS_ON_SCORES = 10
# Chosen: a bound on the walk up a bias, to what is left of it without its masks.
_MAX_STEPS_ON_BIAS = 6
# Chosen: a bound on the values between both products of a sliding window, as many times over as an
# example has chunks; some twenty of Longformer's.
_MAX_MOVES = 64
_REPEATS = frozenset({"repeat"})
_CHOOSES_ROWS = frozenset({"constant", "compare", "logical"})
_CHOICES = frozenset({"where", "masked_fill"})
_SOFTMAX, _PRODUCTS = frozenset({"softmax"}), frozenset({"matmul"})


def attention(match: Matcher, operation: Operation) -> Operation | None:
    """softmax(scale * q k^T + biases, last axis) v, or transposed v^T softmax(...)^T.

    Scores may be capped softly, cap * tanh(scores / cap), and have a sink beside them, a learned
    column that the softmax sees and the product does not. Those of a sliding window are moved.
    """
    for side, weights in enumerate(operation.operands):
        found = _weighed(match, weights) or _moved(match, weights)
        if found is None:
            continue
        stated, product, biases = found
        heads = {name: number for name, number in stated.items() if name == "heads"}
        scored = match.captured(product)
        query, key = scored.operands
        return bare_attention(
            match,
            replace(
                operation,
                operator="attention",
                operands=(query, key, operation.operands[1 - side], *biases),
                numbers=(),
                attributes=heads,
                sizes={**_sizes(operation, scored), **stated},
            ),
        )
    return None


def _sizes(operation: Operation, scored: Operation) -> dict[str, int]:
    """Sizes of attention that is written out, from its two products."""
    queries, size, keys = (int(number) for number in (*scored.numbers, 0, 0, 0)[:3])
    width = int((*operation.numbers, 0, 0, 0)[2])
    sizes = {"queries": queries, "keys": keys, "head_size": size, "value_size": width}
    return {name: number for name, number in sizes.items() if number}


# Of attention that is written out: sizes, its product of query and key, and what is added.
_Weighed = tuple[Mapping[str, int], int, tuple[int, ...]]
_CHUNKED: Final[Mapping[str, int]] = {"is_chunked": 1}


def _weighed(match: Matcher, value: int) -> _Weighed | None:
    """Weights that are a softmax of scores, without a sink, or zeros for what is masked."""
    found = _only_above(match, value, _SOFTMAX, _CHOICES)
    if found is None:
        found = match.only_operand(value, ("slice",))
        if found is None or not _cuts_sink(match[value], match[found]):
            return None
    softmax = match[found]
    if softmax.operator != "softmax" or softmax.numbers != (-1,):
        return None
    scores = _scores(match, softmax.operands[0], _MAX_STEPS_ON_SCORES)
    heads = {"heads": softmax.shape[1]} if len(softmax.shape) == 4 else {}
    return None if scores is None else (heads, *scores)


def _cuts_sink(part: Operation, whole: Operation) -> bool:
    """Whether a part is all but one key."""
    return whole.shape == (*part.shape[:-1], *(extent + 1 for extent in part.shape[-1:]))


def _moved(match: Matcher, value: int) -> _Weighed | None:
    """Weights of a sliding window: scores are cut into chunks, moved and masked by constants."""
    found = _only_above(match, value, _SOFTMAX, _MOVES | _CHOICES)
    if found is None or match[found].numbers != (-1,):
        return None
    (scores,) = match[found].operands
    if _scores(match, scores, _MAX_STEPS_ON_SCORES) is not None:
        return None  # a part of the weights of plain attention
    product = _only_above(match, scores, _PRODUCTS, _MOVES | _ON_SCORES)
    # The shape of chunks does not say where the heads stand.
    return None if product is None else (_CHUNKED, product, ())


def _only_above(
    match: Matcher, value: int, wanted: Collection[str], through: Collection[str]
) -> int | None:
    """The one value of the wanted operators above a value, whatever constants join on the way.

    Args:
        match: The trace.
        value: Where the walk begins.
        wanted: Operators that are looked for.
        through: Operators that the walk goes through.
    """
    waiting, seen, found = [value], set[int](), set[int]()
    while waiting and len(seen) < _MAX_MOVES:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        operator = match[value].operator
        if operator in wanted:
            found.add(value)
        elif operator in through:
            waiting.extend(match.tensors(match[value]))
        elif operator not in _CHOOSES_ROWS:
            return None
    return found.pop() if len(found) == 1 and not waiting else None


def _scores(match: Matcher, value: int, steps: int) -> tuple[int, tuple[int, ...]] | None:
    """The product of query and key above a softmax, and the biases and masks added on the way."""
    operation = match[value]
    if operation.operator == "matmul" or _is_by_head(match, value):
        return value, ()
    is_joined = operation.operator == "concat" and _has_sink(match, operation)
    if not (operation.operator in _ON_SCORES or is_joined) or not steps:
        return None
    tensors = _without_maximum(match, operation)
    for tensor in tensors:
        scores = _scores(match, tensor, steps - 1)
        if scores is not None:
            product, joined = scores
            return product, (*joined, *(other for other in tensors if other != tensor))
    return None


def _without_maximum(match: Matcher, operation: Operation) -> list[int]:
    """The tensors of an operation; of x - max(x) only x."""
    tensors = match.tensors(operation)
    is_shifted = (
        operation.operator == "sub"
        and len(tensors) == 2
        and match.only_operand(tensors[1], ("max",)) == tensors[0]
    )
    return tensors[:1] if is_shifted else tensors


def _has_sink(match: Matcher, operation: Operation) -> bool:
    """Whether scores are joined along the keys with what no input changes."""
    is_last = operation.numbers == (-1,)
    others = [value for value in operation.operands if match[value].operator == "parameter"]
    return is_last and len(operation.operands) == 2 and len(others) == 1


def _is_by_head(match: Matcher, value: int) -> bool:
    """Whether a product has learned queries for each head, where a layer has one weight."""
    layer = match[value]
    if layer.operator != "linear" or match.captured(value).operator != "matmul":
        return False
    return len(layer.operands) == 2 and match[layer.operands[1]].elements > prod(layer.numbers)


def bare_attention(match: Matcher, operation: Operation) -> Operation:
    """Attention that reads query and key before any literal scale, and each bias beside its mask.

    Where key and value have fewer heads than the query, attention repeats the heads itself.
    """
    query, key, value, *biases = operation.operands
    bare = [part for bias in biases for part in _unmasked(match, bias)]
    query, key = match.skip(query, _SCALES), match.skip(key, _SCALES | _REPEATS)
    value = match.skip(value, _REPEATS)
    return replace(operation, operands=(query, key, value, *bare))


def _unmasked(match: Matcher, bias: int, steps: int = _MAX_STEPS_ON_BIAS) -> list[int]:
    """A bias and the constants that mask it, or the bias alone if none does."""
    operation = match[bias]
    tensors = match.tensors(operation)
    variable = [value for value in tensors if match[value].operator != "constant"]
    if operation.operator not in _MASKS or len(variable) != 1 or not steps:
        return [bias]
    constants = [value for value in tensors if value not in variable]
    return [*_unmasked(match, variable[0], steps - 1), *constants]


def fused_attention(match: Matcher, operation: Operation) -> Operation | None:
    """Fused attention without the scales before it: it has scale and mask inside."""
    bare = bare_attention(match, operation)
    return bare if bare.operands != operation.operands else None


# Rules for rotary position embeddings (RoFormer, arXiv:2104.09864) in all their spellings.
#
# Pairs of channels are turned by an angle that depends on the position: (a, b) becomes
# (a cos - b sin, b cos + a sin). Which channels make a pair, and in which direction they turn, is a
# matter of how weights are stored; the angles are constants. One class stands for all spellings.

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
