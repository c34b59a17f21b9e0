"""With which inputs a search begins: what the signature, the names and the layers say."""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import torch
from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.own.given import Given, Sizes
from nar.own.inputs.layers import (
    OVER_SEQUENCES,
    has,
    image_size,
    length,
    node_count,
    read_attribute,
    sound_channels,
    sound_length,
    usual_kind,
    wants_time_first,
)
from nar.own.inputs.names import (
    is_whole_step,
    kind_by_name,
    names_graph,
    names_graph_ids,
    names_states,
    names_text,
)
from nar.own.inputs.parts import is_switch, parts_of, states_made
from nar.own.inputs.slots import (
    BY_RANK,
    LENGTH,
    USUAL,
    WITHOUT_TENSOR,
    Extents,
    Kind,
    Slot,
    State,
    call_of,
    changed,
    slot,
)

Parameter = inspect.Parameter
_BY_POSITION: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
# Such a name may as well be the only input: it says something beside another one only.
_NEVER_FIRST: Final = frozenset({
    Kind.STEP,
    Kind.LABEL,
    Kind.SEQUENCE,
    Kind.MASK,
    Kind.LENGTHS,
    Kind.EDGE_FEATURES,
    Kind.PAIR,
})  # fmt: skip
_OPTIONAL: Final = re.compile(r"Optional\[|\bNone\b")
_LIST: Final = re.compile(r"[Ll]ist\[(torch\.)?Tensor|Sequence\[(torch\.)?Tensor")
_FEWEST_PARTS: Final = 2  # chosen: what has one part only may as well be indexed
# Kinds that are tried where the first kind leads nowhere; the commonest come first.
FALLBACKS: Final = (
    Kind.IMAGE,
    Kind.IDS,
    Kind.SEQUENCE,
    Kind.SERIES,
    Kind.VECTOR,
    Kind.VOLUME,
    Kind.WAVE,
)


