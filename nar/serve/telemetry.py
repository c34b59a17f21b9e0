"""Every Prometheus metric of the query server: names, units, buckets and closed label sets."""

import asyncio
import json
import math
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Final, Protocol

import prometheus_client as prometheus
from grpc._cython import cygrpc  # type: ignore[attr-defined]
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from nar.base.errors import NarError
from nar.graphs import kernel
from nar.index.rows import ERRORS, IndexState

METHODS: Final = (
    "Search",
    "Embed",
    "Get",
    "Describe",
    "SearchStream",
    "List",
    "Explain",
    "Upsert",
    "Delete",
    "Label",
)
# Pools of threads, for small calls and for heavy calls; while the first is stuck, the server is not
# ready.
POOLS: Final = ("small", "heavy")
# Ports that take calls.
PORTS: Final = ("grpc", "web")
STAGES: Final = ("queue", "parse", "fingerprint", "motifs", "encode", "search")
REJECTIONS: Final = (
    "unauthenticated",
    "forbidden",
    "overloaded",
    "share",
    "draining",
    "expired",
    "slow",
    "oversized",
    "unknown_method",
)
CALL_CODES: Final = (
    "OK",
    "CANCELLED",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "UNAVAILABLE",
    "INTERNAL",
)
# Faults that the caller cannot mend: they use up the error budget.
FAULT_CODES: Final = ("DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INTERNAL", "UNAVAILABLE")
# Methods without items; every other method answers items, each with a status of its own.
WHOLE_METHODS: Final = frozenset({"Describe", "List"})
ITEM_METHODS: Final = tuple(method for method in METHODS if method not in WHOLE_METHODS)
ITEM_CODES: Final = ("OK", "INVALID_ARGUMENT", "NOT_FOUND")

# A vector query takes 1 to 20 ms: the default buckets have three for that. Edges stand on the
# objectives: the share of calls within an objective is counted, not guessed between two edges.
OBJECTIVES_S: Final = (0.003, 0.01, 0.012, 0.03, 0.15, 0.2, 0.5)
BUCKETS_S: Final = (
    *(0.001, 0.002, 0.003, 0.005, 0.0075),
    *(0.01, 0.012, 0.015, 0.02, 0.03, 0.05, 0.075),
    *(0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.0, 5.0, 10.0, 30.0, 60.0),
)
# Chosen: the connections of a server in a few pages, each of some 50 kB of JSON.
SOCKETS_A_PAGE: Final = 500
# Chosen: Prometheus sends its request at once, and asks with a limit of 10 s by itself.
METRICS_REQUEST_S: Final = 10.0
# Chosen: many times what a few Prometheus servers and a person with curl open.
METRICS_CONNECTIONS: Final = 32
# A request of Prometheus has some 400 bytes, with a token some 1,000 more.
METRICS_HEAD_BYTES: Final = 16 * 1_024
# Of the time, what making pages may take: a page takes some 5 ms, so the next begins 50 ms later.
METRICS_SHARE: Final = 0.1
# Chosen: however long a page took on a busy machine, the next one is not put off for longer.
METRICS_REST_S: Final = 1.0


