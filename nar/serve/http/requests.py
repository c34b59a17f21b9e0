"""Calls that came over HTTP, as the layers see them: their bodies, their replies, their paths.

A body is bounded while it comes. What goes back are messages and statuses as JSON, by protobuf's
own mapping.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NoReturn, Protocol, TypeAlias, cast

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToJson, Parse, ParseError
from google.protobuf.message import DecodeError, Message
from google.rpc.status_pb2 import Status
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from nar.base.errors import InvalidQueryError
from nar.serve.calls import Call, Context, Layer, caller_of, clock_of, request_id_of
from nar.serve.doors import READING
from nar.serve.http import Page
from nar.serve.service import Method
from nar.serve.status import OversizedError, SlowUploadError, status_of
from nar.wire.addresses import address
from nar.wire.tracing import REQUEST_ID

# Time for one chunk of a body: some 64 kB, so that a line of 50 kbit/s keeps up (chosen).
_CHUNK_S: Final = 10.0

Metadata: TypeAlias = Sequence[tuple[str, str | bytes]]
_DETAILS: Final = "grpc-status-details-bin"


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The whole body.

    Raises:
        OversizedError: The body says that it is larger, or becomes larger.
    """
    return b"".join([chunk async for chunk in chunks_of(request, max_bytes)])


async def chunks_of(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    """The body in the chunks in which it comes.

    Raises:
        OversizedError: The body says that it is larger, or becomes larger.
        SlowUploadError: Nothing came for too long.
        DecodeError: The client left.
    """
    length = request.headers.get("content-length", "")
    _check(int(length) if length.isascii() and length.isdigit() else 0, max_bytes)
    came = 0
    chunks = aiter(request.stream())
    while (chunk := await _next(chunks)) is not None:
        came += len(chunk)
        _check(came, max_bytes)
        yield chunk


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    try:
        async with asyncio.timeout(_CHUNK_S):
            return await anext(chunks, None)
    except TimeoutError:
        raise SlowUploadError(f"nothing of the body came within {_CHUNK_S:g} s") from None
    except ClientDisconnect as error:
        raise DecodeError("the body ended early") from error


def _check(size_bytes: int, max_bytes: int) -> None:
    if size_bytes > max_bytes:
        raise OversizedError(f"wanted at most {max_bytes:,} bytes, came {size_bytes:,} or more")


class RefusedRequestError(Exception):
    """A call that ends with a status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class HttpContext:
    """The context of a call that came over HTTP: what the layers use of grpc's context.

    Args:
        request: As Starlette has it.
        max_bytes: Bytes that its body may have.

    Attributes:
        request_id: Its id in log and reply.
    """

    def __init__(self, request: Request, max_bytes: int) -> None:
        self.request_id = ""
        self._request = request
        self._max_bytes = max_bytes

    def as_context(self) -> Context:
        """The same, under the type that layers name."""
        return cast(Context, self)

    def time_remaining(self) -> None:
        """A browser names no deadline: the server's own holds."""

    def invocation_metadata(self) -> Metadata:
        """Its headers."""
        return tuple(self._request.headers.items())

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        """Keep the metadata that goes back with the reply."""
        self.request_id = str(dict(metadata)[REQUEST_ID])

    def peer(self) -> str:
        """The address of the caller, as grpc writes it."""
        caller = self._request.client
        return f"http:{address(caller.host, caller.port)}" if caller else "http:unknown"

    def peer_identities(self) -> None:
        """No certificate: the address names the caller."""

    async def read(self) -> bytes:
        """Its body; an empty one is an empty message.

        Raises:
            OversizedError: It is too large.
        """
        return await read_body(self._request, self._max_bytes) or b"{}"

    async def abort(self, code: grpc.StatusCode, details: str, metadata: Metadata) -> NoReturn:
        """End the call.

        Raises:
            RefusedRequestError: Always, with the whole status.
        """
        known = dict(metadata)
        status = Status(code=code.value[0], message=details)
        if _DETAILS in known:
            status = Status.FromString(cast(bytes, known[_DETAILS]))
        raise RefusedRequestError(status)


# The numbers that google.rpc.code gives for HTTP.
HTTP_STATUS: Final[Mapping[grpc.StatusCode, int]] = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}
_BY_NUMBER: Final = {code.value[0]: number for code, number in HTTP_STATUS.items()}
_EXHAUSTED: Final = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
# Content Too Large, by RFC 9110; google.rpc.code has 429 for every kind of RESOURCE_EXHAUSTED.
_TOO_LARGE: Final = 413


