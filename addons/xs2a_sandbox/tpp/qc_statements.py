"""Statements of qualified certificates (RFC 3739, ETSI EN 319 412-5), with those on payment services (TS 119 495).

asn1crypto reads and writes the ASN.1, because cryptography returns this extension as bytes.
"""

from collections.abc import Collection
from typing import ClassVar, NamedTuple

from asn1crypto.core import Any, IA5String, ObjectIdentifier, PrintableString, Sequence, SequenceOf, UTF8String

EXTENSION = "1.3.6.1.5.5.7.1.3"
COMPLIANCE = "0.4.0.1862.1.1"
DISCLOSURE = "0.4.0.1862.1.5"
TYPE = "0.4.0.1862.1.6"
SEAL, WEB = "0.4.0.1862.1.6.2", "0.4.0.1862.1.6.3"
PSD2 = "0.4.0.19495.2"

ROLES = {
    "ASPSP": ("0.4.0.19495.1.1", "PSP_AS"),
    "PISP": ("0.4.0.19495.1.2", "PSP_PI"),
    "AISP": ("0.4.0.19495.1.3", "PSP_AI"),
    "PIISP": ("0.4.0.19495.1.4", "PSP_IC"),
}
"""The object identifier and the name in certificates for each role, by its name in the interface."""

_BY_IDENTIFIER = {identifier: (role, name) for role, (identifier, name) in ROLES.items()}
_UNSPECIFIED = "0.4.0.19495.1.0"


class _Statement(Sequence):  # type: ignore[misc]
    _fields: ClassVar = [("id", ObjectIdentifier), ("info", Any, {"optional": True})]


class _Statements(SequenceOf):  # type: ignore[misc]
    _child_spec = _Statement


class _Types(SequenceOf):  # type: ignore[misc]
    _child_spec = ObjectIdentifier


class _Disclosure(Sequence):  # type: ignore[misc]
    _fields: ClassVar = [("url", IA5String), ("language", PrintableString)]


class _Disclosures(SequenceOf):  # type: ignore[misc]
    _child_spec = _Disclosure


class _Role(Sequence):  # type: ignore[misc]
    _fields: ClassVar = [("identifier", ObjectIdentifier), ("name", UTF8String)]


class _Roles(SequenceOf):  # type: ignore[misc]
    _child_spec = _Role


class _PaymentServices(Sequence):  # type: ignore[misc]
    _fields: ClassVar = [("roles", _Roles), ("authority_name", UTF8String), ("authority", UTF8String)]


class QcStatements(NamedTuple):
    """The relevant statements. `types` are object identifiers, `authority` is the short id of the competent authority.

    `roles` is None if there is no statement on payment services.
    """

    is_qualified: bool
    types: tuple[str, ...]
    roles: tuple[str, ...] | None
    authority_name: str
    authority: str


def read(content: bytes) -> QcStatements:
    """Parse the extension's value. Raises ValueError with the mistake."""
    try:
        statements = _Statements.load(content, strict=True)
        by_id = {statement["id"].dotted: statement["info"] for statement in statements}
        types = tuple(type_id.dotted for type_id in by_id[TYPE].parse(_Types)) if TYPE in by_id else ()
        if PSD2 not in by_id:
            return QcStatements(COMPLIANCE in by_id, types, None, "", "")
        services = by_id[PSD2].parse(_PaymentServices)
        roles = tuple(_role(claimed["identifier"].dotted, claimed["name"].native) for claimed in services["roles"])
        authority_name, authority = services["authority_name"].native, services["authority"].native
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, _NoRole):
            raise
        raise ValueError("its QcStatements do not have the form of ETSI TS 119 495") from None
    if not roles:
        raise ValueError("its PSD2 statement names no role")
    return QcStatements(COMPLIANCE in by_id, types, tuple(role for role in roles if role), authority_name, authority)


def write(
    type: str | None,
    roles: Collection[tuple[str, str]] | None,
    *,
    authority_name: str,
    authority: str,
    is_qualified: bool = True,
) -> bytes:
    """Return the extension's value. `roles` are pairs like those in `ROLES`; None leaves payment services out."""
    statements = [{"id": COMPLIANCE}] if is_qualified else []
    if type:
        statements.append({"id": TYPE, "info": Any(_Types([type]))})
    disclosure = {"url": "https://trust-service.example.org/pds-en.pdf", "language": "en"}
    statements.append({"id": DISCLOSURE, "info": Any(_Disclosures([disclosure]))})
    if roles is not None:
        role_names = [{"identifier": identifier, "name": name} for identifier, name in roles]
        services = {"roles": role_names, "authority_name": authority_name, "authority": authority}
        statements.append({"id": PSD2, "info": Any(_PaymentServices(services))})
    content: bytes = _Statements(statements).dump()
    return content


class _NoRole(ValueError):
    """Raised for a role with a wrong name."""


def _role(identifier: str, name: str) -> str:
    """Return the role, or an empty string if it is unspecified."""
    if identifier == _UNSPECIFIED:
        return ""
    role, usual = _BY_IDENTIFIER.get(identifier, ("", ""))
    if not role:
        raise _NoRole(f"its statement about payment services has the role {identifier}, which does not exist")
    if name != usual:
        raise _NoRole(
            f"its statement about payment services has the name {name[:40]!r} for the role {identifier}; the "
            f"correct name is {usual}"
        )
    return role
