"""The kinds of bad certificates: what is wrong with each, and the error that banks refuse it with."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

_INVALID = "certificate-invalid"


class Mistake(NamedTuple):
    """What is wrong with a certificate. `doc` ends a sentence that begins with one; `error` is the dialect's.

    Some are good themselves, but have been `revoked`, or their TPP is `blocked`. Those without `has_key` are nobody's.
    """

    name: str
    doc: str
    error: str = _INVALID
    standing: Literal["revoked", "blocked"] | None = None
    has_key: bool = True


_MISTAKES: Sequence[Mistake] = (
    Mistake("expired", "that ended yesterday", "certificate-expired"),
    Mistake("expires-tomorrow", "that ends tomorrow, by the session's clock", "certificate-expired"),
    Mistake("not-yet-valid", "that begins tomorrow"),
    Mistake("revoked", "that its issuer has revoked", "certificate-revoked", "revoked"),
    Mistake("blocked", "of a TPP that the authority has blocked", "certificate-blocked", "blocked"),
    Mistake("unknown-issuer", "of another CA"),
    Mistake("forged-issuer", "of another CA with the name of the right one"),
    Mistake("self-signed", "that the TPP has issued itself"),
    Mistake("tampered", "with another name than was signed"),
    Mistake("wrong-role", "of an ASPSP, which no TPP is", "role-invalid"),
    Mistake("unspecified-role", "with no role in particular", "role-invalid"),
    Mistake("no-role", "without any role"),
    Mistake("unknown-role", "with a role that there is not"),
    Mistake("misnamed-role", "with a role under the name of another"),
    Mistake("wrong-name", "with another name than the TPP is registered with"),
    Mistake("qseal", "that is a QSEAL, used as a QWAC"),
    Mistake("wrong-type", "like a QWAC that says to be for signatures"),
    Mistake("sha1", "signed with SHA-1"),
    Mistake("weak-key", "with an RSA key of 1024 bits"),
    Mistake("weak-curve", "with a key on P-192"),
    Mistake("malformed-id", "with an organisation identifier that is none"),
    Mistake("vat-id", "with a VAT number for an organisation identifier"),
    Mistake("no-id", "without organisation identifier"),
    Mistake("other-authority", "of another authority than its identifier"),
    Mistake("not-qualified", "that does not say to be qualified"),
    Mistake("no-statements", "without QcStatements, as web sites have"),
    Mistake("no-psd2", "that says nothing of payment services"),
    Mistake("broken-statements", "whose QcStatements are no ASN.1"),
    Mistake("ca", "that is one of a CA"),
    Mistake("server-only", "for servers alone"),
    Mistake("no-signatures", "whose key must not sign"),
    Mistake("critical-extension", "with a critical extension that nobody knows"),
    Mistake("long-chain", "beneath fifty other CAs"),
    Mistake("huge", "of 100 kB"),
    Mistake("truncated", "of which half is missing", has_key=False),
    Mistake("garbage", "that is no ASN.1", has_key=False),
    Mistake("empty", "without a byte", has_key=False),
)

MISTAKES: Mapping[str, Mistake] = {mistake.name: mistake for mistake in _MISTAKES}
"""By name."""
