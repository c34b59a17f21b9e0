"""What became of a call: its status, its line in the log, its metrics and its spans.

The layer stands outside of the other layers, so that metrics also see the calls that those refuse:
they count by the reason, and not among the calls whose outcome and latency is watched.

Spans are made where the program says where they go (`nar.wire.tracing`), when a call has ended, of
times that were taken anyway: one span of the call, below the span that its caller sent, and below
it one span of each stage. Where a library that instruments grpc or HTTP has begun a span for the
call already, the spans of NAR stand below that span.
"""

import asyncio
import logging
import re
import sys
import time
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import unquote

import grpc
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from nar.serve import status
from nar.serve.calls import SERVICE, Call, Context, Proceed, time_remaining_s
from nar.serve.telemetry import FAULT_CODES, Telemetry
from nar.wire.tracing import REQUEST_ID

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

log = logging.getLogger(__name__)

_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)

# At the deadline the client cancels the call too, and that may arrive before our own clock has
# reached it (chosen).
CLOCK_MARGIN_S: Final = 0.05
_REASONS: Final[dict[type[Exception], str]] = {
    status.ForbiddenError: "forbidden",
    status.UnauthenticatedError: "unauthenticated",
    status.DrainingError: "draining",
    status.OverloadedError: "overloaded",
    status.ShareError: "share",
    status.OversizedError: "oversized",
    status.ExpiredError: "expired",
    status.SlowUploadError: "slow",
}


def traced(call: Call, code: str) -> str:
    """Make the spans of a call that has ended.

    Args:
        call: The call.
        code: Name of its status.

    Returns:
        Id of the trace that it is part of: 32 hexadecimal digits; empty if it is part of none.
    """
    sent = _sent(call.context)
    tracer = _tracer()
    if tracer is None:
        came = _TRACEPARENT.fullmatch(sent.get("traceparent", ""))
        return came[1] if came else ""
    return _spans(tracer, call, code, sent)


def _sent(context: Context) -> dict[str, str]:
    metadata = context.invocation_metadata() or ()
    return {key: str(value) for key, value in metadata if key in ("traceparent", "tracestate")}


def _tracer() -> "Tracer | None":
    """The maker of spans; None where the program does not say where they go."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None
    return provider.get_tracer("nar.serve")


def _spans(tracer: "Tracer", call: Call, code: str, sent: dict[str, str]) -> str:
    from opentelemetry import context, trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    is_begun = trace.get_current_span().get_span_context().is_valid
    now = time.perf_counter()
    epoch_s = time.time() - now
    attributes: dict[str, str | int] = {
        "rpc.system": "grpc",
        "rpc.service": SERVICE,
        "rpc.method": call.method,
        "rpc.grpc.status_code": grpc.StatusCode[code].value[0],
    }
    span = tracer.start_span(
        f"{SERVICE}/{call.method}",
        context.get_current() if is_begun else TraceContextTextMapPropagator().extract(sent),
        trace.SpanKind.INTERNAL if is_begun else trace.SpanKind.SERVER,
        attributes,
        start_time=_ns(epoch_s + now - call.age_s),
    )
    if code in FAULT_CODES:
        span.set_status(trace.StatusCode.ERROR)
    within = trace.set_span_in_context(span)
    for name, interval in call.clock.intervals.items():
        stage = tracer.start_span(name, within, start_time=_ns(epoch_s + interval.began))
        stage.end(_ns(epoch_s + interval.ended))
    span.end(_ns(epoch_s + now))
    made = span.get_span_context()
    # A provider that is switched off makes spans of no trace.
    return trace.format_trace_id(made.trace_id) if made.is_valid else ""


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


class OutcomeLayer:
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
            outcome = status.status_of(error, call.request_id)
            if type(error) in _REASONS:
                self._telemetry.rejected(_REASONS[type(error)])
                _write(call, status.code_name(outcome))
            else:
                self._ended(call, status.code_name(outcome))
            _forget_frames(error)
            await _abort(call, outcome)
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
    """Log one line for a call, without anything that it carried, and make its spans."""
    stages = {name: round(seconds, 6) for name, seconds in call.clock.seconds.items()}
    fields = {
        "request_id": call.request_id,
        "method": call.method,
        "code": code,
        "peer": unquote(call.context.peer()),
    }
    if call.caller:
        fields["caller"] = call.caller
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

    The frames and the error by which grpc aborts a call refer to each other, and only a late run of
    the garbage collector would free them: refused uploads would fill the memory.
    """
    chained: BaseException | None = error
    while chained is not None:
        chained.__traceback__ = None
        chained = chained.__context__


async def _abort(call: Call, outcome: Status) -> NoReturn:
    rich = rpc_status.to_status(outcome)
    metadata = (*rich.trailing_metadata, *status.pushback(outcome), (REQUEST_ID, call.request_id))
    await call.context.abort(rich.code, rich.details, metadata)
