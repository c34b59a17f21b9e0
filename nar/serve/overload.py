"""Calls beyond what the server can do in time: none is taken for a while, or they are refused."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from threading import Event
from time import monotonic
from typing import Any, Final, NoReturn

import grpc
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from prometheus_client import Gauge

from nar.serve.calls import Call, Context, Proceed, request_id_of, time_remaining_s
from nar.serve.status import (
    DrainingError,
    ExpiredError,
    OverloadedError,
    pushback,
    status_of,
)
from nar.serve.telemetry import Telemetry
from nar.wire.tracing import REQUEST_ID

# How long the event loop rests at most, and goes on before it rests again (chosen; the
# campaigns in results/reliability.md passed with it).
REST_S, GO_ON_S = 0.05, 0.0005
# The same after so many rests in which no thread has answered: all of them are at long work, or
# wait for a store, and health probes and calls to be refused should not wait for them.
IN_VAIN: Final = 4
HASTY_REST_S, HASTY_GO_ON_S = 0.002, 0.002


class Resting:
    """Lets the event loop rest while the threads have enough to do, until one of them answers.

    Beyond its peak a server would spend its time on refusing: at five times of it four calls of
    five, each of which keeps the threads from running Python for a third of a millisecond. While
    the loop rests, calls wait in grpc, and it drops those beyond a bound by itself, at once and
    without Python:

        calls ---> [ wait in grpc ] ---> event loop ---> [ wait for a thread ] ---> threads
                          | too many         ^                  enough?                |
                          v                  +-------- rests until one answers --------+
                       dropped

    Args:
        have_enough: Whether a further call would only wait, or be refused.
        answered: Set by a thread that has answered; cleared here.
    """

    def __init__(self, have_enough: Callable[[], bool], answered: Event) -> None:
        self._have_enough = have_enough
        self._answered = answered
        self._in_vain = 0
        self._rest_at = 0.0

    def before_a_call(self) -> None:
        """Rest if there is enough to do, unless the last rest has just ended."""
        if not self._have_enough() or monotonic() < self._rest_at:
            return
        is_hasty = self._in_vain >= IN_VAIN
        # On purpose nothing that is awaited: the loop would take the next calls.
        has_answered = self._answered.wait(HASTY_REST_S if is_hasty else REST_S)
        self._answered.clear()
        self._in_vain = 0 if has_answered else self._in_vain + 1
        self._rest_at = monotonic() + (HASTY_GO_ON_S if is_hasty else GO_ON_S)


class Refusing:
    """Refuses the calls that a full server has no room for.

    Most of the calls beyond its bounds never come here: see `Resting`.

    Args:
        telemetry: Counts them.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self.handler: grpc.RpcMethodHandler[Any, Any] = grpc.stream_unary_rpc_method_handler(
            self._handle
        )

    async def _handle(self, _requests: object, context: Context) -> None:
        await self.refuse(
            context, OverloadedError("as many calls are in flight as may be; try again")
        )

    async def refuse(self, context: Context, error: OverloadedError) -> NoReturn:
        """End a call whose request was not read."""
        self._telemetry.rejected("overloaded")
        status, grpc_status = _status(str(error), math.ceil(error.retry_after_s))
        metadata = (
            *grpc_status.trailing_metadata,
            *pushback(status),
            (REQUEST_ID, request_id_of(context)),
        )
        await context.abort(grpc_status.code, grpc_status.details, metadata)


@lru_cache(maxsize=128)  # reasons are few, and waits are whole seconds
def _status(reason: str, retry_after_s: int) -> tuple[Status, grpc.Status]:
    """One status serves many calls, but for their ids."""
    status = status_of(OverloadedError(reason, retry_after_s))
    return status, rpc_status.to_status(status)


class Admission:
    """Sheds calls beyond a bound at once, rather than let all of them wait.

    A call counts for as long as a thread works on it, whether its caller is there or not.

    Attributes:
        is_closed: Whether every further call is turned away.
    """

    def __init__(self, max_in_flight: int, gauge: Gauge) -> None:
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._gauge = gauge
        self.is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether a further call is shed."""
        return self._in_flight >= self._max_in_flight and not self.is_closed

    def close(self) -> None:
        """Turn every further call away: the server ends."""
        self.is_closed = True

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed, or raise OverloadedError or DrainingError."""
        if self.is_closed:
            raise DrainingError("this server stops; ask another, or try again")
        if self.is_full:
            raise OverloadedError(f"{self._in_flight} calls are in flight; try again")
        self._count(1)
        try:
            return await proceed()
        finally:
            call.when_work_ends(partial(self._count, -1))

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._gauge.set(self._in_flight)


async def deadline(call: Call, proceed: Proceed) -> Message | None:
    """Proceed while there is time, or raise ExpiredError."""
    remaining = time_remaining_s(call.context)
    if remaining is not None and remaining <= 0:
        raise ExpiredError("the deadline had passed before work began")
    return await proceed()
