"""One input of a module as the search sees it: what it is, its sizes, and its place in the call."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from nar.capture import CaptureInputs
from nar.own.given import written

Extents: TypeAlias = tuple[int, ...]


class Kind(StrEnum):
    """What an input holds."""

    IMAGE = "an image"
    IDS = "token ids"
    SEQUENCE = "a sequence of vectors"
    SERIES = "channels over time"
    VECTOR = "a vector"
    PAIR = "two numbers"
    VOLUME = "a volume"
    VIDEO = "a video"
    WAVE = "a sound"
    STEP = "a step"
    LABEL = "a label"
    MASK = "a mask"
    LENGTHS = "lengths"
    COORDINATES = "coordinates"
    EDGES = "edges"
    EDGE_FEATURES = "features of edges"
    NODES = "features of nodes"
    GRAPH_IDS = "the graph of each node"
    ADJACENCY = "an adjacency"
    ABSENT = "none"
    MAPPING = "a mapping"
    LIST = "a list"
    FIXED = "a value"
    OFF = "a switch that is off"
    ON = "a switch that is on"


# Chosen: short ones do as well as long ones, and are faster; a width that differs from the length
# lets a failing call tell one from the other.
LENGTH: Final = 32
WIDTH: Final = 64  # twice the length
STEPS: Final = 128  # of a series: its convolutions may have strides
SAMPLES: Final = 16_000  # a second of sound
NODES, EDGES = 16, 24  # chosen: unlike each other and unlike usual widths

USUAL: Final[Mapping[Kind, Extents]] = {
    Kind.IMAGE: (1, 3, 224, 224),
    Kind.IDS: (1, LENGTH),
    Kind.SEQUENCE: (1, LENGTH, WIDTH),
    Kind.SERIES: (1, 16, STEPS),
    Kind.VECTOR: (1, WIDTH),
    Kind.PAIR: (1, 2),
    Kind.VOLUME: (1, 1, 64, 64, 64),
    Kind.VIDEO: (1, 3, 16, 224, 224),
    Kind.WAVE: (1, 1, SAMPLES),
    Kind.STEP: (1,),
    Kind.LABEL: (1,),
    Kind.MASK: (1, LENGTH),
    Kind.LENGTHS: (1,),
    Kind.COORDINATES: (LENGTH, 3),
    Kind.EDGES: (2, EDGES),
    Kind.EDGE_FEATURES: (EDGES, 8),
    Kind.NODES: (NODES, WIDTH),
    Kind.GRAPH_IDS: (NODES,),
    Kind.ADJACENCY: (NODES, NODES),
    Kind.ABSENT: (),
    Kind.MAPPING: (),
    Kind.LIST: (),
    Kind.FIXED: (),
    Kind.OFF: (),
    Kind.ON: (),
}
_INTEGERS = {Kind.IDS, Kind.LABEL, Kind.LENGTHS, Kind.EDGES, Kind.GRAPH_IDS}
WITHOUT_TENSOR: Final = frozenset(
    {Kind.ABSENT, Kind.MAPPING, Kind.LIST, Kind.FIXED, Kind.OFF, Kind.ON}
)
# The kind of a float by its number of axes, where nothing else is known.
BY_RANK: Final[Mapping[int, Kind]] = {
    1: Kind.STEP,
    2: Kind.VECTOR,
    3: Kind.SEQUENCE,
    4: Kind.IMAGE,
    5: Kind.VOLUME,
}
_AXES_BY_RANK: Final[Mapping[int, tuple[Extents, ...]]] = {
    1: ((0,),),
    2: ((1,),),
    3: ((2,), (1,)),
    4: ((2, 3), (1,), (2,), (3,)),
    5: ((2, 3, 4), (1,), (3, 4), (2,)),
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One input of a call.

    Attributes:
        name: The parameter of ``forward`` that takes it.
        kind: What it holds.
        extents: Its shape; in a list, that of the one entry.
        dtype: Its type.
        key: Its key, where the parameter takes a mapping or a list; ``a.b`` in a nest of them.
        is_sure: A name or the user says its kind: no other kind is tried.
        is_stated: The user says its shape: no other shape is tried.
        is_typed: The user says its type: no other type is tried.
        is_listed: It is given in a list of its own, a mapping too.
        by_name: It is an argument by name.
        is_empty: It holds zeros where its kind holds ones: a mask whose ones hide.
        value: What a `Kind.FIXED` slot is; of edges, how many nodes they join; of lengths, whether
            the module has layers that want time before the batch.
    """

    name: str
    kind: Kind
    extents: Extents
    dtype: torch.dtype = torch.float32
    key: str = ""
    is_sure: bool = False
    is_stated: bool = False
    is_typed: bool = False
    is_listed: bool = False
    by_name: bool = False
    is_empty: bool = False
    value: object = field(default=None, compare=False)

    @property
    def path(self) -> str:
        """Its name in the whole call."""
        return f"{self.name}.{self.key}" if self.key else self.name

    @property
    def rank(self) -> int:
        """The number of its axes."""
        return len(self.extents)

    @property
    def is_integer(self) -> bool:
        """Whether it holds integers."""
        return not self.dtype.is_floating_point and self.dtype is not torch.bool

    def axes(self) -> tuple[Extents, ...]:
        """The groups of axes that change together, the likeliest first."""
        if self.is_stated or self.kind in WITHOUT_TENSOR:
            return ()
        if self.kind is Kind.IMAGE and self.rank == 3:  # without a batch, in a list
            return ((0,), (1, 2))
        if self.kind is Kind.ADJACENCY and self.rank == 2:  # as many nodes on either side
            return ((0, 1),)
        if self.kind in (Kind.NODES, Kind.EDGE_FEATURES):
            return ((1,),)
        return _AXES_BY_RANK.get(self.rank, ())

    def resized(self, axes: Extents, extent: int) -> "Slot":
        """The same with another extent along some axes."""
        extents = list(self.extents)
        for axis in axes:
            extents[axis] = max(1, extent)
        return replace(self, extents=tuple(extents))

    def content(self) -> object:
        """What the module is given."""
        if self.kind in WITHOUT_TENSOR:
            made = {Kind.MAPPING: {}, Kind.LIST: [], Kind.OFF: False, Kind.ON: True}
            return made.get(self.kind, self.value)
        tensor = self._tensor()
        return [tensor] if self.is_listed else tensor

    def _tensor(self) -> Tensor:
        if self.kind is Kind.EDGES and self.rank == 2:
            # A ring, whatever the number of edges: each end is a node.
            nodes = self.value if type(self.value) is int else NODES
            ends = torch.arange(self.extents[-1]) % nodes
            return torch.stack([ends, (ends + 1) % nodes])[: self.extents[0]].to(self.dtype)
        # One element that all share: most runs need no more than sizes.
        element = torch.full((), int(self._is_filled()), dtype=self.dtype)
        return torch.broadcast_to(element, self.extents)

    def _is_filled(self) -> bool:
        """Whether it holds ones: a mask that hides nothing, and ids that are not padding."""
        is_mask = self.dtype is torch.bool or self.kind is Kind.MASK
        return (is_mask and not self.is_empty) or (self.kind is Kind.IDS and self.is_integer)


