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
from nar.own.inputs.layers import usual_kind
from nar.own.inputs.names import kind_by_name
from nar.own.inputs.search import Search
from nar.own.inputs.sizes import owners
from nar.own.inputs.slots import NODES, USUAL, Kind, Slot, State, changed, slot

_KEYED: Final = re.compile(
    r"invalid data type 'str'|only integers.*indices|list indices must be integers.* not str|"
    r"string indices|expected str"
)
_AXES_OF_IDS = 2
_NAMED: Final = re.compile(r"'(\w+)'|`(\w+)`")
_LACKS: Final = re.compile(
    r"NoneType|must be (provided|specified|given)|is required|not None|cannot be None|missing|"
    r"no tensor came out"
)


def keys(search: Search, state: State, outcome: Outcome) -> Iterator[State]:
    """The states with a mapping, or a key of it more, that the run asked for."""
    yield from _as_mapping(state, outcome)
    yield from _with_key(search.module, state, outcome)


def inputs(search: Search, state: State, outcome: Outcome) -> Iterator[State]:
    """The states with an argument more."""
    module = search.module
    yield from _with_named(module, state, outcome)
    yield from _with_optional(module, state, outcome)


def kinds_of(module: nn.Module, name: str, state: State) -> tuple[Kind, ...]:
    """The kinds that an input beside others may have, the likeliest first."""
    named = kind_by_name(name)
    if named is not None:
        return (named,)
    first = state[0].kind
    if first is Kind.IDS:
        return (Kind.IDS,)
    likely = (usual_kind(module), first, Kind.LABEL, Kind.VECTOR)
    return tuple(dict.fromkeys(likely))


def with_input(state: State, name: str, kind: Kind) -> State:
    """A state with an argument by name more."""
    extents = state[0].extents if kind is state[0].kind else USUAL[kind]
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
        if not before.key and not before.is_stated and before.kind is not Kind.MAPPING:
            # What was asked for the key was the input, or one of those that it was taken for.
            is_listed = is_keyed and call is not None and len(call.shapes[0]) < before.rank
            mapping = Slot(before.name, Kind.MAPPING, (), is_sure=True, by_name=before.by_name)
            mapping = replace(mapping, is_listed=is_listed)
            yield (*state[:place], mapping, *state[place + 1 :])
            return


def _with_key(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """A mapping with the key that it was asked for."""
    places = [place for place, each in enumerate(state) if each.kind is Kind.MAPPING or each.key]
    if not isinstance(outcome.error, KeyError) or not places or not outcome.error.args:
        return
    key = outcome.error.args[0]
    if not isinstance(key, str) or any(each.key == key for each in state):
        return
    kind = kind_by_name(key) or usual_kind(module)
    last = places[-1]
    new = slot(state[last].name, kind, key=key, by_name=state[last].by_name)
    if state[places[0]].is_listed and new.rank > 1:
        new = replace(new, extents=new.extents[1:])  # one of many has no batch
    if kind is Kind.MASK and state[last].rank > _AXES_OF_IDS:
        # Beside series a mask says which of their numbers are known: it has a shape like theirs.
        new = replace(new, extents=state[last].extents, dtype=torch.float32)
    yield (*state[: last + 1], new, *state[last + 1 :])


def _with_named(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """A parameter that the error names."""
    parameters = parameters_of(module)
    names = {each.name for each in parameters}
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    may_be_any = takes_any and (isinstance(outcome.error, KeyError) or "missing" in outcome.message)
    for quoted in _NAMED.findall(outcome.message):
        name = quoted[0] or quoted[1]
        if any(name in (each.name, each.key) for each in state):
            continue
        if name not in names and not may_be_any:
            continue
        kind = kind_by_name(name) or state[0].kind
        start = state
        if kind is Kind.EDGES and state[0].kind not in (Kind.NODES, Kind.IDS):
            nodes = (NODES, state[0].extents[-1])
            start = changed(state, 0, kind=Kind.NODES, extents=nodes, is_sure=True)
        yield with_input(start, name, kind)


def _with_optional(module: nn.Module, state: State, outcome: Outcome) -> Iterator[State]:
    """A parameter that is None and that the call cannot do without."""
    is_bare = isinstance(outcome.error, AssertionError) and not outcome.message
    if not is_bare and not _LACKS.search(outcome.message):
        return
    for parameter in optional_parameters(module, state):
        if is_bare and kind_by_name(parameter.name) is None:
            continue
        for kind in kinds_of(module, parameter.name, state):
            yield with_input(state, parameter.name, kind)
