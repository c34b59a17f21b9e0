"""Waiting for another process, a port or a store, none of which reports when it is ready."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def retried(
    attempt: Callable[[], Result],
    may_pass: Callable[[Exception], bool],
    *,
    limit_s: float,
    pause_s: float,
) -> Result:
    """The result of the first attempt that succeeds.

    Args:
        attempt: The call to try; the first time at once.
        may_pass: Whether another attempt may succeed after this error.
        limit_s: An error after so long is raised.
        pause_s: Time between two attempts.

    Raises:
        Exception: The error of the last attempt.

    Example:
        >>> answers = iter([False, True])
        >>> def attempt() -> str:
        ...     if not next(answers):
        ...         raise ConnectionError
        ...     return "there"
        >>> retried(attempt, lambda error: isinstance(error, OSError), limit_s=60, pause_s=0)
        'there'
    """
    end = time.monotonic() + limit_s
    while True:
        try:
            return attempt()
        except Exception as error:
            if not may_pass(error) or time.monotonic() > end:
                raise
        time.sleep(pause_s)


def wait_until(
    is_done: Callable[[], bool],
    *,
    limit_s: float,
    pause_s: float,
    meanwhile: Callable[[], object] = lambda: None,
) -> bool:
    """Wait for a condition.

    Args:
        is_done: The condition; asked at once, and again after each pause.
        limit_s: How long to wait at most.
        pause_s: Time between two looks.
        meanwhile: Called between two looks, for example to show that the wait goes on.

    Returns:
        Whether the condition came true in time.

    Example:
        >>> looks = iter([False, False, True])
        >>> wait_until(lambda: next(looks), limit_s=60, pause_s=0)
        True
    """
    end = time.monotonic() + limit_s
    while not is_done():
        if time.monotonic() > end:
            return False
        meanwhile()
        time.sleep(pause_s)
    return True
