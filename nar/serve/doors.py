"""Who may ask a server: by its settings, and by the token of each call.

Health and reflection pass untouched: a probe must work without a token.
"""

import logging
import os
from typing import Final

from google.protobuf.message import Message

from nar.base.errors import ConfigError
from nar.serve.calls import Call, Layer, Proceed
from nar.serve.outcome import Outcome
from nar.serve.status import (
    ForbiddenError,
    UnauthenticatedError,
)
from nar.serve.telemetry import Telemetry
from nar.wire.addresses import is_loopback
from nar.wire.settings import ServerConfig
from nar.wire.tokens import Tokens, token_in

log = logging.getLogger(__name__)


def check_doors(config: ServerConfig) -> None:
    """See that nothing secret leaves this machine in clear text, and say who may ask.

    Raises:
        ConfigError: Beyond loopback it would, and nobody has said that it may.
    """
    is_beyond = not is_loopback(config.host)
    if is_beyond and config.tls is None and not config.clear_text:
        raise ConfigError(
            f"{config.host} is not loopback: wanted server.tls with certificate_file and "
            "key_file, or server.clear_text: true where the network is the fence"
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
        # Where a secret was lost on its way here, nobody would see it: calls are answered.
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


# Every method but these is for writers.
READING: Final = frozenset(
    {"Search", "Embed", "Get", "Describe", "SearchStream", "List", "Explain"}
)


class Authentication:
    """Lets only those pass who bring a bearer token that may call the method."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def __call__(self, call: Call, proceed: Proceed) -> Message | None:
        """Proceed, or raise UnauthenticatedError or ForbiddenError."""
        metadata = call.context.invocation_metadata() or ()
        given = str(next((value for key, value in metadata if key == "authorization"), ""))
        if not token_in(given):
            raise UnauthenticatedError("no token came: send `authorization: Bearer <token>`")
        role = self._tokens.role(given)
        if role is None:
            raise UnauthenticatedError("the token that came is not known here")
        if role == "reader" and call.method not in READING:
            raise ForbiddenError(f"wanted the token of a writer for {call.method}, came a reader's")
        return await proceed()


async def only_reads(call: Call, proceed: Proceed) -> Message | None:
    """Proceed with what reads, or raise ForbiddenError: the server takes no writes."""
    if call.method not in READING:
        raise ForbiddenError(
            f"this server takes no {call.method}: wanted one that runs with `nar serve --writable` "
            "or server.writable"
        )
    return await proceed()


def doors(config: ServerConfig, telemetry: Telemetry) -> list[Layer]:
    """What stands around every call before its request is read, outermost first.

    Raises:
        ConfigError: The tokens cannot be read.
    """
    return [Outcome(telemetry), *locks(config), *([] if config.writable else [only_reads])]


def locks(config: ServerConfig) -> list[Layer]:
    """What lets only those pass who bring a token, where tokens are wanted.

    Raises:
        ConfigError: The tokens cannot be read.
    """
    tokens = Tokens(config)
    return [Authentication(tokens)] if tokens.are_wanted else []
