"""Settings of the whole process: made by the first of several users, taken back by the last."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager


class ProcessWide:
    """A context that several threads are in at once, and that is entered once.

    Args:
        make: Makes the context; called each time when nobody is inside.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._users = 0
        self._context: AbstractContextManager[None] = make()

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._context = self._make()
                self._context.__enter__()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._context.__exit__(None, None, None)
