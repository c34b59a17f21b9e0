"""Requests as they come in, of calls and of streams: how many are read, how many bytes may wait.

grpc for Python offers no quota of memory. A message that is not asked for stays with its sender,
but for a window of some kB, and so the memory of requests is bounded by asking for few messages at
a time. Between two requests a stream holds no thread and no place among the calls in flight. Where
a request is too large, grpc itself ends its call or its stream, and tells the caller.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import grpc
from google.protobuf.message import DecodeError, Message

from nar.base.errors import NarError
from nar.serve.calls import Call, Proceed, clock_of
from nar.serve.doors import Shares
from nar.serve.status import (
    DrainingError,
    OverloadedError,
    OversizedError,
    ShareError,
    SlowUploadError,
)
from nar.wire.settings import ServerConfig

# How long after the end of a stream the news of its cancellation may come (chosen: the event loop
# gets it in the same moment, unless it is busy).
CANCELLATION_S: Final = 0.1
_TOO_LARGE: Final = "the request is larger than a message may be"
# How long a request may take before it counts as slow. A request that fits the window of grpc (64
# kB) has come whole before it is asked for; chosen: a few times what a busy event loop takes to see
# it.
LOOK_S: Final = 0.05
# Requests that are looked for at a time. Together with the slow ones they bound the memory of
# requests that have not come whole; chosen: with 16 a hundred silent calls pass in a third of a
# second.
LOOKS: Final = 16
# Share of the bytes that requests may hold which large requests leave to small ones (chosen).
SMALL_SHARE: Final = 0.25


class Uploads:
    """A layer that reads the one message of a call.

    A request that comes at once needs no turn, however many others are awaited: each call is looked
    at for a moment, and takes one of few turns only if its request has not come by then. So calls
    that never send a message hold nobody up.

    Args:
        at_a_time: Slow requests that are awaited at a time; further ones are refused.
        max_held_bytes: While the requests under way have more bytes in all, others are shed.
        large_bytes: Requests of more bytes are shed earlier, so that small requests find room.
        limit_s: A message that takes longer is refused.
        max_wait_s: A call that is not looked at for so long is refused.
        of_one: The share of the bytes that one caller may hold.
    """

    def __init__(
        self,
        at_a_time: int,
        max_held_bytes: int,
        large_bytes: int,
        limit_s: float,
        max_wait_s: float,
        of_one: float,
    ) -> None:
        self._looks = asyncio.Semaphore(LOOKS)
        self._at_a_time = at_a_time
        self._slow = 0
        self._max_held_bytes = max_held_bytes
        self._large_bytes = large_bytes
        self._bytes = Shares(max_held_bytes, of_one)
        self._limit_s = limit_s
        self._max_wait_s = max_wait_s

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Read the one request of a call, and proceed.

        Raises:
            OverloadedError: Too many bytes or too many slow requests wait already.
            SlowUploadError: The message did not come in time.
            DecodeError: No message came.
            OversizedError: The message is too large.
        """
        request = await self.read(call.context.read)
        if request is grpc.aio.EOF:  # type: ignore[attr-defined]
            raise await _nothing_came()
        return await self.counted(call, request, proceed)

    async def read(self, read: Callable[[], Awaitable[bytes]]) -> bytes:
        """Read a request; the reading ends where the request is refused.

        Args:
            read: Reads it whole.

        Raises:
            OverloadedError: Too many bytes or too many slow requests wait already.
            SlowUploadError: The request did not come in time.
        """
        await self._begin_look()
        reading: asyncio.Future[bytes] | None = None
        try:
            try:
                self.check_room()
                reading = asyncio.ensure_future(read())
                await asyncio.wait({reading}, timeout=min(LOOK_S, self._limit_s))
            finally:
                self._looks.release()
            if not reading.done():
                await self._await_slow(reading)
            return reading.result()
        except asyncio.CancelledError:
            # The end of a request that grpc refuses takes one task more than its cancellation.
            await asyncio.sleep(0)
            if reading is not None and _is_over(reading):
                raise OversizedError(_TOO_LARGE) from None
            raise
        finally:
            if reading is not None:
                reading.cancel()

    async def _begin_look(self) -> None:
        try:
            async with asyncio.timeout(self._max_wait_s):
                await self._looks.acquire()
        except TimeoutError:
            reason = f"{LOOKS} requests are awaited, and more calls wait for that; try again"
            raise OverloadedError(reason) from None

    async def _await_slow(self, reading: "asyncio.Future[bytes]") -> None:
        if self._slow >= self._at_a_time:
            reason = f"{self._slow} slow requests are awaited, and this one is slow; try again"
            raise OverloadedError(reason)
        self._slow += 1
        try:
            await asyncio.wait({reading}, timeout=max(self._limit_s - LOOK_S, 0))
        finally:
            self._slow -= 1
        if not reading.done():
            raise SlowUploadError(f"the request did not come within {self._limit_s:g} s")

    def check_room(self) -> None:
        """See that there is room for a further request.

        Raises:
            OverloadedError: Too many bytes wait already.
        """
        if self._bytes.is_full:
            reason = f"{self._bytes.held} bytes of requests are waiting; try again"
            raise OverloadedError(reason)

    async def counted(self, call: Call, request: bytes, proceed: Proceed) -> Message | None:
        """Proceed with a request; its bytes count until no thread works on it any more.

        Raises:
            OverloadedError: The request is large, and others hold as much as large requests may.
            ShareError: Requests of this caller hold as much as those of one caller may.
        """
        let_go = self.hold(call.caller, len(request))
        call.request = request
        try:
            return await proceed()
        finally:
            call.request = b""
            call.when_work_ends(let_go)

    def hold(self, caller: str, size_bytes: int) -> Callable[[], None]:
        """Count the bytes of a request that has come, until the returned function is called.

        Raises:
            OverloadedError: The request is large, and others hold as much as large requests may.
            ShareError: Requests of this caller hold as much as those of one caller may.
        """
        self._check_share(size_bytes)
        if self._bytes.is_spent(caller):
            reason = (
                f"{self._bytes.of(caller)} bytes of this caller wait, which is its share "
                "(server.caller_share); try again"
            )
            raise ShareError(reason)
        self._bytes.add(caller, size_bytes)
        return partial(self._bytes.add, caller, -size_bytes)

    def _check_share(self, size_bytes: int) -> None:
        most = (1 - SMALL_SHARE) * self._max_held_bytes
        is_large = size_bytes > self._large_bytes
        # Where no other request is held, any request is taken, however little room there is.
        if is_large and self._bytes.held and self._bytes.held + size_bytes > most:
            reason = f"{self._bytes.held} bytes wait, and this call has {size_bytes}; try again"
            raise OverloadedError(reason)


