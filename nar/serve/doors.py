"""Which calls may pass: by the settings of a server, a token, the room that is left and the time.

Health and reflection pass untouched: a probe must work without a token and while the server is
full.
"""

import hashlib
import hmac
import logging
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from google.protobuf.message import Message
from prometheus_client import Gauge

from nar.base.errors import ConfigError
from nar.base.files import WatchedFiles, check_readable
from nar.serve import status
from nar.serve.calls import Call, Layer, Proceed, time_remaining_s
from nar.serve.outcome import OutcomeLayer
from nar.serve.scopes import EVERYBODY, Right, Scope, read_scoped_tokens
from nar.serve.telemetry import MetricsPort, Telemetry
from nar.wire.addresses import is_loopback
from nar.wire.settings import ServerConfig, check_token
from nar.wire.tls import served_context

log = logging.getLogger(__name__)

# Methods of callers with the right to read.
READING: Final = frozenset(
    {"Search", "Embed", "Get", "Describe", "SearchStream", "List", "Explain"}
)
# The right that each further method wants.
_WRITING: Final[Mapping[str, Right]] = {"Upsert": "write", "Label": "write", "Delete": "remove"}
Role = Literal["reader", "writer"]
_ROLES: Final[Mapping[Role, Scope]] = {
    "writer": EVERYBODY,
    "reader": Scope(frozenset({"read"})),
}
Digests = frozenset[bytes]

SCHEME: Final = "bearer "
# Chosen: so many callers are kept before those that count no more are looked for; 0.1 MB.
_CALLERS: Final = 1_024


def check_doors(config: ServerConfig) -> None:
    """See that nothing secret leaves this machine in clear text; warn where anybody may ask.

    Raises:
        ConfigError: A secret would leave it beyond loopback, or strangers could write.
    """
    is_beyond = not is_loopback(config.host)
    if is_beyond and config.tls is None and not config.clear_text:
        raise ConfigError(
            f"{config.host} is not loopback: wanted server.tls with certificate_file and "
            "key_file, or server.clear_text: true where the network is the fence"
        )
    if config.tls is None and not metrics_are_open(config):
        raise ConfigError(
            f"{config.metrics_host} is not loopback: wanted server.tls, or "
            "server.metrics_clear_text: true where the network is the fence of the metrics"
        )
    wants_certificates = config.tls is not None and config.tls.client_ca_file is not None
    if wants_certificates or Tokens(config).are_wanted:
        return
    if is_beyond and config.writable:
        raise ConfigError(
            f"{config.host} is not loopback, and whoever reaches it could write: wanted a "
            "token (NAR_TOKEN or server.writer_tokens_file) or server.tls.client_ca_file"
        )
    if os.environ.get("NAR_TOKEN") == "":
        # A secret may have been lost on its way here, and nobody would notice: calls are answered.
        log.warning(
            "NAR_TOKEN is set and empty, which is no token: ANYONE who reaches port %d of %s is "
            "answered. Give it a token, or unset it where that is meant.",
            config.port,
            config.host,
        )
    elif is_beyond:
        log.warning(
            "%s is not loopback and no token is set: ANYONE who reaches port %d may query. "
            "Set NAR_TOKEN, server.token or server.reader_tokens_file.",
            config.host,
            config.port,
        )


def metrics_are_open(config: ServerConfig) -> bool:
    """Whether metrics are shown in clear text and without a token."""
    return config.clear_text or config.metrics_clear_text or is_loopback(config.metrics_host)


def metrics_port(config: ServerConfig, telemetry: Telemetry, alias: str = "") -> MetricsPort:
    """The port of the metrics, with the certificate and the tokens of calls unless it is open.

    Args:
        config: Says where the certificate and the tokens are.
        telemetry: Has the metrics.
        alias: Of the index that is served.

    Raises:
        ConfigError: Certificate or tokens cannot be read.
    """
    if metrics_are_open(config) or config.tls is None:
        return MetricsPort(telemetry.registry, may_read=lambda _: True)
    tokens = Tokens(config, alias)
    return MetricsPort(
        telemetry.registry,
        served_context(config.tls),
        may_read=lambda given: not tokens.are_wanted or _sees_all(tokens.scope(given)),
    )


