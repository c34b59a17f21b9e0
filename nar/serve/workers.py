"""The threads that compute, so that the event loop only waits."""

import asyncio
import math
from threading import Event
from typing import Final

from google.protobuf.message import Message

from nar.serve.calls import Call
from nar.serve.pool import Pool
from nar.serve.status import GivenUpError, OverloadedError
from nar.serve.telemetry import POOLS
from nar.serve.together import Asked, Work
from nar.wire.settings import ServerConfig

# Whatever the size of their requests: these wait for a store, or read many graphs.
HEAVY: Final = frozenset({"Explain", "Upsert", "Delete"})


class Workers:
    """Threads for small calls, and others for heavy ones, which never take those of the small.

    Heavy are calls whose requests have many bytes, and those of some methods. They are alone with
    their thread, and those that are too many are shed, so that they never take all places.

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
        """Whether a thread is at work, be it for a caller who is gone."""
        return self._small.is_busy or self._heavy.is_busy

    @property
    def have_enough(self) -> bool:
        """Whether a further small call would only wait."""
        return self._small.has_enough

    @property
    def have_answered(self) -> Event:
        """Set whenever small calls were answered; whoever waits for that clears it."""
        return self._small.has_answered

    @property
    def stuck_s(self) -> dict[str, float]:
        """By pool, how long no call has come to its end; 0 while one of its threads is free."""
        return {pool.name: pool.stuck_s for pool in (self._small, self._heavy)}

    def refusal(self, method: str, remaining_s: float) -> OverloadedError | None:
        """What is said to a small call that would wait for too long if it came now.

        Args:
            method: Which.
            remaining_s: How long its caller still waits.
        """
        return None if method in HEAVY else self._small.lane.refusal(method, remaining_s)

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
                if len(asked.received) > self._heavy_bytes or call.method in HEAVY:
                    return await self._run_heavy(call, asked, work)
                return await self._small.answer(call, asked, work, alone=alone)
        except TimeoutError:
            if limit.expired():
                reason = "the time of this call was over before it was answered"
                raise GivenUpError(reason) from None
            raise
        finally:
            patience.give_up()

    async def _run_heavy(self, call: Call, asked: Asked, work: Work) -> Message:
        if self._heavy_calls >= self._max_heavy:
            reason = "as many heavy calls are in flight as may be; try again"
            raise OverloadedError(reason, self._heavy.lane.expected_wait_s)
        self._heavy_calls += 1
        try:
            return await self._heavy.answer(call, asked, work, alone=True)
        finally:
            self._heavy_calls -= 1

    def shutdown(self) -> None:
        """Begin nothing any more; what runs is left to itself."""
        for pool in (self._small, self._heavy):
            pool.shutdown()