async def message_reply(message: Message, request_id: str, number: int = 200) -> Response:
    """A message; it is written in a thread, for a page of names takes tens of milliseconds."""
    text = await asyncio.to_thread(MessageToJson, message, indent=None, ensure_ascii=False)
    headers = {REQUEST_ID: request_id} if request_id else {}
    return Response(text, number, headers, media_type="application/json")


async def status_reply(status: Status, request_id: str = "") -> Response:
    """A status, with the number that HTTP has for it."""
    return await message_reply(status, request_id, _number(status))


async def error_reply(error: Exception, request_id: str | None = None) -> Response:
    """The status of an error."""
    return await status_reply(status_of(error, request_id), request_id or "")


def _number(status: Status) -> int:
    # A full server says when to try again, in details; a request that is too large stays so.
    if status.code == _EXHAUSTED and not status.details:
        return _TOO_LARGE
    return _BY_NUMBER.get(status.code, 500)


# Requests of a page count, for tokens and logs, as calls of this method, which reads.
_METHOD: Final = "Describe"


class Answers(Protocol):
    """What brings a call through the layers to a thread: a `Dispatch`."""

    @property
    def methods(self) -> Mapping[str, Method]:
        """Every method by its name."""

    async def answer(
        self, method: Method, parse: Callable[[bytes], Message], context: Context
    ) -> Message:
        """The response, or whatever the context raises when it is aborted."""


def method_routes(answers: Answers, max_bytes: int) -> Iterator[Route]:
    """A route for each method that reads; a stream has none.

    Args:
        answers: Brings calls through the layers.
        max_bytes: Bytes that a request may have.
    """
    for name, method in answers.methods.items():
        if name in READING and not method.is_stream:
            endpoint = partial(_answer, answers, method, max_bytes)
            yield Route(f"/v1/{name.lower()}", endpoint, methods=["POST"])


async def _answer(answers: Answers, method: Method, max_bytes: int, request: Request) -> Response:
    context = HttpContext(request, max_bytes)
    parse = partial(_parsed, method.request)
    try:
        message = await answers.answer(method, parse, context.as_context())
    except RefusedRequestError as refused:
        return await status_reply(refused.status, context.request_id)
    return await message_reply(message, context.request_id)


def _parsed(kind: Callable[[], Any], body: bytes) -> Any:  # noqa: ANN401
    """The message of a JSON text.

    Raises:
        InvalidQueryError: The text is no such message; the error says where.
    """
    try:
        return Parse(body, kind())
    except (ParseError, ValueError, RecursionError) as error:
        raise InvalidQueryError("body", f"wanted the JSON of a message, came {error}") from error


async def guarded(
    layers: Sequence[Layer], max_call_s: float, page: Page, request: Request
) -> Response:
    """The answer of a page, if the layers let the request pass.

    Args:
        layers: The layers around the page, outermost first; they read no body.
        max_call_s: No request is worked on for longer.
        page: Answers the request.
        request: The request.
    """
    context = HttpContext(request, 0).as_context()
    clock, request_id = clock_of(context, max_call_s), request_id_of(context)
    call = Call(_METHOD, context, clock, request_id, caller=caller_of(context))
    replies: list[Response] = []

    async def answer() -> Message:
        request.state.scope = call.scope
        replies.append(await page(request))
        return Empty()

    proceed: Callable[[], Awaitable[Message | None]] = answer
    for layer in reversed(layers):
        proceed = partial(layer, call, proceed)
    # The last resort, as for calls of grpc: the caller learns the id of an error, no more.
    try:
        await proceed()
    except Exception as error:
        return await error_reply(error, call.request_id)
    return replies[0]
