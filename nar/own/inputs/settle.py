"""What is made better of inputs on which a module runs already."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn

from nar.capture import CaptureInputs
from nar.own.inputs.calls import CONCATENATIONS, POOLING, Outcome, TorchCall
from nar.own.inputs.columns import as_read
from nar.own.inputs.evidence import optional_parameters
from nar.own.inputs.layers import (
    asks_for,
    image_size,
    length,
    sound_length,
    stated_width,
    wants_time_first,
    window,
)
from nar.own.inputs.missing import kinds_of, with_input
from nar.own.inputs.names import kind_by_name
from nar.own.inputs.ranks import SOUND_CHANNELS
from nar.own.inputs.search import InputSearch
from nar.own.inputs.slots import (
    LENGTH,
    SAMPLES,
    STEPS,
    USUAL,
    WIDTH,
    Extents,
    Kind,
    Slot,
    State,
    call_of,
    changed,
    resized,
    texts_of,
)

ENOUGH: Final = 0.97  # of the weights; chosen: what is left is an auxiliary head or an unused table
_GAIN = 0.005  # of the weights; chosen: less is a bias
_INDEXED: Final = re.compile(r"index .*out of|out of bounds|too few")
_AXES_OF_MAPS = 4  # a batch, channels or frames, and the axes of a map
_LARGE_KERNEL = 4  # chosen: poolings between layers have kernels of 2 and 3
# Chosen: multiples of nearly every patch and window of an image, and hop of a sound: 2 ** 12 * 15.
_EVEN_SIDE, _EVEN_SAMPLES = 256, 61_440
_FILL_UP: Final = CONCATENATIONS | {"pad", "interpolate"}
_A_FEW = 8  # frames; chosen: usual for clips
# Probes and seconds to make something better; chosen: the other half of a model is worth as much as
# half of the search for its first.
_SOME, _MORE = (10, 1.0), (40, 4.0)
_FEW = (6, 1.5)  # to see another reading
_MANY = (LENGTH, WIDTH, STEPS)  # extents that no layer asked for


@dataclass(frozen=True, slots=True)
class CallReading:
    """A call that might as well be meant.

    Attributes:
        clause: How it differs: ``with mask``, ``of another length``.
        inputs: The call.
        texts: The call in the syntax of ``--input``.
    """

    clause: str
    inputs: CaptureInputs
    texts: tuple[str, ...]


def settled(search: InputSearch, state: State) -> State:
    """The inputs after all that can be made better of them, each in its own bound."""
    for better in (
        _long_sounds,
        _evenly_divided,
        _time_first,
        _integers,
        _columns,
        _as_read,
        _beyond_windows,
        _maps_as_pooled,
        _no_axis_of_one,
        _all_inputs,
    ):
        probes, seconds = _MORE if better is _all_inputs else _SOME
        with search.granted(probes, seconds):
            state = better(search, state)
    return state


def share_reached(module: nn.Module, outcome: Outcome) -> float:
    """The share of the weights of a module that a run read, by elements."""
    sizes = {
        name: weight.numel()
        for name, weight in module.named_parameters()
        if not isinstance(weight, nn.parameter.UninitializedParameter)
    }
    whole = sum(sizes.values())
    if not whole:
        return 1.0
    return sum(size for name, size in sizes.items() if name in outcome.used) / whole


def widths_unasked(search: InputSearch, state: State) -> tuple[str, ...]:
    """The paths of the vectors that are as wide as is usual because any width runs."""
    found = []
    for place, each in enumerate(state):
        is_usual = each.kind is Kind.VECTOR and each.rank == 2 and each.extents[1] == WIDTH
        if is_usual and not each.is_stated:
            with search.granted(probes=1, seconds=1.0):
                if search.probe(resized(state, place, (1,), WIDTH + 1)).is_ok:
                    found.append(each.path)
    return tuple(found)


def other_sizes_differ(search: InputSearch, state: State) -> bool | None:
    """Whether other sizes run other operators; None where no other size runs."""
    before = [call.function for call in search.outcomes[state].calls]
    answer: bool | None = None
    with search.granted(probes=2, seconds=1.0):
        # With data a larger input is a long run; without, it shows more of what a module does.
        for factor in (0.5, 2.0) if search.outcomes[state].placement else (2.0, 0.5):
            other = _scaled(state, factor)
            if other == state:
                return answer
            outcome = search.probe(other)
            if outcome.is_ok:
                answer = [call.function for call in outcome.calls] != before
                break
    return answer


# The axes along which a kind has no natural size.
_FREE: Final[dict[Kind, Extents]] = {
    Kind.IMAGE: (-2, -1),
    Kind.VOLUME: (-3, -2, -1),
    Kind.VIDEO: (-2, -1),
    Kind.IDS: (-1,),
    Kind.SEQUENCE: (1,),
    Kind.SERIES: (-1,),
    Kind.WAVE: (-1,),
}
_TIMES: Final[Mapping[Kind, Extents]] = {
    kind: _FREE[kind] for kind in (Kind.IDS, Kind.SEQUENCE, Kind.SERIES, Kind.WAVE)
}
# The usual side of an image is evidence of a kind; of lengths and frames none is more usual.
_TIMES_AND_FRAMES: Final[Mapping[Kind, Extents]] = {
    **_TIMES, Kind.VIDEO: (2,), Kind.VOLUME: _FREE[Kind.VOLUME],
}  # fmt: skip
# Chosen: eight times 32 tokens or a second of sound is as usual as they are.
_LENGTHENED: Final = ((8.0, _TIMES), (2.0, _TIMES_AND_FRAMES), (0.5, _TIMES_AND_FRAMES))


def _scaled(state: State, factor: float, axes_of: Mapping[Kind, Extents] = _FREE) -> State:
    for place, each in enumerate(state):
        axes = axes_of.get(each.kind, ())
        if not each.axes() or len(axes) > each.rank:
            continue
        extents = list(each.extents)
        for axis in axes:
            extents[axis] = max(1, int(extents[axis] * factor))
        state = changed(state, place, extents=tuple(extents))
    return state


def readings(search: InputSearch, state: State) -> Iterator[CallReading]:
    """The calls that might as well be meant and run other functions of torch."""
    before = _functions(search, state)
    for clause, other in (*_masked(search, state), *_longer(search, state)):
        if _functions(search, other) != before:
            yield CallReading(clause, call_of(other), texts_of(other))


def _masked(search: InputSearch, state: State) -> Iterator[tuple[str, State]]:
    """The inputs with a mask more, for each one that may be None."""
    if all(each.is_stated for each in state):
        return
    length_ = next((each.extents[_TIMES[each.kind][0]] for each in state if _is_timed(each)), None)
    for parameter in optional_parameters(search.module, state):
        if kind_by_name(parameter.name) is not Kind.MASK:
            continue
        more = with_input(state, parameter.name, Kind.MASK)
        if length_ is not None:
            more = resized(more, len(more) - 1, (1,), length_)
        with search.granted(*_FEW):
            given = search.depth_first(more, depth=4)
            if given is not None:
                yield f"with {parameter.name}", given


def _longer(search: InputSearch, state: State) -> Iterator[tuple[str, State]]:
    """The inputs of another length or number of frames, where no attribute states one.

    A length that was seen to run other functions is another reading already. Else what is much
    longer shows windows, segments and loops over time; the nearest other length decides where the
    module takes no such length.
    """
    if sound_length(search.module) is not None:
        return
    others = [other for other in _lengthened(search.module, state) if other != state]
    before = _functions(search, state)
    for other in others:
        known = search.outcomes.get(other)
        if known is not None and known.is_ok and _functions(search, other) != before:
            yield "of another length", other
            return
    for other in others:
        with search.granted(*_FEW):
            if search.probe(other).is_ok:
                yield "of another length", other
                return


def _lengthened(module: nn.Module, state: State) -> Iterator[State]:
    longest = length(module)
    for factor, axes_of in _LENGTHENED:
        other = _scaled(state, factor, axes_of)
        for place, each in enumerate(other):
            if longest is not None and _is_timed(each):
                axis = _TIMES[each.kind][0] % each.rank
                other = resized(other, place, (axis,), min(longest, each.extents[axis]))
        yield other


def _is_timed(slot: Slot) -> bool:
    return slot.kind in _TIMES and slot.rank > 1


def _functions(search: InputSearch, state: State) -> list[str]:
    return [call.function for call in search.outcomes[state].calls]


def _if_ok(search: InputSearch, new: State, old: State) -> State:
    return new if new != old and search.probe(new).is_ok else old


def _long_sounds(search: InputSearch, state: State) -> State:
    """What has one or two channels is sound, and long."""
    samples = sound_length(search.module) or SAMPLES
    for place, each in enumerate(state):
        if each.kind not in (Kind.SERIES, Kind.SEQUENCE) or each.rank != 3:
            continue
        if each.extents[1] in SOUND_CHANNELS and each.extents[2] < samples:
            extents = (1, each.extents[1], samples)
            state = _if_ok(search, changed(state, place, extents=extents), state)
    return state


def _evenly_divided(search: InputSearch, state: State) -> State:
    """Sizes of which nothing is filled up or cut, where the usual ones are no multiples.

    Then fewer operators run. A module that states its sizes has them already.
    """
    before = search.outcomes[state].calls
    if not any(call.function in _FILL_UP for call in before):
        return state
    for place, each in enumerate(state):
        new = state
        if each.kind is Kind.IMAGE and each.extents[2:] == USUAL[Kind.IMAGE][2:]:
            if image_size(search.module) is None:
                new = resized(state, place, (2, 3), _EVEN_SIDE)
        elif each.kind in (Kind.WAVE, Kind.SERIES, Kind.SEQUENCE) and each.extents[-1] == SAMPLES:
            new = resized(state, place, (each.rank - 1,), _EVEN_SAMPLES)
        if new != state:
            outcome = search.probe(new)
            if outcome.is_ok and len(outcome.calls) < len(before):
                state, before = new, outcome.calls
    return state


def _time_first(search: InputSearch, state: State) -> State:
    """Layers that want time first get time first."""
    layers = dict(search.module.named_modules())
    for place, each in enumerate(state):
        call = search.outcomes[state].first_uses.get(each.path)
        if call is None or not call.shapes or each.rank < 2:
            continue
        shape = call.shapes[0]
        is_turned = len(shape) == 3 and shape[0] == 1 and shape[1] > 1
        if is_turned and each.extents[:2] == shape[:2] and wants_time_first(layers.get(call.path)):
            extents = (each.extents[1], each.extents[0], *each.extents[2:])
            state = _if_ok(search, changed(state, place, extents=extents), state)
    return state


def _integers(search: InputSearch, state: State) -> State:
    """An input is integers if an embedding reads it first, and only then."""
    for place, each in enumerate(state):
        call = search.outcomes[state].first_uses.get(each.path)
        is_read = call is not None and call.function == "embedding" and bool(call.sources[0])
        new = state
        if is_read and each.dtype.is_floating_point and each.rank <= 2:
            if call is not None and call.shapes[0] == each.extents:
                new = changed(state, place, kind=Kind.IDS, dtype=torch.int64)
        elif each.kind is Kind.IDS and each.is_integer and not each.is_sure and not is_read:
            new = changed(state, place, kind=Kind.VECTOR, dtype=torch.float32)
        state = _if_ok(search, new, state)
    return state


def _columns(search: InputSearch, state: State) -> State:
    """Columns that a module picks one by one: as many as it picks."""
    for place, each in enumerate(state):
        if each.rank != 2 or each.extents[1] not in _MANY or each.is_stated:
            continue
        if each.kind not in (Kind.IDS, Kind.VECTOR):
            continue
        outcome = search.probe(resized(state, place, (1,), 1))
        is_indexed = isinstance(outcome.error, IndexError) or (
            outcome.error is not None and _INDEXED.search(outcome.message)
        )
        if outcome.is_ok or not is_indexed:
            continue
        low, high = 1, each.extents[1]
        while high - low > 1:
            middle = (low + high) // 2
            if search.probe(resized(state, place, (1,), middle)).is_ok:
                high = middle
            else:
                low = middle
        if high < each.extents[1]:
            state = resized(state, place, (1,), high)
    return state


def _as_read(search: InputSearch, state: State) -> State:
    """Columns as they are read of a table; all together, or none."""
    return _if_ok(search, as_read(state, search.outcomes[state]), state)


def _beyond_windows(search: InputSearch, state: State) -> State:
    """Sequences that are longer than a module takes at once: only then it divides or chooses."""
    least = 2 * window(search.module)
    least = min(least, length(search.module) or least)
    for place, each in enumerate(state):
        if each.kind in (Kind.IDS, Kind.SEQUENCE) and each.rank > 1 and each.extents[1] < least:
            state = _if_ok(search, resized(state, place, (1,), least), state)
    return state


def _maps_as_pooled(search: InputSearch, state: State) -> State:
    """Sizes with which the last pooling, if it has a large kernel, covers its whole map."""
    pool = next((call for call in reversed(search.outcomes[state].calls) if _pools(call)), None)
    if pool is None:
        return state
    assert isinstance(pool.detail, list | tuple), "_pools looks for it"
    extents, kernel = pool.shapes[0][2:], pool.detail
    new = state
    for place, each in enumerate(state):
        if each.path not in pool.sources[0] or each.rank != len(pool.shapes[0]):
            continue
        for axis, (extent, covered) in enumerate(zip(extents, kernel, strict=False), 2):
            if extent > covered >= _LARGE_KERNEL:
                new = resized(new, place, (axis,), round(each.extents[axis] * covered / extent))
    return _if_ok(search, new, state)


def _pools(call: TorchCall) -> bool:
    return (
        POOLING.match(call.function) is not None
        and "adaptive" not in call.function
        and isinstance(call.detail, list | tuple)
        and len(call.detail) == len(call.shapes[0]) - 2
    )


def _no_axis_of_one(search: InputSearch, state: State) -> State:
    """An axis of one, which hides what runs along it, as long as a few where that runs too."""
    for place, each in enumerate(state):
        if each.is_stated or each.rank < _AXES_OF_MAPS or each.extents[1] != 1:
            continue
        state = _if_ok(search, resized(state, place, (1,), _A_FEW), state)
    return state


def _all_inputs(search: InputSearch, state: State) -> State:
    """Optional inputs without which a part of the weights would not run."""
    module = search.module
    reached = share_reached(module, search.outcomes[state])
    for parameter in optional_parameters(module, state):
        is_asked_for = asks_for(module, parameter.name)
        if reached > ENOUGH and not is_asked_for:
            continue
        for kind in kinds_of(module, parameter.name, state):
            if kind is Kind.MASK:
                continue
            more = with_input(state, parameter.name, kind, stated_width(module, parameter.name))
            new = search.depth_first(more, depth=4)
            if new is None:
                continue
            share = share_reached(module, search.outcomes[new])
            if share > reached + (0 if is_asked_for else _GAIN):
                state, reached = new, share
                break
    return state
