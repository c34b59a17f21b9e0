"""How a client begins a call: with its token, its time, and the trace that it belongs to."""

import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message

from nar.base.errors import NarError
from nar.base.watched import Watched
from nar.client.remote import error_of_call
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.tracing import trace_metadata


class Caller:
    """Begins calls on a channel, which is closed once nobody holds the caller.

    Args:
        channel: A blocking one, or one that is awaited.
        token: What the server wants callers to bring.
        timeout_s: How long a call may take, tries after UNAVAILABLE included.
        wants_tls: Whether the channel encrypts.
    """

    def __init__(
        self,
        channel: Any,  # noqa: ANN401
        token: str | None,
        timeout_s: float,
        *,
        wants_tls: bool,
    ) -> None:
        self.channel = channel
        self._wants_tls = wants_tls
        self._stub = ArchitectureRetrievalServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._timeout_s = timeout_s
        if isinstance(channel, grpc.Channel):
            # One that is awaited closes itself when it is forgotten, a blocking one does not.
            weakref.finalize(self, channel.close).atexit = False

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

    def error_of(self, error: grpc.RpcError) -> NarError:
        """The exception of a call of this caller that failed as a whole."""
        return error_of_call(error, wants_tls=self._wants_tls)

    def _sent(self) -> tuple[tuple[str, str], ...]:
        return (*self._metadata, *trace_metadata())


class Callers:
    """The caller of a client, and another one once the files of its certificates have changed.

    grpc reads certificates once a channel, and a channel connects again for as long as it lives:
    one of a program that runs for months would show a certificate that has ended. Who begins a call
    holds its caller until the call ends, so a channel outlives its files by the calls on it. While
    changed files are at fault, the caller stays.

    Args:
        open_caller: Opens a channel with what the files hold now.
        files: What the channel is encrypted with; none where they cannot change.

    Raises:
        ConfigError: From `open_caller`.
    """

    def __init__(self, open_caller: Callable[[], Caller], files: Sequence[Path]) -> None:
        self._living: weakref.WeakSet[Caller] = weakref.WeakSet()

        def open_another() -> Caller:
            caller = open_caller()
            self._living.add(caller)
            return caller

        self._newest = Watched("the certificates of a client", files, open_another)

    def current(self) -> Caller:
        """The caller of a call that begins now; to be held until the call has ended."""
        return self._newest.content()

    def end(self) -> list[Any]:
        """Every channel that is open, to be closed by who calls this; none is opened any more."""
        self._newest.stop()
        return [caller.channel for caller in self._living]
