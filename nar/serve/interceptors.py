"""What happens around every call: outcome, token, admission, deadline, in that order.

The outcome comes first, so that metrics also see what the other layers refuse: these count by
the reason, and are no part of the calls whose outcome and latency is watched. Health and
reflection pass untouched: a probe must work without a token and while the server is full.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, NoReturn, Protocol, TypeAlias, cast

import grpc
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from prometheus_client import Gauge

from nar.serve.calls import REQUEST_ID, Call, Context, request_id_of
from nar.serve.patience import Patience
from nar.serve.stages import StageClock
from nar.serve.status import (
    DrainingError,
    ExpiredError,
    ForbiddenError,
    OverloadedError,
    OversizedError,
    SlowUploadError,
    UnauthenticatedError,
    code_name,
    status_of,
)
from nar.serve.telemetry import Telemetry
from nar.serve.tokens import Tokens
from nar.serve.uploads import Uploads
from nar.serve.workers import Workers

log = logging.getLogger(__name__)

# Quoted: this is generic in the stubs only.
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Proceed = Callable[[], Awaitable[Message]]
Behaviour = Callable[[Message, StageClock], Message]

# At the deadline the client ends the call too, and its word may come before our clock is there.
CLOCK_MARGIN_S: Final = 0.05

# Every method but these is for writers.
READING: Final = frozenset(
    {"Search", "Embed", "Get", "Describe", "SearchStream", "List", "Explain"}
)

REJECTIONS: Final[dict[type[Exception], str]] = {
    ForbiddenError: "forbidden",
    UnauthenticatedError: "unauthenticated",
    DrainingError: "draining",
    OverloadedError: "overloaded",
    OversizedError: "oversized",
    ExpiredError: "expired",
    SlowUploadError: "slow",
}


class Layer(Protocol):
    """Something done around a call."""

    async def __call__(self, call: Call, proceed: Proceed) -> Message:
        """Do it, and proceed to the next layer or refuse by raising."""


class Outcome:
    """Turns errors into statuses, and counts and times every call by what became of it."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    async def __call__(self, call: Call, proceed: Proceed) -> Message:
        """Proceed; whatever is raised becomes the status of the call."""
        started = time.perf_counter()
        try:
            response = await proceed()
        except asyncio.CancelledError:
            self._ended(call, _given_up(call.context), started)
            raise
        # The last resort: whatever escapes is a fault of ours, and the caller learns only its id.
        except Exception as error:
            status = status_of(error, call.request_id)
            if type(error) in REJECTIONS:
                self._telemetry.rejected(REJECTIONS[type(error)])
                _write(call, code_name(status), time.perf_counter() - started)
            else:
                self._ended(call, code_name(status), started)
            _forget_frames(error)
            await _abort(call, status)
        self._ended(call, "OK", started)
        return response

    def _ended(self, call: Call, code: str, started: float) -> None:
        elapsed_s = time.perf_counter() - started
        self._telemetry.call_ended(call.method, code, elapsed_s)
        _write(call, code, elapsed_s)
        for stage, seconds in call.clock.seconds.items():
            self._telemetry.stage_ran(stage, seconds)


def _write(call: Call, code: str, elapsed_s: float) -> None:
    """One line a call, without anything that it carried."""
    stages = {name: round(seconds, 6) for name, seconds in call.clock.seconds.items()}
    fields = {"request_id": call.request_id, "method": call.method, "code": code}
    log.info("call", extra=fields | {"seconds": round(elapsed_s, 6), "stages": stages})


def _given_up(context: Context) -> str:
    """Why a call was cancelled: grpc does so both when its client leaves and at its deadline."""
    remaining = _time_remaining_s(context)
    late = remaining is not None and remaining <= CLOCK_MARGIN_S
    return "DEADLINE_EXCEEDED" if late else "CANCELLED"


def _forget_frames(error: BaseException) -> None:
    """Let go of what the frames of an error hold: the request, megabytes of it.

    With the error that grpc aborts a call by they form a ring, which only a late run of the
    garbage collector would find: uploads that are refused would fill the memory.
    """
    chained: BaseException | None = error
    while chained is not None:
        chained.__traceback__ = None
        chained = chained.__context__


async def _abort(call: Call, status: Status) -> NoReturn:
    rich = rpc_status.to_status(status)
    metadata = (*rich.trailing_metadata, (REQUEST_ID, call.request_id))
    await call.context.abort(rich.code, rich.details, metadata)


