"""Tables: how many columns an input has, and of which type, by what the module reads of it.

The columns are parts of one input, or the keys of a mapping.
"""

from collections.abc import Iterator
from typing import Final

import torch

from nar.own.inputs.calls import Outcome, TorchCall
from nar.own.inputs.slots import LENGTH, STEPS, WIDTH, Kind, Slot, State, changed, resized

# Chosen: two or three unnamed keys may be texts; where there are more, each is a number a sample.
_MANY_KEYS: Final = 4
_GUESSED: Final = (LENGTH, WIDTH, STEPS)  # extents that no layer asked for
_TO_INTEGERS: Final = frozenset({"long", "int"})
_TO_FLOATS: Final = frozenset({"float", "double"})


def keys_as_numbers(state: State, outcome: Outcome) -> Iterator[State]:
    """The state in which each of many keys of a mapping is one number for each sample."""
    if isinstance(outcome.error, KeyError):
        return
    places = [
        place
        for place, each in enumerate(state)
        if each.key and not each.is_sure and not each.is_stated and each.rank == 2
    ]
    if len(places) < _MANY_KEYS:
        return
    for place in places:
        state = changed(state, place, kind=Kind.LABEL, extents=(1,))
    yield state


def as_read(state: State, outcome: Outcome) -> State:
    """The state with as many columns as are read of it, each of the type that it is read as."""
    for place, each in enumerate(state):
        if each.is_stated:
            continue
        read = [call for call in outcome.calls if _reads_columns(call, each)]
        last = _last_column(read, each)
        if last is not None and each.rank == 2 and each.extents[1] in _GUESSED:
            state = resized(state, place, (1,), last)
        is_cast = any(_casts(call, each, _TO_FLOATS) for call in outcome.calls)
        if each.is_integer and (is_cast or _is_mixed(read, outcome, each)):
            state = changed(state, place, kind=Kind.VECTOR, dtype=torch.float32)
    return state


def _reads_columns(call: TorchCall, slot: Slot) -> bool:
    return (
        call.function == "__getitem__"
        and call.sources[0] == {slot.path}
        and call.shapes[0] == slot.extents
        and isinstance(call.detail, tuple)
        and len(call.detail) == slot.rank
    )


def _last_column(read: list[TorchCall], slot: Slot) -> int | None:
    """How many columns the reads need; None where one of them takes what is left."""
    ends = [_end(call.detail[-1], slot) for call in read if isinstance(call.detail, tuple)]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def _end(part: object, slot: Slot) -> int | None:
    stop = part.stop if isinstance(part, slice) else part + 1 if type(part) is int else None
    return stop if type(stop) is int and 0 < stop <= slot.extents[-1] else None


def _is_mixed(read: list[TorchCall], outcome: Outcome, slot: Slot) -> bool:
    """Whether some columns are made integers, and others are read as the floats that they are."""
    number = sum(
        call.function in _TO_INTEGERS and call.sources[0] == {slot.path} for call in outcome.calls
    )
    return 0 < number < len(read)


def _casts(call: TorchCall, slot: Slot, functions: frozenset[str]) -> bool:
    return (
        call.function in functions
        and call.sources[0] == {slot.path}
        and call.shapes[0] == slot.extents
    )
