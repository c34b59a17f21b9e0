"""One call under way: what the layers around it and the threads that work on it know of it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import grpc

from nar.serve.stages import StageClock

# Quoted: this is generic in the stubs only.
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


@dataclass(slots=True)
class Call:
    """One call under way.

    Attributes:
        method: Name without the service: ``Search``.
        context: Deadline, metadata and the way to abort.
        clock: Its stages, and how long its caller waits.
        work: What a thread does for it, once that was begun; it may outlive the call.
        took_s: How long the thread was at it, once that has ended.
    """

    method: str
    context: Context
    clock: StageClock
    work: Future[Any] | None = None
    took_s: float | None = None

    def when_work_ends(self, then: Callable[[], None]) -> None:
        """Do something on this event loop as soon as no thread works on the call."""
        if self.work is None:
            then()
        else:
            later = partial(_on_loop, asyncio.get_running_loop(), then)
            self.work.add_done_callback(lambda _: later())


def _on_loop(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    # The loop of a server that has stopped is closed, and nobody counts its calls any more.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(then)
