"""One call under way: what the layers around it and the threads that work on it know of it."""

import asyncio
import math
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import grpc
from google.protobuf.message import Message

from nar.serve.patience import Patience
from nar.serve.stages import StageClock
from nar.wire.tracing import REQUEST_ID

_FIT_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

# Quoted: this is generic in the stubs only.
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
# The answer to a request; None where a stream has no further request.
Proceed = Callable[[], Awaitable[Message | None]]


@dataclass(slots=True)
class Call:
    """One call under way.

    Attributes:
        method: Name without the service: ``Search``.
        context: Deadline, metadata and the way to abort.
        clock: Its stages, and how long its caller waits.
        request_id: What log and reply call it: the caller's own id, or one that was made here.
        work: What a thread does for it, once that was begun; it may outlive the call.
        took_s: How long the thread was at it, once that has ended.
        began: When it came, by `time.perf_counter`; None while a stream waits for its next request.
        request: Its bytes, while they are worked on.
    """

    method: str
    context: Context
    clock: StageClock
    request_id: str
    work: Future[Any] | None = None
    took_s: float | None = None
    began: float | None = field(default_factory=time.perf_counter)
    request: bytes = b""

    @property
    def age_s(self) -> float:
        """How long ago it came."""
        return 0.0 if self.began is None else time.perf_counter() - self.began

    def when_work_ends(self, then: Callable[[], None]) -> None:
        """Do something on this event loop as soon as no thread works on the call."""
        if self.work is None:
            then()
        else:
            later = partial(_on_loop, asyncio.get_running_loop(), then)
            self.work.add_done_callback(lambda _: later())


class Layer(Protocol):
    """Something done around a call."""

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Do it, and proceed to the next layer or refuse by raising."""


def time_remaining_s(context: Context) -> float | None:
    """How long the caller still waits, if it said so."""
    remaining: float | None = context.time_remaining()
    return remaining


def clock_of(context: Context, max_call_s: float) -> StageClock:
    """The clock of a call whose work begins now."""
    remaining_s = time_remaining_s(context)
    return StageClock(Patience(min(max_call_s, math.inf if remaining_s is None else remaining_s)))


def request_id_of(context: Context) -> str:
    """The id that the caller gave a call, if it is fit for a log; otherwise a new one."""
    metadata = context.invocation_metadata() or ()
    given = next((value for key, value in metadata if key == REQUEST_ID), "")
    return str(given) if _FIT_ID.fullmatch(str(given)) else uuid.uuid4().hex


def _on_loop(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    # The loop of a server that has stopped is closed, and nobody counts its calls any more.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(then)
