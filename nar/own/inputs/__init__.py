"""The inputs of a module, found from the module alone.

The order of evidence: what the user states, what the signature, the names and the layers say, what
the module shows by failing, what is usual.
"""

import gc
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter
from typing import Final

import numpy as np
import torch
from torch import nn

from nar.base.errors import CaptureError
from nar.capture import CaptureInputs
from nar.capture.forward.dispatch import reason_of
from nar.own.clock import OutOfTimeError
from nar.own.given import Given
from nar.own.inputs.demands import described
from nar.own.inputs.evidence import first_states, optional_parameters, stated_call
from nar.own.inputs.names import kind_by_name
from nar.own.inputs.probe import wants_data
from nar.own.inputs.repairs import repairs
from nar.own.inputs.search import Budget, InputSearch, NoDataError, OutOfProbesError
from nar.own.inputs.settle import (
    CallReading,
    other_sizes_differ,
    readings,
    settled,
    share_reached,
    widths_unasked,
)
from nar.own.inputs.slots import WITHOUT_TENSOR, Kind, State, call_of, texts_of

__all__ = [
    "Budget",
    "Inferred",
    "NoInputsError",
    "UndecidedError",
    "infer_inputs",
    "stated_call",
    "wants_data",
]

# Chosen: where tensors are left out, an answer without a fifth of the weights would be about a part
# of the module; what else may be left out can be a setting, as the scale that an image is magnified
# by. Measured: the forward of an agent runs its actor alone, a fifth of the weights.
LEAST_REACHED_OF_SOME: Final = 0.8
LEAST_REACHED_OF_SETTINGS: Final = 0.5  # of what may be a setting, see above
LEAST_REACHED: Final = 0.1  # where nothing is left out: below the fifth of such an agent
SURELY_REACHED: Final = 0.9  # measured: above it the graph was nearly always that of the true input
_MANY_PROBES: Final = 40  # measured: right answers nearly always took fewer
# Chosen: the likeliest kind may need several repairs; another one shows soon whether it is right.
_FIRST_KIND, _OTHER_KINDS = 32, 9
_HALF_A_PERCENT = 0.005  # what rounds to nothing
_SHOWN = 4  # tries in an error; chosen: a few lines of a terminal


class NoInputsError(CaptureError):
    """No inputs were found, and building the module in another way would not help."""


class UndecidedError(NoInputsError):
    """A call was found, and another one that might as well be meant has another graph.

    Args:
        model: Name of the model.
        texts: The call that was found, in the syntax of ``--input``.
        other: The other call.
    """

    def __init__(self, model: str, texts: tuple[str, ...], other: CallReading) -> None:
        one, two = (f"--input {' --input '.join(call)}" for call in (texts, other.texts))
        reason = (
            f"{other.clause} it runs other operators, and nothing says which call is meant: "
            f"state {one}, or {two}"
        )
        super().__init__(model, "-", reason)
        self.texts = texts


@dataclass(frozen=True, slots=True)
class Inferred:
    """The inputs that a search found.

    Attributes:
        inputs: The call.
        texts: The call in the syntax of ``--input``.
        weights_reached: The share of the weights, by elements, that the call reaches.
        sizes_matter: Whether other sizes run other operators; None where that is not known.
        doubts: Why the inputs may be wrong; none, where nothing speaks against them.
        readings: Other calls that might as well be meant, and may have another graph.
        probes: How many runs the search took.
        seconds: How long it took.
    """

    inputs: CaptureInputs
    texts: tuple[str, ...]
    weights_reached: float
    sizes_matter: bool | None
    doubts: tuple[str, ...]
    readings: tuple[CallReading, ...]
    probes: int
    seconds: float

    @property
    def is_sure(self) -> bool:
        """Whether nothing speaks against them."""
        return not self.doubts


def infer_inputs(
    name: str, module: nn.Module, given: Given | None = None, budget: Budget | None = None
) -> Inferred:
    """Inputs that a module runs on, and what speaks for them.

    The module runs without data where it can, in evaluation mode, and is afterwards as it was.

    Args:
        name: Name of the model, for errors.
        module: The module, on any device.
        given: What the user states of the inputs; the rest is found.
        budget: What the search may cost; it is used up here.

    Raises:
        NoInputsError: Nothing was found in these bounds, or what was found leaves inputs out and
            reaches too little of the weights. The reason says what was tried, and how to state the
            inputs.
        CaptureError: The forward reads values, and the module has none.
    """
    start = time.monotonic()
    budget = budget or Budget()
    given = given or Given()
    probes = 0
    failed: InputSearch | None = None
    with _generators_kept(), _old_objects_left_alone(), budget.running():
        # What is right for a batch is tried first; some modules take single samples only.
        for is_strict in (True, False):
            search = InputSearch(module, budget, repairs, is_strict=is_strict)
            try:
                found = _found(search, given)
            except NoDataError as error:
                raise CaptureError(name, "-", reason_of(error.cause)) from error.cause
            probes += search.probes
            if found is not None:
                state, number = found
                return _inferred(name, search, state, number, probes, start, is_strict=is_strict)
            failed = failed or search
    raise NoInputsError(name, "-", _nothing_found(failed))


