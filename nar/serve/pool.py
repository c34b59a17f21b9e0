"""Threads that answer calls of one weight, and the calls that wait for them."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from google.protobuf.message import Message

from nar.serve.calls import Call
from nar.serve.lane import Lane
from nar.serve.together import Asked, Work
from nar.serve.waiting import MOST, Waiting, WaitingRoom

# Work that is owed to callers, beyond which no further call is taken while threads have some.
ENOUGH_S: Final = 0.1


class Pool:
    """Threads, each of which takes its share of the calls that wait, and answers them together.

    Nobody waits for company: a call that finds a thread free is alone.

    Args:
        name: One of the pools that telemetry shows.
        threads: How many.
        max_wait_s: Calls that would wait longer for a thread are shed.
        max_bytes: Calls that are answered together have no more bytes, all in all.

    Attributes:
        name: As told.
        lane: Who waits, and for how long.
        has_answered: Set whenever a thread has answered calls; whoever waits for that clears it.
    """

    def __init__(self, name: str, threads: int, max_wait_s: float, max_bytes: int) -> None:
        self.name = name
        self.lane = Lane(threads, max_wait_s)
        self.has_answered = threading.Event()
        self._executor = ThreadPoolExecutor(threads, name)
        self._threads = threads
        self._waiting = WaitingRoom(threads, max_bytes)
        self._began: dict[int, float] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a thread is at work, be it for a caller who is gone."""
        return bool(self._began)

    @property
    def has_enough(self) -> bool:
        """Whether a further call would only wait: every thread has calls to go on with."""
        waiting = self._waiting.count
        is_long = waiting >= self._threads and self.lane.expected_wait_s >= ENOUGH_S
        return is_long or waiting >= MOST

    @property
    def stuck_s(self) -> float:
        """How long no thread has come to the end of a call; 0 while one of them is free."""
        began = list(self._began.values())
        return time.monotonic() - max(began) if len(began) == self._threads else 0.0

    async def answer(self, call: Call, asked: Asked, work: Work, *, alone: bool) -> Message:
        """Wait for a thread, and for its answer.

        Args:
            call: The call; `call.work` is done once no thread is at it.
            asked: What it asks.
            work: What answers calls of its method.
            alone: Whether it is never answered together with others of its method.

        Raises:
            OverloadedError: The call would wait for too long before it begins.
        """
        expected_s = self.lane.enter(call)
        waiting = Waiting(call, asked, work, alone=alone)
        call.work = waiting.answered
        try:
            self._waiting.enter(waiting)
            self._executor.submit(self._work)
            return await asyncio.wrap_future(waiting.answered)
        finally:
            if waiting.answered.cancelled():
                self._waiting.leave(waiting)
            call.when_work_ends(partial(self.lane.leave, call, expected_s))

    def _work(self) -> None:
        """Answer those who have waited longest, if others have not taken them along."""
        calls = self._waiting.called_in()
        if not calls:
            return
        began, thread = time.monotonic(), threading.get_ident()
        self._began[thread] = began
        try:
            outcomes = calls[0].work([each.asked for each in calls])
        finally:
            del self._began[thread]
        took_s = (time.monotonic() - began) / len(calls)
        for each, outcome in zip(calls, outcomes, strict=True):
            each.end(outcome, took_s)
        self.has_answered.set()

    def shutdown(self) -> None:
        """Begin nothing any more; what runs is left to itself."""
        self._waiting.close()
        self._executor.shutdown(wait=False)
