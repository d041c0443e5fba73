"""Judges a client certificate like a bank, and returns the dialect's error for the mistake."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

from xs2a_sandbox.errors import BankError
from xs2a_sandbox.tpp import certificate, organisation_identifier, qc_statements
from xs2a_sandbox.tpp.certificate import CertificateUnreadable, Kind, TppCertificate
from xs2a_sandbox.tpp.trust_service import Trust
from xs2a_sandbox.tpp.weak_keys import rsa_weakness

LONGEST_CHAIN = 10
"""The most certificates that a client may show, including its own."""

_LONGEST = 300
"""The maximum number of characters of a name in a message, because a name may fill the whole certificate."""

_LEAST_EC = 256
_WEAK = (hashes.SHA1, hashes.MD5)
_KNOWN_CRITICAL = frozenset(
    {
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    }
)


def mistake(
    chain: Sequence[bytes],
    trust: Trust,
    now: datetime,
    roles: Collection[str] = (),
    kind: Kind = "QWAC",
) -> BankError | None:
    """Return the error of a client's certificates in DER, its own first, or None if they are right.

    If `roles` are given, one of them is needed.
    """
    if not chain:
        return BankError("certificate-missing", expected=f"the client certificate is missing: send a {kind}")
    if len(chain) > LONGEST_CHAIN:
        return _invalid(f"{len(chain)} certificates were sent; the maximum is {LONGEST_CHAIN}")
    try:
        own = certificate.read(chain[0])
    except CertificateUnreadable as error:
        return _invalid(f"the client certificate {error}")
    # Cryptography never accepts signatures with SHA-1, so report these first.
    text = _of(_weakness(own.parsed)) or _distrust(tuple(chain), trust.authorities) or _of(_content_mistake(own, kind))
    return _invalid(text) if text else _check_standing(own, trust, now, roles)


def _of(text: str | None) -> str | None:
    return f"of the client certificate: {text}" if text else None


def _invalid(text: str) -> BankError:
    return BankError("certificate-invalid", expected=text)


@lru_cache(256)
def _distrust(chain: tuple[bytes, ...], authorities: tuple[x509.Certificate, ...]) -> str | None:
    """Describe why no trusted authority has issued the certificate, directly or through the other certificates."""
    above = certificate.read(chain[0])
    others = list(dict.fromkeys(chain[1:]))
    while True:
        if any(above.is_signed_by(authority) for authority in authorities):
            return None
        same = any(above.parsed.issuer == authority.subject for authority in authorities)
        issuer, others = _issuer_of(above, others)
        if issuer is None:
            text = f"the client certificate was issued by {above.issuer[:_LONGEST]}"
            return (
                f"{text}, with a key different from that authority's" if same else f"{text}, which is not trusted here"
            )
        above = issuer


def _issuer_of(above: TppCertificate, others: Sequence[bytes]) -> tuple[TppCertificate | None, list[bytes]]:
    """Return the certificate that may issue and has signed this one, and the remaining ones."""
    for der in others:
        try:
            other = certificate.read(der)
        except CertificateUnreadable:
            continue
        if _is_ca(other.parsed) and above.is_signed_by(other.parsed):
            return other, [one for one in others if one is not der]
    return None, []


def _content_mistake(own: TppCertificate, kind: Kind) -> str | None:
    """Describe the mistake in the content of a certificate, regardless of its issuer."""
    return _usage_mistake(own.parsed, kind) or own.mistake or _statement_mistake(own, kind)


def _weakness(parsed: x509.Certificate) -> str | None:
    if isinstance(parsed.signature_hash_algorithm, _WEAK):
        return f"it is signed with {parsed.signature_hash_algorithm.name.upper()}; SHA-256 or stronger is required"
    key = parsed.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        weakness = rsa_weakness(key)
        return f"its RSA key {weakness}" if weakness else None
    if isinstance(key, ec.EllipticCurvePublicKey):
        return (
            f"its key has {key.key_size} bits; at least {_LEAST_EC} are required" if key.key_size < _LEAST_EC else None
        )
    return "its key must be an RSA or elliptic curve key"


def _usage_mistake(parsed: x509.Certificate, kind: Kind) -> str | None:
    """Describe the mistake if the certificate was issued for another purpose."""
    extensions = {header.oid: header for header in parsed.extensions}
    unknown = [
        oid.dotted_string for oid, extension in extensions.items() if extension.critical and oid not in _KNOWN_CRITICAL
    ]
    if unknown:
        return f"its critical extension {unknown[0]} is unknown"
    if _is_ca(parsed):
        return "it is the certificate of a CA"
    usage = extensions.get(ExtensionOID.KEY_USAGE)
    if usage and isinstance(usage.value, x509.KeyUsage):
        signs = usage.value.digital_signature or (kind == "QSEAL" and usage.value.content_commitment)
        if not signs:
            return "its key usage does not allow digital signatures"
    purposes = extensions.get(ExtensionOID.EXTENDED_KEY_USAGE)
    if kind == "QWAC" and purposes and isinstance(purposes.value, x509.ExtendedKeyUsage):
        clients = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
        if not any(purpose in clients for purpose in purposes.value):
            return "its extended key usage does not allow TLS clients"
    return None


def _is_ca(parsed: x509.Certificate) -> bool:
    try:
        return parsed.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return False


def _statement_mistake(own: TppCertificate, kind: Kind) -> str | None:
    """Describe the mistake in its statements about the provider."""
    statements = own.statements
    if statements is None or not statements.is_qualified:
        return "it lacks the statement that it is qualified (QcCompliance)"
    if own.kind != kind:
        names = {qc_statements.WEB: "a QWAC", qc_statements.SEAL: "a QSEAL"}
        it_is = (
            " and ".join(names.get(statement_type, statement_type) for statement_type in statements.types)
            or "of no type"
        )
        return f"it is {it_is}, not a {kind} (QcType)"
    if statements.roles is None:
        return "it has no statement about payment services (ETSI TS 119 495)"
    if len(own.parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_IDENTIFIER)) > 1:
        return "it has several organisation identifiers"
    identifier = organisation_identifier.parse(own.organisation_identifier)
    if identifier is None:
        text = own.organisation_identifier
        return (
            f"its organisation identifier {text[:60]!r} must have the form PSDAT-FMA-123456"
            if text
            else "it has no organisation identifier"
        )
    if identifier.authority_id != own.authority:
        return f"its organisation identifier {identifier} does not belong to its authority, {own.authority[:60]!r}"
    return None


def _check_standing(own: TppCertificate, trust: Trust, now: datetime, roles: Collection[str]) -> BankError | None:
    """Return the error if a correctly issued certificate is not valid any more."""
    if now < own.not_before:
        return _invalid(f"the client certificate is not valid before {own.not_before.isoformat()}")
    if now > own.not_after:
        return BankError("certificate-expired", expires=own.not_after.isoformat())
    if (own.issuer, own.parsed.serial_number) in trust.revoked:
        return BankError("certificate-revoked", serial=own.serial)
    provider = trust.providers.get(own.organisation_identifier)
    if provider and provider.is_blocked:
        return BankError("certificate-blocked", tpp=own.organisation_identifier)
    if provider and provider.name != own.name:
        return _invalid(f"{own.organisation_identifier} is registered as {provider.name!r}, not as {own.name[:60]!r}")
    if roles and not set(roles) & set(own.roles):
        allowed, needed = ", ".join(own.roles) or "none", " or ".join(roles)
        return BankError(
            "role-invalid", expected=f"the client certificate needs the role {needed}; it has the roles {allowed}"
        )
    return None
