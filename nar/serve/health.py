"""Health of the service, by asking the index a real question and looking at the threads."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from nar.base.errors import IndexUnavailableError, NarError
from nar.serve.calls import Context
from nar.serve.telemetry import POOLS, Telemetry

log = logging.getLogger(__name__)

_SILENT: Final = "the index does not answer within {:g} s"

SERVING: Final[int] = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING: Final[int] = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICE_UNKNOWN: Final[int] = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class Health:
    """The health service: one true answer for all services of this server.

    The servicer that grpc brings keeps its watchers through a shutdown, so that every drain would
    last its whole grace; this servicer lets its watchers go.

    Args:
        services: Full names of the services; the empty name stands for the server.
        count_rows: Asks the index for its number of rows; raises NarError when it cannot.
        goes_on: Whether rows in memory may answer while the index cannot be reached.
        stuck: By pool, whether none of its threads gets on, so that calls would only wait.
        telemetry: Shows the answers.
        is_warm: Whether calls are answered at full speed from the first; else `warmed` says when.
    """

    def __init__(
        self,
        services: tuple[str, ...],
        count_rows: Callable[[], int],
        goes_on: Callable[[], bool],
        stuck: Callable[[], Mapping[str, bool]],
        telemetry: Telemetry,
        *,
        is_warm: bool = True,
    ) -> None:
        self._services = ("", *services)
        self._count_rows = count_rows
        self._goes_on = goes_on
        self._is_warm = is_warm
        self._stuck = stuck
        self._telemetry = telemetry
        # A thread of its own: the threads of calls may all be busy, and asyncio waits for its own.
        self._thread = ThreadPoolExecutor(1, "probe")
        self._counting: Future[int] | None = None
        self._index_answers = False
        self._status = NOT_SERVING
        self._draining = False
        self._changed = asyncio.Condition()

    async def Check(
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> health_pb2.HealthCheckResponse:
        """Say how a service is now."""
        if request.service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return health_pb2.HealthCheckResponse(status=self._status)

    async def List(
        self, _: health_pb2.HealthListRequest, context: Context
    ) -> health_pb2.HealthListResponse:
        """Say how every service is now."""
        status = health_pb2.HealthCheckResponse(status=self._status)
        return health_pb2.HealthListResponse(statuses=dict.fromkeys(self._services, status))

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Say how a service is, and again whenever that changes, until the drain."""
        sent = None
        while not self._draining or self._seen(request.service) != sent:
            sent = self._seen(request.service)
            yield health_pb2.HealthCheckResponse(status=sent)
            async with self._changed:
                await self._changed.wait_for(
                    lambda: self._draining or self._seen(request.service) != sent  # noqa: B023
                )

    def _seen(self, service: str) -> int:
        return self._status if service in self._services else SERVICE_UNKNOWN

    async def probe(self, patience_s: float) -> None:
        """Look at index and threads once, off the event loop, and tell the watchers.

        An index that does not answer in time counts as gone; it is asked again after that answer.
        """
        counting = self._counting or self._thread.submit(self._count_rows)
        waiting = asyncio.wrap_future(counting)
        # A late error is read as well, or asyncio would complain.
        waiting.add_done_callback(lambda late: late.cancelled() or late.exception())
        await asyncio.wait({waiting}, timeout=patience_s)
        self._counting = None if counting.done() else counting
        try:
            rows = counting.result(timeout=0)
        except (NarError, TimeoutError) as error:
            is_away = isinstance(error, TimeoutError | IndexUnavailableError)
            self._index_answers = is_away and self._goes_on()
            self._telemetry.index_rows.set(math.nan)
            state = "answering from memory" if self._index_answers else "not serving"
            # A TimeoutError has no message.
            log.warning("%s: %s", state, str(error) or _SILENT.format(patience_s))
        else:
            self._index_answers = True
            self._telemetry.index_rows.set(rows)
        await self.look()

    async def look(self) -> None:
        """Look at the threads, and say how the server is."""
        stuck = self._stuck()
        for pool, is_stuck in stuck.items():
            self._telemetry.pool_stuck.labels(pool).set(is_stuck)
        can_answer = self._index_answers and self._is_warm
        is_well = can_answer and not (stuck[POOLS[0]] or self._draining)
        await self._become(SERVING if is_well else NOT_SERVING)

    async def warmed(self) -> None:
        """Note that the first calls will be answered as fast as later ones."""
        self._is_warm = True
        await self.look()

    async def probe_forever(self, interval_s: float) -> None:
        """Ask the index again and again, until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.probe(interval_s)

    async def look_forever(self, interval_s: float) -> None:
        """Look at the threads again and again, until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.look()

    async def drain(self) -> None:
        """Say NOT_SERVING for good, and let the watchers go."""
        self._draining = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        await self._become(NOT_SERVING)

    async def _become(self, status: int) -> None:
        async with self._changed:
            self._status = status
            self._telemetry.serving.set(status == SERVING)
            self._changed.notify_all()
