"""A query server on free ports of loopback, in a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from nar.answers.answer import Graphs
from nar.answers.novelty import Novelty
from nar.base.errors import NarError
from nar.encoding.embed import Embedder
from nar.index.architecture_index import ArchitectureIndex
from nar.serve.run import PageOf, build_server, serve_until
from nar.serve.server import QueryServer
from nar.wire.settings import ServerConfig


class LiveServer:
    """Address of a running server, and the way to stop it."""

    def __init__(self, build: Callable[[], QueryServer]) -> None:
        self._build = build
        self._ready = threading.Event()
        self._failure: NarError | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except NarError as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await serve_until(self._stop, self._build, self._open)

    def _open(self, server: QueryServer) -> None:
        self.target = f"127.0.0.1:{server.port}"
        self.web_target = f"127.0.0.1:{server.web_port}"
        self.metrics_url = f"http://127.0.0.1:{server.metrics_port}/metrics"
        self._ready.set()

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()
        if self._failure:
            self._thread.join()
            raise self._failure

    def between_calls(self, work: Callable[[], object]) -> None:
        """Do something on the event loop, where nothing else goes on meanwhile; returns at once."""
        self._loop.call_soon_threadsafe(work)

    def begin_stop(self) -> None:
        """What SIGTERM does; returns at once."""
        if not self._stopping:
            self._stopping = True
            self._loop.call_soon_threadsafe(self._stop.set)

    def join(self) -> None:
        self._thread.join(30)
        assert not self._thread.is_alive(), "the server did not stop"


@contextmanager
def live_server(
    embedder: Embedder,
    index: ArchitectureIndex,
    *,
    novelty: Novelty | None = None,
    graphs: Graphs | None = None,
    page: PageOf | None = None,
    **settings: object,
) -> Iterator[LiveServer]:
    """Run a server; settings are fields of ServerConfig."""
    config = ServerConfig.model_validate({"port": 0, "metrics_port": 0, **settings})
    server = LiveServer(partial(build_server, config, embedder, index, novelty, graphs, page))
    server.start()
    try:
        yield server
    finally:
        server.begin_stop()
        server.join()
