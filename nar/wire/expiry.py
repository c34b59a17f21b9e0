"""When a certificate ends: its date, read out of the PEM file that a server shows."""

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
# Tags of ASN.1: of what may stand first, and of both kinds of dates with how they are written.
_VERSION: Final = 0xA0
_DATE_FORMATS: Final = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}
_LONG_LENGTH: Final = 0x80


def earliest_end_s(pem: str) -> float:
    """When the first of some certificates ends, which need not be that of the server itself.

    Args:
        pem: What a file of certificates holds; OpenSSL has taken it.

    Returns:
        Seconds since 1970.
    """
    return min(_end_s(ssl.PEM_cert_to_DER_cert(block)) for block in _PEM.findall(pem))


def _end_s(certificate: bytes) -> float:
    """The date after which a certificate is not valid (RFC 5280, section 4.1), in seconds."""
    # Python's ssl shows the dates of verified peers only, and the library that shows those of
    # files is none that NAR needs otherwise.
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
