"""The threads that compute, and the calls that wait for them.

The event loop only waits. A call goes through a pool of threads of its weight:

    call --> Workers --> Pool: Lane (would it wait too long?) --> WaitingRoom --> thread, alone or
                                                                                  with others
"""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any, Final

from google.protobuf.message import Message

from nar.serve.calls import Call
from nar.serve.items import Received, Reply, Work
from nar.serve.status import GivenUpError, OverloadedError
from nar.serve.telemetry import POOLS
from nar.wire.settings import ServerConfig

# Weight of the newest call in the mean of its method: about ten calls are remembered (chosen).
NEWEST_WEIGHT: Final = 0.1
# How much of its caller's time a call may wait for a thread. The expected wait is a mean, so half
# of the time is left for longer waits (chosen).
WAIT_SHARE: Final = 0.5
# Calls that are answered together at most. More would save little, and every call waits for the
# last (chosen).
MAX_TOGETHER: Final = 16
# One thread answers requests of no more bytes in all: they are vectors, whose product uses all
# cores and takes little longer for many. Each graph takes its own time, so threads share graphs.
# 16 vectors of 512 numbers have half of these bytes.
SMALL_BYTES: Final = 64 * 1_024
# Expected work of the calls that wait, beyond which no further call is taken while every thread has
# a call: far above the milliseconds of a small call, far below what a caller notices (chosen).
ENOUGH_S: Final = 0.1
# Methods whose calls are heavy whatever the size of their requests: they wait for a store, or read
# many graphs.
HEAVY: Final = frozenset({"Explain", "Upsert", "Delete", "Label"})


class Lane:
    """Calls that wait for the same threads.

    Args:
        threads: Number of the threads.
        max_wait_s: Calls that would wait longer are shed, whatever their deadlines.
    """

    def __init__(self, threads: int, max_wait_s: float) -> None:
        self._threads = threads
        self._max_wait_s = max_wait_s
        self._mean_s: dict[str, float] = {}
        self._owed_s = 0.0

    @property
    def expected_wait_s(self) -> float:
        """Work that is still owed to the calls in this lane, shared by its threads."""
        return self._owed_s / self._threads

    def refusal(self, method: str, remaining_s: float) -> OverloadedError | None:
        """The error of a call that would wait for too long if it came now.

        Args:
            method: Name of its method.
            remaining_s: How long its caller still waits.
        """
        # Where no call waits, this call may try: its expected time is a mean of other calls.
        spare_s = max(remaining_s - self._mean_s.get(method, 0.0), 0)
        wait_s = self.expected_wait_s
        if wait_s <= min(self._max_wait_s, WAIT_SHARE * spare_s):
            return None
        return OverloadedError(
            f"the call would wait {wait_s:.1f} s for a thread; try again", wait_s
        )

    def enter(self, call: Call) -> float:
        """Let a call wait here.

        Returns:
            The seconds of a thread that the call is expected to take, for `leave`.

        Raises:
            OverloadedError: The call would wait for longer than it may, or would not be answered
                while its caller waits.
        """
        if refusal := self.refusal(call.method, call.clock.patience.remaining_s):
            raise refusal
        expected_s = self._mean_s.get(call.method, 0.0)
        self._owed_s += expected_s
        return expected_s

    def leave(self, call: Call, expected_s: float) -> None:
        """Note that no thread works on a call any more, and learn how long a thread did."""
        self._owed_s -= expected_s
        if call.took_s is not None:
            known_s = self._mean_s.get(call.method, 0.0)
            self._mean_s[call.method] = known_s + NEWEST_WEIGHT * (call.took_s - known_s)


class Waiting:
    """A call that waits for a thread, and then for its answer.

    Args:
        call: The call.
        received: Its request.
        work: What answers calls of its method.
        alone: Whether it is never answered together with others.

    Attributes:
        answered: Done once no thread works on it any more.
    """

    def __init__(self, call: Call, received: Received, work: Work, *, alone: bool) -> None:
        self.received = received
        self.work = work
        self.answered: Future[Message] = Future()
        self._call = call
        self._alone = alone
        self._came = time.monotonic()

    def may_join(self, first: "Waiting") -> bool:
        """Whether it may be answered together with a call that came before it."""
        return not (self._alone or first._alone) and self._call.method == first._call.method

    def begin(self) -> bool:
        """Let a thread begin; false where the caller has left or its time is over."""
        if not self.answered.set_running_or_notify_cancel():
            return False
        clock = self._call.clock
        clock.add("queue", time.monotonic() - self._came)
        try:
            clock.patience.check()
        except GivenUpError as error:
            self.answered.set_exception(error)
            return False
        return True

    def end(self, reply: Reply, took_s: float) -> None:
        """Answer it.

        Args:
            reply: The response, or the error that becomes the status.
            took_s: How long a thread worked on it.
        """
        self._call.took_s = took_s
        if isinstance(reply, Exception):
            self.answered.set_exception(reply)
        else:
            self.answered.set_result(reply)


