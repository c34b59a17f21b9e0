"""Who may ask a server, by its settings: nothing secret in clear text, and open doors are said."""

import logging
import os

from nar.base.errors import ConfigError
from nar.wire.addresses import is_loopback
from nar.wire.settings import ServerConfig
from nar.wire.tokens import Tokens

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