def _found(search: InputSearch, given: Given) -> tuple[State, int] | None:
    """The first state that the module runs on, and the number of the kind that led there."""
    try:
        for number, start in enumerate(first_states(search.module, given)):
            with search.at_most(_OTHER_KINDS if number else _FIRST_KIND):
                state = search.depth_first(start)
                if state is not None:
                    return state, number
    except (OutOfProbesError, OutOfTimeError):
        pass
    return None


def _inferred(
    name: str,
    search: InputSearch,
    state: State,
    number: int,
    probes: int,
    start: float,
    *,
    is_strict: bool,
) -> Inferred:
    state = settled(search, state)
    reached = share_reached(search.module, search.outcomes[state])
    texts = texts_of(state)
    least = _least_reached(optional_parameters(search.module, state))
    if reached < least and not all(each.is_stated for each in state):
        reason = (
            f"the inputs found, {' '.join(texts)}, reach {reached:.0%} of the weights only; "
            f"{_way_out(state)}"
        )
        raise NoInputsError(name, "-", reason)
    differ = other_sizes_differ(search, state)
    doubts = (
        *_doubts(state, reached, number, probes, is_strict=is_strict),
        *_left_open(search, state),
    )
    others = tuple(readings(search, state))
    seconds = time.monotonic() - start
    return Inferred(call_of(state), texts, reached, differ, doubts, others, search.probes, seconds)


def _may_be_tensor(parameter: Parameter) -> bool:
    """Whether a parameter that may be None is an input, by its name or its type."""
    return kind_by_name(parameter.name) is not None or "Tensor" in str(parameter.annotation)


def _share(part: float) -> str:
    return f"{part:.0%}" if part > _HALF_A_PERCENT else "under 1%"


def _least_reached(left_out: Sequence[Parameter]) -> float:
    """The least share of the weights with which there is an answer, by what is left out."""
    if not left_out:
        return LEAST_REACHED
    is_some = any(map(_may_be_tensor, left_out))
    return LEAST_REACHED_OF_SOME if is_some else LEAST_REACHED_OF_SETTINGS


def _doubts(
    state: State, reached: float, number: int, probes: int, *, is_strict: bool
) -> Iterator[str]:
    if reached < SURELY_REACHED:
        yield f"the inputs reach {reached:.0%} of the weights"
    kinds = " and ".join(dict.fromkeys(str(each.kind) for each in state if not each.is_sure))
    on = [each.path for each in state if each.kind is Kind.ON]
    if on:
        yield f"it runs with {' and '.join(on)} on only"
    elif number and kinds:
        yield f"that it takes {kinds} is what was left when likelier kinds had failed"
    if not is_strict:
        yield "it runs on a single sample, and on no batch"
    # Each key of a mapping is asked for by a run of its own.
    tries = probes - sum(bool(each.key) for each in state)
    if tries > _MANY_PROBES:
        yield f"it took {tries} tries to find inputs"


def _left_open(search: InputSearch, state: State) -> Iterator[str]:
    """What of the inputs might as well be otherwise, by all that the module shows.

    Measured on 120 classes of libraries: half of the answers that left a mask out were wrong, of
    the others one in thirty.
    """
    if all(each.is_stated for each in state):
        return
    optional = optional_parameters(search.module, state)
    masks = [each.name for each in optional if kind_by_name(each.name) is Kind.MASK]
    if masks:
        yield f"it may be called with {masks[0]} too, which runs more"
    tensors = [each.name for each in optional if _may_be_tensor(each) and each.name not in masks]
    left = 1 - share_reached(search.module, search.outcomes[state])
    if tensors and left > 0:
        more = f" and {len(tensors) - 1} more inputs" if len(tensors) > 1 else ""
        yield (
            f"it may be called with {tensors[0]}{more} too: without, {_share(left)} of the weights "
            "are not reached"
        )
    for path in widths_unasked(search, state):
        yield f"no layer asks for the width of {path}"


def _nothing_found(search: InputSearch | None) -> str:
    """What was tried, and the one line that goes on."""
    furthest = search.furthest() if search else None
    if search is None or furthest is None:
        return "there was no time to find its inputs: state them with --input x=1x3x224x224"
    state, outcome = furthest
    error = outcome.error
    assert error is not None, "a run that ended well is no failure"
    wanted = described(outcome.failing, outcome.message) if outcome.failing else ""
    reason = f"{reason_of(error)}{f': {wanted}' if wanted else ''}"
    if all(each.is_stated or each.kind in WITHOUT_TENSOR for each in state):
        return f"{reason}; it was given {' '.join(texts_of(state))}: state other inputs"
    tried = list(dict.fromkeys(" ".join(texts_of(each)) for each in search.outcomes))
    listed = ", or ".join(tried[:_SHOWN])
    rest = f", and {len(tried) - _SHOWN} others" if len(tried) > _SHOWN else ""
    return (
        f"{reason} (with {' '.join(texts_of(state))}); no inputs were found that it runs on: "
        f"tried {listed}{rest}; {_way_out(state)}"
    )


def _way_out(state: State) -> str:
    return f"state them: --input {' --input '.join(texts_of(state))}"


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """Inside, garbage is looked for among new objects only.

    Each run makes so many objects that all are looked through again and again: with libraries
    loaded these are a million, and took a third of a search. A program that has objects frozen
    itself keeps them so.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _generators_kept() -> Iterator[None]:
    """Inside, random numbers may be drawn; afterwards every generator is as it was."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
