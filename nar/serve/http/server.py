"""The HTTP port beside the gRPC port, in the same event loop: it opens, serves and closes.

A fence checks the host and the page of every request, and says in replies what a browser may do. A
page of another site can make a browser send requests here, under a name that it lets point to this
machine. Such a request has a foreign Host or Origin, and is refused before its body is read.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nar.serve.calls import Layer
from nar.serve.doors import Shares
from nar.serve.http import Site
from nar.serve.http.requests import error_reply, guarded
from nar.serve.status import ForbiddenError
from nar.wire.settings import ServerConfig, TlsConfig
from nar.wire.tls import served_context

# Smaller replies fit into two packets anyway (chosen).
_SMALLEST_GZIP_BYTES: Final = 2_000
# Twice what h11 takes by default, for long cookies of other sites on this host (chosen).
_MAX_HEADER_BYTES: Final = 32 * 1024


def _context(tls: TlsConfig, *_: object) -> ssl.SSLContext:
    """What uvicorn asks for, with a configuration and a maker of its own."""
    return served_context(tls)


class _WebServer(uvicorn.Server):
    """A server that leaves the signals to the gRPC server beside it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Connection(H11Protocol):
    """A connection of a browser, which has to send the head of each request in time.

    Args:
        connections: What the addresses hold of all connections.
        head_s: How long a head may take; uvicorn itself bounds the time between two requests only.
        config: Of uvicorn.
        parts: What uvicorn gives besides.
    """

    def __init__(
        self,
        connections: Shares,
        head_s: float,
        config: uvicorn.Config,
        **parts: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(config, **parts)
        self._among = connections
        self._address = ""
        self._head_s = head_s
        self._ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless the address has as many connections as one may."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        is_spent = self._among.is_spent(self._address)
        self._among.add(self._address, 1)
        if is_spent:
            transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came, and look whether a head is awaited still."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._among.add(self._address, -1)
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        is_at_work = self.cycle is not None and not self.cycle.response_complete
        if is_at_work:
            self._stop_watching()
        elif self._ending is None:
            self._ending = self.loop.call_later(self._head_s, self.transport.abort)

    def _stop_watching(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


class WebServer:
    """The page, and the methods of the contract as JSON.

    Args:
        config: Address, limits and certificates.
        methods: Routes of the contract.
        page: Pages and files that are shown beside them.
        layers: Token, admission and what else stands before a page; its files are for everybody.

    Attributes:
        port: The port that browsers come to, once opened.
        connections: What each address holds of its connections.
    """

    def __init__(
        self,
        config: ServerConfig,
        methods: Sequence[Route],
        page: Site,
        layers: Sequence[Layer],
    ) -> None:
        self.port = 0
        self.connections = Shares(config.max_connections, config.caller_share)
        self._config = config
        routes: list[BaseRoute] = [*methods]
        for path, answer in page.pages.items():
            endpoint = partial(guarded, layers, config.max_call_s, answer)
            routes.append(Route(path, endpoint, methods=["GET", "POST"]))
        if page.static is not None:
            routes.append(Mount("/", StaticFiles(directory=page.static, html=True)))
        middleware = [
            Middleware(SameSiteCheck, names=config.web_names),
            Middleware(GZipMiddleware, minimum_size=_SMALLEST_GZIP_BYTES, compresslevel=5),
        ]
        self._server = _WebServer(self._settings(Starlette(routes=routes, middleware=middleware)))
        self._serving: asyncio.Task[None] | None = None

    def _settings(self, app: Starlette) -> uvicorn.Config:
        config = self._config
        return uvicorn.Config(
            app,
            http=cast(
                "type[asyncio.Protocol]",
                partial(Connection, self.connections, config.max_handshake_s),
            ),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=config.max_connections,
            timeout_graceful_shutdown=max(1, round(config.drain_grace_s)),
            h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
            ssl_context_factory=partial(_context, config.tls) if config.tls else None,
        )

    def open(self) -> None:
        """Listen; requests are answered from now on.

        Raises:
            OSError: The port is taken, or the address is not of this machine.
        """
        host, port = self._config.host, self._config.web_port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port or 0), family=family)
        self.port = listening.getsockname()[1]
        self._serving = asyncio.create_task(self._server.serve(sockets=[listening]))

    async def close(self) -> None:
        """Finish the requests under way and close the port."""
        if self._serving is not None:
            self._server.should_exit = True
            await self._serving


POLICY: Final = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'"
)
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class SameSiteCheck:
    """Lets requests pass that a page of this server has made, or no page at all.

    Args:
        app: Answers the requests.
        names: Names of this server, besides addresses and ``localhost``.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names) | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it; every reply gets the headers."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        headers = Headers(scope=scope)
        fault = self._fault(headers, scope["scheme"]) or _foreign(headers, scope["path"])
        if fault is None:
            await self._app(scope, receive, send_guarded)
        else:
            reply = await error_reply(ForbiddenError(fault))
            await reply(scope, receive, send_guarded)

    def _fault(self, headers: Headers, scheme: str) -> str | None:
        host = headers.get("host", "")
        if not self._is_ours(host):
            return (
                f"this server is not known as {host[:100]!r}: wanted an address, localhost, or one "
                "of server.web_names"
            )
        origin = headers.get("origin")
        if origin is not None and origin != f"{scheme}://{host}":
            return f"wanted no request of another site, came one of {origin[:100]!r}"
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host may be this server's: no site can make a browser send a foreign address.

        Example:
            >>> check = SameSiteCheck(None, ["nar.example"])
            >>> [check._is_ours(h) for h in ("[::1]:80", "NAR.example:1", "evil.example", "")]
            [True, True, False, False]
        """
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True


def _foreign(headers: Headers, path: str) -> str | None:
    """Why a request that another site made the browser send is refused; None if it is not.

    Where that needs no Origin, the browser says so in another header. Links to the page may stand
    anywhere: what they open is not an answer, which costs work.
    """
    is_answer = path.startswith(("/page/", "/v1/"))
    is_link = headers.get("sec-fetch-mode") == "navigate" and not is_answer
    if headers.get("sec-fetch-site") == "cross-site" and not is_link:
        return "wanted a request of this site, came a request that a page of another site has made"
    return None
