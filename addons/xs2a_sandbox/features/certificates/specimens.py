"""Makes an invalid certificate for each kind of mistake."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from asn1crypto import x509 as asn1
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from xs2a_sandbox.tpp import issuing, qc_statements
from xs2a_sandbox.tpp.issuing import Issued, Key, KeyType, Particulars

_UNSPECIFIED = ("0.4.0.19495.1.0", "Unspecified")


@dataclass(frozen=True, slots=True)
class Order:
    """The parts of a certificate: its content, its issuer, the type of its key, and the time."""

    particulars: Particulars
    ca: Issued
    key: KeyType
    now: datetime

    def change(self, **changes: object) -> "Order":
        """Return the order with other content."""
        return replace(self, particulars=replace(self.particulars, **changes))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Presented:
    """The certificates in DER that a client shows, its own first, and the key, which a broken certificate may lack."""

    chain: tuple[bytes, ...]
    issued: Issued | None = None

    def above(self, *others: x509.Certificate) -> list[x509.Certificate]:
        """Return the shown certificates above its own, and others."""
        return [*map(x509.load_der_x509_certificate, self.chain[1:]), *others]


def as_ordered(order: Order, key: Key | None = None) -> Presented:
    """Return the certificate exactly as ordered."""
    key = key or issuing.new_key(order.key)
    return _of(Issued(issuing.issue(order.particulars, key, order.ca), key))


def _of(issued: Issued, *above: Issued) -> Presented:
    return Presented(
        tuple(issued_one.certificate.public_bytes(Encoding.DER) for issued_one in (issued, *above)), issued
    )


def _with(**changes: object) -> Callable[[Order], Presented]:
    return lambda order: as_ordered(order.change(**changes))


def _valid(begin: int, end: int) -> Callable[[Order], Presented]:
    """Make certificates that are valid between two days, counted from now."""
    return lambda order: as_ordered(
        order.change(not_before=order.now + timedelta(days=begin), not_after=order.now + timedelta(days=end))
    )


def _by(make: Callable[[Order], Issued]) -> Callable[[Order], Presented]:
    """Make certificates with another issuer."""
    return lambda order: as_ordered(replace(order, ca=make(order)))


def _self_signed(order: Order) -> Presented:
    key = issuing.new_key(order.key)
    own = Issued(issuing.issue(order.particulars, key, order.ca), key)
    return as_ordered(replace(order, ca=own), key)


def _roles(*roles: tuple[str, str]) -> Callable[[Order], Presented]:
    return _with(roles=roles)


def _id(identifier: str | None) -> Callable[[Order], Presented]:
    return _with(organisation_identifier=identifier)


def _of_other_key(order: Order) -> Issued:
    return issuing.issue_ca(order.now)


def _weak_rsa(order: Order) -> Presented:
    return as_ordered(order, rsa.generate_private_key(public_exponent=65537, key_size=1024))


def _weak_curve(order: Order) -> Presented:
    return as_ordered(order, ec.generate_private_key(ec.SECP192R1()))


def _sha1(order: Order) -> Presented:
    """Make a certificate that is signed with SHA-1, which cryptography does not do for certificates."""
    good = as_ordered(order)
    certificate = asn1.Certificate.load(good.chain[0])
    algorithm = {"algorithm": "sha1_ecdsa"}
    certificate["tbs_certificate"]["signature"] = algorithm
    certificate["signature_algorithm"] = algorithm
    key = order.ca.key
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the key of the test trust service must be an elliptic curve key")
    content = certificate["tbs_certificate"].dump(force=True)
    certificate["signature_value"] = key.sign(content, ec.ECDSA(hashes.SHA1()))
    return _again(good, certificate.dump(force=True))


def _tamper(order: Order) -> Presented:
    good = as_ordered(order)
    name = order.particulars.name.encode()
    other = bytes([name[0] ^ 1]) + name[1:]
    return _again(good, good.chain[0].replace(name, other))


def _again(good: Presented, der: bytes) -> Presented:
    """Return the key with another certificate."""
    issued = good.issued
    return Presented((der,), replace(issued, certificate=x509.load_der_x509_certificate(der)) if issued else None)


def _truncate(order: Order) -> Presented:
    good = as_ordered(order).chain[0]
    return Presented((good[: len(good) // 2],))


def _huge(order: Order) -> Presented:
    extension = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.55555.1"), bytes(100_000))
    return as_ordered(order.change(more=(x509.Extension(extension.oid, False, extension),)))


def _long_chain(order: Order) -> Presented:
    """Make a certificate below fifty others, each of which has issued the next."""
    issuers = [order.ca]
    for number in range(50):
        key = issuing.new_key("ec")
        ca = order.change(is_ca=True, key_usage=("key_cert_sign",), name=f"CA {number}").particulars
        issuers.append(Issued(issuing.issue(ca, key, issuers[-1]), key))
    key = issuing.new_key(order.key)
    own = Issued(issuing.issue(order.particulars, key, issuers[-1]), key)
    return _of(own, *reversed(issuers[1:]))


def _critical(order: Order) -> Presented:
    extension = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.55555.2"), b"\x05\x00")
    return as_ordered(order.change(more=(x509.Extension(extension.oid, True, extension),)))


MAKERS: Mapping[str, Callable[[Order], Presented]] = {
    "expired": _valid(-30, -1),
    "expires-tomorrow": _valid(-30, 1),
    "not-yet-valid": _valid(1, 30),
    "revoked": as_ordered,
    "blocked": as_ordered,
    "unknown-issuer": _by(lambda order: issuing.issue_ca(order.now, "Other CA")),
    "forged-issuer": _by(_of_other_key),
    "self-signed": _self_signed,
    "tampered": _tamper,
    "wrong-role": _roles(qc_statements.ROLES["ASPSP"]),
    "unspecified-role": _roles(_UNSPECIFIED),
    "no-role": _roles(),
    "unknown-role": _roles(("0.4.0.19495.1.9", "PSP_XX")),
    "misnamed-role": _roles(("0.4.0.19495.1.2", "PSP_AI")),
    "wrong-name": _with(name="Somebody Else"),
    "qseal": _with(kind="QSEAL"),
    "wrong-type": _with(type=qc_statements.SEAL),
    "sha1": _sha1,
    "weak-key": _weak_rsa,
    "weak-curve": _weak_curve,
    "malformed-id": _with(organisation_identifier="AT-FMA-123456"),
    "vat-id": _id("VATAT-U12345678"),
    "no-id": _id(None),
    "other-authority": _with(authority="DE-BAFIN"),
    "not-qualified": _with(is_qualified=False),
    "no-statements": _with(has_statements=False),
    "no-psd2": _with(roles=None),
    "broken-statements": _with(statements=b"0\x82PSD2"),
    "ca": _with(is_ca=True, key_usage=("digital_signature", "key_cert_sign")),
    "server-only": _with(purposes=(ExtendedKeyUsageOID.SERVER_AUTH,)),
    "no-signatures": _with(key_usage=("key_encipherment",)),
    "critical-extension": _critical,
    "long-chain": _long_chain,
    "huge": _huge,
    "truncated": _truncate,
    "garbage": lambda order: Presented((os.urandom(900),)),
    "empty": lambda order: Presented((b"",)),
}
"""The functions by name of the mistake."""
