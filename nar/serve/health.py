"""Health of the service, by asking the index a real question every few seconds."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Final

import grpc
from grpc_health.v1.health_pb2 import (
    HealthCheckRequest,
    HealthCheckResponse,
    HealthListRequest,
    HealthListResponse,
)
from prometheus_client import Gauge

from nar.errors import NarError
from nar.serve.interceptors import Context

log = logging.getLogger(__name__)

SERVING: Final[int] = HealthCheckResponse.SERVING
NOT_SERVING: Final[int] = HealthCheckResponse.NOT_SERVING
SERVICE_UNKNOWN: Final[int] = HealthCheckResponse.SERVICE_UNKNOWN


class Health:
    """The health service: one true answer for all services of this server.

    The servicer that grpc brings keeps its watchers through a shutdown, and so every drain would
    last its whole grace; this one lets them go.

    Args:
        services: Full names known; the empty name is the server.
        count_rows: Asks the index for its number of rows; raises NarError when it cannot.
        rows: Gauge that shows the answer.
    """

    def __init__(
        self, services: tuple[str, ...], count_rows: Callable[[], int], rows: Gauge
    ) -> None:
        self._services = ("", *services)
        self._count_rows = count_rows
        self._rows = rows
        self._status = NOT_SERVING
        self._draining = False
        self._changed = asyncio.Condition()

    async def Check(self, request: HealthCheckRequest, context: Context) -> HealthCheckResponse:
        """Say how a service is now."""
        if request.service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return HealthCheckResponse(status=self._status)

    async def List(self, _: HealthListRequest, context: Context) -> HealthListResponse:
        """Say how every service is now."""
        status = HealthCheckResponse(status=self._status)
        return HealthListResponse(statuses=dict.fromkeys(self._services, status))

    async def Watch(
        self, request: HealthCheckRequest, context: Context
    ) -> AsyncIterator[HealthCheckResponse]:
        """Say how a service is, and again whenever that changes, until the drain."""
        sent = None
        while not self._draining or self._seen(request.service) != sent:
            sent = self._seen(request.service)
            yield HealthCheckResponse(status=sent)
            async with self._changed:
                await self._changed.wait_for(
                    lambda: self._draining or self._seen(request.service) != sent  # noqa: B023
                )

    def _seen(self, service: str) -> int:
        return self._status if service in self._services else SERVICE_UNKNOWN

    async def probe(self) -> None:
        """Ask once, off the event loop, and tell the watchers."""
        try:
            self._rows.set(await asyncio.to_thread(self._count_rows))
            await self._become(SERVING)
        except NarError as error:
            log.warning("not serving: %s", error)
            await self._become(NOT_SERVING)

    async def probe_forever(self, interval_s: float) -> None:
        """Ask again and again, until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.probe()

    async def drain(self) -> None:
        """Say NOT_SERVING for good, and let the watchers go."""
        self._draining = True
        await self._become(NOT_SERVING)

    async def _become(self, status: int) -> None:
        async with self._changed:
            self._status = NOT_SERVING if self._draining else status
            self._changed.notify_all()
