"""Encryption: the certificates of a server or a client, read from files, again when they change."""

import logging
import ssl
from pathlib import Path

import grpc

from nar.config import ClientConfig, TlsConfig
from nar.errors import ConfigError
from nar.files import Stamp
from nar.serve.tokens import stamp_of

log = logging.getLogger(__name__)


def server_credentials(config: TlsConfig) -> grpc.ServerCredentials:
    """What a port needs to speak TLS; every handshake looks whether the files have changed.

    With ``client_ca_file`` callers must bring a certificate that it signed.

    Raises:
        ConfigError: Names the file at fault.
    """
    files = _Certificates(config)
    return grpc.dynamic_ssl_server_credentials(
        files.read(),
        # None is for no change, which the stubs do not know.
        files.read_again,  # type: ignore[arg-type]
        require_client_authentication=config.client_ca_file is not None,
    )


class _Certificates:
    """The files of a server's certificate, read whole or not at all."""

    def __init__(self, config: TlsConfig) -> None:
        self._config = config
        self._stamp: tuple[Stamp, ...] = ()

    def read(self) -> grpc.ServerCertificateConfiguration:
        """Read and check the files.

        Raises:
            ConfigError: One cannot be read, or they do not belong together.
        """
        config = self._config
        # Before they are read: what changes meanwhile is read again, what is at fault is said once.
        self._stamp = self._stamp_now()
        check_pair(config.certificate_file, config.key_file)
        authority = None
        if config.client_ca_file:
            check_authority(config.client_ca_file)
            authority = config.client_ca_file.read_bytes()
        pair = (config.key_file.read_bytes(), config.certificate_file.read_bytes())
        return grpc.ssl_server_certificate_configuration([pair], authority)

    def read_again(self) -> grpc.ServerCertificateConfiguration | None:
        """What the files hold, or None for what they held before: also while they do not fit."""
        try:
            return self.read() if self._stamp_now() != self._stamp else None
        except (ConfigError, OSError) as error:
            log.warning("the certificates stay as they were: %s", error)
            return None

    def _stamp_now(self) -> tuple[Stamp, ...]:
        config = self._config
        paths = (config.certificate_file, config.key_file, config.client_ca_file)
        return tuple(stamp_of(path) for path in paths if path)


def check_pair(certificate: Path, key: Path) -> None:
    """See that a certificate and a key can be read and belong together.

    Raises:
        ConfigError: They cannot, or do not; a key with a password is none that a server can use.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except (OSError, ValueError) as error:
        raise ConfigError(f"no certificate and key in {certificate} and {key}: {error}") from error


def check_authority(authority: Path) -> None:
    """See that a file holds certificates of an authority.

    Raises:
        ConfigError: It does not.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(authority)
    except OSError as error:
        raise ConfigError(f"no certificates in {authority}: {error}") from error


def channel_credentials(config: ClientConfig) -> grpc.ChannelCredentials:
    """What a client needs to speak TLS: whom it trusts, and its own certificate if it has one.

    Raises:
        ConfigError: Names the file at fault.
    """
    if bool(config.certificate_file) != bool(config.key_file):
        raise ConfigError("wanted client.certificate_file and client.key_file, came one of them")
    if config.ca_file:
        check_authority(config.ca_file)
    if config.certificate_file and config.key_file:
        check_pair(config.certificate_file, config.key_file)
    files = (config.ca_file, config.key_file, config.certificate_file)
    return grpc.ssl_channel_credentials(*(path.read_bytes() if path else None for path in files))
