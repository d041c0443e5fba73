"""Certificates for tests, issued in the process."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from xs2a_sandbox.tpp import issuing, qc_statements
from xs2a_sandbox.tpp.issuing import Issued, Particulars

ROLES = ("PISP", "AISP", "PIISP")
IDENTIFIER = "PSDAT-FMA-123456"


@cache
def ca(name: str = issuing.TRUST_SERVICE) -> Issued:
    return issuing.issue_ca(datetime.now(UTC), name)


def particulars(kind: Any = "QWAC", roles: tuple[str, ...] = ROLES, **changes: Any) -> Particulars:
    now = datetime.now(UTC).replace(microsecond=0)
    usual = Particulars(
        name="My TPP",
        organisation_identifier=IDENTIFIER,
        roles=tuple(qc_statements.ROLES[role] for role in roles),
        authority="AT-FMA",
        authority_name="Financial Market Authority",
        country="AT",
        kind=kind,
        not_before=now - timedelta(days=1),
        not_after=now + timedelta(days=47),
    )
    return replace(usual, **changes)


def issued(kind: Any = "QWAC", *, key: Any = "ec", by: Issued | None = None, **changes: Any) -> Issued:
    made = issuing.new_key(key)
    return Issued(issuing.issue(particulars(kind, **changes), made, by or ca()), made)


def der(issued: Issued) -> bytes:
    return issued.certificate.public_bytes(Encoding.DER)


def with_long_names(count: int) -> bytes:
    """Return a DER certificate whose subject and issuer have this number of attributes with 64 bytes each."""
    name = x509.Name([x509.NameAttribute(NameOID.GIVEN_NAME, f"{number:064}") for number in range(count)])
    now, key = datetime.now(UTC), ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    dated = builder.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    return dated.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)
