"""A connection that takes so little of the cores that it shares with the server it loads.

The client of grpc takes 0.3 ms of a core for a call. At thousands of calls a second that is what
would be measured, on two cores: a server has its callers elsewhere. Here a call is frames of bytes
that stand ready (RFC 9113), and an answer is looked through for its status alone.
"""

import asyncio
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

# Types and flags of frames, and settings, as RFC 9113 numbers them.
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW = 1, 2, 3, 4
CANCEL: Final = 8
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WIDEST: Final = 2**31 - 1
DEFAULT_WINDOW: Final = 65_535
FRAME_BYTES: Final = 16_384
HEAD_BYTES: Final = 9
STATUS: Final = b"grpc-status"
CODES: Final = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]
# What clients of grpc make of a stream that ends without a status.
RESETS: Final = {7: "UNAVAILABLE", CANCEL: "CANCELLED", 11: "RESOURCE_EXHAUSTED"}

OnEnd = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that can be sent often.

    Attributes:
        head: Its block of headers.
        body: Its message, behind the five bytes that say how long it is.
        deadline_s: How long its caller waits.
    """

    head: bytes
    body: bytes
    deadline_s: float


@dataclass(slots=True)
class _Waiting:
    """A call that is not answered yet."""

    began: float
    deadline: float
    on_end: OnEnd


def prepared(path: str, message: bytes, deadline_s: float) -> Prepared:
    """A call of a method.

    Args:
        path: Of the method: ``/package.Service/Method``.
        message: Its request.
        deadline_s: How long its caller waits.
    """
    fields = (
        # Numbers of the static table of RFC 7541: `:method: POST`, `:scheme: http`.
        b"\x83\x86",
        b"\x04" + _text(path),
        b"\x01" + _text("nar"),
        b"\x00" + _text("te") + _text("trailers"),
        b"\x00" + _text("content-type") + _text("application/grpc"),
        b"\x00" + _text("grpc-timeout") + _text(f"{round(1_000 * deadline_s)}m"),
    )
    return Prepared(b"".join(fields), struct.pack(">BI", 0, len(message)) + message, deadline_s)


def _text(text: str) -> bytes:
    assert len(text) < 127, "longer texts have more bytes of length"
    return bytes([len(text)]) + text.encode()


class Wire(asyncio.Protocol):
    """One connection, and the calls on it."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._waiting: dict[int, _Waiting] = {}
        self._held: deque[tuple[Prepared, _Waiting]] = deque()
        self._stream = 1
        self._window, self._taken, self._room = DEFAULT_WINDOW, 0, 100
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for headers that stand for themselves, and for as much as comes."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        settings = ((HEADER_TABLE_SIZE, 0), (ENABLE_PUSH, 0), (INITIAL_WINDOW, WIDEST))
        told = b"".join(struct.pack(">HI", *each) for each in settings)
        wider = struct.pack(">I", WIDEST - DEFAULT_WINDOW)
        transport.write(PREFACE + _frame(SETTINGS, 0, 0, told) + _frame(WINDOW_UPDATE, 0, 0, wider))

    def call(self, call: Prepared, on_end: OnEnd) -> None:
        """Send a call, now or as soon as the server lets it come.

        Args:
            call: What to send.
            on_end: Is told its status, and how many seconds it took.
        """
        began = time.monotonic()
        self._held.append((call, _Waiting(began, began + call.deadline_s, on_end)))
        self._send()

    def give_up(self) -> None:
        """End the calls whose time is over, as their callers would."""
        now = time.monotonic()
        # The first came first, and all wait for about as long.
        for stream, waiting in list(self._waiting.items()):
            if waiting.deadline > now:
                break
            self._transport.write(_frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL)))
            self._end(stream, "DEADLINE_EXCEEDED")
        while self._held and self._held[0][1].deadline <= now:
            _, waiting = self._held.popleft()
            waiting.on_end("DEADLINE_EXCEEDED", now - waiting.began)

    def close(self) -> None:
        """Hang up."""
        self._transport.abort()

    def _send(self) -> None:
        frames = []
        while self._held and len(self._waiting) < self._room:
            call, waiting = self._held[0]
            if len(call.body) > self._window:
                break
            self._held.popleft()
            self._window -= len(call.body)
            self._waiting[self._stream] = waiting
            frames.append(_frame(HEADERS, END_HEADERS, self._stream, call.head))
            frames.extend(_data(self._stream, call.body))
            self._stream += 2
        if frames:
            self._transport.write(b"".join(frames))

    def data_received(self, data: bytes) -> None:
        """Look through whole frames; what is left waits for its rest."""
        self._received += data
        at, view = 0, self._received
        while len(view) - at >= HEAD_BYTES:
            size = int.from_bytes(view[at : at + 3], "big")
            if len(view) - at - HEAD_BYTES < size:
                break
            kind, flags = view[at + 3], view[at + 4]
            stream = int.from_bytes(view[at + 5 : at + HEAD_BYTES], "big")
            if kind == DATA:
                self._taken += size
            else:
                content = bytes(view[at + HEAD_BYTES : at + HEAD_BYTES + size])
                self._take(kind, flags, stream, content)
            at += HEAD_BYTES + size
        del self._received[:at]
        if self._taken > WIDEST // 2:
            update = struct.pack(">I", self._taken)
            self._transport.write(_frame(WINDOW_UPDATE, 0, 0, update))
            self._taken = 0
        self._send()

    def _take(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        if kind == HEADERS and flags & END_STREAM:
            self._end(stream, _status(content))
        elif kind == RST_STREAM:
            [error] = struct.unpack(">I", content)
            self._end(stream, RESETS.get(error, "INTERNAL"))
        elif kind == WINDOW_UPDATE and stream == 0:
            self._window += int.from_bytes(content, "big")
        elif kind == PING and not flags & ACK:
            self._transport.write(_frame(PING, ACK, 0, content))
        elif kind == SETTINGS and not flags & ACK:
            settings = dict(struct.iter_unpack(">HI", content))
            self._room = settings.get(MAX_STREAMS, self._room)
            self._transport.write(_frame(SETTINGS, ACK, 0, b""))
            if not self.ready.done():
                self.ready.set_result(None)
        elif kind == GOAWAY:
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """What was not answered will not be."""
        for stream in list(self._waiting):
            self._end(stream, "UNAVAILABLE")

    def _end(self, stream: int, code: str) -> None:
        waiting = self._waiting.pop(stream, None)
        if waiting:  # otherwise it had ended for its caller
            waiting.on_end(code, time.monotonic() - waiting.began)


def _status(headers: bytes) -> str:
    """The status in a block of headers, of which none stands in a table or is compressed."""
    name, _, rest = headers.partition(STATUS)
    assert rest, f"no status in {name!r}"
    return CODES[int(rest[1 : 1 + rest[0]])]


def _data(stream: int, body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), FRAME_BYTES):
        part = body[start : start + FRAME_BYTES]
        is_last = start + FRAME_BYTES >= len(body)
        yield _frame(DATA, END_STREAM if is_last else 0, stream, part)


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    size = len(content)
    return struct.pack(">BHBBI", size >> 16, size & 0xFFFF, kind, flags, stream) + content
