"""Rules for products: layers written as matrix products, attention written out."""

from dataclasses import replace
from math import prod

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import Operation
from nar.capture.window import channel_ratio

SCALES = frozenset({"mul", "div"})
_ON_SCORES = frozenset({"add", "sub", "mul", "div", "where", "masked_fill", "maximum"})
_MASKS = frozenset({"add", "where", "masked_fill", "maximum"})
# Chosen: a bound on the walk from a softmax up to its product; a scale, a bias and a mask stand
# between the two.
_MAX_STEPS_ON_SCORES = 6
_REPEATS = frozenset({"repeat"})
_CHOOSES_ROWS = frozenset({"constant", "compare", "logical"})


def linear(match: Matcher, operation: Operation) -> Operation | None:
    """A product with a learned tensor on either side."""
    left, right = operation.operands
    is_left, is_right = (match[side].operator == "parameter" for side in (left, right))
    if is_left == is_right:
        return None
    rows, inner, columns = operation.numbers
    out = columns if is_right else rows
    source, weight = (left, right) if is_right else (right, left)
    return replace(
        operation,
        operator="linear",
        operands=(source, weight),
        numbers=(out, inner),
        attributes=channel_ratio(int(inner), int(out)),
    )


def embedding(match: Matcher, operation: Operation) -> Operation | None:
    """Rows of a learned table, however they are looked up."""
    if len(operation.operands) != 2 or not match.is_parameter(operation.operands[0]):
        return None
    return replace(operation, operator="embedding")


def linear_bias(match: Matcher, operation: Operation) -> Operation | None:
    """A learned vector added to the result of a linear layer that has no bias yet."""
    for value, bias in match.pairs(operation):
        layer = match[value]
        if (
            layer.operator == "linear"
            and len(layer.operands) == 2
            and layer.numbers[:1] == (match[bias].elements,)
            and match.is_parameter(bias)
            and match.is_read_once(value)
        ):
            return replace(layer, operands=(*layer.operands, bias), shape=operation.shape)
    return None


def attention(match: Matcher, operation: Operation) -> Operation | None:
    """softmax(scale * q k^T + biases, last axis) v, or transposed v^T softmax(...)^T."""
    for side, weights in enumerate(operation.operands):
        softmax = _safe_softmax(match, weights)
        if softmax.operator != "softmax" or softmax.numbers != (-1,):
            continue
        scores = _scores(match, softmax.operands[0], _MAX_STEPS_ON_SCORES)
        if scores is None:
            continue
        product, biases = scores
        query, key = match.captured(product).operands
        heads = {"heads": softmax.shape[1]} if len(softmax.shape) == 4 else {}
        return bare_attention(
            match,
            replace(
                operation,
                operator="attention",
                operands=(query, key, operation.operands[1 - side], *biases),
                numbers=(),
                attributes=heads,
            ),
        )
    return None


def _safe_softmax(match: Matcher, value: int) -> Operation:
    """A softmax, also below the choice of zeros for rows that are masked whole."""
    operation = match[value]
    others = [v for v in match.tensors(operation) if match[v].operator not in _CHOOSES_ROWS]
    is_safe = operation.operator == "where" and len(others) == 1
    return match[others[0]] if is_safe else operation


def _scores(match: Matcher, value: int, steps: int) -> tuple[int, tuple[int, ...]] | None:
    """The product of query and key above a softmax, and what is joined to it on the way."""
    operation = match[value]
    if operation.operator == "matmul" or _is_by_head(match, value):
        return value, ()
    if operation.operator not in _ON_SCORES or not steps:
        return None
    tensors = match.tensors(operation)
    for tensor in tensors:
        scores = _scores(match, tensor, steps - 1)
        if scores is not None:
            product, joined = scores
            return product, (*joined, *(other for other in tensors if other != tensor))
    return None


def _is_by_head(match: Matcher, value: int) -> bool:
    """Whether a product has learned queries for each head, where a layer has one weight."""
    layer = match[value]
    if layer.operator != "linear" or match.captured(value).operator != "matmul":
        return False
    return len(layer.operands) == 2 and match[layer.operands[1]].elements > prod(layer.numbers)


def bare_attention(match: Matcher, operation: Operation) -> Operation:
    """Attention reads query and key before any literal scale, and each bias beside its mask.

    It repeats the heads of key and value itself where there are fewer of them.
    """
    query, key, value, *biases = operation.operands
    bare = [part for bias in biases for part in _unmasked(match, bias)]
    query, key = match.skip(query, SCALES), match.skip(key, SCALES | _REPEATS)
    value = match.skip(value, _REPEATS)
    return replace(operation, operands=(query, key, value, *bare))


def _unmasked(match: Matcher, bias: int, steps: int = _MAX_STEPS_ON_SCORES) -> list[int]:
    """A bias and the constants that mask it, if that is how it was made."""
    operation = match[bias]
    tensors = match.tensors(operation)
    variable = [value for value in tensors if match[value].operator != "constant"]
    if operation.operator not in _MASKS or len(variable) != 1 or not steps:
        return [bias]
    constants = [value for value in tensors if value not in variable]
    return [*_unmasked(match, variable[0], steps - 1), *constants]


def fused_attention(match: Matcher, operation: Operation) -> Operation | None:
    """Fused attention has scale and mask inside: what stands before it says nothing more."""
    bare = bare_attention(match, operation)
    return bare if bare.operands != operation.operands else None
