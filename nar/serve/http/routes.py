"""What answers at which path: the methods of the contract that read, and the pages."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nar.base.errors import InvalidQueryError
from nar.serve.calls import Call, Context, Layer, caller_of, clock_of, request_id_of
from nar.serve.doors import READING
from nar.serve.http import Page
from nar.serve.http.requests import (
    HttpContext,
    RefusedError,
    error_reply,
    message_reply,
    status_reply,
)
from nar.serve.service import Method

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
    except RefusedError as refused:
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
