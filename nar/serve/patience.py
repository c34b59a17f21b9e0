"""How long the caller of one call still waits: threads ask before every further piece of work."""

import threading
import time
from collections.abc import Sequence
from typing import Self

from nar.serve.status import GivenUpError


class Patience:
    """The deadline of one call and whether its caller is gone; threads and event loop share it.

    A thread cannot be stopped from outside, so that it has to ask by itself.

    Args:
        seconds: How long the caller waits from now on.

    Example:
        >>> patience = Patience(60)
        >>> patience.check()
        >>> patience.give_up()
        >>> patience.check()
        Traceback (most recent call last):
        nar.serve.status.GivenUpError: nobody waits for this call any more
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._gone = threading.Event()
        self._callers: tuple[Patience, ...] = ()

    @classmethod
    def of_all(cls, callers: Sequence["Patience"]) -> Self:
        """That of one piece of work for several callers: as long as any of them still waits."""
        shared = cls(max(each.remaining_s for each in callers))
        shared._callers = tuple(callers)
        return shared

    @property
    def is_given_up(self) -> bool:
        """Whether the caller is gone, or all of them are."""
        callers = self._callers
        return self._gone.is_set() or (bool(callers) and all(each.is_given_up for each in callers))

    @property
    def remaining_s(self) -> float:
        """How long the caller still waits; negative once the time is over."""
        return self._end - time.monotonic()

    def give_up(self) -> None:
        """Say that the caller is gone."""
        self._gone.set()

    def check(self) -> None:
        """Go on.

        Raises:
            GivenUpError: The caller is gone, or the time is over.
        """
        if self.is_given_up:
            raise GivenUpError("nobody waits for this call any more")
        if self.remaining_s <= 0:
            raise GivenUpError("the time of this call was over before all of it was done")
