"""A client's connection to a server, encrypted or not."""

from collections.abc import Sequence

import grpc

from nar.config import ClientConfig
from nar.errors import ConfigError
from nar.serve.addresses import host_of, is_loopback
from nar.serve.tls import channel_credentials


def open_channel(
    target: str,
    config: ClientConfig,
    *,
    has_secret: bool,
    options: Sequence[tuple[str, str | int]],
) -> grpc.Channel:
    """Connect to a server.

    Args:
        target: Address: ``127.0.0.1:50051``.
        config: Whether to speak TLS, and with which files.
        has_secret: Whether calls will carry a token.
        options: Of grpc.

    Raises:
        ConfigError: A file is at fault, or a token would leave this machine in clear text.
    """
    if config.wants_tls:
        return grpc.secure_channel(target, channel_credentials(config), options=options)
    if has_secret and not config.clear_text and not is_loopback(host_of(target)):
        raise ConfigError(
            f"{target} is not loopback, and the token would be sent in clear text: "
            "set client.tls or client.ca_file, or client.clear_text: true"
        )
    return grpc.insecure_channel(target, options=options)
