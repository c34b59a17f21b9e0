"""How a client begins a call: with its token, its time, and the trace that it belongs to."""

from typing import Any

from google.protobuf.message import Message

from nar.serve.tracing import trace_metadata
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub


class Caller:
    """Begins calls on a channel.

    Args:
        channel: A blocking one, or one that is awaited.
        token: What the server wants callers to bring.
        timeout_s: How long a call may take, tries after UNAVAILABLE included.
    """

    def __init__(self, channel: Any, token: str | None, timeout_s: float) -> None:  # noqa: ANN401
        self._stub = ArchitectureRetrievalServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._timeout_s = timeout_s

    def call(self, method: str, request: Message) -> Any:  # noqa: ANN401
        """The response of a blocking channel; of another one, what awaits it."""
        return getattr(self._stub, method)(request, timeout=self._timeout_s, metadata=self._sent())

    def stream(self, method: str, *requests: object) -> Any:  # noqa: ANN401
        """Begin a call of streams both ways, which has no time of its own.

        Args:
            method: Name on the wire.
            requests: What gives them, where they are not written to the call.
        """
        return getattr(self._stub, method)(*requests, metadata=self._sent())

    def _sent(self) -> tuple[tuple[str, str], ...]:
        return (*self._metadata, *trace_metadata())
