"""What may mend a failed run that lacks an input: a key of a mapping, an optional parameter."""

import re
from collections.abc import Iterator
from dataclasses import replace
from inspect import Parameter
from typing import Final

import torch
from torch import nn

from nar.own.inputs.calls import Outcome
from nar.own.inputs.evidence import optional_parameters, parameters_of
from nar.own.inputs.layers import has, stated_width, usual_kind
from nar.own.inputs.names import kind_by_name, names_graph_ids
from nar.own.inputs.search import InputSearch
from nar.own.inputs.sizes import owners
from nar.own.inputs.slots import NODES, USUAL, Kind, Slot, State, changed, slot

_KEYED: Final = re.compile(
    r"invalid data type 'str'|only integers.*indices|list indices must be integers.* not str|"
    r"string indices|expected str"
)
_AXES_OF_IDS, _AXES_OF_MAPS = 2, 4  # batch and length; batch, channels and two sides
_FINEST = 64  # the side of the finest of several maps; chosen: six can be halved from it
_NAMED: Final = re.compile(r"'(\w+)'|`(\w+)`")
_LACKS: Final = re.compile(
    r"NoneType|must be (provided|specified|given)|is required|not None|cannot be None|missing|"
    r"no tensor came out|must be passed|should be (passed|given|provided)"
)
_WORD: Final = re.compile(r"\w+")
# What a count of a grid is, where a sequence is as long as the grid is large: 2 x 4 x 4 is 32.
_COUNTS: Final = {"frame": 2, "depth": 2, "height": 4, "width": 4}


def keys(search: InputSearch, state: State, outcome: Outcome) -> Iterator[State]:
    """The states with a mapping, or a key of it more, that the run asked for."""
    yield from _as_mapping(state, outcome)
    yield from _with_key(search, state, outcome)
    yield from _as_list(search.module, state, outcome)


def inputs(search: InputSearch, state: State, outcome: Outcome) -> Iterator[State]:
    """The states with an argument more."""
    module = search.module
    yield from _with_counts(module, state, outcome)
    yield from _with_absent(module, state, outcome)
    yield from _with_named(module, state, outcome)
    yield from _with_optional(module, state, outcome)


def kinds_of(module: nn.Module, name: str, state: State) -> tuple[Kind, ...]:
    """The kinds that an input beside others may have, the likeliest first."""
    if names_graph_ids(name) and any(each.kind is Kind.EDGES for each in state):
        return (Kind.GRAPH_IDS,)
    named = kind_by_name(name)
    if named is Kind.IDS and not has(module, nn.Embedding):
        return (Kind.COORDINATES, named)
    if named is not None:
        return (named,)
    first = state[0].kind
    if first is Kind.IDS:
        return (Kind.IDS,)
    likely = (usual_kind(module), first, Kind.LABEL, Kind.VECTOR)
    return tuple(dict.fromkeys(likely))


def with_input(state: State, name: str, kind: Kind, width: int | None = None) -> State:
    """A state with an argument by name more, of a width if that is known."""
    extents = state[0].extents if kind is state[0].kind else USUAL[kind]
    if width is not None and kind in (Kind.SEQUENCE, Kind.VECTOR):
        extents = (*USUAL[kind][:-1], width)
    is_named = kind_by_name(name) is not None
    return (*state, slot(name, kind, extents, by_name=True, is_sure=is_named))


def _as_mapping(state: State, outcome: Outcome) -> Iterator[State]:
    """An input that is asked for a key, as a mapping that has no key yet."""
    call = outcome.failing
    is_keyed = call is not None and call.function == "__getitem__" and type(call.detail) is str
    if not is_keyed and not _KEYED.search(outcome.message):
        return
    for place in owners(state, outcome):
        before = state[place]
        if before.key and (not is_keyed or call is None or call.sources[0] != {before.path}):
            continue
        if not before.is_stated and before.kind is not Kind.MAPPING:
            # The key was asked of the input, or of an input that stands in for it.
            is_listed = is_keyed and call is not None and len(call.shapes[0]) < before.rank
            mapping = Slot(before.name, Kind.MAPPING, (), before.dtype, before.key, is_sure=True)
            mapping = replace(mapping, is_listed=is_listed, by_name=before.by_name)
            yield (*state[:place], mapping, *state[place + 1 :])
            return


def _with_key(search: InputSearch, state: State, outcome: Outcome) -> Iterator[State]:
    """A mapping with the key that it was asked for."""
    mappings = [each for each in state if each.kind is Kind.MAPPING]
    if not isinstance(outcome.error, KeyError) or not mappings or not outcome.error.args:
        return
    key = outcome.error.args[0]
    if not isinstance(key, str):
        return
    # The innermost mapping is the likeliest to have been asked.
    for mapping in reversed(mappings):
        path = f"{mapping.key}.{key}" if mapping.key else key
        if not any(each.name == mapping.name and each.key == path for each in state):
            filled = _with_part(search.module, state, mapping, key, path)
            after = search.probe(filled).error
            if not isinstance(after, KeyError) or after.args != outcome.error.args:
                yield filled


