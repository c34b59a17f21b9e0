"""A client's connection to a server, encrypted or not."""

import json
from collections.abc import Sequence
from typing import Final

import grpc

from nar.base.errors import ConfigError
from nar.wire.addresses import hosts_of, is_loopback
from nar.wire.settings import ClientConfig, check_token
from nar.wire.tls import channel_credentials

# Every method reads, or writes the same a second time, so a call may be made again. UNAVAILABLE
# says that it was not answered; so does CANCELLED, unless the caller did it: it is what grpc says
# while a server closes its port, or has too many calls. RESOURCE_EXHAUSTED is tried again when the
# server says (`nar.serve.status.pushback`). Five tries are as many as grpc makes: 3 s of waiting
# together, longer than a server of the atlas takes to come back. grpc draws each wait at random
# around its backoff (jitter), and `retryThrottling` is the budget: a failure costs a token, an
# answer gives a tenth of one back, and while half of them are gone nothing is tried again.
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
OPTIONS: Final[tuple[tuple[str, str | int], ...]] = (
    ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
    # Requests are kept within the server's limits; answers are as long as was asked for.
    ("grpc.max_receive_message_length", -1),
    # By default grpc connects anew after 1 s and again after 2.6: the tries above end before that.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)


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
    """Those of a channel that encrypts: the name is another one, and is checked as strictly."""
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
    """See that a token can be sent: of another one grpc says INTERNAL, with the first call."""
    try:
        check_token(token)
    except ValueError as error:
        raise ConfigError(f"token: {error}") from None
