"""Stopping what runs too long, be it one call of torch after another or a loop of plain Python."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from nar.base.process import raise_in_thread


class OutOfTimeError(BaseException):
    """The time is over. No code that catches `Exception` holds it up."""


class Deadline:
    """A number of seconds that the calling thread may compute.

    Seconds of the processor, so that what is found is the same on a busy machine; code that waits
    and computes nothing ends too, some seconds of the wall later.

    Args:
        seconds: How many.
    """

    def __init__(self, seconds: float) -> None:
        self._clock = clock_of_thread()
        self._end = time.clock_gettime(self._clock) + seconds
        self._latest = time.monotonic() + _WAITING * seconds

    @property
    def left(self) -> float:
        """The seconds that are left, 0 or more."""
        try:
            computed = self._end - time.clock_gettime(self._clock)
        except OSError:  # the thread has ended, and its clock with it
            return 0.0
        return max(0.0, min(computed, self._latest - time.monotonic()))

    def check(self) -> None:
        """Stop what runs if the time is over.

        Raises:
            OutOfTimeError: It is.
        """
        if not self.left:
            raise OutOfTimeError


def clock_of_thread() -> int:
    """The clock of what the calling thread computes; where a system has none, of the process."""
    if sys.platform == "darwin":
        return time.CLOCK_PROCESS_CPUTIME_ID
    return time.pthread_getcpuclockid(threading.get_ident())


@contextmanager
def ending(deadline: Deadline) -> Iterator[None]:
    """Inside, Python code of this thread ends with the deadline, even where it calls nothing.

    A module that is being imported is imported whole, if that takes a bounded time.

    Raises:
        OutOfTimeError: The time was over.
    """
    thread = threading.current_thread()
    lock = threading.Lock()
    is_over = threading.Event()
    is_sent = False
    entered = _entered_by(sys._getframe(1))
    imported = Deadline(deadline.left + _IMPORTING)

    def stop_late() -> None:
        nonlocal is_sent
        # A call of torch that runs on is ended by the next line of Python.
        while not is_over.wait(deadline.left + _GRACE):
            with lock:
                if is_over.is_set() or deadline.left:
                    continue
                if not imported.left or not _imports(thread, entered):
                    is_sent = True
                    raise_in_thread(thread, OutOfTimeError)
                    return

    threading.Thread(target=stop_late, daemon=True).start()
    try:
        yield
    except OutOfTimeError:
        is_sent = False  # it has arrived
        raise
    finally:
        with lock:
            is_over.set()
        if is_sent:
            _await()


def _entered_by(frame: FrameType | None) -> FrameType | None:
    """The frame that enters a context: those of the machinery between are gone inside it."""
    while frame is not None and frame.f_code.co_filename == contextlib.__file__:
        frame = frame.f_back
    return frame


def _imports(thread: threading.Thread, entered: FrameType | None) -> bool:
    """Whether a thread imports a module, of which half would stay for the rest of the process.

    Args:
        thread: The thread whose frames are looked at.
        entered: The frame from which on it counts: its caller may be imported itself.
    """
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame is not entered:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


# Chosen: a machine with ten times as much to do is answered as an idle one is.
_WAITING: Final = 10.0
# Chosen: calls of torch check the deadline themselves, and that is the gentler way to end.
_GRACE: Final = 0.5
# Seconds that an import may go on after the deadline. Chosen: a library's slowest part takes some
# seconds, once; an import that takes longer has no end as far as one can tell.
_IMPORTING: Final = 15.0
_LINES: Final = 1000  # of Python, in one of which what was sent arrives; chosen: it takes two


def _await() -> None:
    """Let an error that was sent arrive here, and not in whatever runs next.

    Taking it back would leave Python on the watch for it with every line from then on.
    """
    with suppress(OutOfTimeError):
        for _ in range(_LINES):
            threading.get_ident()