class Telemetry:
    """The metrics of one server, in a registry of their own.

    Attributes:
        registry: What the metrics port shows.
    """

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        self._calls = prometheus.Counter(
            "nar_rpc_requests_total",
            "Calls that were let in and ended, by status of the call.",
            ("method", "code"),
            registry=self.registry,
        )
        self._items = prometheus.Counter(
            "nar_rpc_items_total",
            "Items of calls answered, such as queries and graphs, by status of the item.",
            ("method", "code"),
            registry=self.registry,
        )
        self._seconds = prometheus.Histogram(
            "nar_rpc_duration_seconds",
            "Time from the arrival of a call that was let in to its end.",
            ("method",),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self.in_flight = prometheus.Gauge(
            "nar_rpc_in_flight", "Calls begun.", registry=self.registry
        )
        self.page_in_flight = prometheus.Gauge(
            "nar_page_in_flight", "Requests of the page begun.", registry=self.registry
        )
        self.connections = prometheus.Gauge(
            "nar_connections", "Connections that are open.", ("port",), registry=self.registry
        )
        self.max_connections = prometheus.Gauge(
            "nar_connections_max",
            "Connections that may be open; further ones are turned away.",
            ("port",),
            registry=self.registry,
        )
        self.tokens_stale = prometheus.Gauge(
            "nar_tokens_stale",
            "1 while a file of tokens has changed and cannot be read, 0 otherwise.",
            registry=self.registry,
        )
        self.most_of_a_caller = prometheus.Gauge(
            "nar_caller_in_flight_most",
            "Calls begun of the caller with the most calls.",
            registry=self.registry,
        )
        self._rejected = prometheus.Counter(
            "nar_rpc_rejected_total",
            "Calls turned away before work began.",
            ("reason",),
            registry=self.registry,
        )
        self.taken = prometheus.Counter(
            "nar_grpc_calls_taken_total",
            "Calls that grpc passed on, of any service; it dropped the others that arrived.",
            registry=self.registry,
        )
        self._stages = prometheus.Histogram(
            "nar_stage_duration_seconds",
            "Time that a call spent in a stage.",
            ("stage",),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self.pool_stuck = prometheus.Gauge(
            "nar_pool_stuck",
            "1 while no call of a pool of threads has ended for too long.",
            ("pool",),
            registry=self.registry,
        )
        self.serving = prometheus.Gauge(
            "nar_serving", "1 while health says SERVING, 0 otherwise.", registry=self.registry
        )
        self.index_rows = prometheus.Gauge(
            "nar_index_rows",
            "Architectures in the index; NaN while it does not answer.",
            registry=self.registry,
        )
        self.certificate_end = prometheus.Gauge(
            "nar_tls_certificate_expiry_timestamp_seconds",
            "When the certificate that callers are shown ends; NaN in clear text.",
            registry=self.registry,
        )
        self.certificate_end.set(math.nan)
        self._encoder = prometheus.Info(
            "nar_encoder", "Encoder of the vectors.", registry=self.registry
        )
        self._build = prometheus.Info(
            "nar_build", "Software of the server.", registry=self.registry
        )
        self._graphs = prometheus.Info(
            "nar_graphs",
            "What reads graphs: the compiled kernel, or Python and numpy.",
            registry=self.registry,
        )
        prometheus.ProcessCollector(registry=self.registry)
        self._show_all_label_sets()

    def _show_all_label_sets(self) -> None:
        """Start every series at 0, so that a rate sees the first error."""
        for method in METHODS:
            self._seconds.labels(method)
        for method, code in product(METHODS, CALL_CODES):
            self._calls.labels(method, code)
        for method, code in product(ITEM_METHODS, ITEM_CODES):
            self._items.labels(method, code)
        for reason in REJECTIONS:
            self._rejected.labels(reason)
        for stage in STAGES:
            self._stages.labels(stage)
        for pool in POOLS:
            self.pool_stuck.labels(pool)
        for port in PORTS:
            self.watch_connections(port, int, 0)

    def watch_connections(self, port: str, count: Callable[[], int], most: int) -> None:
        """Show how many connections a port has, at each look, and how many it may have.

        Args:
            port: ``grpc`` or ``web``.
            count: Counts them.
            most: How many there may be.
        """
        self.connections.labels(port).set_function(count)
        self.max_connections.labels(port).set(most)

    def identify(self, *, version: str, fingerprint: str, name: str, dim: int) -> None:
        """Say which software serves the vectors of which encoder."""
        self._build.info({"version": version})
        self._graphs.info({"read_by": kernel.in_use()})
        self._encoder.info({"fingerprint": fingerprint, "name": name, "dim": str(dim)})

    def call_ended(self, method: str, code: str, seconds: float) -> None:
        """Count a call that was let in, whether it was answered, at fault or given up."""
        self._calls.labels(method, code).inc()
        self._seconds.labels(method).observe(seconds)

    def item_answered(self, method: str, code: str) -> None:
        """Count one item of a call."""
        self._items.labels(method, code).inc()

    def rejected(self, reason: str) -> None:
        """Count a call that was turned away; it counts as no call that ended."""
        self._rejected.labels(reason).inc()

    def stage_ran(self, stage: str, seconds: float) -> None:
        """Observe the time that one call spent in one stage."""
        self._stages.labels(stage).observe(seconds)


class MetricsPort:
    """The port that Prometheus reads, answered by the event loop.

    A connection is one request, which has to come soon; of many open connections the oldest gives
    way. Requests that come while a page is made, or soon after, share the next page.

    Args:
        registry: What is shown.
        context: Certificates to show; None for clear text.
        may_read: Whether the sender of an `authorization` may read.

    Attributes:
        port: The port that is listened on, once opened.
    """

    def __init__(
        self,
        registry: prometheus.CollectorRegistry,
        context: ssl.SSLContext | None = None,
        *,
        may_read: Callable[[str], bool],
    ) -> None:
        self.port = 0
        self._registry = registry
        self._context = context
        self._may_read = may_read
        self._open: dict[asyncio.Task[None], None] = {}
        self._page: asyncio.Task[bytes] | None = None
        self._page_at_s = 0.0
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> None:
        """Listen; 0 takes a free port.

        Raises:
            OSError: The port is taken, or the address is not of this machine.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
        self.port = listening.getsockname()[1]
        self._server = await asyncio.start_server(
            self._connected,
            sock=listening,
            limit=METRICS_HEAD_BYTES,
            ssl=self._context,
            ssl_handshake_timeout=METRICS_REQUEST_S if self._context else None,
        )

    async def close(self) -> None:
        """Close the port and its connections."""
        if self._server is not None:
            self._server.close()
        ending = list(self._open)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = None
        if len(self._open) > METRICS_CONNECTIONS:
            next(iter(self._open)).cancel()
        try:
            async with asyncio.timeout(METRICS_REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._reply(head.decode("latin-1").split("\r\n")))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # nobody waits for a page any more
        except asyncio.CancelledError:
            pass  # this one gave way, or the port closes
        finally:
            del self._open[task]
            writer.close()

    async def _reply(self, head: list[str]) -> bytes:
        named = (line.partition(":") for line in head[1:])
        headers = {name.lower(): value.strip() for name, _, value in named}
        if not head[0].startswith("GET "):
            return _http("405 Method Not Allowed", b"wanted GET")
        if not self._may_read(headers.get("authorization", "")):
            return _http("401 Unauthorized", b"wanted the token of a reader")
        return _http("200 OK", await self._fresh_page())

    async def _fresh_page(self) -> bytes:
        """A page that is made from now on; requests that come together share it."""
        if self._page is None:
            self._page = asyncio.create_task(self._made())
        return await asyncio.shield(self._page)

    async def _made(self) -> bytes:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(self._page_at_s - loop.time(), 0))
        # Requests from now on want what is counted meanwhile, and so the page after this one.
        self._page = None
        began_s = loop.time()
        page = await asyncio.to_thread(prometheus.generate_latest, self._registry)
        took_s = loop.time() - began_s
        self._page_at_s = loop.time() + min(took_s / METRICS_SHARE, METRICS_REST_S)
        return page


def _http(status: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {prometheus.CONTENT_TYPE_LATEST}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


class Measured(Protocol):
    """What metrics need of an index: a `Reader` or an `ArchitectureIndex`."""

    @property
    def state(self) -> IndexState:
        """Where the rows are."""

    @property
    def agreed_s(self) -> float:
        """When the rows that answer were last known to be the published rows; NaN before."""

    @property
    def stale_since(self) -> float | None:
        """Since when the rows that answer may be old, in seconds since 1970; None: they are new."""

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls to the store have failed, by kind."""


class StoreMetrics(Collector):
    """The metrics of the store of one server.

    Args:
        index: The index that the server answers from.
    """

    def __init__(self, index: Measured) -> None:
        self._index = index

    def collect(self) -> Iterator[Metric]:
        """One value of each metric, without a call to the store."""
        yield self._whose_rows()
        yield GaugeMetricFamily(
            "nar_index_agreed_timestamp_seconds",
            "When what answers was last found to be what the store holds; NaN before.",
            value=self._index.agreed_s,
        )
        yield GaugeMetricFamily(
            "nar_index_stale",
            "1 while rows in memory answer for a store that cannot be read, 0 otherwise.",
            value=self._index.stale_since is not None,
        )
        failed = CounterMetricFamily(
            "nar_store_errors", "Calls to the store that failed, by kind.", labels=("kind",)
        )
        errors = self._index.errors
        for kind in ERRORS:
            failed.add_metric([kind], errors.get(kind, 0))
        yield failed

    def _whose_rows(self) -> Metric:
        """Which collection is served, and what answers for it; no value before there is one.

        Kinds are ``files``, where the files of the atlas answer alone; ``memory``, where the rows
        of the collection are held; and ``store``, where every search goes to the store.
        """
        info = InfoMetricFamily(
            "nar_index", "Collection that is served, and what answers of it.", labels=()
        )
        try:
            state = self._index.state
        except NarError:
            return info
        of_collection = "memory" if state.is_in_memory else "store"
        kind = of_collection if state.collection else "files"
        info.add_metric((), {"collection": state.collection, "kind": kind})
        return info


class Arrivals(Collector):
    """The calls that reached the newest grpc server of this process, as grpc counts them.

    No public name of grpcio gives the count. The package `grpcio-channelz` would: it calls the same
    two functions of cygrpc, and is a further dependency, made to open a further service.
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

    def connections(self) -> int:
        """How many connections the server has open."""
        count, newest, is_end = 0, 0, False
        with suppress(ValueError):  # a server that has stopped has none
            while not is_end:
                page = json.loads(
                    cygrpc.channelz_get_server_sockets(self._server_id, newest + 1, SOCKETS_A_PAGE)
                )
                ids = [int(each["socketId"]) for each in page.get("socketRef", ())]
                count, newest = count + len(ids), max(ids, default=newest)
                is_end = page.get("end", False) or not ids
        return count


def _newest_server_id() -> int:
    newest, is_end = 0, False
    while not is_end:
        page = json.loads(cygrpc.channelz_get_servers(newest + 1))
        ids = (int(server["ref"]["serverId"]) for server in page.get("server", ()))
        newest, is_end = max(ids, default=newest), page.get("end", False)
    return newest
