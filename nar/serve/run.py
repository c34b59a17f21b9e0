"""`nar serve`: open checkpoint and index, serve until SIGTERM or SIGINT, close everything."""

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Final

from prometheus_client import disable_created_metrics

from nar.answers.answer import Graphs
from nar.answers.novelty import Novelty
from nar.base.errors import NarError
from nar.base.process import give_back
from nar.base.workspace import version
from nar.config import NarConfig
from nar.encoding.stored import GraphEmbedder, StoredEmbedder
from nar.index.reader import Reader
from nar.serve.http import Site
from nar.serve.retrieval import Indexed, Retrieval
from nar.serve.server import QueryServer
from nar.serve.telemetry import StoreMetrics, Telemetry
from nar.wire.settings import ServerConfig

log = logging.getLogger(__name__)

# Time after the grace of the calls, for the index to close and for threads to notice (chosen).
MARGIN_S: Final = 5.0
# Any status but 0 says to what started the process that it did not end cleanly.
EXIT_CODE: Final = 1

OnReady = Callable[[QueryServer], None]
PageOf = Callable[[Indexed], Site]
# How long a thread may keep others from running Python. By default a small call that meets a large
# graph would wait 5 ms for each of the steps between socket, thread and answer; a tenth is chosen.
SWITCH_S: Final = 0.0005


class ForcedExit:
    """Ends the process some time after its stop has begun, unless it has ended by itself.

    No thread can be stopped from outside, and an interpreter waits for every thread.

    Args:
        limit_s: How long the stop may take.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._timer = threading.Timer(limit_s, self._leave)
        self._timer.daemon = True

    def begin(self) -> None:
        """Start the time, as the process begins to stop; a second call changes nothing."""
        if not self._timer.ident:
            self._timer.start()

    def cancel(self) -> None:
        """End the time, as nothing is left that could keep the process."""
        self._timer.cancel()

    def _leave(self) -> None:
        log.error("not stopped after %g s: leaving threads at their work", self._limit_s)
        logging.shutdown()
        os._exit(EXIT_CODE)


def serve(
    config: NarConfig,
    checkpoint_dir: Path,
    on_ready: OnReady | None = None,
    *,
    novelty: Novelty | None = None,
    graphs: Graphs | None = None,
    page: PageOf | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; calls in flight are finished first.

    Args:
        config: Where the index is, and how to serve.
        checkpoint_dir: The encoder; the index must hold its vectors.
        on_ready: Called once the ports are open; they are the server's `port` and `metrics_port`.
        novelty: How far the architectures are from each other, if that was measured.
        graphs: Where graphs of indexed architectures are looked for.
        page: Makes the page of the HTTP port, if the configuration opens that port.

    Raises:
        CheckpointError: The checkpoint is missing or damaged.
        IndexMismatchError: The index holds the vectors of another encoder.
        IndexUnavailableError: The index cannot be reached, or another process holds it.
        ConfigError: A port is taken.
    """
    from nar.index.architecture_index import ArchitectureIndex

    embedder = StoredEmbedder(checkpoint_dir)
    encoder = embedder.fingerprint
    apart = config.index.apart
    index = Reader(lambda _: ArchitectureIndex(apart, encoder=encoder), apart)
    serve_index(config.server, embedder, index, on_ready, novelty=novelty, graphs=graphs, page=page)


def serve_index(
    config: ServerConfig,
    embedder: StoredEmbedder,
    index: Reader,
    on_ready: OnReady | None = None,
    *,
    novelty: Novelty | None = None,
    graphs: Graphs | None = None,
    page: PageOf | None = None,
) -> None:
    """Serve an index until SIGTERM or SIGINT, and close it.

    Raises:
        ConfigError: A port is taken.
    """
    # A time of creation for every series would double their number.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    sys.setswitchinterval(SWITCH_S)
    forced_exit = ForcedExit(config.drain_grace_s + MARGIN_S)
    loading: list[Thread] = []

    def ready(server: QueryServer) -> None:
        # Names and vectors are answered while torch is still imported, and pymilvus if files
        # answer. The server says that it is ready once nothing slows calls any more.
        index.begin()
        warm = (embedder, server, asyncio.get_running_loop())
        loading.append(Thread(target=_get_ready, args=warm, name="encoder"))
        loading[0].start()
        (on_ready or _announce)(server)

    with closing(index):
        build = partial(build_server, config, embedder, index, novelty, graphs, page, is_warm=False)
        server = asyncio.run(_serve_until_signal(build, ready, forced_exit))
    # An interpreter that ends while torch is imported takes the thread out of C++ code that does
    # not allow it, and the process is aborted.
    for thread in loading:
        thread.join()
    if not server.is_at_work:
        forced_exit.cancel()


def _get_ready(
    embedder: StoredEmbedder, server: QueryServer, loop: asyncio.AbstractEventLoop
) -> None:
    _load(embedder)
    try:
        server.warm_up()
    # What fails here fails again where a caller asks for it, and the caller gets the error.
    except Exception as error:
        log.warning("not warmed up to the end: %r", error)
    with suppress(RuntimeError):  # the loop has ended: the server was stopped meanwhile
        loop.call_soon_threadsafe(server.warmed)


def _load(embedder: StoredEmbedder) -> None:
    try:
        embedder.load()
    except NarError:
        log.exception("graphs cannot be embedded")
    give_back()  # a third of the memory that loading takes is of the files
    # The objects that exist now stay: the garbage collector need not look through them again.
    gc.freeze()


async def _serve_until_signal(
    build: Callable[[], QueryServer], on_ready: OnReady, forced_exit: ForcedExit
) -> QueryServer:
    stop = asyncio.Event()

    def begin_stop() -> None:
        forced_exit.begin()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, begin_stop)
    return await serve_until(stop, build, on_ready)


async def serve_until(
    stop: asyncio.Event, build: Callable[[], QueryServer], on_ready: OnReady
) -> QueryServer:
    """Serve until the event is set, then drain; the server comes back drained.

    Args:
        stop: Set when the server is to end.
        build: Makes the server, inside the running event loop.
        on_ready: Called once the ports are open.

    Raises:
        ConfigError: A port is taken.
    """
    server = build()
    try:
        await server.start()
        on_ready(server)
        await server.run_until(stop)
    finally:
        await server.drain()
    return server


def build_server(
    config: ServerConfig,
    embedder: GraphEmbedder,
    index: Indexed,
    novelty: Novelty | None = None,
    graphs: Graphs | None = None,
    page: PageOf | None = None,
    *,
    is_warm: bool = True,
) -> QueryServer:
    """A server that is not yet started; call it inside the event loop that will run it."""
    telemetry = Telemetry()
    telemetry.identify(
        version=version(),
        fingerprint=embedder.fingerprint,
        name=embedder.name,
        dim=embedder.dim,
    )
    telemetry.registry.register(StoreMetrics(index))
    retrieval = Retrieval(
        embedder, index, novelty=novelty, graphs=graphs, config=config, telemetry=telemetry
    )
    site = page(index) if page and config.web_port is not None else None
    return QueryServer(config, retrieval, telemetry, site, is_warm=is_warm)


def _announce(server: QueryServer) -> None:
    log.info("serving on port %d, metrics on port %d", server.port, server.metrics_port)
    if server.web_port:
        log.info("the page is on port %d", server.web_port)
