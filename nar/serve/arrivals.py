"""How many calls reached grpc: those that it drops beyond its bound, Python never sees."""

import json
from collections.abc import Iterator
from contextlib import suppress

from grpc._cython import cygrpc  # type: ignore[attr-defined]
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector


class Arrivals(Collector):
    """The calls of the server of grpc that this process has made last, as grpc counts them.

    It counts for channelz, by which it can be looked into. These functions are what the package
    `grpcio-channelz` answers from; its own service would be one more that a server has open.
    """

    def __init__(self) -> None:
        self._server_id = _newest_server_id()
        self._count = 0

    def collect(self) -> Iterator[Metric]:
        """One counter, read from grpc now."""
        with suppress(ValueError):  # a server that has stopped is gone, and its last count stays
            data = json.loads(cygrpc.channelz_get_server(self._server_id))["server"]["data"]
            self._count = int(data.get("callsStarted", 0))
        yield CounterMetricFamily(
            "nar_grpc_calls_arrived",
            "Calls that reached grpc, of any service, whether it passed them on or dropped them.",
            value=self._count,
        )


def _newest_server_id() -> int:
    newest, is_end = 0, False
    while not is_end:
        page = json.loads(cygrpc.channelz_get_servers(newest + 1))
        ids = (int(server["ref"]["serverId"]) for server in page.get("server", ()))
        newest, is_end = max(ids, default=newest), page.get("end", False)
    return newest
