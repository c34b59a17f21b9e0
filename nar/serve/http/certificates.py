"""TLS of the HTTP port: the certificate files of the gRPC port, read again when they change."""

import logging
import ssl
from collections.abc import Callable
from typing import Any

from nar.base.errors import ConfigError
from nar.wire.settings import TlsConfig
from nar.wire.tls import check_pair
from nar.wire.tokens import stamp_of

log = logging.getLogger(__name__)


def tls_context(config: TlsConfig) -> Callable[..., ssl.SSLContext]:
    """What makes the context of a port; every handshake looks whether the files have changed."""

    def make(*_: Any) -> ssl.SSLContext:  # noqa: ANN401
        return _Fresh(config).context

    return make


class _Fresh:
    """A context whose handshakes show the certificate that the files hold then."""

    def __init__(self, config: TlsConfig) -> None:
        self._config = config
        self._stamp = stamp_of(config.certificate_file)
        self._held = self._read()
        self.context = self._held
        self.context.sni_callback = self._show  # called for every handshake, named or not

    def _show(self, connection: ssl.SSLObject, _name: str | None, _context: object) -> None:
        try:
            stamp = stamp_of(self._config.certificate_file)
            if stamp != self._stamp:
                self._stamp, self._held = stamp, self._read()
        except ConfigError as error:
            log.warning("the certificate of the page stays as it was: %s", error)
        connection.context = self._held

    def _read(self) -> ssl.SSLContext:
        config = self._config
        check_pair(config.certificate_file, config.key_file)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(config.certificate_file, config.key_file)
        if config.client_ca_file:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(config.client_ca_file)
        return context
