"""What may mend a failed run, the likeliest first: read from the failing layer and call."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import torch
from torch import nn

from nar.own.inputs import messages, missing
from nar.own.inputs.calls import CONVOLUTION, Outcome, RunningModule, TorchCall
from nar.own.inputs.columns import keys_as_numbers
from nar.own.inputs.demands import Demand, DemandKind, channels_of, demands
from nar.own.inputs.layers import ATTENTION, is_sequential, read_attribute
from nar.own.inputs.names import kind_by_name
from nar.own.inputs.ranks import SOUND_CHANNELS, FirstReader, with_rank
from nar.own.inputs.search import InputSearch
from nar.own.inputs.sizes import owners, solved
from nar.own.inputs.slots import (
    LENGTH,
    SAMPLES,
    STEPS,
    USUAL,
    Kind,
    State,
    changed,
    resized,
)

_SINGLE = (Kind.STEP, Kind.LABEL)
# Channels and sides of images that were flattened before the first layer; the commonest come first.
_FLATTENED: Final = (
    (1, 28), (3, 32), (1, 32), (3, 28), (1, 64), (3, 64), (1, 8), (3, 224), (1, 16), (3, 96),
    (3, 128), (1, 20),
)  # fmt: skip
_COLOURS = 3  # red, green and blue
_GROWTHS = (2, 4, 8)  # chosen: one for each halving that a deep network has more
_COLUMNS = 16  # chosen: categories in a row are fewer than tokens in a text


def repairs(search: InputSearch, state: State, outcome: Outcome) -> Iterator[State]:
    """The states that may mend a failed run, without those that are as before.

    Args:
        search: Knows the module, and what other probes gave.
        state: The inputs of the run.
        outcome: How it ended.
    """
    kinds = (
        missing.keys(search, state, outcome),
        keys_as_numbers(state, outcome),
        _of_layer(search, state, outcome),
        _of_call(search, state, outcome),
        messages.repairs(search, state, outcome),
        missing.inputs(search, state, outcome),
        messages.usual_sizes(state, outcome),
    )
    return (repaired for repaired in chain.from_iterable(kinds) if repaired != state)


def _of_layer(search: InputSearch, state: State, outcome: Outcome) -> Iterator[State]:
    """Recurrent layers and attention know their width and their rank."""
    layer = outcome.layer
    if layer is None or not isinstance(layer.module, (nn.RNNBase, nn.RNNCellBase, *ATTENTION)):
        return
    width = _width(layer.module)
    shape = layer.shapes[0] if layer.shapes else ()
    rank = 2 if isinstance(layer.module, nn.RNNCellBase) else 3
    yield from _all_widths(state, layer, width)
    sources = layer.sources[0] if layer.sources else frozenset()
    places = [place for place, each in enumerate(state) if each.path in sources]
    for place in places or range(len(state)):
        if len(shape) != rank:
            yield from _layer_rank(state, place, layer, rank, width)
        elif width and shape[-1] != width:
            yield from _layer_width(search, state, place, layer, width)


def _width(module: nn.Module) -> int | None:
    holder: Any = module
    if isinstance(module, nn.TransformerEncoder | nn.TransformerDecoder):
        holder = module.layers[0]
    attention = read_attribute(holder, "self_attn")
    holder = holder if attention is None else attention
    for name in ("input_size", "embed_dim", "d_model"):
        width = read_attribute(holder, name)
        if isinstance(width, int):
            return width
    return None


def _all_widths(state: State, layer: RunningModule, width: int | None) -> Iterator[State]:
    """Several inputs of one layer, all with its width."""
    sources = frozenset().union(*layer.sources) if layer.sources else frozenset()
    places = [place for place, each in enumerate(state) if each.path in sources]
    if not width or len(places) < 2 or any(state[place].rank != 3 for place in places):
        return
    for place in places:
        state = changed(state, place, extents=(*state[place].extents[:2], width))
    yield state


def _layer_rank(
    state: State, place: int, layer: RunningModule, rank: int, width: int | None
) -> Iterator[State]:
    before = state[place]
    shape = layer.shapes[0] if layer.shapes else ()
    wanted = before.rank + rank - len(shape)
    if wanted == 3 and width:
        is_direct = shape == before.extents
        is_time_first = read_attribute(layer.module, "batch_first") is False and is_direct
        extents = (LENGTH, 1, width) if is_time_first else (1, LENGTH, width)
        yield changed(state, place, kind=Kind.SEQUENCE, extents=extents, dtype=torch.float32)
    if wanted == 2 and before.is_integer:
        yield changed(state, place, extents=USUAL[Kind.IDS])
    yield from with_rank(state, place, wanted, FirstReader(width))


def _layer_width(
    search: InputSearch, state: State, place: int, layer: RunningModule, width: int
) -> Iterator[State]:
    before, got = state[place], layer.shapes[0][-1]
    if before.kind is Kind.WAVE and layer.shapes[0] == before.extents:  # no sound, by its width
        yield _floats(state, place, Kind.SEQUENCE, (1, LENGTH, width))
    if before.rank >= 2:
        yield changed(state, place, extents=(*before.extents[:-1], width))
        if before.rank == 3:
            yield changed(state, place, extents=(1, width, STEPS))
    for axes in before.axes():
        extent = before.extents[axes[0]]
        other = search.probe(resized(state, place, axes, 2 * extent)).layer
        if other is None or other.module is not layer.module or not other.shapes:
            continue
        moved = other.shapes[0]
        if len(moved) == len(layer.shapes[0]) and moved[-1] != got:
            slope = (moved[-1] - got) / extent
            yield resized(state, place, axes, round(extent + (width - got) / slope))


def _of_call(search: InputSearch, state: State, outcome: Outcome) -> Iterator[State]:
    """What the failing call of torch wants."""
    call = outcome.failing
    if call is None:
        return
    for demand in demands(call, outcome.message):
        places = owners(state, outcome, demand.tensor)
        if demand.kind is DemandKind.INTEGERS:
            for place in places:
                yield from _integers(state, place, call)
        elif demand.kind is DemandKind.RANK:
            for place in places:
                rank = state[place].rank + demand.wanted - demand.got
                yield from with_rank(state, place, rank, _reader(call))
        elif demand.kind is DemandKind.EXTENT:
            for place in places:
                yield from _read_first(search, state, outcome, demand, place)
            yield from solved(search, state, outcome, demand)
        else:
            for place in places:
                yield from _grown(state, place)


def _reader(call: TorchCall) -> FirstReader:
    found = CONVOLUTION.match(call.function)
    return FirstReader(channels_of(call), int(found["axes"])) if found else FirstReader()


def _integers(state: State, place: int, call: TorchCall) -> Iterator[State]:
    """An input that an embedding reads, as integers."""
    before = state[place]
    is_direct = call.shapes[0] == before.extents
    if before.kind in _SINGLE or (before.is_sure and before.rank <= 2):
        yield changed(state, place, dtype=torch.int64)
    elif is_direct:
        yield _ids(state, place, USUAL[Kind.IDS])
        yield _ids(state, place, (1,), Kind.LABEL)
    else:
        # A column, or several: categories in a row.
        yield _ids(state, place, (1, _COLUMNS))
        yield _ids(state, place, USUAL[Kind.IDS])
        yield changed(state, place, dtype=torch.int64)


def _ids(state: State, place: int, extents: tuple[int, ...], kind: Kind = Kind.IDS) -> State:
    return changed(state, place, kind=kind, extents=extents, dtype=torch.int64)


def _read_first(
    search: InputSearch, state: State, outcome: Outcome, demand: Demand, place: int
) -> Iterator[State]:
    """Inputs that the failing call reads as they came, so that it says their whole shape."""
    call, before = outcome.failing, state[place]
    assert call is not None, "a demand is one of a failing call"
    first = outcome.first_uses.get(before.path, call)
    is_fresh = first.site == call.site and demand.tensor == 0
    if before.kind in _SINGLE and before.rank == 1 and call.function == "linear":
        yield _floats(state, place, Kind.VECTOR, (1, demand.wanted))
        yield _floats(state, place, Kind.STEP, (1, 1))
    if not is_fresh:
        return
    if CONVOLUTION.match(call.function) and _is_of_frames(state, place, demand.wanted):
        yield _floats(state, place, Kind.VIDEO, USUAL[Kind.VIDEO])
    is_alone = len(owners(state, outcome, demand.tensor)) == 1
    if call.function == "linear" and not before.is_sure and is_alone:
        yield from _of_linear(search, state, place, call, demand.wanted)
    if CONVOLUTION.match(call.function) and call.shapes[0] == before.extents:
        yield from _of_convolution(state, place, demand.wanted)


def _of_linear(
    search: InputSearch, state: State, place: int, call: TorchCall, width: int
) -> Iterator[State]:
    shape, before = call.shapes[0], state[place]
    vector = _floats(state, place, Kind.VECTOR, (1, width))
    if len(shape) == 2 and before.rank > 2:
        for channels, side in _FLATTENED:
            if channels * side * side == width:
                yield _floats(state, place, Kind.IMAGE, (1, channels, side, side))
        yield vector
    elif shape == before.extents or before.rank > 3 or shape[-1] == before.extents[-1]:
        sequence = _floats(state, place, Kind.SEQUENCE, (1, LENGTH, width))
        if len(shape) <= 2:
            yield vector
        both = (vector, sequence)
        is_named = kind_by_name(before.name) is Kind.SEQUENCE
        is_sequence = is_named or is_sequential(search.module)
        yield from reversed(both) if is_sequence else both
    if before.rank == 1:
        yield vector


def _is_of_frames(state: State, place: int, channels: int) -> bool:
    """Whether what was taken for a volume is read first by what wants colours."""
    return channels == _COLOURS and state[place].kind is Kind.VOLUME


def _of_convolution(state: State, place: int, channels: int) -> Iterator[State]:
    before = state[place]
    if before.rank == 3 and channels in SOUND_CHANNELS and before.extents[2] == STEPS:
        yield changed(state, place, extents=(1, channels, SAMPLES))
    yield changed(state, place, extents=(before.extents[0], channels, *before.extents[2:]))


def _floats(state: State, place: int, kind: Kind, extents: tuple[int, ...]) -> State:
    return changed(state, place, kind=kind, extents=extents, dtype=torch.float32, is_listed=False)


def _grown(state: State, place: int) -> Iterator[State]:
    """An input that is larger along one group of axes; channels stay."""
    before = state[place]
    for axes in before.axes():
        if before.rank >= 3 and axes == (1,):
            continue
        for growth in _GROWTHS:
            yield resized(state, place, axes, before.extents[axes[0]] * growth)
