"""Writes certificates with their keys to files, for curl and Python (PEM), and for Java and .NET (PKCS#12)."""

from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from xs2a_sandbox.documents.files import replace_file
from xs2a_sandbox.tpp.issuing import Issued


def write(
    folder: Path, name: str, issued: Issued, above: Sequence[x509.Certificate], password: str
) -> tuple[Path, Path]:
    """Write NAME.pem and NAME.p12, readable only by their owner. Raises ConfigError.

    `password` is that of the PKCS#12 file, which contains the key under the alias `name`, and the certificates `above`.
    """
    as_pem, as_pkcs12 = folder / f"{name}.pem", folder / f"{name}.p12"
    write_pem(as_pem, issued, above)
    archive = pkcs12.serialize_key_and_certificates(
        name.encode(), issued.key, issued.certificate, above, BestAvailableEncryption(password.encode())
    )
    replace_file(as_pkcs12, archive)
    return as_pem, as_pkcs12


def write_pem(file: Path, issued: Issued, above: Sequence[x509.Certificate]) -> None:
    """Write the certificate with its key, followed by the certificates above it that a client shows.

    Raises ConfigError.
    """
    chain = [certificate for certificate in above if certificate.issuer != certificate.subject]
    replace_file(file, pem(issued) + b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain))


def pem(issued: Issued) -> bytes:
    """Return the certificate, followed by its key without a passphrase."""
    key = issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return issued.certificate.public_bytes(Encoding.PEM) + key
