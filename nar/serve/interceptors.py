"""What happens around every call: outcome, token, admission, deadline, in that order.

The outcome comes first, so that metrics also see what the other layers refuse: these count by
the reason, and are no part of the calls whose outcome and latency is watched. Health and
reflection pass untouched: a probe must work without a token and while the server is full.
"""

import asyncio
import logging
from functools import partial
from typing import Final, NoReturn
from urllib.parse import unquote

from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from prometheus_client import Gauge

from nar.serve.calls import Call, Context, Proceed, time_remaining_s
from nar.serve.spans import traced
from nar.serve.status import (
    DrainingError,
    ExpiredError,
    ForbiddenError,
    OverloadedError,
    OversizedError,
    SlowUploadError,
    UnauthenticatedError,
    code_name,
    pushback,
    status_of,
)
from nar.serve.telemetry import Telemetry
from nar.wire.tokens import Tokens, token_in
from nar.wire.tracing import REQUEST_ID

log = logging.getLogger(__name__)

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


class Outcome:
    """Turns errors into statuses, and counts and times every call by what became of it."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed; whatever is raised becomes the status of the call."""
        try:
            response = await proceed()
        except asyncio.CancelledError:
            self._ended(call, _given_up(call.context))
            raise
        # The last resort: whatever escapes is a fault of ours, and the caller learns only its id.
        except Exception as error:
            status = status_of(error, call.request_id)
            if type(error) in REJECTIONS:
                self._telemetry.rejected(REJECTIONS[type(error)])
                _write(call, code_name(status))
            else:
                self._ended(call, code_name(status))
            _forget_frames(error)
            await _abort(call, status)
        self._ended(call, "OK")
        return response

    def _ended(self, call: Call, code: str) -> None:
        if call.began is None:
            return  # a stream, between two requests
        self._telemetry.call_ended(call.method, code, call.age_s)
        _write(call, code)
        for stage, seconds in call.clock.seconds.items():
            self._telemetry.stage_ran(stage, seconds)


def _write(call: Call, code: str) -> None:
    """One line a call, without anything that it carried, and its spans."""
    stages = {name: round(seconds, 6) for name, seconds in call.clock.seconds.items()}
    fields = {
        "request_id": call.request_id,
        "method": call.method,
        "code": code,
        "peer": unquote(call.context.peer()),
    }
    if trace_id := traced(call, code):
        fields["trace_id"] = trace_id
    log.info("call", extra=fields | {"seconds": round(call.age_s, 6), "stages": stages})


def _given_up(context: Context) -> str:
    """Why a call was cancelled: grpc does so both when its client leaves and at its deadline."""
    remaining = time_remaining_s(context)
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
    metadata = (*rich.trailing_metadata, *pushback(status), (REQUEST_ID, call.request_id))
    await call.context.abort(rich.code, rich.details, metadata)


class Authentication:
    """Lets only those pass who bring a bearer token that may call the method."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed, or raise UnauthenticatedError or ForbiddenError."""
        metadata = call.context.invocation_metadata() or ()
        given = str(next((value for key, value in metadata if key == "authorization"), ""))
        if not token_in(given):
            raise UnauthenticatedError("no token came: send `authorization: Bearer <token>`")
        role = self._tokens.role(given)
        if role is None:
            raise UnauthenticatedError("the token that came is not known here")
        if role == "reader" and call.method not in READING:
            raise ForbiddenError(f"wanted the token of a writer for {call.method}, came a reader's")
        return await proceed()


async def only_reads(call: Call, proceed: Proceed) -> Message | None:
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
