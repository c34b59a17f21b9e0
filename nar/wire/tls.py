"""Encryption: the certificates of a server or a client, read from files, again when they change."""

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import grpc

from nar.base.errors import ConfigError
from nar.base.files import WatchedFiles, check_readable
from nar.wire.settings import ClientConfig, TlsConfig

_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
# Tags of ASN.1: of the version, which may stand first, and of both kinds of dates, with formats.
_VERSION: Final = 0xA0
_DATE_FORMATS: Final = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}
# A length byte from here on says how many bytes of length follow.
_LONG_LENGTH: Final = 0x80


def earliest_end_s(pem: str) -> float:
    """When the first of some certificates ends, which may be an intermediate one.

    Args:
        pem: What a file of certificates holds; OpenSSL has taken it.

    Returns:
        Seconds since 1970.
    """
    return min(_end_s(ssl.PEM_cert_to_DER_cert(block)) for block in _PEM.findall(pem))


def _end_s(certificate: bytes) -> float:
    """The date after which a certificate is not valid (RFC 5280, section 4.1), in seconds."""
    # Python's ssl shows dates of verified peers only, and NAR needs no other library that reads
    # certificates.
    _, signed = next(_fields(certificate))
    _, content = next(_fields(signed))
    # Serial number, algorithm and issuer come before it.
    validity = [field for tag, field in _fields(content) if tag != _VERSION][3]
    _, (tag, text) = _fields(validity)
    end = datetime.strptime(text.decode("ascii"), _DATE_FORMATS[tag])
    return end.replace(tzinfo=UTC).timestamp()


def _fields(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each field of a DER sequence."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length >= _LONG_LENGTH:
            digits = length - _LONG_LENGTH
            length, at = int.from_bytes(der[at : at + digits], "big"), at + digits
        yield tag, der[at : at + length]
        at += length


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """A certificate and its key, as they are shown; `end_s` is in seconds since 1970."""

    configuration: grpc.ServerCertificateConfiguration
    end_s: float


class Certificates:
    """The files of a server's certificate, read whole or not at all, again when they change.

    While changed files are at fault, their last good content is shown.

    Args:
        config: Which files. With ``client_ca_file`` callers must bring a certificate that it
            signed.

    Raises:
        ConfigError: Names the file at fault.
    """

    def __init__(self, config: TlsConfig) -> None:
        self._config = config
        self._pair = WatchedFiles("the certificates", files_of(config), self._read)
        self._shown = self._pair.content()

    def credentials(self) -> grpc.ServerCredentials:
        """What a port needs to speak TLS; every handshake looks whether the files have changed."""
        return grpc.dynamic_ssl_server_credentials(
            self._shown.configuration,
            # None is for no change, which the stubs do not know.
            self._changed,  # type: ignore[arg-type]
            require_client_authentication=self._config.client_ca_file is not None,
        )

    def end_s(self) -> float:
        """When the certificate that the next caller is shown ends, in seconds since 1970."""
        return self._pair.content().end_s

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        """What is to be shown from now on, or None for what was shown before."""
        pair = self._pair.content()
        if pair is self._shown:
            return None
        self._shown = pair
        return pair.configuration

    def _read(self) -> _Pair:
        config = self._config
        for path in files_of(config):
            check_readable(path)
        check_pair(config.certificate_file, config.key_file)
        authority = None
        if config.client_ca_file:
            check_authority(config.client_ca_file)
            authority = config.client_ca_file.read_bytes()
        certificate = config.certificate_file.read_bytes()
        pair = (config.key_file.read_bytes(), certificate)
        return _Pair(
            grpc.ssl_server_certificate_configuration([pair], authority),
            earliest_end_s(certificate.decode("ascii", "replace")),
        )


def served_context(config: TlsConfig) -> ssl.SSLContext:
    """The context of a port whose handshakes show the certificate that the files hold then.

    Raises:
        ConfigError: Names the file at fault.
    """
    newest = WatchedFiles("the certificates of a port", files_of(config), partial(_context, config))

    def show(connection: ssl.SSLObject, _name: str | None, _context: object) -> None:
        connection.context = newest.content()

    first = newest.content()
    first.sni_callback = show  # called for every handshake, named or not
    return first


def _context(config: TlsConfig) -> ssl.SSLContext:
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


def files_of(config: TlsConfig) -> tuple[Path, ...]:
    """The files that a server's certificate is read from."""
    paths = (config.certificate_file, config.key_file, config.client_ca_file)
    return tuple(path for path in paths if path)


def check_pair(certificate: Path, key: Path) -> None:
    """See that a certificate and a key can be read and belong together.

    Raises:
        ConfigError: They cannot be read, or do not belong together; or the key has a password.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except (OSError, ValueError) as error:
        files = f"{certificate.absolute()} and {key.absolute()}"
        raise ConfigError(f"no certificate and key in {files}: {error}") from error


def check_authority(authority: Path) -> None:
    """See that a file holds certificates of an authority.

    Raises:
        ConfigError: The file holds none.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(authority)
    except OSError as error:
        raise ConfigError(f"no certificates in {authority.absolute()}: {error}") from error


def channel_credentials(config: ClientConfig) -> grpc.ChannelCredentials:
    """What a client needs to speak TLS: whom it trusts, and its own certificate if it has one.

    Raises:
        ConfigError: Names the file at fault.
    """
    if bool(config.certificate_file) != bool(config.key_file):
        raise ConfigError(
            "wanted client.certificate_file and client.key_file, came one without the other"
        )
    if config.ca_file:
        check_authority(config.ca_file)
    if config.certificate_file and config.key_file:
        check_pair(config.certificate_file, config.key_file)
    files = (config.ca_file, config.key_file, config.certificate_file)
    return grpc.ssl_channel_credentials(*(path.read_bytes() if path else None for path in files))
