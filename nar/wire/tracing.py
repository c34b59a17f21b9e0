"""Traces across processes, where the program uses OpenTelemetry; elsewhere nothing is imported.

A program that makes spans, or says where they go, has imported `opentelemetry.trace`.
"""

import sys
from typing import Final

# Metadata of calls and replies: what the server's log calls a call.
REQUEST_ID: Final = "x-request-id"


def trace_metadata() -> tuple[tuple[str, str], ...]:
    """The W3C metadata of a call that is part of the current trace, if there is one."""
    if "opentelemetry.trace" not in sys.modules:
        return ()
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return tuple(carrier.items())
