"""What may mend a failed run by what its error says, where no call of torch tells it."""

import re
from collections.abc import Callable, Iterator
from math import gcd, prod
from typing import Final

import torch

from nar.own.inputs.calls import INDEX_AT, Outcome, RefusedCallError
from nar.own.inputs.guards import conditions, remainders
from nar.own.inputs.layers import read_attribute
from nar.own.inputs.ranks import with_rank
from nar.own.inputs.search import InputSearch
from nar.own.inputs.sizes import owners
from nar.own.inputs.slots import (
    SAMPLES,
    USUAL,
    WITHOUT_TENSOR,
    Extents,
    Kind,
    State,
    changed,
    resized,
)

_MOST_AXES = 5  # batch, channels and the three sides of a volume
_AXES_OF_MAPS = 4  # batch, channels and two sides
_SHRINKS = (4, 2)  # a quarter of a side costs a sixteenth
_TURNS = 8  # chosen: so many may be read by their places, more by a loop
_MOST_NUMBERS = 12  # chosen: a message with more is a listing
_UNPACK: Final = re.compile(
    r"(?:not enough|too many) values to unpack \(expected (\d+)(?:, got (\d+))?\)"
)
_RANGE: Final = re.compile(
    r"[Dd]imension out of range \(expected to be in range of \[-(\d+), \d+\], but got (-?\d+)\)"
)
_PERMUTE: Final = re.compile(
    r"number of dimensions in the tensor input does not match.*?input\.dim\(\) = (\d+) is not "
    r"equal to len\(dims\) = (\d+)"
)
_GOT_RANK: Final = re.compile(r"[Ee]xpected (\d+)[- ]?D(?: or (\d)D)?.*?got (\d+)[- ]?D")
_SHOULD: Final = re.compile(
    r"(?:expect|must|should|want|need)\w*[^.]{0,40}?(\d)[- ]?d(?:im\w*)?\b|"
    r"(?:expect|must|should|want|need)\w*[^.]{0,30}? (\d) dim",
    re.IGNORECASE,
)
_PADDED: Final = re.compile(r"[Pp]adding size (\d+) is not supported for (\d)D")
_DIVIDED: Final = re.compile(r"can't divide axis of length (\d+) in chunks of (\d+)")
_EXPANDED: Final = re.compile(
    r"sizes provided \((\d+)\) must be greater or equal to the number of dimensions in the tensor "
    r"\((\d+)\)"
)
_VIEWED: Final = re.compile(r"shape '\[-1, ([\d, ]+)\]' is invalid for input of size (\d+)")
_RECEIVED: Final = re.compile(
    r"wrong shape.*?expected (\d+) dims.*?received (\d+)-dim", re.IGNORECASE
)
_FLOATS: Final = re.compile(
    r"promotion of int|expected scalar type|same dtype|must be floating|result type .* can't be "
    r"cast|not implemented for 'long'|floating point|got (torch\.)?(long|int64)|long",
    re.IGNORECASE,
)
_INTEGERS: Final = re.compile(
    r"[Ee]xpected dtype int|index tensor|used as indices must be long|scalar types: Long|"
    r"expected (scalar type|dtype|type) (Long|Int)|only supports? integer|must be an? (int|long)"
)
_COMPUTED_TRUTH: Final = re.compile(r"operator, (with|on) (a|two) bool tensors?")
_SPLIT: Final = re.compile(
    r"split_sizes to sum exactly to (\d+).*?split_sizes=\[([\d, ]+)\]", re.DOTALL
)
# A window of a spectrogram is padded at both ends of a sound.
_PADDED_WINDOW: Final = re.compile(r"[Pp]adding size should be less.*?padding \((\d+), (\d+)\)")
_SMALL: Final = re.compile(
    r"kernel size can't be greater|output size is too small|too small|padding size should be less|"
    r"smaller than|must be greater|larger than|non-empty|spatial dimension|negative dimension|"
    r"is invalid for dimension|maximum size"
)
_NUMBER: Final = re.compile(r"(?<![\w.])(\d{1,6})(?![\w.]*\d)")
_QUOTED: Final = re.compile(r"[`'\"](?:self\.)?(\w+)[`'\"]")
_PROGRAMMING: Final = (AttributeError, KeyError, NameError, ImportError)

