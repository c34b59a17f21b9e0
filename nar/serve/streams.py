"""The requests of streams: each is a call of its own, and is read when the one before is answered.

Between two requests a stream holds no thread and no place among the calls in flight. A request that
is too large ends its stream by grpc itself, which tells the caller.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from google.protobuf.message import Message

from nar.serve.calls import Call, Proceed, clock_of
from nar.serve.status import DrainingError, OverloadedError, SlowUploadError
from nar.serve.uploads import Uploads


class Streams:
    """The open streams of a server.

    Args:
        uploads: Counts the bytes of their requests.
        at_a_time: Streams that may be open; more are refused.
        idle_s: A stream ends that brings no request, or takes no answer, for so long.
        max_call_s: No request is worked on for longer.
    """

    def __init__(
        self, uploads: Uploads, *, at_a_time: int, idle_s: float, max_call_s: float
    ) -> None:
        self.uploads = uploads
        self.idle_s = idle_s
        self.max_call_s = max_call_s
        self.draining = asyncio.Event()
        self._at_a_time = at_a_time
        self._open = 0

    def close(self) -> None:
        """End every stream as soon as what it works on is answered."""
        self.draining.set()

    @contextmanager
    def one(self) -> Iterator["Requests"]:
        """Open one; whether there was room for it is said by its first request."""
        self._open += 1
        try:
            yield Requests(self, has_room=self._open <= self._at_a_time)
        finally:
            self._open -= 1


class Requests:
    """A layer that gives the last answer of a stream away and waits for the next request.

    Args:
        streams: All of them.
        has_room: Whether this one may stay.
    """

    def __init__(self, streams: Streams, *, has_room: bool) -> None:
        self._streams = streams
        self._has_room = has_room
        self._answer: Message | None = None

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed with the next request; None once there is none any more.

        Raises:
            OverloadedError: Too many streams are open, or too many bytes wait.
            DrainingError: The server stops.
            SlowUploadError: No request came, or nobody took the answer.
        """
        if not self._has_room:
            raise OverloadedError("too many streams are open; try again")
        await self._give_away(call)
        request = await self._next(call)
        if request is None:
            return None
        call.began = time.perf_counter()
        call.clock = clock_of(call.context, self._streams.max_call_s)
        self._streams.uploads.check_room()
        self._answer = await self._streams.uploads.held(call, request, proceed)
        return self._answer

    async def _give_away(self, call: Call) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            return
        try:
            async with asyncio.timeout(self._streams.idle_s):
                await call.context.write(answer)
        except TimeoutError:
            reason = f"nobody took the answer within {self._streams.idle_s:g} s"
            raise SlowUploadError(reason) from None

    async def _next(self, call: Call) -> bytes | None:
        reading = asyncio.ensure_future(call.context.read())
        draining = asyncio.ensure_future(self._streams.draining.wait())
        try:
            await asyncio.wait(
                {reading, draining},
                timeout=self._streams.idle_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if reading.done():
                message = reading.result()
                return None if message is grpc.aio.EOF else message  # type: ignore[attr-defined]
            if draining.done():
                raise DrainingError("this server stops; go on with another, or try again")
            reason = f"no request came within {self._streams.idle_s:g} s"
            raise SlowUploadError(reason)
        finally:
            reading.cancel()
            draining.cancel()
