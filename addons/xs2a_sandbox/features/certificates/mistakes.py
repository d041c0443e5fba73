"""The kinds of invalid certificates: the mistake in each, and the bank's error for it."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

_INVALID = "certificate-invalid"


class Mistake(NamedTuple):
    """A mistake in a certificate. `doc` completes a sentence about the certificate; `error` is an error of the dialect.

    Some certificates are valid themselves, but have been `revoked`, or their TPP is `blocked`. Without `has_key` no
    key is written.
    """

    name: str
    doc: str
    error: str = _INVALID
    standing: Literal["revoked", "blocked"] | None = None
    has_key: bool = True


_MISTAKES: Sequence[Mistake] = (
    Mistake("expired", "that expired yesterday", "certificate-expired"),
    Mistake("expires-tomorrow", "that expires tomorrow, by the session's clock", "certificate-expired"),
    Mistake("not-yet-valid", "that is valid from tomorrow"),
    Mistake("revoked", "that its issuer has revoked", "certificate-revoked", "revoked"),
    Mistake("blocked", "of a TPP that the authority has blocked", "certificate-blocked", "blocked"),
    Mistake("unknown-issuer", "of a different CA"),
    Mistake("forged-issuer", "of a different CA with the name of the right CA"),
    Mistake("self-signed", "that the TPP has issued itself"),
    Mistake("tampered", "whose name was changed after it was signed"),
    Mistake("wrong-role", "with the role of a bank (ASPSP)", "role-invalid"),
    Mistake("unspecified-role", 'with the role "unspecified"', "role-invalid"),
    Mistake("no-role", "without any role"),
    Mistake("unknown-role", "with a role that does not exist"),
    Mistake("misnamed-role", "with a role under the name of another role"),
    Mistake("wrong-name", "with a name different from the registered one"),
    Mistake("qseal", "that is a QSEAL, used as a QWAC"),
    Mistake("wrong-type", "of a QWAC whose type says that it is for signatures"),
    Mistake("sha1", "signed with SHA-1"),
    Mistake("weak-key", "with an RSA key of 1024 bits"),
    Mistake("weak-curve", "with a key on P-192"),
    Mistake("malformed-id", "with a malformed organisation identifier"),
    Mistake("vat-id", "with a VAT number as the organisation identifier"),
    Mistake("no-id", "without an organisation identifier"),
    Mistake("other-authority", "whose authority does not match its identifier"),
    Mistake("not-qualified", "without the statement that it is qualified"),
    Mistake("no-statements", "without QcStatements, like those of web sites"),
    Mistake("no-psd2", "without the statement about payment services"),
    Mistake("broken-statements", "whose QcStatements are not ASN.1"),
    Mistake("ca", "of a CA"),
    Mistake("server-only", "for servers only"),
    Mistake("no-signatures", "whose key must not be used for signatures"),
    Mistake("critical-extension", "with an unknown critical extension"),
    Mistake("long-chain", "issued below fifty other CAs"),
    Mistake("huge", "of 100 kB"),
    Mistake("truncated", "whose second half is missing", has_key=False),
    Mistake("garbage", "that is not ASN.1", has_key=False),
    Mistake("empty", "that is empty", has_key=False),
)

MISTAKES: Mapping[str, Mistake] = {mistake.name: mistake for mistake in _MISTAKES}
"""The mistakes by name."""
