"""What goes back over HTTP: messages and statuses as JSON, by protobuf's own mapping."""

import asyncio
from collections.abc import Mapping
from typing import Final

import grpc
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from starlette.responses import Response

from nar.serve.status import status_of
from nar.wire.tracing import REQUEST_ID

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
