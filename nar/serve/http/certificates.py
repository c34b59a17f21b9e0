"""TLS of the HTTP port: the certificate files of the gRPC port, read again when they change."""

import ssl
from collections.abc import Callable
from typing import Any

from nar.base.files import check_readable
from nar.base.watched import Watched
from nar.wire.settings import TlsConfig
from nar.wire.tls import check_pair, files_of


def tls_context(config: TlsConfig) -> Callable[..., ssl.SSLContext]:
    """What makes the context of a port; every handshake looks whether the files have changed."""

    def make(*_: Any) -> ssl.SSLContext:  # noqa: ANN401
        return _Fresh(config).context

    return make


class _Fresh:
    """A context whose handshakes show the certificate that the files hold then."""

    def __init__(self, config: TlsConfig) -> None:
        self._config = config
        self._newest = Watched("the certificates of the page", files_of(config), self._read)
        self.context = self._newest.content()
        self.context.sni_callback = self._show  # called for every handshake, named or not

    def _show(self, connection: ssl.SSLObject, _name: str | None, _context: object) -> None:
        connection.context = self._newest.content()

    def _read(self) -> ssl.SSLContext:
        config = self._config
        for path in files_of(config):
            check_readable(path)
        check_pair(config.certificate_file, config.key_file)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(config.certificate_file, config.key_file)
        if config.client_ca_file:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(config.client_ca_file)
        return context
