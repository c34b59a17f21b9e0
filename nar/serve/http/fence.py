"""Checks the host and the page of every request, and says in replies what a browser may do.

A page of another site can make a browser send requests here, under a name that it lets point to
this machine. Such a request has a foreign Host or Origin, and is refused before its body is read.
"""

import ipaddress
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nar.serve.http.replies import error_reply
from nar.serve.status import ForbiddenError

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


class Fence:
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

        fault = self._fault(Headers(scope=scope), scope["scheme"])
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
            >>> fence = Fence(None, ["nar.example"])
            >>> [fence._is_ours(h) for h in ("[::1]:80", "NAR.example:1", "evil.example", "")]
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