async def _nothing_came() -> NarError | DecodeError:
    """Why the stream of a call ended without a message.

    grpc itself refuses a message that is too large, and cancels the call in the same moment.
    """
    try:
        await asyncio.sleep(CANCELLATION_S)
    except asyncio.CancelledError:
        return OversizedError(_TOO_LARGE)
    return DecodeError("no message came")


def _is_over(reading: "asyncio.Future[bytes]") -> bool:
    """Whether a stream has ended without a request."""
    has_result = reading.done() and not reading.cancelled() and reading.exception() is None
    return has_result and reading.result() is grpc.aio.EOF  # type: ignore[attr-defined]


def uploads_of(config: ServerConfig) -> Uploads:
    """What reads requests within the bounds of a server."""
    return Uploads(
        config.uploads,
        config.max_held_bytes,
        config.heavy_bytes,
        config.max_upload_s,
        config.max_wait_s,
        config.caller_share,
    )


class Streams:
    """The open streams of a server.

    Args:
        uploads: Counts the bytes of their requests.
        at_a_time: Streams that may be open; more are refused.
        idle_s: A stream ends that brings no request, or takes no answer, for so long.
        max_call_s: No request is worked on for longer.
        of_one: The share of the streams that one caller may have.
    """

    def __init__(
        self, uploads: Uploads, *, at_a_time: int, idle_s: float, max_call_s: float, of_one: float
    ) -> None:
        self.uploads = uploads
        self.idle_s = idle_s
        self.max_call_s = max_call_s
        self.draining = asyncio.Event()
        self._open = Shares(at_a_time, of_one)

    def close(self) -> None:
        """End every stream as soon as what it works on is answered."""
        self.draining.set()

    @contextmanager
    def opened(self, caller: str) -> Iterator["Requests"]:
        """Open a stream; where there is no room for it, its first request is refused."""
        has_room = not (self._open.is_full or self._open.is_spent(caller))
        self._open.add(caller, 1)
        try:
            yield Requests(self, has_room=has_room)
        finally:
            self._open.add(caller, -1)


class Requests:
    """A layer that sends the last answer of a stream and waits for its next request.

    Args:
        streams: All streams of the server.
        has_room: Whether this stream may stay.
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
        self._answer = await self._streams.uploads.counted(call, request, proceed)
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
