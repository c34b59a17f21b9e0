"""Which extent of an input makes an extent inside the module what it has to be."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nar.own.inputs.calls import CONVOLUTION, NOTHING, Outcome, Sources
from nar.own.inputs.demands import Demand, DemandKind, demands
from nar.own.inputs.search import InputSearch
from nar.own.inputs.slots import Extents, State, changed, resized

_FACTORS: Final = (2, 16, 256)  # strides round what is small to one
_STEPS = 8  # of a search between two extents; chosen: it halves 224 down to one
_WHOLE = 1e-6  # what floats are off a whole number at most
_LONG = 2048  # a width beyond it is a flattened map rather than the side of an image

# Chosen: sides of the images of public data sets and checkpoints, the commonest first.
_SIDES: Final = (
    224, 32, 28, 64, 128, 256, 96, 48, 384, 512, 112, 299, 227, 192, 160, 320, 240, 288, 336, 448,
    105, 84, 416, 640, 16, 331, 380, 456, 528, 600, 1024, 8,
)  # fmt: skip
# Chosen: lengths of series and texts, the commonest first.
_LENGTHS: Final = (
    128, 64, 77, 256, 512, 50, 100, 32, 16, 1024, 196, 200, 96, 784, 2048, 4096, 16000,
)  # fmt: skip
_SMALL_SIDES: Final = (32, 28)
_CLOSE = 0.13  # chosen: what floors of strides and poolings change of a side
# Usual extents that are tried in place of the one found, relative to it.
_FROM, _TO, _TRIED = 0.85, 1.2, 3

Site = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class _Question:
    """Which extent along some axes of an input gives the extent that a call wants.

    Attributes:
        state: The inputs of the failed run.
        outcome: How it ended.
        demand: What its failing call wants.
        place: The number of the input.
        axes: Its axes.
    """

    state: State
    outcome: Outcome
    demand: Demand
    place: int
    axes: Extents

    @property
    def site(self) -> Site | None:
        """The failing call."""
        return self.outcome.failing.site if self.outcome.failing else None

    @property
    def before(self) -> int:
        """The extent of the input in the failed run."""
        return self.state[self.place].extents[self.axes[0]]

    def at(self, extent: int) -> State:
        """The inputs with another extent."""
        return resized(self.state, self.place, self.axes, extent)

    def passes(self, search: InputSearch, extent: int) -> bool:
        """Whether the run comes beyond the failing call with another extent."""
        return search.probe(self.at(extent)).passed(self.site)

    def read(self, search: InputSearch, extent: int) -> int | None:
        """What the failing call gets with another extent."""
        return _read(search.probe(self.at(extent)), self.outcome, self.demand)


def owners(state: State, outcome: Outcome, tensor: int | None = 0) -> list[int]:
    """The numbers of the inputs that a failing call or layer got; of all, where that is unknown."""
    sources = _sources(outcome, tensor)
    if not sources and outcome.layer and outcome.layer.sources:
        sources = outcome.layer.sources[0]
    found = [place for place, each in enumerate(state) if each.path in sources]
    return found or list(range(len(state)))


def solved(search: InputSearch, state: State, outcome: Outcome, demand: Demand) -> Iterator[State]:
    """States in which the failing call gets the extent that it wants.

    First an axis of an input that has the extent which came; then each axis is moved, to see how
    what the call gets follows it.
    """
    site = outcome.failing.site if outcome.failing else None
    sources = _sources(outcome, demand.tensor)
    places = [place for place, each in enumerate(state) if each.path in sources]
    # A later input gives way to an earlier one.
    places = sorted(places or range(len(state)), reverse=True)
    for near in _by_own_extent(search, state, places, demand):
        if search.probe(near).passed(site):
            yield near
    for place in places:
        single = _one_feature(state, place, demand)
        if single != state and search.probe(single).passed(site):
            yield single
        for axes in state[place].axes():
            yield from _along(search, _Question(state, outcome, demand, place, axes))


def _by_own_extent(
    search: InputSearch, state: State, places: list[int], demand: Demand
) -> Iterator[State]:
    """States in which inputs of the extent that came get the extent that is wanted."""
    direct = _direct(state, places, demand)
    for place, axes in direct:
        yield resized(state, place, axes, demand.wanted)
        if demand.wanted in state[place].extents:
            yield _turned(state, place)
    for place, axes in direct:
        yield _alike(state, place, axes, demand.wanted)
        changed_alone = resized(state, place, axes, demand.wanted)
        yield from _balanced(search, changed_alone, place, axes)
    yield from _at_once(state, direct, demand.wanted)
    yield from _common_shape(state, places, demand)


def _sources(outcome: Outcome, tensor: int | None) -> Sources:
    call = outcome.failing
    if call is None or tensor is None or tensor >= len(call.sources):
        return NOTHING
    return call.sources[tensor]


def _direct(state: State, places: list[int], demand: Demand) -> list[tuple[int, Extents]]:
    """The axes of inputs that have the extent which came."""
    found = [
        (place, axes)
        for place in places
        for axes in state[place].axes()
        if any(state[place].extents[axis] == demand.got for axis in axes)
    ]
    return sorted(found, key=lambda pair: len(pair[1]) > 1 and demand.wanted > _LONG)


def _at_once(state: State, direct: list[tuple[int, Extents]], wanted: int) -> Iterator[State]:
    """All inputs of the extent that came with another one, as nodes and what joins them."""
    firsts = dict(reversed(direct))
    if len(firsts) > 1:
        new = state
        for place, axes in firsts.items():
            new = resized(new, place, axes, wanted)
        yield new


def _alike(state: State, place: int, axes: Extents, wanted: int) -> State:
    """An input and all of its shape with another extent; as before, where no other has its shape.

    A past and a future of one series meet before the layer that says their width.
    """
    alike = [other for other, each in enumerate(state) if each.extents == state[place].extents]
    new = state
    for other in alike if len(alike) > 1 else ():
        new = resized(new, other, axes, wanted)
    return new


def _balanced(search: InputSearch, state: State, place: int, axes: Extents) -> Iterator[State]:
    """An input whose other axes give way, where an earlier call now gets a multiple of its want.

    Channels and joints that are norms of one width are such axes: three channels want a third of
    the joints.
    """
    outcome = search.probe(state)
    for demand in demands(outcome.failing, outcome.message) if outcome.failing else ():
        if demand.kind is not DemandKind.EXTENT or not demand.got:
            continue
        for others in state[place].axes():
            extent = state[place].extents[others[0]] * demand.wanted / demand.got
            if not set(others) & set(axes) and extent >= 1 and extent == int(extent):
                yield resized(state, place, others, int(extent))


def _turned(state: State, place: int) -> State:
    """A sequence with its last two axes the other way round."""
    each = state[place]
    if each.rank != 3 or each.is_listed:
        return state
    batch, one, other = each.extents
    return changed(state, place, extents=(batch, other, one))


def _common_shape(state: State, places: list[int], demand: Demand) -> Iterator[State]:
    """Inputs of one common shape that the call joins, each with the share that is wanted."""
    shapes = {state[place].extents for place in places}
    if len(places) < 2 or len(shapes) > 1 or not demand.got:
        return
    for axes in state[places[0]].axes():
        share = state[places[0]].extents[axes[0]] * demand.wanted / demand.got
        if share >= 1 and abs(share - round(share)) < _WHOLE:
            new = state
            for place in places:
                new = resized(new, place, axes, round(share))
            yield new


def _one_feature(state: State, place: int, demand: Demand) -> State:
    """A sequence of single numbers, where the call gets all features of all times in one."""
    each = state[place]
    if each.rank != 3 or each.is_listed or each.extents[1] * each.extents[2] != demand.got:
        return state
    return changed(state, place, extents=(each.extents[0], demand.wanted, 1))


def _read(outcome: Outcome, reference: Outcome, demand: Demand) -> int | None:
    """What the failing call of a reference gets in another run, on the same axis."""
    failing = reference.failing
    call = outcome.at(failing.site) if failing else None
    if failing is None or call is None:
        return None
    if demand.tensor is None:
        return call.shapes[0][-1] if call.function == "embedding" else None
    if demand.tensor >= len(call.shapes):
        return None
    before, after = failing.shapes[demand.tensor], call.shapes[demand.tensor]
    axes = [axis for axis, extent in enumerate(before) if extent == demand.got]
    if len(before) != len(after) or not axes:
        return None
    if call.function == "linear":
        return after[-1]
    if CONVOLUTION.match(call.function) or call.function in ("batch_norm", "group_norm"):
        return after[1]
    moved = [axis for axis in axes if after[axis] != before[axis]]
    return after[(moved or axes)[0]]


def _along(search: InputSearch, question: _Question) -> Iterator[State]:
    """States that differ in one group of axes of one input."""
    got, wanted, start = question.demand.got, question.demand.wanted, question.before
    if len(question.axes) > 1 and got and wanted:
        guess = start * (wanted / got) ** (1 / len(question.axes))
        for side in _usual_near(guess):
            if side != start and question.passes(search, side):
                yield question.at(side)
                return
    step, read = _first_step(search, question)
    if question.passes(search, step):
        yield question.at(step)
        return
    if read is None:
        step = start + max(1, start // 8)
        read = question.read(search, step)
    if not read or not got or read == got:
        return
    found = _found(search, question, step, read)
    if found is None:
        return
    for usual in _usual_around(found, is_side=len(question.axes) > 1):
        if question.passes(search, usual):
            yield question.at(usual)
            break
    yield question.at(found)


def _first_step(search: InputSearch, question: _Question) -> tuple[int, int | None]:
    """Another extent, and what the call gets with it: far enough away that something moves."""
    got, start = question.demand.got, question.before
    is_larger = question.demand.wanted > got
    step, read = start, None
    for factor in _FACTORS:
        step = start * factor if is_larger else -(-start // factor)
        step = step if step != start else start + 1
        read = question.read(search, step)
        if read != got or question.passes(search, step) or len(question.axes) > 1:
            break
    return step, read


def _found(search: InputSearch, question: _Question, step: int, read: int) -> int | None:
    """The extent with which the call gets what it wants, from what two extents gave."""
    got, wanted, start = question.demand.got, question.demand.wanted, question.before
    seen: dict[int, int | None] = {start: got, step: read}
    power = math.log(read / got) / math.log(step / start)
    if power <= 0:
        return None
    slope = (read - got) / (step - start)
    exact = start + (wanted - got) / slope
    if exact >= 1 and abs(exact - round(exact)) < _WHOLE and round(exact) not in seen:
        extent = round(exact)
        if question.passes(search, extent) or question.read(search, extent) == wanted:
            return extent
        seen[extent] = question.read(search, extent)
    guess = start * (wanted / got) ** (1 / power)
    for _ in range(_STEPS):
        tried = _next(guess, seen, wanted)
        if tried is None:
            return None
        seen[tried] = question.read(search, tried)
        if question.passes(search, tried) or seen[tried] == wanted:
            return tried
        guess = _closer(tried, start, seen, wanted, power)
    return None


def _next(guess: float, seen: dict[int, int | None], wanted: int) -> int | None:
    """The extent to try: the guess, or between those that gave too little and too much."""
    extent = max(1, round(guess))
    if extent not in seen:
        return extent
    below, above = _bounds(seen, wanted)
    if below is None or above is None or above - below <= 1:
        return None
    middle = (below + above) // 2
    return None if middle in seen else middle


def _closer(
    extent: int, start: int, seen: dict[int, int | None], wanted: int, power: float
) -> float:
    """The next guess after an extent gave something else than what is wanted."""
    read = seen[extent]
    if read is None:
        return (extent + start) / 2
    below, above = _bounds(seen, wanted)
    if below is None or above is None:
        return float(extent * (wanted / max(1, read)) ** (1 / power))
    low, high, aim = (_rooted(value, power) for value in (seen[below], seen[above], wanted))
    share = (aim - low) / max(1e-9, high - low)
    # Not at the ends: they are known.
    return below + (above - below) * min(0.9, max(0.1, share))


def _rooted(value: int | None, power: float) -> float:
    return float((value or 0) ** (1 / power))


def _bounds(seen: dict[int, int | None], wanted: int) -> tuple[int | None, int | None]:
    """The largest extent that gave too little, and the smallest that gave too much."""
    below = [extent for extent, read in seen.items() if read is not None and read < wanted]
    above = [extent for extent, read in seen.items() if read is not None and read > wanted]
    return max(below, default=None), min(above, default=None)


def _usual_near(guess: float) -> list[int]:
    """The usual sides of an image near a guess; the guess itself where none is near.

    Example:
        >>> _usual_near(30.0)
        [32, 28]
    """
    near = [side for side in _SIDES if abs(side - guess) <= _CLOSE * guess]
    nearest = sorted(near, key=lambda side: abs(side - guess))[:2]
    # Strides and poolings that round down lose more of a small side than of a large one.
    return nearest or [side for side in _SMALL_SIDES if side > guess] or [max(1, round(guess))]


def _usual_around(found: int, *, is_side: bool) -> list[int]:
    """The usual extents around a right extent, the commonest first.

    Args:
        found: The extent.
        is_side: Whether it is the side of an image, and not a length.

    Example:
        >>> _usual_around(33, is_side=True)
        [32]
    """
    usual = _SIDES if is_side else _LENGTHS + _SIDES
    near = [each for each in usual if _FROM * found <= each <= _TO * found and each != found]
    return near[:_TRIED]
