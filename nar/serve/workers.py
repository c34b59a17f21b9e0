"""The threads that compute, so that the event loop only waits."""

import asyncio
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from google.protobuf.message import Message

from nar.serve.calls import Call
from nar.serve.lane import Lane
from nar.serve.status import GivenUpError, OverloadedError
from nar.serve.together import Asked, Work
from nar.serve.waiting import MOST, Waiting, WaitingRoom

# Whatever the size of their requests: these wait for a store, or read many graphs.
HEAVY: Final = frozenset({"Explain", "Upsert", "Delete"})
# Work that is owed to callers, beyond which no further call is taken while threads have some.
ENOUGH_S: Final = 0.1


class Workers:
    """A pool that keeps a thread for small calls, and knows when none of its threads gets on.

    A thread that becomes free takes its share of the calls that have come meanwhile, and answers
    them together. Nobody waits for company: a call that finds a thread free is alone.

    Args:
        threads: Calls computed at a time.
        heavy_bytes: Calls whose requests have more bytes never take the last thread; nor do
            those of some methods.
        max_heavy: Heavy calls at a time, those included that wait; more are shed, so that they
            never take all places of small ones.
        max_wait_s: Small calls are shed rather than let wait longer for a thread.

    Attributes:
        have_answered: Set whenever a thread has answered calls; whoever waits for that clears it.
    """

    def __init__(self, threads: int, heavy_bytes: int, max_heavy: int, max_wait_s: float) -> None:
        self._pool = ThreadPoolExecutor(threads, "compute")
        self._threads = threads
        self._heavy_bytes = heavy_bytes
        self._max_heavy, self._heavy_calls = max_heavy, 0
        heavy_threads = max(1, threads - 1)
        self._heavy = asyncio.Semaphore(heavy_threads)
        self._lane = Lane(threads, max_wait_s)
        self._heavy_lane = Lane(heavy_threads, math.inf)
        self._began: dict[int, float] = {}
        self._waiting = WaitingRoom(threads, heavy_bytes)
        self.have_answered = threading.Event()

    @property
    def are_busy(self) -> bool:
        """Whether a thread is at work, be it for a caller who is gone."""
        return bool(self._began)

    @property
    def have_enough(self) -> bool:
        """Whether a further call would only wait, and no thread lacks its next ones."""
        waiting = self._waiting.count
        is_long = waiting >= self._threads and self._lane.expected_wait_s >= ENOUGH_S
        return is_long or waiting >= MOST

    @property
    def stuck_s(self) -> float:
        """How long no thread has come to the end of a call; 0 while one of them is free."""
        began = list(self._began.values())
        return time.monotonic() - max(began) if len(began) == self._threads else 0.0

    def refusal(self, method: str, remaining_s: float) -> OverloadedError | None:
        """What is said to a small call that would wait for too long if it came now.

        Args:
            method: Which.
            remaining_s: How long its caller still waits.
        """
        return None if method in HEAVY else self._lane.refusal(method, remaining_s)

    async def run(self, call: Call, asked: Asked, work: Work, *, alone: bool) -> Message:
        """Work on a call in a thread.

        When its caller leaves, the thread goes on up to its next look at the patience of the call:
        `call.work` is done once the thread has really ended.

        Args:
            call: The call.
            asked: What it asks.
            work: What answers calls of its method.
            alone: Whether it is never answered together with others of its method.

        Raises:
            GivenUpError: The time of the call was over before it was answered.
            OverloadedError: The call would wait for too long before it begins.
        """
        patience = call.clock.patience
        try:
            async with asyncio.timeout(max(patience.remaining_s, 0)) as limit:
                return await self._run(call, asked, work, alone=alone)
        except TimeoutError:
            if limit.expired():
                reason = "the time of this call was over before it was answered"
                raise GivenUpError(reason) from None
            raise
        finally:
            patience.give_up()

    async def _run(self, call: Call, asked: Asked, work: Work, *, alone: bool) -> Message:
        is_heavy = len(asked.received) > self._heavy_bytes or call.method in HEAVY
        lane = self._heavy_lane if is_heavy else self._lane
        if is_heavy and self._heavy_calls >= self._max_heavy:
            reason = "as many heavy calls are in flight as may be; try again"
            raise OverloadedError(reason, lane.expected_wait_s)
        expected_s = lane.enter(call)
        self._heavy_calls += is_heavy
        waiting = Waiting(call, asked, work, alone=alone or is_heavy)
        try:
            if is_heavy:
                await self._heavy.acquire()
            call.work = waiting.answered
            self._waiting.enter(waiting)
            self._pool.submit(self._work)
            if is_heavy:
                call.when_work_ends(self._heavy.release)
            return await asyncio.wrap_future(waiting.answered)
        finally:
            self._heavy_calls -= is_heavy
            call.when_work_ends(partial(lane.leave, call, expected_s))

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
        self.have_answered.set()

    def shutdown(self) -> None:
        """Begin nothing any more; what runs is left to itself."""
        self._waiting.close()
        self._pool.shutdown(wait=False)
