"""Rules for values that are taken apart and put together."""

from dataclasses import replace

from nar.capture.parts import PARTS
from nar.capture.rewrites.match import Matcher
from nar.capture.trace import Operation, Shape
from nar.capture.window import channel_ratio

# Chosen: one that grows by a value in each of n steps would have n^2 / 2 edges.
_MAX_JOINED = 128


def part_of_linear(match: Matcher, operation: Operation) -> Operation | None:
    """Some outputs of a linear layer are a linear layer: packed q, k, v are three of them."""
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
    """Whether some of the axes hold all rows: a part of the rows has fewer."""
    products = {1}
    for extent in shape:
        products |= {product * extent for product in products if extent}
    return rows in products


def rearranged(match: Matcher, operation: Operation) -> Operation | None:
    """All parts of a value in another shape are the value: so Swin merges its patches.

    In the same shape they are a value whose parts changed places, which is a design of its own.
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
    """What is put together in steps along one axis is put together: so DenseNet grows."""
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
    """Extents of all axes but the one along which a value is put together."""
    shape, axis = list(operation.shape), int(operation.numbers[0])
    del shape[axis]
    return tuple(shape)


def _whole(match: Matcher, value: int) -> int:
    """What a part was taken from, through any number of cuts."""
    while match[value].operator in PARTS and len(match[value].operands) == 1:
        (value,) = match[value].operands
    return value