class WaitingRoom:
    """The calls that wait, in the order in which they came.

    Args:
        threads: How many threads take calls from here, each its share.
        max_bytes: Calls that are answered together have no more bytes, all in all.
    """

    def __init__(self, threads: int, max_bytes: int) -> None:
        self._threads = threads
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._waiting: deque[Waiting] = deque()
        self._is_closed = False

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def enter(self, waiting: Waiting) -> None:
        """Let a call wait behind the others."""
        with self._lock:
            self._waiting.append(waiting)
            if self._is_closed:
                self._send_away()

    def leave(self, waiting: Waiting) -> None:
        """Forget a call whose caller has left, and the bytes of its request."""
        with self._lock:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def taken_along(self) -> list[Waiting]:
        """Take the first call and the calls that may join it; none where other threads took all."""
        with self._lock:
            taken = self._take()
        return [each for each in taken if each.begin()]

    def _take(self) -> list[Waiting]:
        if not self._waiting:
            return []
        share = min(MAX_TOGETHER, -(-len(self._waiting) // self._threads))
        first = self._waiting.popleft()
        taken, size_bytes = [first], len(first.received.body)
        for each in list(self._waiting):
            size_bytes += len(each.received.body)
            most = MAX_TOGETHER if size_bytes <= SMALL_BYTES else share
            if len(taken) >= most or size_bytes > self._max_bytes:
                break
            if each.may_join(first):
                taken.append(each)
                self._waiting.remove(each)
        return taken

    def close(self) -> None:
        """Cancel every call that waits, now and from now on."""
        with self._lock:
            self._is_closed = True
            self._send_away()

    def _send_away(self) -> None:
        for each in self._waiting:
            each.answered.cancel()
        self._waiting.clear()


def _replies(calls: Sequence[Waiting]) -> Sequence[Reply]:
    """What becomes of calls that are answered together: one reply for each, whatever happens.

    A call without a reply would keep its place, its bytes and its share of the lane for good.
    """
    try:
        replies = calls[0].work([each.received for each in calls])
        if len(replies) != len(calls):
            raise AssertionError(f"wanted {len(calls)} replies, came {len(replies)}")
    except BaseException as error:  # it may be an exit that a library asks for
        fault = RuntimeError("the work on these calls ended without replies")
        fault.__cause__ = error
        return [fault] * len(calls)
    return replies


class Pool:
    """Threads, each of which takes its share of the calls that wait, and answers them together.

    No call waits for others to join it: a call that finds a free thread is answered alone.

    Args:
        name: Name of the pool, as telemetry shows it.
        threads: Number of threads.
        max_wait_s: Calls that would wait longer for a thread are shed.
        max_bytes: Calls that are answered together have no more bytes, all in all.

    Attributes:
        name: Name of the pool.
        lane: The calls that wait, and for how long.
        has_answered: Set whenever a thread has answered calls; cleared by the waiting side.
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
        """Whether a thread is at work, even if its caller has left."""
        return bool(self._began)

    @property
    def has_enough(self) -> bool:
        """Whether a further call would only wait: every thread has calls to go on with."""
        waiting = self._waiting.count
        is_long = waiting >= self._threads and self.lane.expected_wait_s >= ENOUGH_S
        return is_long or waiting >= MAX_TOGETHER

    @property
    def stuck_s(self) -> float:
        """How long no thread has come to the end of a call; 0 while a thread is free."""
        began = list(self._began.values())
        return time.monotonic() - max(began) if len(began) == self._threads else 0.0

    async def answer(self, call: Call, received: Received, work: Work, *, alone: bool) -> Message:
        """Wait for a thread, and for its answer.

        Args:
            call: The call; `call.work` is done once no thread works on it.
            received: Its request.
            work: What answers calls of its method.
            alone: Whether it is never answered together with others of its method.

        Raises:
            OverloadedError: The call would wait for too long before it begins.
        """
        expected_s = self.lane.enter(call)
        waiting = Waiting(call, received, work, alone=alone)
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
        """Answer the calls that have waited longest, unless another thread has taken them."""
        calls = self._waiting.taken_along()
        if not calls:
            return
        began, thread = time.monotonic(), threading.get_ident()
        self._began[thread] = began
        try:
            replies = _replies(calls)
        finally:
            del self._began[thread]
        took_s = (time.monotonic() - began) / len(calls)
        for each, reply in zip(calls, replies, strict=True):
            each.end(reply, took_s)
        self.has_answered.set()

    def shutdown(self) -> None:
        """Begin nothing any more; what runs is left to itself."""
        self._waiting.close()
        self._executor.shutdown(wait=False)


class Workers:
    """Threads for small calls, and other threads for heavy calls, which never take the former.

    Heavy are calls whose requests have many bytes, and all calls of some methods. A heavy call is
    never answered together with others, and heavy calls beyond a share of all places are shed.

    Args:
        config: How many threads there are, and how long calls may wait for them.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._heavy_bytes = config.heavy_bytes
        self._max_heavy, self._heavy_calls = config.max_heavy, 0
        bytes_together = config.heavy_bytes
        small, heavy = POOLS
        self._small = Pool(small, config.compute_threads, config.max_wait_s, bytes_together)
        self._heavy = Pool(heavy, config.heavy_threads, math.inf, bytes_together)

    @property
    def are_busy(self) -> bool:
        """Whether a thread is at work, even if its caller has left."""
        return self._small.is_busy or self._heavy.is_busy

    @property
    def have_enough(self) -> bool:
        """Whether a further small call would only wait."""
        return self._small.has_enough

    @property
    def have_answered(self) -> Event:
        """Set whenever small calls were answered; cleared by the waiting side."""
        return self._small.has_answered

    @property
    def stuck_s(self) -> dict[str, float]:
        """By pool, how long no call has come to its end; 0 while a thread of the pool is free."""
        return {pool.name: pool.stuck_s for pool in (self._small, self._heavy)}

    def refusal(self, method: str, remaining_s: float) -> OverloadedError | None:
        """The error of a small call that would wait for too long if it came now.

        Args:
            method: Name of its method.
            remaining_s: How long its caller still waits.
        """
        return None if method in HEAVY else self._small.lane.refusal(method, remaining_s)

    async def run(
        self,
        call: Call,
        received: Received,
        work: Work,
        *,
        alone: bool,
        is_heavy: Callable[[Any], bool] | None = None,
    ) -> Message:
        """Work on a call in a thread.

        When its caller leaves, the thread goes on up to its next look at the patience of the call:
        `call.work` is done once the thread has really ended.

        Args:
            call: The call.
            received: Its request.
            work: What answers calls of its method.
            alone: Whether it is never answered together with others of its method.
            is_heavy: Whether a request of few bytes is heavy all the same.

        Raises:
            GivenUpError: The time of the call was over before it was answered.
            OverloadedError: The call would wait for too long before it begins.
        """
        patience = call.clock.patience
        try:
            async with asyncio.timeout(max(patience.remaining_s, 0)) as limit:
                is_large = len(received.body) > self._heavy_bytes
                if is_large or call.method in HEAVY or (is_heavy and received.has(is_heavy)):
                    return await self._run_heavy(call, received, work)
                return await self._small.answer(call, received, work, alone=alone)
        except TimeoutError:
            if limit.expired():
                reason = "the time of this call was over before it was answered"
                raise GivenUpError(reason) from None
            raise
        finally:
            patience.give_up()

    async def _run_heavy(self, call: Call, received: Received, work: Work) -> Message:
        if self._heavy_calls >= self._max_heavy:
            reason = "as many heavy calls are in flight as may be; try again"
            raise OverloadedError(reason, self._heavy.lane.expected_wait_s)
        self._heavy_calls += 1
        try:
            return await self._heavy.answer(call, received, work, alone=True)
        finally:
            self._heavy_calls -= 1

    def shutdown(self) -> None:
        """Begin nothing any more; what runs is left to itself."""
        for pool in (self._small, self._heavy):
            pool.shutdown()