# What the number of elements that are left is, where a mask hides all.
_HIDDEN: Final = re.compile(
    r"lengths?\b.*(greater than 0|positive|<= ?0|> ?0|non-?zero)|empty (sequence|tensor)|"
    r"no elements|zero elements|numel\(\) == 0",
    re.IGNORECASE,
)
_OUT_OF_BOUNDS: Final = re.compile(
    r"index (\d+) is out of bounds for (?:dimension|axis) (\d+) with size (\d+)"
)
_UNBATCHED: Final = (Kind.NODES, Kind.EDGES, Kind.EDGE_FEATURES, Kind.GRAPH_IDS, Kind.ADJACENCY)
# Usual sizes that are tried last, by kind of input.
_SIDES: Final = (256, 384, 128, 512, 64, 32, 28, 96)
_CHANNELS: Final = (1, 3, 4)
_TIMES: Final = (64, 256, 100, 96, 512, 1024, 16, 16000)
_TEXTS: Final = (64, 256, 77, 128, 16, 512, 100)
_CUBES: Final = (32, 96, 128, 16)
_FRAMES: Final = (8, 32, 4)
_FRAME_SIDES: Final = (224, 256, 128)


def repairs(search: InputSearch, state: State, outcome: Outcome) -> Iterator[State]:
    """The states that the error of a run suggests."""
    del search
    for read in (
        _smaller,
        _batches,
        _nothing_hidden,
        _viewed,
        _indexed,
        _divisible,
        _guarded,
        _signed,
        _unpacked,
        _ranks,
        _split,
        _whole,
        _floating,
        _numbers,
        _larger,
    ):
        yield from read(state, outcome)


def usual_sizes(state: State, outcome: Outcome) -> Iterator[State]:
    """The states with other usual sizes, where nothing else helps."""
    if isinstance(outcome.error, _PROGRAMMING):
        return
    if all(each.kind in WITHOUT_TENSOR for each in state):
        return
    places = owners(state, outcome) if outcome.failing else range(len(state))
    for place in places:
        yield from _other_sizes(state, place)
    yield _two_samples(state)


def _two_samples(state: State) -> State:
    """Two of each: a module that squeezes, or that norms over its batch, takes no single one."""
    for place, each in enumerate(state):
        if each.kind not in _UNBATCHED and each.rank and each.extents[0] == 1:
            state = changed(state, place, extents=(2, *each.extents[1:]))
    return state


