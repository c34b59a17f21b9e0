"""Rules for layers with a window: what stands before one may be part of it."""

from dataclasses import replace
from math import inf

from nar.capture.rewrites.match import Matcher
from nar.capture.trace import Operation
from nar.capture.window import channel_ratio
from nar.graphs.ops import Trait, with_any

# What a window reads beyond the border, by operator.
_BORDER = {
    "conv": 0.0,
    "conv_grouped": 0.0,
    "conv_depthwise": 0.0,
    "avg_pool": 0.0,
    "max_pool": -inf,
}
_POOLINGS = with_any(Trait.POOLS_TO_SIZE)
_BETWEEN_POOLED = with_any(Trait.ON_POOLED)
# Chosen: a bound on the walk up to a global pooling; heads have few layers below theirs.
_MAX_STEPS_BELOW_POOLING = 8


def padded(match: Matcher, operation: Operation) -> Operation | None:
    """A window over a value with a border of its own: its padding, which is no operation."""
    border = match[operation.operands[0]]
    if border.operator != "pad" or len(border.numbers) != 2:
        return None
    fill, axes = border.numbers
    if fill != _BORDER[operation.operator] or axes > operation.attributes["rank"]:
        return None
    return replace(operation, operands=(*border.operands[:1], *operation.operands[1:]))


def linear_of_pooled(match: Matcher, operation: Operation) -> Operation | None:
    """A 1x1 convolution of the one place that global pooling leaves is a linear layer.

    Not every convolution of one place is: whether a map has shrunk to it depends on the image.
    """
    out, *extents = operation.shape[1:] or (0,)
    is_one_pixel = operation.attributes["kernel"] == 1 and bool(extents) and set(extents) == {1}
    if not is_one_pixel or not _is_pooled(match, operation.operands[0]):
        return None
    inner = match[operation.operands[1]].elements // out
    return replace(
        operation,
        operator="linear",
        numbers=(out, inner),
        attributes=channel_ratio(inner, out),
    )


def _is_pooled(match: Matcher, value: int) -> bool:
    """Whether a value comes from a global pooling, through layers that keep its one place."""
    for _ in range(_MAX_STEPS_BELOW_POOLING):
        operation = match[value]
        if operation.operator in _POOLINGS:
            return True
        if operation.operator not in _BETWEEN_POOLED:
            return False
        value = operation.operands[0]
    return False
