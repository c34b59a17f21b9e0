"""Rules for layers with a window, layers written as matrix products, and parts put together."""

from dataclasses import replace
from math import inf

from nar.capture.rewrites.match import Matcher
from nar.capture.sizes import channel_ratio
from nar.capture.trace import PARTS, Operation, Shape
from nar.graphs.ops import Trait, with_any

# Operator -> the number that its window reads beyond the border.
_BORDER = {
    "conv": 0.0,
    "conv_grouped": 0.0,
    "conv_depthwise": 0.0,
    "avg_pool": 0.0,
    "max_pool": -inf,
}
_BIASED = with_any(Trait.CONVOLVES) & with_any(Trait.FOLDS_NORM)
_POOLINGS = with_any(Trait.POOLS_TO_SIZE)
_BETWEEN_POOLED = with_any(Trait.ON_POOLED)
# Chosen: a bound on the walk up to a global pooling; heads have few layers below theirs.
_MAX_STEPS_BELOW_POOLING = 8


def padded(match: Matcher, operation: Operation) -> Operation | None:
    """A window over a padded value: the padding belongs to the window and is no operation."""
    border = match[operation.operands[0]]
    if border.operator != "pad" or len(border.numbers) != 2:
        return None
    fill, axes = border.numbers
    if fill != _BORDER[operation.operator] or axes > operation.attributes["rank"]:
        return None
    return replace(operation, operands=(*border.operands[:1], *operation.operands[1:]))


def linear_of_pooled(match: Matcher, operation: Operation) -> Operation | None:
    """A 1x1 convolution of the one place that global pooling leaves is a linear layer.

    Other convolutions of one place are not: whether a map is that small depends on the image.
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
    """Whether a value comes from a global pooling through layers that keep the one place."""
    for _ in range(_MAX_STEPS_BELOW_POOLING):
        operation = match[value]
        if operation.operator in _POOLINGS:
            return True
        if operation.operator not in _BETWEEN_POOLED:
            return False
        value = operation.operands[0]
    return False


_RECURRENT = frozenset({"lstm", "gru", "rnn"})


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
    """Rows of a learned table, read by any index."""
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


def conv_bias(match: Matcher, operation: Operation) -> Operation | None:
    """A learned number for each channel, added to a convolution that has no bias yet."""
    for value, bias in match.pairs(operation):
        layer = match[value]
        if (
            layer.operator in _BIASED
            and len(layer.operands) == 2
            and layer.shape[1:2] == (match[bias].elements,)
            and match.is_parameter(bias)
            and match.is_read_once(value)
        ):
            return replace(layer, operands=(*layer.operands, bias), shape=operation.shape)
    return None


def layer_of_cells(match: Matcher, operation: Operation) -> Operation | None:
    """Cells of the same weights, one after another on the parts of a value, are a layer.

    The first cell begins with states of its own; the second shows that there is a sequence. Its
    source may be a layer of cells itself: cells are stacked in one loop.
    """
    if len(operation.numbers) != 1:
        return None
    states = int(operation.numbers[0])
    source, before = operation.operands[0], operation.operands[1]
    weights = operation.operands[1 + states :]
    last = match[before]
    is_cell_before = (
        last.operator == operation.operator and last.operands[-len(weights) :] == weights
    )
    if not is_cell_before:
        return None
    whole = last.operands[0] if not last.numbers else _sequence(match, last.operands[0])
    if whole is None or not _is_step_of(match, source, whole):
        return None
    layer = replace(operation, operands=(whole, *weights), numbers=())
    if last.numbers:
        match.replace(before, replace(layer, shape=last.shape))
    return layer


def _sequence(match: Matcher, step: int) -> int | None:
    """The value that has all steps, where a value is one of them."""
    whole = match.whole_of(step)
    is_layer = match[step].operator in _RECURRENT and not match[step].numbers
    return step if whole is None and is_layer else whole


def _is_step_of(match: Matcher, step: int, whole: int) -> bool:
    """Whether a value is a step of a value, or of the same layer of cells as it."""
    if match.whole_of(step) == whole:
        return True
    one, other = match[step], match[whole]
    return one.operator in _RECURRENT and not one.numbers and one.operands == other.operands


def joined_cells(match: Matcher, operation: Operation) -> Operation | None:
    """The results of all steps of one layer, put together, are the result of the layer."""
    layers = [match[value] for value in operation.operands]
    first = layers[0]
    is_one = first.operator in _RECURRENT and not first.numbers and len(layers) > 1
    if not is_one or any(each.operands != first.operands for each in layers):
        return None
    return replace(first, shape=operation.shape)


# Chosen: a concatenation that grows by a value in each of n steps would have n^2 / 2 edges.
_MAX_JOINED = 128


def part_of_linear(match: Matcher, operation: Operation) -> Operation | None:
    """Some outputs of a linear layer are a linear layer: packed q, k, v are three linear layers."""
    if len(operation.operands) != 1 or not match.is_read_in_parts(operation.operands[0]):
        return None
    layer = match[operation.operands[0]]
    if layer.operator != "linear" or len(layer.numbers) != 2:
        return None
    out, inner = (int(number) for number in layer.numbers)
    rows = layer.elements // out if out else 0
    if not rows or operation.elements % rows or not _keeps_rows(operation.shape, rows):
        return None
    width = operation.elements // rows
    if not 0 < width < out:
        return None
    return replace(
        layer,
        shape=operation.shape,
        numbers=(width, inner),
        attributes=channel_ratio(inner, width),
    )


def _keeps_rows(shape: Shape, rows: int) -> bool:
    """Whether the product of some extents is ``rows``: then the part keeps all rows."""
    products = {1}
    for extent in shape:
        products |= {product * extent for product in products if extent}
    return rows in products


def rearranged(match: Matcher, operation: Operation) -> Operation | None:
    """All parts of a value, joined to another shape, are the value: Swin merges its patches so.

    Joined to the same shape, the parts have changed places, which is a design of its own.
    """
    sources = {_whole(match, value) for value in operation.operands}
    if len(sources) != 1 or len(set(operation.operands)) < 2:
        return None
    (source,) = sources
    whole = match[source]
    is_all = whole.elements == operation.elements and whole.shape != operation.shape
    if not is_all or source in operation.operands or not match.is_read_in_parts(source):
        return None
    return replace(whole, shape=operation.shape)


def joined(match: Matcher, operation: Operation) -> Operation | None:
    """Concatenations of concatenations along one axis are one: DenseNet joins its layers so."""
    operands = [part for value in operation.operands for part in _joined(match, value, operation)]
    if len(operands) == len(operation.operands) or len(operands) > _MAX_JOINED:
        return None
    return replace(operation, operands=tuple(operands))


def _joined(match: Matcher, value: int, operation: Operation) -> tuple[int, ...]:
    inner = match[value]
    is_alike = (
        inner.operator == "concat"
        and len(operation.numbers) == 1
        and inner.numbers == operation.numbers
        and _but_axis(inner) == _but_axis(operation)
    )
    return inner.operands if is_alike else (value,)


def _but_axis(operation: Operation) -> Shape:
    """Extents of all axes but the axis of a concatenation."""
    shape, axis = list(operation.shape), int(operation.numbers[0])
    del shape[axis]
    return tuple(shape)


def _whole(match: Matcher, value: int) -> int:
    """The value that a part was taken from, through any number of cuts."""
    while match[value].operator in PARTS and len(match[value].operands) == 1:
        (value,) = match[value].operands
    return value
