"""Stopping what runs too long, be it one call of torch after another or a loop of plain Python."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nar.base.process import raise_in_thread


class OutOfTimeError(BaseException):
    """The time is over. No code that catches `Exception` holds it up."""


class Deadline:
    """A point in time.

    Args:
        seconds: How far away it is.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, 0 or more."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Stop what runs if the time is over.

        Raises:
            OutOfTimeError: It is.
        """
        if time.monotonic() > self._end:
            raise OutOfTimeError

    def postponed(self, seconds: float) -> "Deadline":
        """The deadline some seconds later."""
        return Deadline(self.left + seconds)


@contextmanager
def ending(deadline: Deadline) -> Iterator[None]:
    """Inside, Python code of this thread ends with the deadline, even where it calls nothing.

    Raises:
        OutOfTimeError: The time was over.
    """
    thread = threading.current_thread()
    lock = threading.Lock()
    is_over = is_sent = False

    def stop() -> None:
        nonlocal is_sent
        with lock:
            if not is_over:
                is_sent = True
                raise_in_thread(thread, OutOfTimeError)

    # A call of torch that runs on is ended by the next line of Python.
    timer = threading.Timer(deadline.left + _GRACE, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except OutOfTimeError:
        is_sent = False  # it has arrived
        raise
    finally:
        timer.cancel()
        with lock:
            is_over = True
        if is_sent:
            _await()


# Chosen: calls of torch check the deadline themselves, and that is the gentler way to end.
_GRACE = 0.5
_LINES = 1000  # of Python, in one of which what was sent arrives; chosen: it takes two


def _await() -> None:
    """Let an error that was sent arrive here, and not in whatever runs next.

    Taking it back would leave Python on the watch for it with every line from then on.
    """
    with suppress(OutOfTimeError):
        for _ in range(_LINES):
            threading.get_ident()
