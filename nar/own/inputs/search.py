"""The search for inputs that a module runs on: depth first over repairs, within bounds."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import prod
from typing import Final, Protocol

from torch import nn

from nar.own.clock import Deadline, OutOfTimeError
from nar.own.construct.imports.stand_ins import StandInUsedError
from nar.own.inputs.calls import Outcome
from nar.own.inputs.probe import Prober
from nar.own.inputs.slots import State

# Measured on 399 modules: 40 are nearly always enough, and the slowest took 15 s on a busy machine.
MOST_PROBES: Final = 80
MOST_SECONDS: Final = 12.0  # chosen: somebody waits; only on a busy machine one took longer
# Of an attempt after others; chosen: enough to see whether a module that was built in another way
# runs with the likeliest inputs.
_LEAST_PROBES, _LEAST_SECONDS = 20, 2.0
_LONGEST = 3.0  # seconds of one run; chosen: three smaller inputs can be tried in its place
_DEEPEST = 14  # repairs in a row; chosen: twice what the longest right answer took
# Elements of all inputs; chosen: a gigabyte, and no usual input is near it.
_LARGEST: Final = 3 * 10**8
_WANTED: Final = re.compile(r"expected (\d+)")
_MESSAGE = 80  # characters of an error that tell it from others; chosen: a line of a terminal
# From this depth on, a repair after which the run stops earlier is a step back.
_FIRST_STEPS = 2
# Probes after a step back, until one comes further than the run before it; chosen: another kind
# shows by then whether it leads further.
_DETOUR = 9


class OutOfProbesError(Exception):
    """The bound on the number of probes is reached."""


class _OneRunTooLongError(TimeoutError):
    """One run took longer than a search may."""


class NoDataError(Exception):
    """The module lacks values, or a part that is not installed: other inputs will not help.

    Attributes:
        cause: What its forward raised.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Repairs(Protocol):
    """Gives the states that may mend a failed run, the likeliest first."""

    def __call__(self, search: "InputSearch", state: State, outcome: Outcome) -> Iterator[State]:
        """The states after a run."""


