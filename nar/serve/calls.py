"""One call under way: what the layers around it and the threads that work on it know of it."""

import asyncio
import re
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import grpc

from nar.serve.stages import StageClock

# Metadata of calls and replies.
REQUEST_ID: Final = "x-request-id"
_FIT_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

# Quoted: this is generic in the stubs only.
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


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
    """

    method: str
    context: Context
    clock: StageClock
    request_id: str
    work: Future[Any] | None = None
    took_s: float | None = None

    def when_work_ends(self, then: Callable[[], None]) -> None:
        """Do something on this event loop as soon as no thread works on the call."""
        if self.work is None:
            then()
        else:
            later = partial(_on_loop, asyncio.get_running_loop(), then)
            self.work.add_done_callback(lambda _: later())


def request_id_of(context: Context) -> str:
    """The id that the caller gave a call, if it is fit for a log; otherwise a new one."""
    metadata = context.invocation_metadata() or ()
    given = next((value for key, value in metadata if key == REQUEST_ID), "")
    return str(given) if _FIT_ID.fullmatch(str(given)) else uuid.uuid4().hex


def _on_loop(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    # The loop of a server that has stopped is closed, and nobody counts its calls any more.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(then)
