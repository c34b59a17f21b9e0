"""An input with another number of axes."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from nar.own.inputs.slots import (
    BY_RANK,
    LENGTH,
    SAMPLES,
    STEPS,
    USUAL,
    Extents,
    Kind,
    State,
    changed,
)

_MOST_AXES = 5  # batch, channels and the three sides of a volume
_AXES_OF_PAIRS = 2  # a batch, and the numbers
_TEXTS = 8  # beside each other, as in an alignment; chosen: few, and none of the usual widths
_WITH_BATCH = {1: Kind.SERIES, 2: Kind.IMAGE, 3: Kind.VOLUME}
_WITHOUT_CHANNELS = {1: Kind.VECTOR, 2: Kind.VECTOR, 3: Kind.SERIES, 4: Kind.IMAGE, 5: Kind.VOLUME}
# Sizes where an axis of one, the channels, is put in on the way.
_BARE: dict[int, Extents] = {1: (1, STEPS), 2: (1, 128, 128), 3: (1, 64, 64, 64)}
SOUND_CHANNELS = (1, 2)  # a series of so few channels is sound, and long


@dataclass(frozen=True, slots=True)
class FirstReader:
    """The layer that reads an input first.

    Attributes:
        width: The channels or features that it wants, if that is known.
        axes: Over how many axes it is a convolution; None if it is none.
    """

    width: int | None = None
    axes: int | None = None


def with_rank(
    state: State,
    place: int,
    rank: int,
    reader: FirstReader = FirstReader(),
) -> Iterator[State]:
    """States in which an input has another number of axes.

    Args:
        state: The inputs.
        place: The number of the input.
        rank: How many axes it is to have.
        reader: What reads it first.
    """
    before = state[place]
    # Two numbers are no map, whatever else of the call has too few axes.
    most = _AXES_OF_PAIRS if before.kind is Kind.PAIR else _MOST_AXES
    if not 1 <= rank <= most:
        return
    if before.kind is Kind.WAVE and rank in (2, 3):
        shape = (1, SAMPLES) if rank == 2 else (1, reader.width or 1, SAMPLES)
        yield changed(state, place, extents=shape)
        return
    if before.kind is Kind.MASK or (before.is_integer and before.is_typed):
        yield changed(state, place, extents=_padded(before.extents, rank))
        return
    if before.kind is Kind.LENGTHS:  # one of each sample, in a column or not
        yield changed(state, place, extents=(1,) * rank)
    if before.is_integer and rank == 1:
        yield changed(state, place, kind=Kind.LABEL, extents=(1,))
    if before.kind is Kind.SEQUENCE and rank == 2 and reader.width is None:
        # One vector in place of many, of the width that a layer has asked for already.
        yield changed(state, place, kind=Kind.VECTOR, extents=(1, before.extents[-1]))
    if before.kind is Kind.IDS and before.is_integer and rank == 3:
        yield changed(state, place, extents=(1, _TEXTS, LENGTH))
    kind, extents = _shape(rank, reader)
    is_integer = before.is_integer and rank == 2
    dtype = before.dtype if is_integer else torch.float32
    yield changed(state, place, kind=kind, extents=extents, dtype=dtype, is_listed=False)
    if reader.axes == 1 and rank == 3 and reader.width:
        turned = (1, LENGTH, reader.width)
        yield changed(
            state, place, kind=Kind.SEQUENCE, extents=turned, dtype=torch.float32, is_listed=False
        )


def _padded(extents: Extents, rank: int) -> Extents:
    return (1,) * (rank - len(extents)) + extents[max(0, len(extents) - rank) :]


def _shape(rank: int, reader: FirstReader) -> tuple[Kind, Extents]:
    if reader.axes is None:
        kind = BY_RANK[rank]
        if kind is Kind.VOLUME and reader.width == 3:
            return Kind.VIDEO, USUAL[Kind.VIDEO]
        extents = USUAL[kind]
        if kind in (Kind.SEQUENCE, Kind.VECTOR) and reader.width:
            extents = (*extents[:-1], reader.width)
        return kind, extents
    has_channels = rank == reader.axes + 2
    kind = _WITH_BATCH[reader.axes] if has_channels else _WITHOUT_CHANNELS[rank]
    if kind is Kind.VOLUME and reader.width == 3:
        kind = Kind.VIDEO
    if rank == reader.axes + 1:
        return kind, _BARE[reader.axes]
    extents = USUAL[kind]
    if has_channels and reader.width:
        extents = (extents[0], reader.width, *extents[2:])
        if kind is Kind.SERIES and reader.width in SOUND_CHANNELS:
            extents = (*extents[:2], SAMPLES)
    return kind, extents