def _with_part(module: nn.Module, state: State, mapping: Slot, key: str, path: str) -> State:
    kind = kind_by_name(key) or usual_kind(module)
    # Its parts stand behind a mapping, in the order of the call's tensors.
    inside = [
        place
        for place, each in enumerate(state)
        if each.path == mapping.path or each.path.startswith(f"{mapping.path}.")
    ]
    last = state[inside[-1]]
    new = _series_of_forecast(module, mapping, key) or slot(
        mapping.name, kind, key=path, by_name=mapping.by_name
    )
    if mapping.is_listed and new.rank > 1:
        new = replace(new, extents=new.extents[1:])  # one of many has no batch
    if new.kind is Kind.MASK and last.rank > _AXES_OF_IDS:
        # Beside series a mask says which of their numbers are known: it has a shape like theirs.
        new = replace(new, extents=last.extents, dtype=torch.float32)
    return (*state[: inside[-1] + 1], new, *state[inside[-1] + 1 :])


def _as_list(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """An input that is gone through, as maps of several scales: one for each of a list of layers.

    The finest comes first, and each has half the side of the one before.
    """
    call = outcome.failing
    lists = (layer for layer in module.modules() if isinstance(layer, nn.ModuleList))
    widths = next((found for found in map(_channels, lists) if len(found) > 1), ())
    for place, each in enumerate(state):
        if call is None or each.key or each.rank != _AXES_OF_MAPS or each.is_stated or not widths:
            continue
        if call.sources[0] == {each.path} and call.shapes[0] == each.extents[1:]:
            held = Slot(each.name, Kind.LIST, (), is_sure=True, by_name=each.by_name)
            maps = (
                replace(each, key=str(number), extents=(1, width, side, side), is_sure=True)
                for number, width in enumerate(widths)
                for side in (max(1, _FINEST >> number),)
            )
            yield (*state[:place], held, *maps, *state[place + 1 :])


def _channels(layers: nn.ModuleList) -> tuple[int, ...]:
    """The channels that each of some layers over images wants; none, where one is no such layer."""
    firsts = [
        next((each for each in layer.modules() if isinstance(each, nn.Conv2d)), None)
        for layer in layers.children()  # some lists hold None in the place of a layer
    ]
    return tuple(each.in_channels for each in firsts if each is not None)


def _series_of_forecast(module: nn.Module, before: Slot, key: str) -> Slot | None:
    """A series by what a module that forecasts states: its length, its horizon, its features."""
    past, horizon = (vars(module).get(name) for name in ("input_size", "h"))
    if type(past) is not int or type(horizon) is not int or kind_by_name(key) is not None:
        return None
    width = vars(module).get(f"{key}_size", vars(module).get("n_series", 1))
    if type(width) is not int:
        return None
    if not width:
        return Slot(before.name, Kind.ABSENT, (), key=key, is_sure=True, by_name=before.by_name)
    if key.startswith("stat"):  # what does not change in time
        return slot(before.name, Kind.VECTOR, (1, width), key=key, by_name=before.by_name)
    shape = (1, past + (horizon if key.startswith("fut") else 0), width)
    return slot(before.name, Kind.SEQUENCE, shape, key=key, by_name=before.by_name)


def _with_named(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """A parameter that the error names."""
    parameters = parameters_of(module)
    names = {each.name for each in parameters}
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    may_be_any = takes_any and (isinstance(outcome.error, KeyError) or "missing" in outcome.message)
    quoted = [one or other for one, other in _NAMED.findall(outcome.message)]
    spoken = _WORD.findall(outcome.message) if _LACKS.search(outcome.message) else ()
    bare = [each.name for each in optional_parameters(module, state) if each.name in spoken]
    for name in dict.fromkeys([*quoted, *bare]):
        if any(name in (each.name, each.key) for each in state):
            continue
        if name not in names and not may_be_any:
            continue
        kind = kind_by_name(name) or state[0].kind
        if kind is Kind.IDS and not has(module, nn.Embedding):
            kind = Kind.COORDINATES
        start = state
        if kind is Kind.EDGES and state[0].kind not in (Kind.NODES, Kind.IDS):
            nodes = (NODES, state[0].extents[-1])
            start = changed(state, 0, kind=Kind.NODES, extents=nodes, is_sure=True)
        yield with_input(start, name, kind, stated_width(module, name))


def _with_optional(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """A parameter that is None and that the call cannot do without."""
    is_bare = isinstance(outcome.error, AssertionError) and not outcome.message
    if not is_bare and not _LACKS.search(outcome.message):
        return
    for parameter in optional_parameters(module, state):
        if is_bare and kind_by_name(parameter.name) is None:
            continue
        for kind in kinds_of(module, parameter.name, state):
            yield with_input(state, parameter.name, kind, stated_width(module, parameter.name))


def _with_absent(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """A required parameter that was left at None, because its type says that it may be."""
    if "NoneType" not in outcome.message:
        return
    for place, each in enumerate(state):
        if each.kind is Kind.ABSENT and place and not each.key:
            for kind in kinds_of(module, each.name, state):
                new = slot(each.name, kind, by_name=each.by_name, is_sure=True)
                yield (*state[:place], new, *state[place + 1 :])


def _with_counts(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """The numbers of frames, rows and columns that a sequence lies on, which may be None."""
    if "NoneType" not in outcome.message:
        return
    counts = {
        parameter.name: count
        for parameter in optional_parameters(module, state)
        for word, count in _COUNTS.items()
        if word in parameter.name and "int" in str(parameter.annotation)
    }
    if counts:
        fixed = (
            Slot(name, Kind.FIXED, (), is_sure=True, by_name=True, value=count)
            for name, count in counts.items()
        )
        yield (*state, *fixed)
