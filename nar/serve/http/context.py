"""A call that came over HTTP, as the layers see it: it has what they use of grpc's context."""

from collections.abc import Sequence
from typing import Final, NoReturn, TypeAlias, cast

import grpc
from google.rpc.status_pb2 import Status
from starlette.requests import Request

from nar.serve.calls import Context
from nar.serve.http.bodies import read_body
from nar.wire.addresses import address
from nar.wire.tracing import REQUEST_ID

Metadata: TypeAlias = Sequence[tuple[str, str | bytes]]
_DETAILS: Final = "grpc-status-details-bin"


class RefusedError(Exception):
    """A call that ends with a status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class HttpContext:
    """What the layers around a call ask of one that came over HTTP.

    Args:
        request: As Starlette has it.
        max_bytes: Of its body.

    Attributes:
        request_id: What log and reply call it.
    """

    def __init__(self, request: Request, max_bytes: int) -> None:
        self.request_id = ""
        self._request = request
        self._max_bytes = max_bytes

    def as_context(self) -> Context:
        """The same, for who has to name its type."""
        return cast(Context, self)

    def time_remaining(self) -> None:
        """A browser says no deadline: that of the server holds."""

    def invocation_metadata(self) -> Metadata:
        """Its headers."""
        return tuple(self._request.headers.items())

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        """Take what goes back with the reply."""
        self.request_id = str(dict(metadata)[REQUEST_ID])

    def peer(self) -> str:
        """Who asks, as grpc writes it."""
        caller = self._request.client
        return f"http:{address(caller.host, caller.port)}" if caller else "http:unknown"

    async def read(self) -> bytes:
        """Its body; an empty one is an empty message.

        Raises:
            OversizedError: It is too large.
        """
        return await read_body(self._request, self._max_bytes) or b"{}"

    async def abort(self, code: grpc.StatusCode, details: str, metadata: Metadata) -> NoReturn:
        """End the call.

        Raises:
            RefusedError: Always, with the whole status.
        """
        known = dict(metadata)
        status = Status(code=code.value[0], message=details)
        if _DETAILS in known:
            status = Status.FromString(cast(bytes, known[_DETAILS]))
        raise RefusedError(status)
