"""A certificate authority of loopback, made anew by every test."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Authority:
    """Signs certificates, and writes them where servers and clients read them."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._authority = self._signed(self._name, self._key, is_authority=True)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(self._authority.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, name: str, *, lasts: timedelta = DAY, names: Sequence[str] = ()
    ) -> tuple[Path, Path]:
        """Write a certificate for 127.0.0.1 and its key, over those of the same name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key, is_authority=False, lasts=lasts, names=names)
        paths = self._directory / f"{name}.crt", self._directory / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return paths

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        is_authority: bool,
        lasts: timedelta = DAY,
        names: Sequence[str] = (),
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        addresses = [x509.IPAddress(ip_address("127.0.0.1")), *map(x509.DNSName, names)]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + lasts)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256())
