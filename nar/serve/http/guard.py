"""What a request of the page passes that is no method of the contract: token and admission."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import Response

from nar.serve.calls import Call, Layer, clock_of, request_id_of
from nar.serve.http.context import HttpContext
from nar.serve.http.replies import error_reply
from nar.serve.page_parts import Page

# A method that reads, by the name that tokens and logs know.
_METHOD: Final = "Describe"


async def guarded(
    layers: Sequence[Layer], max_call_s: float, page: Page, request: Request
) -> Response:
    """The answer of a page, if the layers let the request pass.

    Args:
        layers: Around it, outermost first; they read no body.
        max_call_s: No request is worked on for longer.
        page: What answers.
        request: The request.
    """
    context = HttpContext(request, 0).as_context()
    call = Call(_METHOD, context, clock_of(context, max_call_s), request_id_of(context))
    replies: list[Response] = []

    async def answer() -> Message:
        replies.append(await page(request))
        return Empty()

    proceed: Callable[[], Awaitable[Message | None]] = answer
    for layer in reversed(layers):
        proceed = partial(layer, call, proceed)
    # The last resort, as for calls of grpc: the caller learns the id of what escapes, and no more.
    try:
        await proceed()
    except Exception as error:
        return await error_reply(error, call.request_id)
    return replies[0]