def _smaller(state: State, outcome: Outcome) -> Iterator[State]:
    """Smaller inputs, where a run takes too long."""
    if not isinstance(outcome.error, TimeoutError):
        return
    for shrink in _SHRINKS:
        new = state
        for place, each in enumerate(state):
            for axes in each.axes()[:1]:
                new = resized(new, place, axes, each.extents[axes[0]] // shrink)
        yield new


def _batches(state: State, outcome: Outcome) -> Iterator[State]:
    """As many samples as a batch is divided into, and two where a single one is squeezed."""
    if any(call.function == "squeeze" and call.detail is None for call in outcome.calls):
        yield _two_samples(state)
    found = _DIVIDED.search(outcome.message)
    if found is None:
        return
    got, wanted = int(found[1]), int(found[2])
    for place in owners(state, outcome):
        each = state[place]
        if not each.is_stated and each.rank > 1 and each.extents[0] == got < wanted:
            yield changed(state, place, extents=(wanted, *each.extents[1:]))


def _nothing_hidden(state: State, outcome: Outcome) -> Iterator[State]:
    """Masks of zeros, where masks of ones leave no element: what is one in them is hidden."""
    if not _HIDDEN.search(outcome.message):
        return
    new = state
    for place, each in enumerate(state):
        if each.dtype is torch.bool and not each.is_stated:
            new = changed(new, place, is_empty=True)
    yield new


def _viewed(state: State, outcome: Outcome) -> Iterator[State]:
    """As many features as an input itself is parted into."""
    found = _VIEWED.search(outcome.message)
    if found is None:
        return
    wanted, size = prod(map(int, found[1].split(","))), int(found[2])
    for place in owners(state, outcome):
        each = state[place]
        if prod(each.extents) == size:
            yield resized(state, place, (each.rank - 1,), wanted)
        elif size and each.rank == _AXES_OF_MAPS:
            # So many images are one sample: side by side in the channels, or behind each other.
            many = wanted // gcd(wanted, size)
            for axis in (1, 0) if many > 1 else ():
                yield resized(state, place, (axis,), many * each.extents[axis])


def _indexed(state: State, outcome: Outcome) -> Iterator[State]:
    """As many numbers along an axis as are read of it by their place."""
    found = _OUT_OF_BOUNDS.search(outcome.message)
    if found is None:
        return
    index, axis, extent = map(int, found.groups())
    new = state
    for place, each in enumerate(state):
        if not each.is_stated and axis < each.rank and each.extents[axis] == extent:
            # A loop that goes through an axis asks for one number more at each turn.
            wanted = 2 * extent if index == extent >= _TURNS else index + 1
            new = resized(new, place, (axis,), wanted)
    yield new


def _guarded(state: State, outcome: Outcome) -> Iterator[State]:
    """What a condition in the user's code compared: ranks, or numbers of which one is an extent."""
    for condition in conditions(outcome.error):
        for place, each in enumerate(state):
            if each.path in condition.rank_of:
                for rank in condition.numbers:
                    if rank != each.rank:
                        yield from with_rank(state, place, rank)
            elif not condition.rank_of:
                for axes in each.axes():
                    yield from _exchanged(state, place, axes, list(condition.numbers))


def _divisible(state: State, outcome: Outcome) -> Iterator[State]:
    """A side that leaves the remainder that a condition wants: one above a multiple of eight."""
    for remainder in remainders(outcome.error):
        for place, each in enumerate(state):
            for axes in each.axes():
                extent = each.extents[axes[0]]
                for changed_by in (
                    (remainder.wanted - remainder.got) % remainder.divisor,
                    (-((remainder.got - remainder.wanted) % remainder.divisor)),
                ):
                    if changed_by and extent + changed_by > 0 and extent > 1:
                        yield resized(state, place, axes, extent + changed_by)


def _signed(state: State, outcome: Outcome) -> Iterator[State]:
    """Masks of numbers, where truth values are computed with."""
    if _COMPUTED_TRUTH.search(outcome.message):
        new = state
        for place in owners(state, outcome):
            if state[place].dtype is torch.bool and not state[place].is_stated:
                new = changed(new, place, dtype=torch.float32)
        yield new


def _unpacked(state: State, outcome: Outcome) -> Iterator[State]:
    """A shape that was unpacked into another number of names."""
    found = _UNPACK.search(outcome.message)
    if found is None:
        return
    wanted, got = int(found[1]), int(found[2]) if found[2] else None
    for place, each in enumerate(state):
        if each.kind in WITHOUT_TENSOR:
            continue
        if wanted > _MOST_AXES:  # other things are unpacked beside the shape
            step = wanted - got if got is not None and "not enough" in outcome.message else -1
            yield from with_rank(state, place, each.rank + step)
        elif each.rank != wanted and (got in (None, each.rank) or len(state) == 1):
            if each.is_integer and wanted == 2:
                yield changed(state, place, kind=Kind.IDS, extents=USUAL[Kind.IDS])
                continue
            direct = got is None or got == each.rank
            yield from with_rank(
                state, place, wanted if direct else each.rank + wanted - (got or 0)
            )


def _ranks(state: State, outcome: Outcome) -> Iterator[State]:
    """A rank that the error says, for the inputs that the failing call got."""
    for pattern, read in _STEPS_OF_RANK:
        found = pattern.search(outcome.message)
        if found is not None:
            for place in owners(state, outcome):
                for step in read(found):
                    yield from with_rank(state, place, state[place].rank + step)
    if isinstance(outcome.error, IndexError) and "too many indices" in outcome.message:
        for place in owners(state, outcome):
            yield from with_rank(state, place, state[place].rank + 1)
    found = _SHOULD.search(outcome.message)
    if found is not None:
        rank = int(found[1] or found[2])
        for place in owners(state, outcome):
            if state[place].rank != rank:
                yield from with_rank(state, place, rank)


def _range_steps(found: re.Match[str]) -> tuple[int, ...]:
    have, got = int(found[1]), int(found[2])
    return ((got + 1 if got >= 0 else -got) - have,)


def _expected_steps(found: re.Match[str]) -> tuple[int, ...]:
    got = int(found[3])
    return tuple(int(wanted) - got for wanted in (found[2], found[1]) if wanted)


# How many axes more a message wants.
_STEPS_OF_RANK: Final[
    tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], tuple[int, ...]]], ...]
] = (
    (_RANGE, _range_steps),
    (_PERMUTE, lambda found: (int(found[2]) - int(found[1]),)),
    (_RECEIVED, lambda found: (int(found[1]) - int(found[2]),)),
    (_GOT_RANK, _expected_steps),
    # A parameter has more axes than the input that it is to be as large as.
    (_EXPANDED, lambda found: (int(found[2]) - int(found[1]),)),
    # Two numbers for each axis that is padded, beside the batch and the channels.
    (_PADDED, lambda found: (int(found[1]) // 2 + 2 - int(found[2]),)),
)


def _floating(state: State, outcome: Outcome) -> Iterator[State]:
    """Integers where floats are wanted."""
    text = f"{type(outcome.error).__name__} {outcome.message}"
    if _FLOATS.search(text):
        for place in owners(state, outcome):
            if state[place].is_integer:
                yield changed(state, place, dtype=torch.float32)


def _split(state: State, outcome: Outcome) -> Iterator[State]:
    """As long as its parts together, where a tensor is split into parts of given lengths."""
    found = _SPLIT.search(outcome.message)
    if found is None:
        return
    got, wanted = int(found[1]), sum(map(int, found[2].split(",")))
    for place in owners(state, outcome):
        for axes in state[place].axes():
            if state[place].extents[axes[0]] == got:
                yield resized(state, place, axes, wanted)


def _whole(state: State, outcome: Outcome) -> Iterator[State]:
    """Floats where integers are wanted, as by what picks entries by their places."""
    call = outcome.failing
    if not _INTEGERS.search(outcome.message):
        return
    for place in owners(state, outcome, INDEX_AT.get(call.function, 0) if call else 0):
        if state[place].dtype.is_floating_point and state[place].kind not in WITHOUT_TENSOR:
            yield changed(state, place, dtype=torch.int64)


def _numbers(state: State, outcome: Outcome) -> Iterator[State]:
    """A number of the message that is an extent of an input, in exchange for another one."""
    if isinstance(outcome.error, RefusedCallError):
        return
    numbers = [int(text) for text in _NUMBER.findall(outcome.message)]
    if outcome.layer is not None:
        for name in _QUOTED.findall(outcome.message):
            value = read_attribute(outcome.layer.module, name)
            if type(value) is int:
                numbers.append(value)
    if not 0 < len(numbers) <= _MOST_NUMBERS:
        return
    is_view = "is invalid for input of size" in outcome.message
    for place, each in enumerate(state):
        for axes in each.axes():
            # A view that fails has no say in the channels of a map.
            if not (is_view and axes == (1,) and each.rank >= _AXES_OF_MAPS):
                yield from _exchanged(state, place, axes, numbers)


def _exchanged(state: State, place: int, axes: Extents, numbers: list[int]) -> Iterator[State]:
    extent = state[place].extents[axes[0]]
    if extent not in numbers:
        return
    for number in numbers:
        if number not in (extent, 0):
            yield resized(state, place, axes, number)
    for number in numbers:
        if 1 < number < extent and extent % number:
            multiple = max(number, round(extent / number) * number)
            yield resized(state, place, axes, multiple)


def _larger(state: State, outcome: Outcome) -> Iterator[State]:
    """An input that is too small for what is done with it."""
    if not _SMALL.search(outcome.message.lower()):
        return
    window = _PADDED_WINDOW.search(outcome.message)
    for place in owners(state, outcome):
        each = state[place]
        if window is not None and each.rank and max(map(int, window.groups())) < SAMPLES:
            yield resized(state, place, (each.rank - 1,), SAMPLES)
        for axes in each.axes():
            if each.rank > 3 and axes == (1,):
                continue
            for growth in (2, 8):
                yield resized(state, place, axes, each.extents[axes[0]] * growth)


def _other_sizes(state: State, place: int) -> Iterator[State]:
    each = state[place]
    if each.kind is Kind.STEP:
        yield changed(state, place, extents=(1, 1))
    elif each.kind is Kind.IMAGE and each.rank == 4:
        yield from (resized(state, place, (2, 3), side) for side in _SIDES)
        yield from (resized(state, place, (1,), channels) for channels in _CHANNELS)
    elif each.kind in (Kind.SERIES, Kind.SEQUENCE) and each.rank == 3:
        axis = 2 if each.kind is Kind.SERIES else 1
        yield from (resized(state, place, (axis,), time) for time in _TIMES)
        batch, one, other = each.extents
        yield changed(state, place, extents=(batch, other, one))
    elif each.kind is Kind.IDS and each.rank == 2:
        yield from (resized(state, place, (1,), text) for text in _TEXTS)
    elif each.rank == 5:
        if each.extents[2] == each.extents[3]:
            yield from (resized(state, place, (2, 3, 4), side) for side in _CUBES)
        yield from (resized(state, place, (3, 4), side) for side in _FRAME_SIDES)
        yield from (resized(state, place, (2,), frames) for frames in _FRAMES)
        for side in _FRAME_SIDES:
            for frames in _FRAMES[:2]:
                yield resized(resized(state, place, (3, 4), side), place, (2,), frames)