class Authentication:
    """Lets only those pass who bring a bearer token that may call the method."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def __call__(self, call: Call, proceed: Proceed) -> Message:
        """Proceed, or raise UnauthenticatedError or ForbiddenError."""
        metadata = call.context.invocation_metadata() or ()
        given = next((value for key, value in metadata if key == "authorization"), "")
        role = self._tokens.role(str(given))
        if role is None:
            raise UnauthenticatedError("wanted the metadata `authorization: Bearer <token>`")
        if role == "reader" and call.method not in READING:
            raise ForbiddenError(f"wanted the token of a writer for {call.method}, came a reader's")
        return await proceed()


async def only_reads(call: Call, proceed: Proceed) -> Message:
    """Proceed with what reads, or raise ForbiddenError: the server takes no writes."""
    if call.method not in READING:
        raise ForbiddenError(
            f"this server takes no {call.method}: wanted one that runs with `nar serve --writable` "
            "or server.writable"
        )
    return await proceed()


class Admission:
    """Sheds calls beyond a bound at once, rather than let all of them wait.

    A call counts for as long as a thread works on it, whether its caller is there or not.
    """

    def __init__(self, max_in_flight: int, gauge: Gauge) -> None:
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._gauge = gauge
        self._is_closed = False

    def close(self) -> None:
        """Turn every further call away: the server ends."""
        self._is_closed = True

    async def __call__(self, call: Call, proceed: Proceed) -> Message:
        """Proceed, or raise OverloadedError or DrainingError."""
        if self._is_closed:
            raise DrainingError("this server stops; ask another, or try again")
        if self._in_flight >= self._max_in_flight:
            raise OverloadedError(f"{self._in_flight} calls are in flight; try again")
        self._count(1)
        try:
            return await proceed()
        finally:
            call.when_work_ends(partial(self._count, -1))

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._gauge.set(self._in_flight)


async def deadline(call: Call, proceed: Proceed) -> Message:
    """Proceed while there is time, or raise ExpiredError."""
    remaining = _time_remaining_s(call.context)
    if remaining is not None and remaining <= 0:
        raise ExpiredError("the deadline had passed before work began")
    return await proceed()


def _time_remaining_s(context: Context) -> float | None:
    remaining: float | None = context.time_remaining()
    return remaining


class Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Puts layers around the unary methods of one service.

    Args:
        service: Full name; calls of other services pass untouched.
        layers: Outermost first.
        uploads: How requests are read.
        workers: Where the methods run.
        telemetry: Counts calls of methods that do not exist.
        max_call_s: After that a call is given up, whatever its deadline.
    """

    def __init__(
        self,
        service: str,
        layers: Sequence[Layer],
        uploads: Uploads,
        workers: Workers,
        telemetry: Telemetry,
        max_call_s: float,
    ) -> None:
        self._prefix = f"/{service}/"
        self._layers = tuple(layers)
        self._uploads = uploads
        self._workers = workers
        self._telemetry = telemetry
        self._max_call_s = max_call_s

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """Wrap the handler of a method of ours.

        The request is read inside the layers, as a stream of one message: by default grpc reads it
        before anybody has looked at the token, and answers bytes that are no message with UNKNOWN,
        uncounted.
        """
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None:
            self._telemetry.rejected("unknown_method")
            return handler
        if not method.startswith(self._prefix):
            return handler
        return grpc.stream_unary_rpc_method_handler(
            partial(self._run, method.removeprefix(self._prefix), handler),
            response_serializer=handler.response_serializer,
        )

    async def _run(
        self, method: str, handler: Handler, _requests: object, context: Context
    ) -> Message:
        # The methods of `Servicer` take the clock of the call in place of grpc's context.
        behaviour = cast(Behaviour, handler.unary_unary)
        read = cast(Callable[[bytes], Message], handler.request_deserializer)
        remaining_s = _time_remaining_s(context)
        patience = Patience(min(self._max_call_s, math.inf if remaining_s is None else remaining_s))
        call = Call(method, context, StageClock(patience), request_id_of(context))
        context.set_trailing_metadata(((REQUEST_ID, call.request_id),))

        async def answer() -> Message:
            async with self._uploads.message_of(call) as received:
                return await self._workers.run(
                    call, len(received), lambda: behaviour(read(received), call.clock)
                )

        proceed: Proceed = answer
        for layer in reversed(self._layers):
            proceed = partial(layer, call, proceed)
        return await proceed()
