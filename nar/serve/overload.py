"""Calls beyond what the server can do: for a while none is taken, others are refused at once."""

import math
from collections.abc import Callable
from functools import lru_cache
from threading import Event
from time import monotonic
from typing import Any, Final, NoReturn

import grpc
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from nar.serve.calls import Context, request_id_of
from nar.serve.status import OverloadedError, pushback, status_of
from nar.serve.telemetry import Telemetry
from nar.wire.tracing import REQUEST_ID

# How long the event loop rests at most, and goes on before it rests again.
REST_S, GO_ON_S = 0.05, 0.0005
# The same after so many rests in which no thread has answered: all of them are at long work, or
# wait for a store, and who asks for health, or has to be refused, should hear.
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

    Most calls that are too many never come here: see `Resting`.

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
        told, status = _status(str(error), math.ceil(error.retry_after_s))
        metadata = (
            *status.trailing_metadata,
            *pushback(told),
            (REQUEST_ID, request_id_of(context)),
        )
        await context.abort(status.code, status.details, metadata)


@lru_cache(maxsize=128)
def _status(reason: str, retry_after_s: int) -> tuple[Status, grpc.Status]:
    """One status serves many calls, but for their ids."""
    told = status_of(OverloadedError(reason, retry_after_s))
    return told, rpc_status.to_status(told)
