"""Calls that wait for a thread, and which of them it takes along."""

import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Final

from google.protobuf.message import Message

from nar.serve.calls import Call
from nar.serve.status import GivenUpError
from nar.serve.together import Asked, Outcome, Work

# Calls that are answered together. More would save little, and all wait for the last of them.
MOST: Final = 16
# Requests of no more bytes, all in all, are answered by one thread: vectors, whose product uses all
# cores and takes little longer for many. Graphs take each its time, so threads share them.
SMALL_BYTES: Final = 64 * 1_024


class Waiting:
    """A call that waits for a thread, and then for its answer.

    Args:
        call: The call.
        asked: What it asks.
        work: What answers calls of its method.
        alone: Whether it is never answered together with others.

    Attributes:
        answered: Done once no thread works on it any more.
    """

    def __init__(self, call: Call, asked: Asked, work: Work, *, alone: bool) -> None:
        self.asked = asked
        self.work = work
        self.answered: Future[Message] = Future()
        self._call = call
        self._alone = alone
        self._came = time.monotonic()

    def may_join(self, first: "Waiting") -> bool:
        """Whether it may be answered together with one that came before it."""
        return not (self._alone or first._alone) and self._call.method == first._call.method

    def begin(self) -> bool:
        """Let a thread begin; false where nobody waits any more, who is told so."""
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

    def end(self, outcome: Outcome, took_s: float) -> None:
        """Answer it.

        Args:
            outcome: The response, or what makes the status.
            took_s: How long a thread was at it.
        """
        self._call.took_s = took_s
        if isinstance(outcome, Exception):
            self.answered.set_exception(outcome)
        else:
            self.answered.set_result(outcome)


class WaitingRoom:
    """Who waits, the first comer first.

    Args:
        threads: How many take calls from here: each takes its share of them.
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
        """Wait behind the others."""
        with self._lock:
            self._waiting.append(waiting)
            if self._is_closed:
                self._send_away()

    def leave(self, waiting: Waiting) -> None:
        """Forget one that nobody waits for any more, and the bytes of its request."""
        with self._lock:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def called_in(self) -> list[Waiting]:
        """Take the first, and those that may join it; nobody, if others took them along."""
        with self._lock:
            taken = self._take()
        return [each for each in taken if each.begin()]

    def _take(self) -> list[Waiting]:
        if not self._waiting:
            return []
        share = min(MOST, -(-len(self._waiting) // self._threads))
        first = self._waiting.popleft()
        taken, size_bytes = [first], len(first.asked.received)
        for each in list(self._waiting):
            size_bytes += len(each.asked.received)
            most = MOST if size_bytes <= SMALL_BYTES else share
            if len(taken) >= most or size_bytes > self._max_bytes:
                break
            if each.may_join(first):
                taken.append(each)
                self._waiting.remove(each)
        return taken

    def close(self) -> None:
        """Send everyone away, now and from now on."""
        with self._lock:
            self._is_closed = True
            self._send_away()

    def _send_away(self) -> None:
        for each in self._waiting:
            each.answered.cancel()
        self._waiting.clear()