def parameters_of(module: nn.Module) -> tuple[Parameter, ...]:
    """The parameters of ``forward``; one, where a compiled one has no signature."""
    try:
        return tuple(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        return (Parameter("x", Parameter.POSITIONAL_OR_KEYWORD),)


def optional_parameters(module: nn.Module, state: State) -> tuple[Parameter, ...]:
    """The parameters that may be None and that a state does not give."""
    given = {each.name for each in state}
    return tuple(
        each
        for each in parameters_of(module)
        if each.default is None
        and each.name not in given
        and each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    )


def names_of(module: nn.Module) -> tuple[str, ...]:
    """The names of the parameters that can be given by position and by name."""
    return tuple(
        each.name for each in parameters_of(module) if each.kind is Parameter.POSITIONAL_OR_KEYWORD
    )


def first_states(module: nn.Module, given: Given) -> Iterator[State]:
    """The states that a search begins from, the likeliest first."""
    start = _start(module, given)
    yield start
    if any(each.kind is Kind.OFF for each in start):
        yield tuple(
            replace(each, kind=Kind.ON) if each.kind is Kind.OFF else each for each in start
        )
    for kind in FALLBACKS:
        if any(not each.is_sure for each in start):
            yield tuple(
                each if each.is_sure else slot(each.name, kind, by_name=each.by_name)
                for each in start
            )


def stated_call(module: nn.Module, given: Given) -> CaptureInputs | None:
    """The call that the user states; None if a type or a required input is left open."""
    wanted = _wanted(parameters_of(module), module, given)
    slots = tuple(each for each in wanted if isinstance(each, Slot))
    is_closed = all(each.is_typed or each.kind in WITHOUT_TENSOR for each in slots)
    is_whole = is_closed and len(slots) == len(wanted)
    return call_of(_with_times(module, slots)) if is_whole else None


def _start(module: nn.Module, given: Given) -> State:
    wanted = _wanted(parameters_of(module), module, given)
    inferred = tuple(each for each in wanted if not isinstance(each, Slot))
    stated = tuple(each for each in wanted if isinstance(each, Slot))
    if not inferred:
        return _with_times(module, stated)
    if (
        not stated
        and len(inferred) == 1
        and (stated_slot := _stated_by_attribute(module, inferred[0])) is not None
    ):
        return (stated_slot,)
    is_graph = any(names_graph(each.name) for each in inferred)
    state: State = ()
    for each in wanted:
        if isinstance(each, Slot):
            state = (*state, each)
        else:
            found = _states(module, each, state) or _parts(module, each, state)
            if not found:
                is_alone = len(wanted) == 1
                found = (_slot(module, each, state, is_graph=is_graph, is_alone=is_alone),)
            state = (*state, *found)
    state = _of_so_many_nodes(module, _with_times(module, _time_first(module, state)))
    # Arguments by position come before those by name.
    return tuple(sorted(state, key=lambda each: each.by_name))


def _of_so_many_nodes(module: nn.Module, state: State) -> State:
    """Graphs of as many nodes as the module states, where it does."""
    nodes = node_count(module)
    if nodes is None:
        return state
    extents = {Kind.GRAPH_IDS: (nodes,), Kind.ADJACENCY: (nodes, nodes)}
    for place, each in enumerate(state):
        if each.kind is Kind.EDGES:
            state = changed(state, place, value=nodes)
        elif each.kind is Kind.NODES:
            state = changed(state, place, extents=(nodes, *each.extents[1:]))
        elif each.kind in extents:
            state = changed(state, place, extents=extents[each.kind])
    return state


def _with_times(module: nn.Module, state: State) -> State:
    """Lengths that know whether the module has layers that want time before the batch."""
    for place, each in enumerate(state):
        if each.kind is Kind.LENGTHS:
            layers = (layer for layer in module.modules() if isinstance(layer, OVER_SEQUENCES))
            state = changed(state, place, value=any(map(wants_time_first, layers)))
    return state


def _time_first(module: nn.Module, state: State) -> State:
    """The first input with time before the batch, where states are made for a layer that wants it.

    Of any other axis, the width of the states tells nothing.
    """
    recurrent = [each for each in module.modules() if isinstance(each, nn.RNNBase)]
    is_made = any(names_states(each.name) for each in state[1:]) and states_made(module) is not None
    if not is_made or not recurrent or any(each.batch_first for each in recurrent):
        return state
    first = state[0]
    if first.kind not in (Kind.IDS, Kind.SEQUENCE) or first.rank < _FEWEST_PARTS:
        return state
    batch, length_, *rest = first.extents
    return changed(state, 0, extents=(length_, batch, *rest))


def _wanted(
    parameters: Sequence[Parameter], module: nn.Module, given: Given
) -> list["Parameter | Slot"]:
    """The slots that the user states and the parameters that are left, in their order."""
    positional = [each for each in parameters if each.kind in _BY_POSITION]
    wanted: list[Parameter | Slot] = []
    stated_names = set(given.kwargs)
    for place, value in enumerate(given.args):
        name = positional[place].name if place < len(positional) else str(place)
        wanted += _stated(name, value, by_name=False)
        stated_names.add(name)
    for name, value in given.kwargs.items():
        wanted += _stated(name, value, by_name=True)
    left = [
        each
        for each in parameters
        if each.default is Parameter.empty
        and each.name not in stated_names
        and each.kind in (*_BY_POSITION, Parameter.KEYWORD_ONLY)
    ]
    if not left and not given:
        left = _of_any(parameters, module) or [_only(parameters, positional, module)]
    if given.kwargs:
        # What stands behind an argument by name can be given by name only.
        left = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in left]
    return [*wanted, *left]


def _only(
    parameters: Sequence[Parameter], positional: Sequence[Parameter], module: nn.Module
) -> Parameter:
    """The parameter to begin with where a module requires none."""
    takes_any = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)
    if positional and not takes_any and not isinstance(module, nn.Sequential):
        return positional[0]
    return Parameter("x", Parameter.POSITIONAL_ONLY)


