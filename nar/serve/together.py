"""Calls of one method that waited for a thread are answered together, which takes little longer.

Only the step between decoding and encoding is shared. What is wrong with one call is said to it
alone, and whoever leaves is answered for nobody while the others wait on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from google.protobuf.message import Message

from nar.base.errors import NarError
from nar.serve.calls import Patience, StageClock

Item = TypeVar("Item")
Record = TypeVar("Record")
Result = TypeVar("Result")
# The response to a call, or what makes its status.
Outcome: TypeAlias = Message | Exception


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call asks.

    Attributes:
        received: Bytes of its request.
        read: Makes the request of them.
        clock: Of the call.
    """

    received: bytes
    read: Callable[[bytes], Message]
    clock: StageClock

    def outcome(self, step: Callable[[Any, StageClock], Result]) -> Result | Exception:
        """What a step makes of the request, or what it raises."""
        return _outcome(lambda: step(self.read(self.received), self.clock))


Work = Callable[[Sequence[Asked]], Sequence[Outcome]]


def one_by_one(behaviour: Callable[[Any, StageClock], Message]) -> Work:
    """The work of a method that answers every call by itself."""
    return lambda asked: [one.outcome(behaviour) for one in asked]


def together(
    asked: Sequence[Asked],
    decode: Callable[[Any, StageClock], list[Item | NarError]],
    answer: Callable[[Sequence[Item], StageClock], Sequence[Record | NarError]],
    encode: Callable[[Sequence[Record | NarError], StageClock], Message],
) -> list[Outcome]:
    """The outcome of each call, of one answer to the items of all of them.

    Args:
        asked: The calls.
        decode: Makes the items of a request, or errors in their places.
        answer: Answers items, in order; an error of NAR that it raises concerns all of them.
        encode: Makes a response of the answers to the items of a call.
    """
    decoded = [one.outcome(decode) for one in asked]
    calls = [
        (one.clock, items)
        for one, items in zip(asked, decoded, strict=True)
        if not isinstance(items, Exception)
    ]
    answers = iter(_answers(calls, answer))
    outcomes: list[Outcome] = []
    for one, items in zip(asked, decoded, strict=True):
        records = items if isinstance(items, Exception) else next(answers)
        if isinstance(records, Exception):
            outcomes.append(records)
        else:
            outcomes.append(_outcome(partial(encode, records, one.clock)))
    return outcomes


def _outcome(step: Callable[[], Result]) -> Result | Exception:
    try:
        return step()
    # Whatever it is: it concerns one call and none of the others.
    except Exception as error:
        return error


Calls: TypeAlias = Sequence[tuple[StageClock, list[Item | NarError]]]
Answers: TypeAlias = list[list[Record | NarError] | Exception]


def _answers(
    calls: Calls[Item],
    answer: Callable[[Sequence[Item], StageClock], Sequence[Record | NarError]],
) -> Answers[Record]:
    """The records of each call, or what it is refused with."""
    try:
        return list(_shared(calls, answer)) if calls else []
    except NarError as error:
        return [error for _ in calls]
    except Exception as error:
        if len(calls) == 1:
            return [error]
        # Whose fault it is shows when each of them is alone.
        return [outcome for call in calls for outcome in _answers([call], answer)]


def _shared(
    calls: Calls[Item],
    answer: Callable[[Sequence[Item], StageClock], Sequence[Record | NarError]],
) -> Answers[Record]:
    """The records of each call, of one answer; every call spends the time that all of it takes."""
    clock = StageClock(Patience.of_all([own.patience for own, _ in calls]))
    good = [item for _, items in calls for item in items if not isinstance(item, NarError)]
    try:
        records = iter(answer(good, clock))
    finally:
        for own, _ in calls:
            own.join(clock)
    return [
        [item if isinstance(item, NarError) else next(records) for item in items]
        for _, items in calls
    ]
