"""The client's side of a stream: requests go out as answers come in."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from nar.serve.remote import error_of_call

# Requests on their way besides the one that is worked on: so that the server need not wait for us.
AHEAD: Final = 1


def answers(
    method: Callable[..., Any], requests: Iterable[Message], metadata: Sequence[tuple[str, str]]
) -> Iterator[Any]:
    """The answer to each request, in order; a request is asked for when it is about to be sent.

    Args:
        method: Of a stub, of streams both ways.
        requests: Taken in the thread of the caller, who gets their errors.
        metadata: Of the call.

    Raises:
        NarError: The stream ended; what was not answered until then may be asked again.
    """
    sent: SimpleQueue[Message | None] = SimpleQueue()
    call = method(iter(sent.get, None), metadata=metadata)
    try:
        for position, request in enumerate(requests):
            sent.put(request)
            if position >= AHEAD:
                yield next(call)
        sent.put(None)
        yield from call
    except grpc.RpcError as error:
        raise error_of_call(error) from None
    finally:
        # Or a thread of grpc would wait for requests for ever, if nobody wants further answers.
        sent.put(None)
        call.cancel()