def _of_any(parameters: Sequence[Parameter], module: nn.Module) -> list[Parameter]:
    """What a forward takes apart of ``*args``, each as a parameter by position."""
    starred = (each.name for each in parameters if each.kind is Parameter.VAR_POSITIONAL)
    parts = (parts_of(module, name, is_starred=True) for name in starred)
    return [Parameter(each, Parameter.POSITIONAL_ONLY) for each in next(parts, ())]


def _stated(name: str, value: object, *, by_name: bool) -> State:
    """The slots of a stated input: one, or those of a mapping's keys."""
    if isinstance(value, dict) and value and all(map(_is_sizes, value.values())):
        parts = (_stated_slot(name, part, key=key, by_name=by_name) for key, part in value.items())
        return (Slot(name, Kind.MAPPING, (), is_sure=True, by_name=by_name), *parts)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Sizes):
        return (_stated_slot(name, value[0], by_name=by_name, is_listed=True),)
    return (_stated_slot(name, value, by_name=by_name),)


def _is_sizes(value: object) -> bool:
    return isinstance(value, Sizes)


def _stated_slot(
    name: str, value: object, *, by_name: bool, key: str = "", is_listed: bool = False
) -> Slot:
    if not isinstance(value, Sizes):
        return Slot(name, Kind.FIXED, (), is_sure=True, by_name=by_name, key=key, value=made(value))
    kind = kind_by_name(key or name) or BY_RANK.get(len(value.extents), Kind.VECTOR)
    return Slot(
        name,
        kind,
        value.extents,
        value.dtype or slot(name, kind).dtype,
        key,
        is_sure=True,
        is_stated=True,
        is_typed=value.dtype is not None,
        is_listed=is_listed,
        by_name=by_name,
        is_empty=value.is_zero,
    )


