"""The client's side of a stream: requests go out as answers come in."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from nar.client.calling import Caller

# Requests on their way besides the one that is worked on: so that the server need not wait for us.
AHEAD: Final = 1


def answers(caller: Caller, method: str, requests: Iterable[Message]) -> Iterator[Any]:
    """The answer to each request, in order; a request is asked for when it is about to be sent.

    Args:
        caller: Begins the call.
        method: Name on the wire; it has streams both ways.
        requests: Taken in the thread of the caller, who gets their errors.

    Raises:
        NarError: The stream ended; what was not answered until then may be asked again.
    """
    sent: SimpleQueue[Message | None] = SimpleQueue()
    call = caller.stream(method, iter(sent.get, None))
    try:
        for position, request in enumerate(requests):
            sent.put(request)
            if position >= AHEAD:
                yield next(call)
        sent.put(None)
        yield from call
    except grpc.RpcError as error:
        raise caller.error_of(error) from None
    finally:
        # Or a thread of grpc would wait for requests for ever, if nobody wants further answers.
        sent.put(None)
        call.cancel()


async def awaited_answers(
    caller: Caller, method: str, requests: AsyncIterable[Message]
) -> AsyncGenerator[Any, None]:
    """As `answers`, with requests and answers that are awaited."""
    call = caller.stream(method)
    waiting = 0
    try:
        async for request in requests:
            # A stream that has ended takes nothing; why it did is said where its answer is read.
            with suppress(asyncio.InvalidStateError):
                await call.write(request)
            waiting += 1
            if waiting > AHEAD:
                yield await call.read()
                waiting -= 1
        with suppress(asyncio.InvalidStateError):
            await call.done_writing()
        while (answer := await call.read()) is not grpc.aio.EOF:  # type: ignore[attr-defined]
            yield answer
    except grpc.RpcError as error:
        raise caller.error_of(error) from None
    finally:
        call.cancel()
