"""How a client calls a server: over which connection, with which token, for how long."""

import asyncio
import json
import weakref
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from nar.base.errors import ConfigError, NarError
from nar.base.files import WatchedFiles
from nar.client.remote import error_of_call
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.addresses import hosts_of, is_loopback
from nar.wire.settings import ClientConfig, check_token
from nar.wire.tls import channel_credentials
from nar.wire.tracing import trace_metadata

# Every method reads, or writes the same a second time, so a call may be made again. UNAVAILABLE
# says that it was not answered; so does CANCELLED, unless the caller cancelled: grpc gives it while
# a server closes its port, or has too many calls. RESOURCE_EXHAUSTED is tried again when the server
# says (`nar.serve.status.pushback`). Five tries are as many as grpc makes: 3 s of waiting together,
# longer than a server of the atlas takes to come back. grpc draws each wait at random around its
# backoff (jitter), and `retryThrottling` is the budget: a failure costs a token, an answer gives a
# tenth of a token back, and while half of the tokens are gone nothing is tried again.
SERVICE_CONFIG: Final = {
    "methodConfig": [
        {
            "name": [{"service": "nar.v1.ArchitectureRetrievalService"}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.2s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED", "RESOURCE_EXHAUSTED"],
            },
        }
    ],
    "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.1},
}
# A connection in clear text.
PLAIN: Final = ClientConfig()
OPTIONS: Final[tuple[tuple[str, str | int], ...]] = (
    ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
    # Requests are kept within the server's limits; answers are as long as was asked for.
    ("grpc.max_receive_message_length", -1),
    # By default grpc connects anew after 1 s and again after 2.6: the tries above end before that.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)

# Requests on their way besides the request that is worked on (chosen: with one, the server need not
# wait for the next, and more would only fill its memory).
AHEAD: Final = 1


def open_channel(target: str, config: ClientConfig, *, token: str | None) -> grpc.Channel:
    """Connect to a server.

    Args:
        target: Address: ``127.0.0.1:50051``; several: ``ipv4:10.0.0.1:50051,10.0.0.2:50051``.
        config: Whether to speak TLS, and with which files.
        token: What calls will carry.

    Raises:
        ConfigError: The target, the token or a file is at fault, or the token would leave this
            machine in clear text.
    """
    credentials = _credentials(target, config, token=token)
    if credentials:
        return grpc.secure_channel(target, credentials, options=_options(config))
    return grpc.insecure_channel(target, options=OPTIONS)


def open_async_channel(target: str, config: ClientConfig, *, token: str | None) -> grpc.aio.Channel:
    """As `open_channel`, for calls that are awaited in the event loop that runs now."""
    credentials = _credentials(target, config, token=token)
    if credentials:
        return grpc.aio.secure_channel(target, credentials, options=_options(config))
    return grpc.aio.insecure_channel(target, options=OPTIONS)


def _options(config: ClientConfig) -> tuple[tuple[str, str | int], ...]:
    """Options of a channel that encrypts: it checks the name in the settings, if there is one."""
    name = config.server_name
    return (*OPTIONS, ("grpc.ssl_target_name_override", name)) if name else OPTIONS


def _credentials(
    target: str, config: ClientConfig, *, token: str | None
) -> grpc.ChannelCredentials | None:
    """What TLS needs; None where the connection may be in clear text."""
    hosts = hosts_of(target)
    if token is not None:
        _check(token)
    if config.wants_tls:
        _check_name(target, hosts, config)
        return channel_credentials(config)
    if config.server_name:
        raise ConfigError(
            "client.server_name is checked where TLS is spoken: set client.tls or client.ca_file"
        )
    if token and not config.clear_text and not all(map(is_loopback, hosts)):
        raise ConfigError(
            f"{target} is not loopback, and the token would be sent in clear text: "
            "set client.tls or client.ca_file, or client.clear_text: true"
        )
    return None


def _check_name(target: str, hosts: Sequence[str], config: ClientConfig) -> None:
    """See that there is a name to check: grpc takes a list of addresses for one name."""
    if len(hosts) > 1 and not config.server_name:
        raise ConfigError(
            f"{target} is several addresses: wanted client.server_name, a name that stands in "
            "the certificates of all these servers"
        )


def _check(token: str) -> None:
    """See that a token can be sent: otherwise grpc would end the first call with INTERNAL."""
    try:
        check_token(token)
    except ValueError as error:
        raise ConfigError(f"token: {error}") from None


class Caller:
    """Begins calls on a channel, which is closed once nobody holds the caller.

    Args:
        channel: A blocking channel, or a channel of grpc.aio.
        token: What the server wants callers to bring.
        timeout_s: How long a call may take, tries after UNAVAILABLE included.
        wants_tls: Whether the channel encrypts.
    """

    def __init__(
        self,
        channel: Any,  # noqa: ANN401
        token: str | None,
        timeout_s: float,
        *,
        wants_tls: bool,
    ) -> None:
        self.channel = channel
        self._wants_tls = wants_tls
        self._stub = ArchitectureRetrievalServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._timeout_s = timeout_s
        if isinstance(channel, grpc.Channel):
            # A channel of grpc.aio closes itself when it is forgotten, a blocking channel does not.
            weakref.finalize(self, channel.close).atexit = False

    def call(self, method: str, request: Message) -> Any:  # noqa: ANN401
        """The response of a blocking channel; for a channel of grpc.aio, an awaitable response."""
        return getattr(self._stub, method)(request, timeout=self._timeout_s, metadata=self._sent())

    def stream(self, method: str, *requests: object) -> Any:  # noqa: ANN401
        """Begin a call of streams both ways, which has no time limit of its own.

        Args:
            method: Name on the wire.
            requests: An iterator of requests, unless they are written to the call.
        """
        return getattr(self._stub, method)(*requests, metadata=self._sent())

    def error_of(self, error: grpc.RpcError) -> NarError:
        """The exception of a call of this caller that failed as a whole."""
        return error_of_call(error, wants_tls=self._wants_tls)

    def _sent(self) -> tuple[tuple[str, str], ...]:
        return (*self._metadata, *trace_metadata())


class Callers:
    """The caller of a client, and another one once the files of its certificates have changed.

    grpc reads certificates once a channel, and a channel connects again for as long as it lives: in
    a program that runs for months it would show a certificate that has ended. A call holds its
    caller until it ends, so a channel outlives its files by the calls on it. While
    changed files are at fault, the caller stays.

    Args:
        open_caller: Opens a channel with what the files hold now.
        files: What the channel is encrypted with; none where they cannot change.

    Raises:
        ConfigError: From `open_caller`.
    """

    def __init__(self, open_caller: Callable[[], Caller], files: Sequence[Path]) -> None:
        self._living: weakref.WeakSet[Caller] = weakref.WeakSet()

        def open_another() -> Caller:
            caller = open_caller()
            self._living.add(caller)
            return caller

        self._newest = WatchedFiles("the certificates of a client", files, open_another)

    def current(self) -> Caller:
        """The caller of a call that begins now; to be held until the call has ended."""
        return self._newest.content()

    def end(self) -> list[Any]:
        """Every channel that is open, for the client to close; none is opened any more."""
        self._newest.stop()
        return [caller.channel for caller in self._living]


def callers_of(
    open_channel: Callable[..., Any], config: ClientConfig, token: str | None, timeout_s: float
) -> Callers:
    """The callers of a client; raises the errors that making a client raises.

    Args:
        open_channel: `open_channel` or `open_async_channel`, for one server.
        config: Whether to speak TLS, whom to trust and what to show.
        token: What the server wants callers to bring.
        timeout_s: How long one call may take.
    """

    def open_caller() -> Caller:
        channel = open_channel(config, token=token)
        return Caller(channel, token, timeout_s, wants_tls=config.wants_tls)

    return Callers(open_caller, config.files)


def answers(caller: Caller, method: str, requests: Iterable[Message]) -> Iterator[Any]:
    """The answer to each request, in order; a request is asked for when it is about to be sent.

    Args:
        caller: Begins the call.
        method: Name on the wire; it has streams both ways.
        requests: Taken in the thread of the caller, where they raise their errors.

    Raises:
        NarError: The stream ended; what was not answered until then may be asked again.
    """
    sent: SimpleQueue[Message | None] = SimpleQueue()
    call = caller.stream(method, iter(sent.get, None))
    try:
        for position, request in enumerate(requests):
            sent.put(request)
            if position >= AHEAD:
                yield next(call)
        sent.put(None)
        yield from call
    except grpc.RpcError as error:
        raise caller.error_of(error) from None
    finally:
        # Otherwise a thread of grpc would wait for requests for ever where no answer is wanted.
        sent.put(None)
        call.cancel()


async def awaited_answers(
    caller: Caller, method: str, requests: AsyncIterable[Message]
) -> AsyncGenerator[Any, None]:
    """As `answers`, with requests and answers that are awaited."""
    call = caller.stream(method)
    waiting = 0
    try:
        async for request in requests:
            # A stream that has ended takes nothing; reading its answer raises the reason.
            with suppress(asyncio.InvalidStateError):
                await call.write(request)
            waiting += 1
            if waiting > AHEAD:
                yield await call.read()
                waiting -= 1
        with suppress(asyncio.InvalidStateError):
            await call.done_writing()
        while (answer := await call.read()) is not grpc.aio.EOF:  # type: ignore[attr-defined]
            yield answer
    except grpc.RpcError as error:
        raise caller.error_of(error) from None
    finally:
        call.cancel()