def made(value: object) -> object:
    """A nest with a tensor in place of each stated size; its type, if it is open, is float."""
    if isinstance(value, Sizes):
        fill = 1 if value.dtype is torch.bool and not value.is_zero else 0
        return torch.full(value.extents, fill, dtype=value.dtype or torch.float32)
    if type(value) is dict:
        return {key: made(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(made, value))  # type: ignore[call-arg, call-overload]
    return value


def _stated_by_attribute(module: nn.Module, parameter: Parameter) -> Slot | None:
    """The only input by an attribute `input_shape` of the module, with the batch or without."""
    shape = read_attribute(module, "input_shape")
    if not isinstance(shape, tuple | list | torch.Size) or isinstance(shape, Tensor):
        return None
    if not all(type(extent) is int for extent in shape):
        return None
    kind = BY_RANK.get(len(shape))
    if len(shape) < 2 or kind is None or (has(module, nn.Embedding) and shape[0] != 1):
        return None
    return slot(parameter.name, kind, (1, *shape[1:]))


def _parts(module: nn.Module, parameter: Parameter, before: State) -> State:
    """A list of what a forward takes a parameter apart into; nothing, where it does not."""
    names = parts_of(module, parameter.name)
    # Edges are one tensor of two rows, which a forward takes apart just so.
    if len(names) < _FEWEST_PARTS or kind_by_name(parameter.name) is Kind.EDGES:
        return ()
    by_name = parameter.kind is Parameter.KEYWORD_ONLY
    is_graph = any(map(names_graph, names))
    parts: State = ()
    for place, name in enumerate(names):
        part = Parameter(name, parameter.kind)
        new = _slot(module, part, (*before, *parts), is_graph=is_graph, is_alone=False)
        parts = (*parts, replace(new, name=parameter.name, key=str(place)))
    return (Slot(parameter.name, Kind.LIST, (), is_sure=True, by_name=by_name), *parts)


def _nested(name: str, key: str, made: object, *, by_name: bool) -> State:
    """Tensors in a nest of lists, each as a slot of its shape."""
    if isinstance(made, Tensor):
        kind = BY_RANK.get(made.dim(), Kind.VECTOR)
        new = slot(name, kind, tuple(made.shape), key=key, is_sure=True, by_name=by_name)
        return (new,)
    parts = [*made] if isinstance(made, list | tuple) else []
    above = f"{key}." if key else ""
    inner = (_nested(name, f"{above}{n}", each, by_name=by_name) for n, each in enumerate(parts))
    return (Slot(name, Kind.LIST, (), key=key, is_sure=True, by_name=by_name), *chain(*inner))


def _states(module: nn.Module, parameter: Parameter, before: State) -> State:
    """The states that a recurrent module gets beside its input; nothing, where it gets none.

    They are those that a method of its own makes, else the pair of a step of an LSTM.
    """
    if not names_states(parameter.name):
        return ()
    by_name = parameter.kind is Parameter.KEYWORD_ONLY
    made = states_made(module) if before else None
    if made is not None:
        return _nested(parameter.name, "", made, by_name=by_name)
    cell = next((each for each in module.modules() if isinstance(each, nn.LSTMCell)), None)
    if cell is None:
        return ()
    pair = (
        slot(parameter.name, Kind.VECTOR, (1, cell.hidden_size), key=key, is_sure=True,
             by_name=by_name)
        for key in ("0", "1")
    )  # fmt: skip
    return (Slot(parameter.name, Kind.LIST, (), is_sure=True, by_name=by_name), *pair)


def _slot(
    module: nn.Module, parameter: Parameter, before: State, *, is_graph: bool, is_alone: bool
) -> Slot:
    name = parameter.name
    if before and is_switch(module, parameter):
        by_name = parameter.kind is Parameter.KEYWORD_ONLY
        return Slot(name, Kind.OFF, (), is_sure=True, by_name=by_name)
    kind = _kind(module, name, before, is_alone=is_alone)
    if kind is None and is_graph:
        kind = Kind.GRAPH_IDS if names_graph_ids(name) else None if before else Kind.NODES
    is_sure = kind is not None
    kind = kind or usual_kind(module)
    if kind is Kind.VECTOR and kind_by_name(name) is Kind.SEQUENCE:
        kind = Kind.SEQUENCE
    by_name = parameter.kind is Parameter.KEYWORD_ONLY
    new = slot(name, kind, _extents(module, kind), is_sure=is_sure, by_name=by_name)
    if kind is Kind.STEP and is_whole_step(name):
        new = changed((new,), 0, dtype=torch.int64)[0]
    annotation = "" if parameter.annotation is Parameter.empty else str(parameter.annotation)
    if before and _OPTIONAL.search(annotation):
        return Slot(name, Kind.ABSENT, (), is_sure=True, by_name=by_name)
    if kind is Kind.IMAGE and _LIST.search(annotation):
        return changed((new,), 0, is_listed=True, extents=new.extents[1:])[0]
    return new


def _kind(module: nn.Module, name: str, before: State, *, is_alone: bool) -> Kind | None:
    """The kind by the name, where it can be."""
    kind = kind_by_name(name)
    if kind in _NEVER_FIRST and (not before or is_alone):
        return None
    if kind in (Kind.STEP, Kind.LABEL, Kind.SEQUENCE) and before[0].kind is Kind.IDS:
        return None
    if kind is Kind.IDS and not has(module, nn.Embedding):
        # Letters of a text are made vectors without a table as well, each of one.
        other = kind if names_text(name) else Kind.COORDINATES
        return other if before else None
    return kind


def _extents(module: nn.Module, kind: Kind) -> Extents:
    """The usual shape of a kind, with the sizes that attributes of the module give."""
    usual = USUAL[kind]
    if kind is Kind.IMAGE:
        side = image_size(module)
        return (1, 3, *side) if side else usual
    if kind is Kind.WAVE:
        return (1, sound_channels(module) or usual[1], sound_length(module) or usual[2])
    if kind in (Kind.IDS, Kind.SEQUENCE, Kind.SERIES):
        longest = length(module)
        if longest is None:
            return usual
        if longest < LENGTH or kind is not Kind.IDS:
            axis = 2 if kind is Kind.SERIES else 1
            extent = longest if longest < usual[axis] else usual[axis]
            return (*usual[:axis], extent, *usual[axis + 1 :])
    return usual
