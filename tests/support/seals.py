"""Seals (QSEAL) of TPPs with self-signed certificates."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from tests.support.certificates import particulars
from xs2a_sandbox.http import Headers
from xs2a_sandbox.signatures.keys import PrivateKey
from xs2a_sandbox.signatures.signing import Seal, signed_headers
from xs2a_sandbox.signatures.signing_string import SignedMessage
from xs2a_sandbox.tpp import issuing
from xs2a_sandbox.tpp.issuing import Issued

NOW = datetime.now(UTC)
ORGANISATION = x509.ObjectIdentifier("2.5.4.97")


@cache
def key(kind: str = "rsa", which: int = 0) -> PrivateKey:
    """Return a key. `which` distinguishes several of the same kind."""
    if kind == "ec":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(65537, 1024 if kind == "weak" else 2048)


@cache
def seal(
    kind: str = "rsa", which: int = 0, *, organisation: str = "PSDAT-FMA-123456", begins: int = -1, ends: int = 365
) -> Seal:
    """Return a seal whose certificate is valid between these days, counted from now."""
    own = key(kind, which)
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "AT"),
            x509.NameAttribute(ORGANISATION, organisation),
            x509.NameAttribute(NameOID.COMMON_NAME, f"TPP {which}"),
        ]
    )
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test CA, of nobody")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(own.public_key())
        .serial_number(0xABC123 + which)
        .not_valid_before(NOW + timedelta(begins))
        .not_valid_after(NOW + timedelta(ends))
        .sign(own, hashes.SHA256())
    )
    return Seal(certificate, own)


def trusted(by: Issued, organisation: str = "PSDAT-FMA-123456", *, begins: int = -1, ends: int = 365) -> Seal:
    """Return a QSEAL of a test trust service, valid between these days, counted from now."""
    days = {"not_before": NOW + timedelta(begins), "not_after": NOW + timedelta(ends)}
    own = issuing.issue(particulars("QSEAL", organisation_identifier=organisation, **days), key(), by)
    return Seal(own, key())


def sealed(headers: dict[str, str], body: bytes = b"", *, by: Seal | None = None, **options: Any) -> dict[str, str]:
    """Return the headers of a request with its signature, created at `now`."""
    message = SignedMessage(Headers(headers.items()), body, options.pop("method", "POST"), options.pop("target", "/"))
    now = options.pop("now", NOW)
    return {**headers, **dict(signed_headers(message, by or seal(), now, **options))}
