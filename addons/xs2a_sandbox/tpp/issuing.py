"""Issues certificates like trust services for payment services: ETSI EN 319 412 and TS 119 495."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPublicKeyTypes
from cryptography.x509.oid import (
    AuthorityInformationAccessOID,
    ExtendedKeyUsageOID,
    NameOID,
    ObjectIdentifier,
)

from xs2a_sandbox.tpp import organisation_identifier, qc_statements
from xs2a_sandbox.tpp.certificate import Kind

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
KeyType = Literal["rsa", "ec"]

TRUST_SERVICE = "XS2A Sandbox Test Trust Service"
_PLACE = "http://trust-service.example.org"
"""The address of the issuer in certificates: a reserved host (RFC 6761), which is never contacted."""

_LIFE_OF_CA = timedelta(days=3650)
_QWAC_POLICIES = ("2.23.140.1.1", "0.4.0.19495.3.1", "0.4.0.194112.1.4")
_QSEAL_POLICIES = ("0.4.0.194112.1.1",)


@dataclass(frozen=True, slots=True)
class Particulars:
    """The content of a certificate. `host` is the name for which a QWAC is issued; an empty `common_name` is left out.

    `roles` are object identifiers with their names in certificates; None leaves the statement on payment services out.
    `statements` are bytes that replace the QcStatements.
    """

    name: str
    organisation_identifier: str | None
    roles: tuple[tuple[str, str], ...] | None
    authority: str
    authority_name: str
    country: str
    kind: Kind
    not_before: datetime
    not_after: datetime
    host: str = "tpp.example.org"
    city: str = "Wien"
    type: str | None = None
    statements: bytes | None = None
    has_statements: bool = True
    is_qualified: bool = True
    is_ca: bool = False
    key_usage: tuple[str, ...] | None = None
    purposes: tuple[ObjectIdentifier, ...] | None = None
    more: tuple[x509.Extension[x509.ExtensionType], ...] = ()


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: Key


def new_key(kind: KeyType = "rsa") -> Key:
    if kind == "ec":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def issue_ca(now: datetime, name: str = TRUST_SERVICE) -> Issued:
    """Create a trust service's own certificate."""
    key = new_key("ec")
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "AT"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, name),
            x509.NameAttribute(NameOID.COMMON_NAME, f"{name} CA"),
        ]
    )
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFE_OF_CA)
        .not_valid_after(now + _LIFE_OF_CA)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage("key_cert_sign", "crl_sign"), critical=True)
        .add_extension(identifier, critical=False)
    )
    return Issued(builder.sign(key, hashes.SHA256()), key)


def issue(particulars: Particulars, key: Key, issuer: Issued) -> x509.Certificate:
    """Issue a certificate for this key, signed by the issuer."""
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(_public(issuer.key))
    builder = (
        x509.CertificateBuilder()
        .subject_name(_subject(particulars))
        .issuer_name(issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(particulars.not_before)
        .not_valid_after(particulars.not_after)
        .add_extension(authority, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    for extension in (*_extensions(particulars), *particulars.more):
        builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(issuer.key, hashes.SHA256())


def _subject(particulars: Particulars) -> x509.Name:
    """Return the subject, for QWACs with the names that the EV rules require."""
    is_web = particulars.kind == "QWAC"
    attributes = [
        (NameOID.COUNTRY_NAME, particulars.country),
        (NameOID.LOCALITY_NAME, particulars.city),
        (NameOID.ORGANIZATION_NAME, particulars.name),
        (NameOID.ORGANIZATION_IDENTIFIER, particulars.organisation_identifier),
        (NameOID.JURISDICTION_COUNTRY_NAME, particulars.country if is_web else None),
        (NameOID.BUSINESS_CATEGORY, "Private Organization" if is_web else None),
        (NameOID.SERIAL_NUMBER, (particulars.organisation_identifier or "-") if is_web else None),
        (NameOID.COMMON_NAME, particulars.host if is_web else particulars.name),
    ]
    return x509.Name([x509.NameAttribute(kind, text) for kind, text in attributes if text])


def _extensions(particulars: Particulars) -> list[x509.Extension[x509.ExtensionType]]:
    is_web = particulars.kind == "QWAC"
    usage = particulars.key_usage or (("digital_signature",) if is_web else ("content_commitment",))
    policies = _QWAC_POLICIES if is_web else _QSEAL_POLICIES
    access = [
        _access(AuthorityInformationAccessOID.CA_ISSUERS, "ca.cer"),
        _access(AuthorityInformationAccessOID.OCSP, "ocsp"),
    ]
    location = x509.UniformResourceIdentifier(f"{_PLACE}/ca.crl")
    extensions = [
        _extension(_key_usage(*usage), critical=True),
        _extension(x509.CertificatePolicies([x509.PolicyInformation(ObjectIdentifier(id), None) for id in policies])),
        _extension(x509.AuthorityInformationAccess(access)),
        _extension(x509.CRLDistributionPoints([x509.DistributionPoint([location], None, None, None)])),
    ]
    if particulars.is_ca:
        extensions.append(_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True))
    if is_web:
        extensions.append(_extension(x509.SubjectAlternativeName([x509.DNSName(particulars.host)])))
        if identifier := organisation_identifier.parse(particulars.organisation_identifier or ""):
            id = ObjectIdentifier(organisation_identifier.EXTENSION)
            extensions.append(_extension(x509.UnrecognizedExtension(id, identifier.extension())))
    purposes = particulars.purposes
    if purposes is None and is_web:
        purposes = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
    if purposes:
        extensions.append(_extension(x509.ExtendedKeyUsage(purposes)))
    if particulars.has_statements:
        id = ObjectIdentifier(qc_statements.EXTENSION)
        extensions.append(_extension(x509.UnrecognizedExtension(id, _statements(particulars))))
    return extensions


def _statements(particulars: Particulars) -> bytes:
    if particulars.statements is not None:
        return particulars.statements
    return qc_statements.write(
        particulars.type or (qc_statements.WEB if particulars.kind == "QWAC" else qc_statements.SEAL),
        particulars.roles,
        authority_name=particulars.authority_name,
        authority=particulars.authority,
        is_qualified=particulars.is_qualified,
    )


def _extension(value: x509.ExtensionType, *, critical: bool = False) -> x509.Extension[x509.ExtensionType]:
    return x509.Extension(value.oid, critical, value)


def _access(method: ObjectIdentifier, path: str) -> x509.AccessDescription:
    return x509.AccessDescription(method, x509.UniformResourceIdentifier(f"{_PLACE}/{path}"))


def _key_usage(*usages: str) -> x509.KeyUsage:
    names = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{name: name in usages for name in names})


def _public(key: Key) -> CertificateIssuerPublicKeyTypes:
    return key.public_key()