def _sees_all(scope: Scope | None) -> bool:
    """Whether a caller may read metrics, which count what all callers have and do."""
    return scope is not None and scope.is_whole


def doors(config: ServerConfig, telemetry: Telemetry, alias: str = "") -> list[Layer]:
    """The layers around every call before its request is read, outermost first.

    Args:
        config: Says where the tokens are.
        telemetry: Counts the calls.
        alias: Of the index that is served.

    Raises:
        ConfigError: The tokens cannot be read.
    """
    further: list[Layer] = [] if config.writable else [only_reads]
    return [OutcomeLayer(telemetry), *locks(config, telemetry, alias), *further]


def locks(config: ServerConfig, telemetry: Telemetry, alias: str = "") -> list[Layer]:
    """The layer that wants a token of every caller; none where the server has no tokens.

    Raises:
        ConfigError: The tokens cannot be read.
    """
    tokens = Tokens(config, alias)
    telemetry.tokens_stale.set_function(lambda: tokens.are_stale)
    return [Authentication(tokens)] if tokens.are_wanted else []


class Tokens:
    """The tokens of a server; a file holds one a line, lines that begin with ``#`` hold none.

    The token of the configuration is a writer's. A file that is emptied while the server runs holds
    no token, and its former holders are strangers. While a changed file cannot be read, the tokens
    that it held before stay valid.

    Args:
        config: Says where the tokens are.
        alias: Of the index that is served: the bearers of scoped tokens of another are strangers.

    Raises:
        ConfigError: A file cannot be read, or holds no token, or a token that no caller can send.
    """

    def __init__(self, config: ServerConfig, alias: str = "") -> None:
        token = config.token.get_secret_value() if config.token else None
        self._fixed: Digests = frozenset([_digest(token)] if token else [])
        paths: Mapping[Role, Path | None] = {
            "writer": config.writer_tokens_file,
            "reader": config.reader_tokens_file,
        }
        named = {role: path for role, path in paths.items() if path}
        for path in named.values():
            check_tokens(path)
        self._files = {
            role: WatchedFiles(f"the tokens of every {role}", [path], partial(_logged, role, path))
            for role, path in named.items()
        }
        scoped = config.scoped_tokens_file
        read = partial(_scopes, scoped, alias) if scoped else None
        self._scoped = (
            WatchedFiles("the scoped tokens", [scoped], read) if scoped and read else None
        )

    @property
    def are_wanted(self) -> bool:
        """Whether callers must bring a token."""
        return bool(self._fixed or self._files or self._scoped)

    @property
    def are_stale(self) -> bool:
        """Whether a file has changed and cannot be read: tokens taken out of it are valid still."""
        files: list[WatchedFiles[Any]] = [*self._files.values(), *filter(None, [self._scoped])]
        for file in files:
            file.content()
        return any(file.is_stale for file in files)

    def scope(self, authorization: str) -> Scope | None:
        """What the sender of this metadata may see and do; None for a stranger.

        Every token is compared, in a time that does not show how much of a token was right.
        """
        given = _digest(token_in(authorization))
        known: dict[Role, Digests] = {"reader": frozenset(), "writer": self._fixed}
        for role, file in self._files.items():
            known[role] |= file.content()
        roles = {role: _is_among(given, digests) for role, digests in known.items()}
        scoped = [
            scope
            for digest, scope in (self._scoped.content() if self._scoped else ())
            if hmac.compare_digest(given, digest)
        ]
        whole = next((_ROLES[role] for role in _ROLES if roles[role]), None)
        # A token that stands in two files has the narrower of its scopes.
        return (
            next((scope for scope in scoped if not scope.is_whole), None)
            or whole
            or next(iter(scoped), None)
        )


class Authentication:
    """Lets a call pass whose bearer token allows its method."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed, or raise UnauthenticatedError or ForbiddenError."""
        metadata = call.context.invocation_metadata() or ()
        given = str(next((value for key, value in metadata if key == "authorization"), ""))
        if not token_in(given):
            raise status.UnauthenticatedError("no token came: send `authorization: Bearer <token>`")
        scope = self._tokens.scope(given)
        if scope is None:
            raise status.UnauthenticatedError("the token that came is not known here")
        call.caller = f"{scope.role} {token_name(token_in(given))}"
        call.scope = scope
        right = _WRITING.get(call.method, "read")
        if right not in scope.rights:
            came = "a reader's" if scope.role == "reader" else f"one with {_listed(scope)}"
            raise status.ForbiddenError(
                f"wanted a token that may {right} for {call.method}, came {came}"
            )
        return await proceed()


