"""Reads a TPP's certificate like a bank: QWACs for TLS, QSEALs for signatures."""

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Literal

from asn1crypto import pem
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import NameOID, ObjectIdentifier

from xs2a_sandbox.tpp import qc_statements
from xs2a_sandbox.tpp.qc_statements import QcStatements

LARGEST = 16 * 1024
"""The most bytes of a certificate. Those of trust services have two or three thousand."""

_KEPT = 256

Kind = Literal["QWAC", "QSEAL"]

_KINDS: dict[str, Kind] = {qc_statements.WEB: "QWAC", qc_statements.SEAL: "QSEAL"}
_STATEMENTS = ObjectIdentifier(qc_statements.EXTENSION)


_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")

_BROKEN = (
    *(ValueError, TypeError, KeyError, OverflowError),
    *(x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, UnsupportedAlgorithm),
)
"""All exceptions that cryptography raises for invalid certificates."""


class CertificateUnreadable(ValueError):
    """The text describes the mistake, and completes a sentence about the certificate."""


@dataclass(frozen=True, slots=True)
class TppCertificate:
    """The relevant parts of a certificate.

    `name` is that of the organisation; `kind` and `roles` come from the statements of a qualified certificate; missing
    texts are empty. `domains` are the host names in the common name and in subjectAltName, in lower case and without a
    wildcard. `mistake` is why these statements cannot be read.
    """

    name: str
    organisation_identifier: str
    kind: Kind | None
    roles: tuple[str, ...]
    country: str
    authority: str
    authority_name: str
    issuer: str
    serial: str
    fingerprint: str
    not_before: datetime
    not_after: datetime
    mistake: str | None
    statements: QcStatements | None = field(repr=False)
    domains: tuple[str, ...]
    parsed: x509.Certificate = field(repr=False, compare=False)

    def is_signed_by(self, issuer: x509.Certificate) -> bool:
        """Return whether `issuer` has issued this certificate: the name and the signature match."""
        try:
            self.parsed.verify_directly_issued_by(issuer)
        except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
            return False
        return True

    @property
    def identity(self) -> dict[str, object]:
        """The owner, as journal and explanations show the client."""
        return {"name": self.name, "organisation": self.organisation_identifier, "roles": list(self.roles)}

    def members(self) -> dict[str, object]:
        """Return the certificate as cassettes and expressions see it."""
        return {
            **self.identity,
            "domains": list(self.domains),
            "kind": self.kind,
            "country": self.country,
            "authority": self.authority,
            "issuer": self.issuer,
            "serial": self.serial,
            "fingerprint": self.fingerprint,
            "validFrom": self.not_before.isoformat(),
            "validUntil": self.not_after.isoformat(),
        }


def _domains(parsed: x509.Certificate) -> tuple[str, ...]:
    names = [_text(parsed.subject, NameOID.COMMON_NAME)]
    with suppress(x509.ExtensionNotFound):
        alternatives = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names += alternatives.get_values_for_type(x509.DNSName)
    plain = (name.lower().removeprefix("*.") for name in names)
    return tuple(dict.fromkeys(name for name in plain if _HOST.fullmatch(name)))


def try_read(der: bytes) -> TppCertificate | None:
    """Return the certificate, or None if it cannot be read."""
    try:
        return read(der)
    except CertificateUnreadable:
        return None


@lru_cache(_KEPT)
def read(der: bytes) -> TppCertificate:
    """Read a certificate in DER without checking its issuer. Raises CertificateUnreadable."""
    if len(der) > LARGEST:
        raise CertificateUnreadable(f"has {len(der)} bytes; the maximum is {LARGEST}")
    try:
        with warnings.catch_warnings():
            # It warns of serial numbers that later versions reject.
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            parsed = x509.load_der_x509_certificate(der)
            subject = parsed.subject
            # Parsed here, because cryptography parses them lazily, and later code does not expect its errors.
            parsed.public_key(), parsed.extensions, parsed.signature_hash_algorithm
            statements, mistake = _statements(parsed)
            return TppCertificate(
                name=_text(subject, NameOID.ORGANIZATION_NAME) or _text(subject, NameOID.COMMON_NAME),
                organisation_identifier=_text(subject, NameOID.ORGANIZATION_IDENTIFIER),
                kind=_kind(statements),
                roles=(statements.roles or ()) if statements else (),
                country=_text(subject, NameOID.COUNTRY_NAME),
                authority=statements.authority if statements else "",
                authority_name=statements.authority_name if statements else "",
                issuer=parsed.issuer.rfc4514_string(),
                serial=f"{parsed.serial_number:x}",
                fingerprint=parsed.fingerprint(hashes.SHA256()).hex(),
                not_before=parsed.not_valid_before_utc,
                not_after=parsed.not_valid_after_utc,
                mistake=mistake,
                statements=statements,
                domains=_domains(parsed),
                parsed=parsed,
            )
    except _BROKEN:
        raise CertificateUnreadable("is not a readable X.509 certificate") from None


def from_pem(text: bytes) -> Sequence[bytes]:
    """Return the certificates of a PEM file in DER, in order. Raises ValueError if there is none."""
    armoured = [der for kind, _, der in pem.unarmor(text, multiple=True) if kind == "CERTIFICATE"]
    if not armoured:
        raise ValueError("there is no certificate in PEM format")
    return armoured


def _statements(parsed: x509.Certificate) -> tuple[QcStatements | None, str | None]:
    try:
        extension = parsed.extensions.get_extension_for_oid(_STATEMENTS)
    except x509.ExtensionNotFound:
        return None, "it has no QcStatements, so it is not a qualified certificate"
    content = extension.value
    if not isinstance(content, x509.UnrecognizedExtension):
        return None, "its QcStatements cannot be read"
    try:
        return qc_statements.read(content.value), None
    except ValueError as error:
        return None, str(error)


def _kind(statements: QcStatements | None) -> Kind | None:
    kinds = [_KINDS[type] for type in statements.types if type in _KINDS] if statements else []
    return kinds[0] if len(kinds) == 1 else None


def _text(name: x509.Name, attribute: ObjectIdentifier) -> str:
    values = name.get_attributes_for_oid(attribute)
    return str(values[0].value) if values else ""
