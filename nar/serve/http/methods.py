"""The methods of the contract that read, each at a path of its own: ``POST /v1/search``."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, Protocol

import grpc
from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nar.base.errors import InvalidQueryError
from nar.serve.calls import Context
from nar.serve.dispatch import Handler
from nar.serve.http.context import HttpContext, RefusedError
from nar.serve.http.replies import message_reply, status_reply
from nar.serve.interceptors import READING
from nar.serve.service import Servicer
from nar.v1 import retrieval_pb2

_METHODS: Final = retrieval_pb2.DESCRIPTOR.services_by_name["ArchitectureRetrievalService"].methods


class Answers(Protocol):
    """What brings a call through the layers to a thread: an `Interceptor`."""

    async def answer(self, method: str, handler: Handler, context: Context) -> Message:
        """The response, or whatever the context raises when it is aborted."""


def method_routes(answers: Answers, servicer: Servicer, max_bytes: int) -> Iterator[Route]:
    """A route for each method that reads; a stream has none.

    Args:
        answers: Brings calls through the layers.
        servicer: Has the methods.
        max_bytes: Of a request.
    """
    for method in _METHODS:
        if method.name in READING and not method.client_streaming:
            handler = grpc.unary_unary_rpc_method_handler(
                getattr(servicer, method.name),
                request_deserializer=partial(_parsed, GetMessageClass(method.input_type)),
            )
            endpoint = partial(_answer, answers, method.name, handler, max_bytes)
            yield Route(f"/v1/{method.name.lower()}", endpoint, methods=["POST"])


async def _answer(
    answers: Answers, method: str, handler: Handler, max_bytes: int, request: Request
) -> Response:
    context = HttpContext(request, max_bytes)
    try:
        message = await answers.answer(method, handler, context.as_context())
    except RefusedError as refused:
        return await status_reply(refused.status, context.request_id)
    return await message_reply(message, context.request_id)


def _parsed(kind: Callable[[], Any], body: bytes) -> Any:  # noqa: ANN401
    """The message of a JSON text.

    Raises:
        InvalidQueryError: Says where it is none.
    """
    try:
        return Parse(body, kind())
    except (ParseError, ValueError, RecursionError) as error:
        raise InvalidQueryError("body", f"wanted the JSON of a message, came {error}") from error