class Budget:
    """How many probes and how much time are left for a question, over all attempts at it.

    Time runs inside `running` only: building a module is no part of a search.
    """

    def __init__(self) -> None:
        self.probes = MOST_PROBES
        self.deadline = Deadline(0)
        self._seconds = MOST_SECONDS

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside, time runs; each attempt has some, however many were before it."""
        self.probes = max(self.probes, _LEAST_PROBES)
        self.deadline = Deadline(max(self._seconds, _LEAST_SECONDS))
        try:
            yield
        finally:
            self._seconds = self.deadline.left


@dataclass(slots=True)
class _Limit:
    """How many probes a part of a search has left.

    Attributes:
        left: How many; None once nothing bounds them.
        lifted_at: A run of more calls than these lifts the bound; None where no run does.
    """

    left: int | None
    lifted_at: int | None = None

    def count(self, outcome: Outcome) -> None:
        """Note a probe."""
        if self.lifted_at is not None and len(outcome.calls) > self.lifted_at:
            self.left = None
        elif self.left is not None:
            self.left -= 1


class InputSearch:
    """Probes a module, knows what each probe gave, and repairs what failed.

    Args:
        module: The module.
        budget: What it may cost; it is used up here.
        repairs: How a failed run is mended.
        is_strict: Whether unbatched calls are refused.
    """

    def __init__(
        self, module: nn.Module, budget: Budget, repairs: Repairs, *, is_strict: bool = True
    ) -> None:
        self.module = module
        self.outcomes: dict[State, Outcome] = {}
        self._budget, self._repairs, self._is_strict = budget, repairs, is_strict
        self._prober = Prober(module)
        self._limits: list[_Limit] = []
        self._seen: set[State] = set()

    @property
    def probes(self) -> int:
        """How many were made."""
        return len(self.outcomes)

    def probe(self, state: State) -> Outcome:
        """One run, or what is known of it.

        Raises:
            OutOfProbesError: As many as may be were made.
            OutOfTimeError: The time is over.
        """
        known = self.outcomes.get(state)
        if known is not None:
            return known
        if sum(prod(each.extents) for each in state) > _LARGEST:
            return Outcome(error=ValueError("the inputs would be too large"))
        if self._budget.probes <= 0 or any(each.left == 0 for each in self._limits):
            raise OutOfProbesError
        self._budget.deadline.check()
        self._budget.probes -= 1
        imported = len(sys.modules)
        outcome = self._run(state)
        if isinstance(outcome.error, _OneRunTooLongError) and len(sys.modules) > imported:
            # It took long to import what it calls, as parts of torch: that is over for good.
            self._budget.deadline = Deadline(max(self._budget.deadline.left, _LONGEST))
            outcome = self._run(state)
        for limit in self._limits:
            limit.count(outcome)
        self.outcomes[state] = outcome
        return outcome

    def _run(self, state: State) -> Outcome:
        limit = Deadline(min(self._budget.deadline.left, _LONGEST))
        try:
            return self._prober.run(state, limit, is_strict=self._is_strict)
        except OutOfTimeError:
            return Outcome(error=_OneRunTooLongError("one run took longer than a search may"))

    @contextmanager
    def at_most(self, probes: int, lifted_at: int | None = None) -> Iterator[None]:
        """Inside, no more probes than that are made; reaching it ends the block in silence.

        Args:
            probes: How many.
            lifted_at: Once a run makes more calls than these, the bound holds no longer.
        """
        self._limits.append(_Limit(probes, lifted_at))
        try:
            yield
        except OutOfProbesError:
            if self._budget.probes <= 0:
                raise
        finally:
            self._limits.pop()

    @contextmanager
    def granted(self, probes: int, seconds: float) -> Iterator[None]:
        """Inside, some more may be spent; reaching the bound ends the block in silence."""
        self._budget.probes = max(self._budget.probes, probes)
        self._budget.deadline = Deadline(max(self._budget.deadline.left, seconds))
        try:
            with self.at_most(probes):
                yield
        except (OutOfProbesError, OutOfTimeError):
            pass

    def depth_first(self, state: State, depth: int = 0) -> State | None:
        """The first state found from one on that the module runs on."""
        if state in self._seen or depth > _DEEPEST:
            return None
        self._seen.add(state)
        outcome = self.probe(state)
        if outcome.is_ok:
            return state
        if isinstance(outcome.error, StandInUsedError) or (
            outcome.error is not None and self._prober.lacks_data(outcome.error)
        ):
            raise NoDataError(outcome.error)
        for repaired in self._repairs(self, state, outcome):
            if repaired in self._seen:
                continue
            after = self.probe(repaired)
            if not _is_better(outcome, after, depth):
                self._seen.add(repaired)
                continue
            if len(repaired) > len(state):
                self._grant_key()
            is_back = len(after.calls) < len(outcome.calls) and not after.is_ok
            detour = self.at_most(_DETOUR, lifted_at=len(outcome.calls))
            with detour if is_back else nullcontext():
                # A mapping has as many keys as it has.
                found = self.depth_first(repaired, depth + (len(repaired) <= len(state)))
                if found is not None:
                    return found
        return None

    def _grant_key(self) -> None:
        """One probe more: each key of a mapping is asked for by a run of its own."""
        self._budget.probes += 1
        for limit in self._limits:
            if limit.left is not None:
                limit.left += 1

    def furthest(self) -> tuple[State, Outcome] | None:
        """The probe that came furthest."""
        if not self.outcomes:
            return None
        return max(self.outcomes.items(), key=lambda pair: len(pair[1].calls))


def _is_better(before: Outcome, after: Outcome, depth: int) -> bool:
    """Whether a run came further, or fails for another reason at the same place."""
    if after.is_ok:
        return True
    is_further = len(after.calls) > len(before.calls)
    is_back = len(after.calls) < len(before.calls) and depth > _FIRST_STEPS
    return is_further or (_signature(after) != _signature(before) and not is_back)


def _without_numbers(outcome: Outcome) -> str:
    """What an error says, whatever the sizes that came; a key and a size that is wanted count."""
    if isinstance(outcome.error, KeyError):
        return outcome.message
    wanted = " ".join(_WANTED.findall(outcome.message))
    return re.sub(r"\d+", "#", outcome.message)[:_MESSAGE] + wanted


def _signature(outcome: Outcome) -> tuple[object, ...]:
    """What a failure is, whatever the numbers in it."""
    call, layer = outcome.failing, outcome.layer
    shapes = call.shapes if call else layer.shapes if layer else ()
    return (
        call.site if call else None,
        type(outcome.error).__name__,
        _without_numbers(outcome),
        tuple(map(len, shapes)),
    )
