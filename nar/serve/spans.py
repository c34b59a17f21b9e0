"""Spans of calls, where the program says where spans go (`nar.wire.tracing`).

They are made when a call has ended, of times that were taken anyway: one of the call, below the
span that its caller sent, and below it one a stage. Where a library that instruments grpc or HTTP
has begun a span for the call already, they are below that one.
"""

import re
import sys
import time
from typing import TYPE_CHECKING, Final

import grpc

from nar.serve.calls import Call, Context
from nar.serve.telemetry import FAULT_CODES
from nar.v1 import retrieval_pb2

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

SERVICE: Final[str] = retrieval_pb2.DESCRIPTOR.services_by_name[
    "ArchitectureRetrievalService"
].full_name
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)


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
    """None where nobody has said where spans go."""
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
    for name, spell in call.clock.spells.items():
        stage = tracer.start_span(name, within, start_time=_ns(epoch_s + spell.began))
        stage.end(_ns(epoch_s + spell.ended))
    span.end(_ns(epoch_s + now))
    made = span.get_span_context()
    # A provider that is switched off makes spans of no trace.
    return trace.format_trace_id(made.trace_id) if made.is_valid else ""


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