def _listed(scope: Scope) -> str:
    return ", ".join(sorted(scope.rights))


async def only_reads(call: Call, proceed: Proceed) -> Message | None:
    """Proceed with a method that reads, or raise ForbiddenError: the server takes no writes."""
    if call.method not in READING:
        raise status.ForbiddenError(
            f"this server takes no {call.method}: wanted a server that runs "
            "with `nar serve --writable` or server.writable"
        )
    return await proceed()


class Shares:
    """What callers hold of something that there is so much of: places or bytes.

    One caller may hold a share of what the others have left. So a caller alone uses nearly all, and
    still a second and a third find something free.

    Args:
        capacity: How much there is.
        of_one: The share that one caller may hold; with 1 callers are not told apart.

    Example:
        >>> places = Shares(4, 0.75)
        >>> places.add("eager", 3)
        >>> places.is_spent("eager"), places.is_spent("other"), places.is_full
        (True, False, False)
    """

    def __init__(self, capacity: int, of_one: float) -> None:
        self.held = 0
        self._capacity = capacity
        self._of_one = of_one
        self._by_caller: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether nothing is left."""
        return self.held >= self._capacity

    @property
    def most(self) -> int:
        """The most that one caller holds."""
        return max(self._by_caller.values(), default=0)

    def of(self, caller: str) -> int:
        """What a caller holds."""
        return self._by_caller.get(caller, 0)

    def is_spent(self, caller: str) -> bool:
        """Whether a caller holds as much as one caller may."""
        own = self.of(caller)
        return own > 0 and own >= self._of_one * (own + self._capacity - self.held)

    def add(self, caller: str, change: int) -> None:
        """Note that a caller holds more, or less."""
        self.held += change
        own = self.of(caller) + change
        if own:
            self._by_caller[caller] = own
        else:
            self._by_caller.pop(caller, None)


class CallRate:
    """How many calls a second each caller begins: a second's worth at once, the rest as time goes.

    Of a caller only the moment is kept until which it has used its calls up, and of a caller who
    has used none up, nothing.

    Args:
        calls_per_s: Of one caller.
        clock: Seconds that never go back.

    Example:
        >>> pace = CallRate(2.0, clock=lambda: 0.0)
        >>> [pace.wait_s("eager") for _ in range(3)], pace.wait_s("other")
        ([0.0, 0.0, 0.5], 0.0)
    """

    def __init__(self, calls_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.calls_per_s = calls_per_s
        # A rate below one a second lets one call begin all the same.
        self._burst_s = max(1.0, 1 / calls_per_s)
        self._clock = clock
        self._used_until: dict[str, float] = {}
        self._kept = _CALLERS

    def wait_s(self, caller: str) -> float:
        """Count a call, if it may begin now: 0; otherwise the seconds until it may."""
        now = self._clock()
        until = max(self._used_until.get(caller, now), now) + 1 / self.calls_per_s
        over_s = until - now - self._burst_s
        # Sums of a rate's inverse are off by rounding, never by a millisecond.
        if over_s > 1e-3:
            return over_s
        if len(self._used_until) >= self._kept:
            used = self._used_until.items()
            self._used_until = {each: past for each, past in used if past > now}
            # Looked through again when there are twice as many, so that a call costs O(1).
            self._kept = max(_CALLERS, 2 * len(self._used_until))
        self._used_until[caller] = until
        return 0.0


class Admission:
    """Sheds calls beyond a bound at once, rather than let every call wait.

    A call counts for as long as a thread works on it, whether its caller is there or not.

    Args:
        max_in_flight: Calls at a time.
        of_one: The share of them that one caller may have.
        gauge: Shows how many are in flight.
        most: Shows how many of them are of one caller.
        calls_per_s: How many one caller may begin a second; None does not count them.

    Attributes:
        is_closed: Whether every further call is turned away.
    """

    def __init__(
        self,
        max_in_flight: int,
        of_one: float,
        gauge: Gauge,
        most: Gauge | None = None,
        calls_per_s: float | None = None,
    ) -> None:
        self._places = Shares(max_in_flight, of_one)
        self._pace = CallRate(calls_per_s) if calls_per_s is not None else None
        self._gauge = gauge
        self._most = most
        self.is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether a further call is shed."""
        return self._places.is_full and not self.is_closed

    def close(self) -> None:
        """Turn every further call away: the server ends."""
        self.is_closed = True

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed, or raise OverloadedError, ShareError or DrainingError."""
        if self.is_closed:
            raise status.DrainingError("this server stops; ask another, or try again")
        if self.is_full:
            raise status.OverloadedError(f"{self._places.held} calls are in flight; try again")
        if self._places.is_spent(call.caller):
            raise status.ShareError(
                f"{self._places.of(call.caller)} calls of this caller are in flight, which is its "
                "share (server.caller_share); try again"
            )
        caller = call.caller
        if self._pace is not None and (wait_s := self._pace.wait_s(caller)):
            raise status.ShareError(
                f"this caller may begin {self._pace.calls_per_s:g} calls a second "
                f"(server.caller_calls_per_s); try again in {max(wait_s, 1):.0f} s",
                wait_s,
            )
        self._count(caller, 1)
        try:
            return await proceed()
        finally:
            call.when_work_ends(partial(self._count, caller, -1))

    def _count(self, caller: str, change: int) -> None:
        self._places.add(caller, change)
        self._gauge.set(self._places.held)
        if self._most is not None:
            self._most.set(self._places.most)


async def deadline(call: Call, proceed: Proceed) -> Message | None:
    """Proceed while there is time, or raise ExpiredError."""
    remaining = time_remaining_s(call.context)
    if remaining is not None and remaining <= 0:
        raise status.ExpiredError("the deadline had passed before work began")
    return await proceed()


def token_in(authorization: str) -> str:
    """The token that metadata brings; empty where it brings none.

    Example:
        >>> token_in("Bearer abc"), token_in("Basic abc")
        ('abc', '')
    """
    is_bearer = authorization[: len(SCHEME)].lower() == SCHEME
    return authorization[len(SCHEME) :] if is_bearer else ""


def token_name(token: str) -> str:
    """What a token is called in the log and among callers: the first digits of its digest.

    `printf %s TOKEN | sha256sum` begins with it.
    """
    return hashlib.sha256(token.encode()).hexdigest()[:8]


def check_tokens(path: Path) -> None:
    """See that a file holds tokens, for a server that starts.

    Raises:
        ConfigError: It cannot be read, or holds none.
    """
    if not read_tokens(path):
        raise ConfigError(f"{path} holds no token; wanted one a line")


def read_tokens(path: Path) -> Digests:
    """Digests of the tokens in a file, which may be none.

    Raises:
        ConfigError: Names file and line, never a token.
    """
    check_readable(path)
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"cannot read tokens from {path.absolute()}: {error}") from error
    digests = set()
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line and not line.startswith("#"):
            try:
                digests.add(_digest(check_token(line)))
            except ValueError as error:
                raise ConfigError(f"{path}, line {number}: {error}") from error
    return frozenset(digests)


def _logged(role: Role, path: Path) -> Digests:
    digests = read_tokens(path)
    log.info("tokens of %ss: %d in %s", role, len(digests), path)
    return digests


def _scopes(path: Path, alias: str) -> tuple[tuple[bytes, Scope], ...]:
    """The digests of the scoped tokens for an index, each with what its bearer may do."""
    tokens = read_scoped_tokens(path)
    log.info("scoped tokens: %d in %s", len(tokens), path)
    return tuple(
        (_digest(each.token.get_secret_value()), each.scope)
        for each in tokens
        if each.alias in ("", alias)
    )


def _digest(token: str) -> bytes:
    # Digests are equally long, so that not even the length of a token shows.
    return hashlib.sha256(token.encode()).digest()


def _is_among(given: bytes, known: Digests) -> bool:
    matches = [hmac.compare_digest(given, digest) for digest in known]
    return any(matches)
