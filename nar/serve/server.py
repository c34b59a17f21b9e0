"""The life of the query server: build, start, drain, stop."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME as HEALTH_SERVICE
from grpc_reflection.v1alpha import reflection

from nar.base.errors import ConfigError
from nar.serve.calls import SERVICE
from nar.serve.dispatch import Dispatch
from nar.serve.doors import Admission, check_doors, deadline, doors, locks, metrics_port
from nar.serve.health import Health
from nar.serve.http import Site
from nar.serve.requests import Streams, uploads_of
from nar.serve.retrieval import Retrieval
from nar.serve.service import methods_of
from nar.serve.telemetry import Arrivals, Telemetry
from nar.serve.workers import Workers
from nar.wire.addresses import address
from nar.wire.settings import ServerConfig
from nar.wire.tls import Certificates

if TYPE_CHECKING:
    from nar.serve.http.server import WebServer

OPTIONS: Final = (
    # Clients of other languages ping idle connections more often than the 5 minutes that grpc
    # allows by default, and would be cut off.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Chosen: a connection whose other end is gone is closed after 80 s.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Chosen: after an hour a connection is asked to come anew, and finishes its calls first. So
    # clients spread over servers that were added, and forgotten connections end.
    ("grpc.max_connection_age_ms", 3_600_000),
    # Two servers on one port would each see half of the calls.
    ("grpc.so_reuseport", 0),
)

# How often the threads are looked at within the time after which they count as stuck (chosen:
# health is late by a fifth of that time at most).
LOOKS: Final = 5
# How long calls are refused as draining before the port closes (chosen: some round trips).
NOTICE_S: Final = 0.2


class QueryServer:
    """A server from start to drain; lives inside one event loop.

    Args:
        config: Address, limits and times.
        retrieval: Answers the calls.
        telemetry: Counts the calls.
        page: Pages beside the methods of the contract, where an HTTP port is opened.
        is_warm: Whether it is ready at once; else `warmed` says when.

    Attributes:
        port: The port that calls come to, once started.
        warm_up: Answers what callers might ask; for a thread that has loaded what answers.
    """

    def __init__(
        self,
        config: ServerConfig,
        retrieval: Retrieval,
        telemetry: Telemetry,
        page: Site | None = None,
        *,
        is_warm: bool = True,
    ) -> None:
        self.port = 0
        self._config = config
        self._telemetry = telemetry
        # Only servers that bind tokens to an alias need its name.
        self._alias = retrieval.alias if config.scoped_tokens_file else ""
        self._workers = Workers(config)
        self._health = Health(
            (SERVICE,),
            retrieval.count_rows,
            partial(retrieval.goes_on, config.max_stale_s),
            self._stuck,
            telemetry,
            is_warm=is_warm,
        )
        self.warm_up = retrieval.warm_up
        self._warm = asyncio.Event()
        self._admission = Admission(
            config.max_in_flight,
            config.caller_share,
            telemetry.in_flight,
            telemetry.most_of_a_caller,
            config.caller_calls_per_s,
        )
        # Of its own: browsers, and what fills the page, take no place from calls of gRPC.
        self._page_admission = Admission(
            config.max_page_requests,
            config.caller_share,
            telemetry.page_in_flight,
            calls_per_s=config.caller_calls_per_s,
        )
        self._streams = Streams(
            uploads_of(config),
            at_a_time=config.max_search_streams,
            idle_s=config.max_idle_s,
            max_call_s=config.max_call_s,
            of_one=config.caller_share,
        )
        dispatch = Dispatch(
            methods_of(retrieval),
            doors(config, telemetry, self._alias),
            self._admission,
            (deadline,),
            self._streams,
            self._workers,
            telemetry,
        )
        self._server = grpc.aio.server(
            interceptors=[dispatch.interceptor],
            options=[*OPTIONS, *_bounds(config)],
        )
        arrivals = Arrivals()
        telemetry.registry.register(arrivals)
        telemetry.watch_connections("grpc", arrivals.connections, config.max_connections)
        self._add_services(dispatch)
        self._web = self._web_server(dispatch, page)
        self._metrics = metrics_port(config, telemetry, self._alias)
        self._watching: list[asyncio.Task[None]] = []
        self._warming: asyncio.Task[None] | None = None

    def _add_services(self, dispatch: Dispatch) -> None:
        self._server.add_generic_rpc_handlers((dispatch.handlers(),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (SERVICE, HEALTH_SERVICE, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    def _web_server(self, dispatch: Dispatch, page: Site | None) -> "WebServer | None":
        """The HTTP port, where the configuration asks for one."""
        if self._config.web_port is None:
            return None
        # Its libraries take 0.1 s to import, which a server without a page need not spend.
        from nar.serve.http.requests import method_routes
        from nar.serve.http.server import WebServer

        methods = list(method_routes(dispatch, self._config.max_message_bytes))
        layers = (*locks(self._config, self._telemetry, self._alias), self._page_admission)
        web = WebServer(self._config, methods, page or Site(), layers)
        most = self._config.max_connections
        self._telemetry.watch_connections("web", lambda: web.connections.held, most)
        return web

    @property
    def web_port(self) -> int:
        """The port of the page, once started; 0 without one."""
        return self._web.port if self._web else 0

    @property
    def is_at_work(self) -> bool:
        """Whether a thread is at work for some call."""
        return self._workers.are_busy

    @property
    def metrics_port(self) -> int:
        """The port of the metrics, once started."""
        return self._metrics.port

    async def start(self) -> None:
        """Listen on both ports.

        Raises:
            ConfigError: An address is taken or not of this machine, or a secret would be sent in
            clear text.
        """
        check_doors(self._config)
        interval_s, stuck_after_s = self._config.probe_interval_s, self._config.stuck_after_s
        await self._health.probe(interval_s)
        await self._listen()
        await self._server.start()
        self._watching = [
            asyncio.create_task(self._health.probe_forever(interval_s)),
            asyncio.create_task(self._health.look_forever(stuck_after_s / LOOKS)),
        ]
        self._warming = asyncio.create_task(self._become_ready())

    def warmed(self) -> None:
        """Note that it was warmed up; called on the event loop."""
        self._warm.set()

    async def _become_ready(self) -> None:
        await self._warm.wait()
        await self._health.warmed()

    def _stuck(self) -> dict[str, bool]:
        after_s = self._config.stuck_after_s
        return {pool: stuck_s > after_s for pool, stuck_s in self._workers.stuck_s.items()}

    async def _listen(self) -> None:
        config = self._config
        listening = address(config.host, config.port)
        try:
            self.port = self._open(listening)
            listening = address(config.metrics_host, config.metrics_port)
            await self._metrics.open(config.metrics_host, config.metrics_port)
            if self._web:
                listening = address(config.host, config.web_port or 0)
                self._web.open()
        except (RuntimeError, OSError) as error:
            # grpc says no more than that it could not.
            reason = error.strerror if isinstance(error, OSError) else "the port may be taken"
            raise ConfigError(
                f"cannot listen on {listening}: {reason}; take another (--port, --metrics-port, "
                "--web-port; 0 is a free one), or another address of this machine"
            ) from error

    def _open(self, listening: str) -> int:
        if self._config.tls is None:
            return self._server.add_insecure_port(listening)
        certificates = Certificates(self._config.tls)
        self._telemetry.certificate_end.set_function(certificates.end_s)
        return self._server.add_secure_port(listening, certificates.credentials())

    async def run_until(self, stop: asyncio.Event) -> None:
        """Serve until the event is set.

        Raises:
            Exception: The health probe failed in an unforeseen way; better gone than falsely
                healthy.
        """
        assert self._watching, "start() comes first"
        waiting = asyncio.create_task(stop.wait())
        await asyncio.wait({waiting, *self._watching}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        for watcher in self._watching:
            if watcher.done():
                watcher.result()

    async def drain(self) -> None:
        """Say NOT_SERVING, refuse new calls, finish those in flight, close both ports.

        Threads that still work after the grace are left to it: `is_at_work` says whether any does.
        """
        for watcher in (*self._watching, *filter(None, [self._warming])):
            watcher.cancel()
        self._admission.close()
        self._page_admission.close()
        self._streams.close()
        await self._health.drain()
        # A call that arrives while grpc closes the port ends as CANCELLED; until then this server
        # refuses calls itself, and says why.
        await asyncio.sleep(min(NOTICE_S, self._config.drain_grace_s))
        await asyncio.gather(
            self._server.stop(self._config.drain_grace_s),
            *([self._web.close()] if self._web else []),
        )
        self._workers.shutdown()
        await self._metrics.close()


def _bounds(config: ServerConfig) -> list[tuple[str, int]]:
    unseen = min(config.max_in_flight, config.unseen_calls)
    return [
        ("grpc.max_receive_message_length", config.max_message_bytes),
        ("grpc.max_concurrent_streams", config.max_streams),
        # Calls that Python has not seen yet. Beyond its peak the server would otherwise answer or
        # refuse every call too late. A dropped call ends as CANCELLED, and clients may try it
        # again. The two numbers are equal, as grpc drops calls at random between them.
        ("grpc.server.max_pending_requests", unseen),
        ("grpc.server.max_pending_requests_hard_limit", unseen),
        # Otherwise grpc widens its windows, and buffers megabytes that Python has not read.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.max_allowed_incoming_connections", config.max_connections),
        # Otherwise connections that say nothing stay, and such are enough to keep everybody out.
        ("grpc.server_handshake_timeout_ms", round(1_000 * config.max_handshake_s)),
        ("grpc.max_connection_idle_ms", round(1_000 * config.max_connection_idle_s)),
    ]
