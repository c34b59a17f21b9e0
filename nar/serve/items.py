"""The items of calls: each is decoded, answered and counted by itself, under its own status.

Calls of one method that waited for a thread may be answered together, which takes little longer:
only the step between decoding and encoding is shared. An error in one call is the answer to that
call alone, and a caller who leaves does not stop the work while others wait for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from google.protobuf.message import Message

from nar.answers.retrieve import unknown
from nar.base.errors import NarError
from nar.graphs.fingerprints import Fingerprinted
from nar.index.rows import IndexRow
from nar.serve.calls import Patience, StageClock
from nar.serve.scopes import EVERYBODY, Scope
from nar.serve.status import code_name, status_of
from nar.serve.telemetry import Telemetry
from nar.v1 import retrieval_pb2 as wire
from nar.wire.graphs import decode_graph
from nar.wire.limits import Limits
from nar.wire.queries import decode_each

Item = TypeVar("Item")
Record = TypeVar("Record")
Result = TypeVar("Result")
# The response to a call, or the error that becomes its status.
Reply: TypeAlias = Message | Exception


@dataclass(frozen=True, slots=True)
class Received:
    """The request of one call, as it came.

    Attributes:
        body: Its bytes.
        parse: Makes the message out of the bytes.
        clock: The clock of the call.
        scope: What its caller may see and do.
    """

    body: bytes
    parse: Callable[[bytes], Message]
    clock: StageClock
    scope: Scope = EVERYBODY

    def reply(self, step: Callable[[Any, StageClock], Result]) -> Result | Exception:
        """The result of a step with the message, or what the step raises."""
        return _result(lambda: step(self.parse(self.body), self.clock))

    def has(self, property_of: Callable[[Any], bool]) -> bool:
        """Whether its message has a property; bytes that are no message have none."""
        return _result(lambda: property_of(self.parse(self.body))) is True


# Answers requests of one method: a reply for each.
Work = Callable[[Sequence[Received]], Sequence[Reply]]


def one_by_one(behaviour: Callable[[Any, StageClock], Message]) -> Work:
    """The work of a method that answers every call by itself."""
    return lambda requests: [each.reply(behaviour) for each in requests]


def by_scope(work_of: Callable[[Scope], Work]) -> Work:
    """The work of a method whose answers depend on what callers may see.

    Args:
        work_of: Gives the work for the callers of one scope.
    """

    def work(requests: Sequence[Received]) -> Sequence[Reply]:
        scopes = dict.fromkeys(each.scope for each in requests)
        if len(scopes) == 1:
            return work_of(*scopes)(requests)
        replies: dict[int, Reply] = {}
        for scope in scopes:
            positions = [at for at, each in enumerate(requests) if each.scope == scope]
            answers = work_of(scope)([requests[at] for at in positions])
            replies |= zip(positions, answers, strict=True)
        return [replies[position] for position in range(len(requests))]

    return work


def answer_at_once(
    requests: Sequence[Received],
    decode: Callable[[Any, StageClock], list[Item | NarError]],
    answer: Callable[[Sequence[Item], StageClock], Sequence[Record | NarError]],
    encode: Callable[[Sequence[Record | NarError], StageClock], Message],
) -> list[Reply]:
    """The reply to each request, where the items of all requests are answered at once.

    Args:
        requests: The requests of several calls of one method.
        decode: Makes the items of a message, or errors in their places.
        answer: Answers items, in order; a NarError that it raises is the reply to every request.
        encode: Makes a response out of the answers to the items of a call.
    """
    decoded = [each.reply(decode) for each in requests]
    calls = [
        (each.clock, items)
        for each, items in zip(requests, decoded, strict=True)
        if not isinstance(items, Exception)
    ]
    answers = iter(_answers(calls, answer))
    replies: list[Reply] = []
    for each, items in zip(requests, decoded, strict=True):
        records = items if isinstance(items, Exception) else next(answers)
        if isinstance(records, Exception):
            replies.append(records)
        else:
            replies.append(_result(partial(encode, records, each.clock)))
    return replies


def _result(step: Callable[[], Result]) -> Result | Exception:
    try:
        return step()
    # Any error concerns this call, and no other call.
    except Exception as error:
        return error


Calls: TypeAlias = Sequence[tuple[StageClock, list[Item | NarError]]]
Answers: TypeAlias = list[list[Record | NarError] | Exception]


def _answers(
    calls: Calls[Item],
    answer: Callable[[Sequence[Item], StageClock], Sequence[Record | NarError]],
) -> Answers[Record]:
    """The records of each call, or the error that it is refused with."""
    try:
        return list(_shared(calls, answer)) if calls else []
    except NarError as error:
        return [error for _ in calls]
    except Exception as error:
        if len(calls) == 1:
            return [error]
        # Which call is at fault shows when each is answered alone.
        return [result for call in calls for result in _answers([call], answer)]


def _shared(
    calls: Calls[Item],
    answer: Callable[[Sequence[Item], StageClock], Sequence[Record | NarError]],
) -> Answers[Record]:
    """The records of each call, by one shared answer, whose whole time counts for every call."""
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


class NamedRows(Protocol):
    """What look-ups need of an index."""

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key of no row is left out."""


class Items:
    """Decodes and encodes the items of calls.

    Args:
        limits: What the server accepts.
        telemetry: Counts items by status.
    """

    def __init__(self, limits: Limits, telemetry: Telemetry) -> None:
        self.limits = limits
        self._telemetry = telemetry

    def decode(
        self,
        field: str,
        items: Sequence[Item],
        decode: Callable[[Item], Record],
        clock: StageClock,
    ) -> list[Record | NarError]:
        """The record of each item, or the error that it deserves.

        Raises:
            InvalidQueryError: No items, or too many.
            GivenUpError: Nobody waits for the items that remain.
        """

        def patiently(item: Item) -> Record:
            clock.patience.check()
            return decode(item)

        return decode_each(field, items, patiently, max_items=self.limits.max_items)

    def graph(self, message: wire.Graph, clock: StageClock) -> Fingerprinted:
        """The canonical graph of a message, if it keeps to the limits.

        Raises:
            InvalidGraphError: Names the field at fault.
        """
        return decode_graph(
            message,
            max_nodes=self.limits.max_nodes,
            max_edges=self.limits.max_edges,
            fingerprint=clock.fingerprint,
        )

    def encode(
        self,
        method: str,
        outcomes: Sequence[Record | NarError],
        encode: Callable[[Record], Result],
        refusal: Callable[..., Result],
    ) -> list[Result]:
        """The result of each item: its answer, or its error as a status of its own.

        Args:
            method: Name under which the items are counted.
            outcomes: A record or an error of each item.
            encode: Makes the result of a record.
            refusal: Makes the result that has nothing but a status.
        """
        results = []
        for outcome in outcomes:
            if isinstance(outcome, NarError):
                status = status_of(outcome)
                result, code = refusal(status=status), code_name(status)
            else:
                result, code = encode(outcome), "OK"
            self._telemetry.item_answered(method, code)
            results.append(result)
        return results


def rows_of(names: Sequence[str | NarError], index: NamedRows) -> list[IndexRow | NarError]:
    """The row of each name or id, or the error that it is unknown; errors stay as they are."""
    rows = index.get([name for name in names if isinstance(name, str)])
    return [(rows.get(name) or unknown(name)) if isinstance(name, str) else name for name in names]
