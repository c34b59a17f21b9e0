"""Health of the service, by asking the index a real question every few seconds."""

import asyncio
import logging
from collections.abc import Callable

from grpc_health.v1 import health_pb2
from grpc_health.v1.health import OVERALL_HEALTH, aio
from prometheus_client import Gauge

from nar.errors import NarError

log = logging.getLogger(__name__)


class Health:
    """Keeps the health service true.

    Args:
        services: Full names that are healthy or not together.
        count_rows: Asks the index for its number of rows; raises NarError when it cannot.
        rows: Gauge that shows the answer.
    """

    def __init__(
        self, services: tuple[str, ...], count_rows: Callable[[], int], rows: Gauge
    ) -> None:
        self.servicer = aio.HealthServicer()
        self._services = (OVERALL_HEALTH, *services)
        self._count_rows = count_rows
        self._rows = rows

    async def probe(self) -> None:
        """Ask once, off the event loop, and tell the watchers."""
        try:
            self._rows.set(await asyncio.to_thread(self._count_rows))
            status = health_pb2.HealthCheckResponse.SERVING
        except NarError as error:
            log.warning("not serving: %s", error)
            status = health_pb2.HealthCheckResponse.NOT_SERVING
        for service in self._services:
            await self.servicer.set(service, status)

    async def probe_forever(self, interval_s: float) -> None:
        """Ask again and again, until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.probe()

    async def drain(self) -> None:
        """Say NOT_SERVING for good."""
        await self.servicer.enter_graceful_shutdown()