State: TypeAlias = tuple[Slot, ...]


def slot(name: str, kind: Kind, extents: Extents | None = None, **rest: Any) -> Slot:  # noqa: ANN401
    """A slot of a kind, with the sizes and the type that are usual for it."""
    dtype = torch.int64 if kind in _INTEGERS else torch.float32
    if kind is Kind.MASK:
        dtype = torch.bool
    return Slot(name, kind, USUAL[kind] if extents is None else extents, dtype, **rest)


def changed(state: State, place: int, **rest: Any) -> State:  # noqa: ANN401
    """A state with one slot changed; the same state where the user says otherwise."""
    before = state[place]
    if before.is_stated and rest.get("extents", before.extents) != before.extents:
        return state
    if before.is_typed and rest.get("dtype", before.dtype) != before.dtype:
        return state
    after = replace(before, **rest)
    return (*state[:place], after, *state[place + 1 :])


def resized(state: State, place: int, axes: Extents, extent: int) -> State:
    """A state with one slot resized; the same state where the user says its shape."""
    if state[place].is_stated:
        return state
    return (*state[:place], state[place].resized(axes, extent), *state[place + 1 :])


def call_of(state: State) -> CaptureInputs:
    """The call that a state describes."""
    args: list[object] = []
    kwargs: dict[str, object] = {}
    holders: dict[str, Any] = {}
    for place, each in enumerate(state):
        content = each.content()
        if each.kind is Kind.LENGTHS:
            content = torch.full(
                each.extents, _length_before(state[:place], each), dtype=each.dtype
            )
        if each.kind in (Kind.MAPPING, Kind.LIST):
            holders[each.path] = content
        if each.key:
            _hold(holders, each, content)
            continue
        content = [content] if each.kind is Kind.MAPPING and each.is_listed else content
        if each.by_name:
            kwargs[each.name] = content
        else:
            args.append(content)
    return CaptureInputs(tuple(args), kwargs)


# Kinds that have a time -> how many axes there are from it on; a batch may stand before it.
_FROM_TIME: Final[Mapping[Kind, int]] = {
    Kind.IDS: 1,
    Kind.SEQUENCE: 2,
    Kind.SERIES: 1,
    Kind.WAVE: 1,
}


def _length_before(state: State, lengths: Slot) -> int:
    """The length of the last input that has one: all of it counts, and no more."""
    timed = (each for each in reversed(state) if each.kind in _FROM_TIME and each.extents)
    return next((_time_of(each, is_first=lengths.value is True) for each in timed), LENGTH)


def _time_of(timed: Slot, *, is_first: bool) -> int:
    """How long an input is that has a time.

    Args:
        timed: It.
        is_first: Layers want time before the batch: so it stands, unless it has one step then.
    """
    axis = max(0, timed.rank - _FROM_TIME[timed.kind])
    if timed.kind in (Kind.IDS, Kind.SEQUENCE):
        axis = 0 if is_first and timed.extents[0] > 1 else min(axis, 1)
    return timed.extents[axis]


def _hold(holders: dict[str, Any], slot: Slot, content: object) -> None:
    """Put a part into the mapping or the list that it belongs to."""
    path, _, last = slot.path.rpartition(".")
    if path not in holders:  # a point in the key itself
        path, last = slot.name, slot.key
    if isinstance(holders[path], list):
        holders[path].append(content)
    else:
        holders[path][last] = content


def tensors_of(state: State) -> Iterator[Slot]:
    """The slots that hold tensors, in the order of the call's tensors."""
    by_position = [each for each in state if not each.by_name]
    by_name = [each for each in state if each.by_name]
    yield from (each for each in (*by_position, *by_name) if each.kind not in WITHOUT_TENSOR)


def texts_of(state: State) -> tuple[str, ...]:
    """A state in the syntax of ``--input``."""
    names = [each.name for each in state if not each.by_name and not each.key]
    return written(call_of(state), names)
