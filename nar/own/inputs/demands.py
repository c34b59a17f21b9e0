"""What a call of torch that failed wanted its tensors to be, read from the call itself."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import combinations, zip_longest
from typing import Final

from nar.own.inputs.calls import CONCATENATIONS, CONVOLUTION, POOLING, TorchCall
from nar.own.inputs.slots import Extents


class DemandKind(Enum):
    """What was not as wanted."""

    RANK = auto()
    EXTENT = auto()
    INTEGERS = auto()
    LARGER = auto()


@dataclass(frozen=True, slots=True)
class Demand:
    """One thing that a call wanted.

    Attributes:
        kind: What was not as wanted.
        got: The rank or the extent that came.
        wanted: The rank or the extent that was wanted.
        tensor: The number of the tensor among the tensors of the call; None for the inputs as a
            whole.
    """

    kind: DemandKind
    got: int = 0
    wanted: int = 0
    tensor: int | None = 0


_Reader = Callable[[TorchCall, str], Iterator[Demand]]


def demands(call: TorchCall, message: str) -> tuple[Demand, ...]:
    """What a failing call leaves open, the likeliest first.

    Args:
        call: The call.
        message: What torch says, which matters only where the call alone does not tell.
    """
    if CONVOLUTION.match(call.function):
        return tuple(_of_convolution(call))
    if POOLING.match(call.function):
        return tuple(_of_pooling(call))
    reader = _READERS.get(call.function)
    found = tuple(reader(call, message)) if reader else ()
    if not found and len(call.shapes) > 1 and _MISMATCH.search(message):
        found = tuple(_of_broadcast(call, message))
    return found


def described(call: TorchCall, message: str) -> str:
    """What a failing call wanted, in words; nothing where it does not tell."""
    where = f"{call.function} of {call.path}" if call.path else call.function
    for demand in demands(call, message):
        if demand.kind is DemandKind.EXTENT:
            return f"{where} wanted {demand.wanted} and got {demand.got}"
        if demand.kind is DemandKind.RANK:
            return f"{where} wanted {demand.wanted} axes and got {demand.got}"
        if demand.kind is DemandKind.INTEGERS:
            return f"{where} wanted integers"
    return ""


_MISMATCH: Final = re.compile(r"size of tensor a|broadcast|shapes? .* cannot")


def channels_of(call: TorchCall) -> int:
    """The channels that a convolution wants."""
    found = CONVOLUTION.match(call.function)
    assert found is not None, "wanted a convolution"
    weight = call.shapes[1]
    groups = call.detail if isinstance(call.detail, int) else 1
    return weight[0] if found["transposed"] else weight[1] * groups


def _of_convolution(call: TorchCall) -> Iterator[Demand]:
    found = CONVOLUTION.match(call.function)
    assert found is not None, "wanted a convolution"
    shape, rank = call.shapes[0], int(found["axes"]) + 2
    if len(shape) != rank:
        yield Demand(DemandKind.RANK, len(shape), rank)
    elif shape[1] != channels_of(call):
        yield Demand(DemandKind.EXTENT, shape[1], channels_of(call))
    else:
        yield Demand(DemandKind.LARGER)


def _of_pooling(call: TorchCall) -> Iterator[Demand]:
    found = POOLING.match(call.function)
    assert found is not None, "wanted a pooling"
    rank = int(found["axes"]) + 2
    if len(call.shapes[0]) == rank:
        yield Demand(DemandKind.LARGER)
    else:
        yield Demand(DemandKind.RANK, len(call.shapes[0]), rank)


def _of_embedding(call: TorchCall, message: str) -> Iterator[Demand]:
    if "positions" in message:
        yield Demand(DemandKind.EXTENT, call.shapes[0][-1], call.shapes[1][0], None)
    elif "integers" in message or "indices" in message or "scalar type" in message:
        yield Demand(DemandKind.INTEGERS)


def _of_linear(call: TorchCall, _message: str) -> Iterator[Demand]:
    if len(call.shapes) > 1 and call.shapes[0] and call.shapes[1]:
        got, wanted = call.shapes[0][-1], call.shapes[1][-1]
        if got != wanted:
            yield Demand(DemandKind.EXTENT, got, wanted)


def _of_batch_norm(call: TorchCall, _message: str) -> Iterator[Demand]:
    shape = call.shapes[0]
    widths = [weight[0] for weight in call.shapes[1:] if len(weight) == 1]
    if widths and len(shape) > 1 and shape[1] != widths[0]:
        yield Demand(DemandKind.EXTENT, shape[1], widths[0])
    else:
        yield Demand(DemandKind.RANK, len(shape), len(shape) + 1)


def _of_last_axes_norm(call: TorchCall, _message: str) -> Iterator[Demand]:
    wanted = tuple(call.detail) if isinstance(call.detail, list | tuple) else ()
    for got, extent in zip(call.shapes[0][-len(wanted) :], wanted, strict=False):
        if got != extent:
            yield Demand(DemandKind.EXTENT, got, extent)


def _of_group_norm(call: TorchCall, _message: str) -> Iterator[Demand]:
    shape = call.shapes[0]
    if len(shape) < 2:
        return
    if len(call.shapes) > 1 and shape[1] != call.shapes[1][0]:
        yield Demand(DemandKind.EXTENT, shape[1], call.shapes[1][0])
    else:
        groups = call.detail if isinstance(call.detail, int) and call.detail else 1
        yield Demand(DemandKind.EXTENT, shape[1], groups * max(1, shape[1] // groups))


def _of_product(call: TorchCall, _message: str) -> Iterator[Demand]:
    if len(call.shapes) < 2 or not call.shapes[0] or len(call.shapes[1]) < 2:
        return
    left, right = call.shapes[0][-1], call.shapes[1][-2]
    if left == right:
        return
    if call.sources[0] or not call.sources[1]:
        yield Demand(DemandKind.EXTENT, left, right, 0)
    else:
        yield Demand(DemandKind.EXTENT, right, left, 1)


def _of_einsum(call: TorchCall, _message: str) -> Iterator[Demand]:
    if not isinstance(call.detail, str):
        return
    terms = call.detail.replace(" ", "").split("->")[0].split(",")
    seen: dict[str, tuple[int, int]] = {}
    for tensor, (term, shape) in enumerate(zip(terms, call.shapes, strict=False)):
        if "." in term:
            continue
        if len(term) != len(shape):
            yield Demand(DemandKind.RANK, len(shape), len(term), tensor)
            return
        for letter, extent in zip(term, shape, strict=True):
            before, owner = seen.setdefault(letter, (extent, tensor))
            if before == extent:
                continue
            if call.sources[tensor]:
                yield Demand(DemandKind.EXTENT, extent, before, tensor)
            else:
                yield Demand(DemandKind.EXTENT, before, extent, owner)


def _of_concatenation(call: TorchCall, _message: str) -> Iterator[Demand]:
    first, *others = call.shapes
    if len({len(shape) for shape in call.shapes}) > 1:
        for tensor, shape in enumerate(call.shapes):
            if len(shape) != len(first):
                yield Demand(DemandKind.RANK, len(shape), len(first), tensor)
        yield Demand(DemandKind.RANK, len(first), len(others[0]), 0)
        return
    joined = call.detail % len(first) if isinstance(call.detail, int) and first else 0
    for tensor, shape in enumerate(others, 1):
        for axis, (one, other) in enumerate(zip(first, shape, strict=True)):
            if axis == joined or one == other:
                continue
            if call.sources[0] and not call.sources[tensor]:
                yield Demand(DemandKind.EXTENT, one, other, 0)
            else:
                yield Demand(DemandKind.EXTENT, other, one, tensor)


def _of_broadcast(call: TorchCall, _message: str) -> Iterator[Demand]:
    for first, second in combinations(range(min(3, len(call.shapes))), 2):
        for one, other in _unequal(call.shapes[first], call.shapes[second]):
            from_first = Demand(DemandKind.EXTENT, one, other, first)
            from_second = Demand(DemandKind.EXTENT, other, one, second)
            if call.sources[first] and not call.sources[second]:
                yield from_first
            elif call.sources[second] and not call.sources[first]:
                yield from_second
            else:
                yield from (from_second, from_first)


def _unequal(one: Extents, other: Extents) -> list[tuple[int, int]]:
    """The extents, from the last axis on, that do not fit each other."""
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    return [pair for pair in reversed(pairs) if pair[0] != pair[1] and 1 not in pair]


_PRODUCTS: Final = ("matmul", "__matmul__", "mm", "bmm", "__rmatmul__")
_ELEMENTWISE: Final = (
    "add", "sub", "mul", "div", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__",
    "__rmul__", "__truediv__", "__iadd__", "add_", "mul_", "where", "masked_fill", "maximum",
    "minimum", "__eq__", "addcmul", "lerp", "true_divide", "iadd", "__imul__", "imul", "pow",
    "__and__", "masked_fill_", "sub_", "copy_",
)  # fmt: skip
_READERS: Final[Mapping[str, _Reader]] = {
    "embedding": _of_embedding,
    "linear": _of_linear,
    "batch_norm": _of_batch_norm,
    "instance_norm": _of_batch_norm,
    "layer_norm": _of_last_axes_norm,
    "rms_norm": _of_last_axes_norm,
    "group_norm": _of_group_norm,
    "einsum": _of_einsum,
    **dict.fromkeys(_PRODUCTS, _of_product),
    **dict.fromkeys(CONCATENATIONS, _of_concatenation),
    **dict.fromkeys(_ELEMENTWISE, _of_broadcast),
}
