"""The check of the request's token, and of the consents and payments that its client may use."""

from datetime import datetime

from xs2a_sandbox.bank import owners
from xs2a_sandbox.bank.domain.possession import CERTIFICATE, KEY, Unproven, certificate_of, key_of
from xs2a_sandbox.bank.domain.signing import FAMILIES
from xs2a_sandbox.bank.handlers.token import TOKENS
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_A_TOKEN = "one token, with the scheme Bearer, or DPoP if it is bound to a key"


def refusal(call: Call) -> BankError | None:
    """Return the error if the token is not valid for this request, or if another client owns the resource."""
    headers = call.request.headers.all("authorization")
    if len(headers) != 1:
        times = f"is sent {len(headers)} times" if headers else "is missing"
        return BankError("token-unknown", expected=f"the header Authorization {times}; it must contain {_A_TOKEN}")
    if (scheme := headers[0].partition(" ")[0].lower()) not in ("bearer", "dpop"):
        return BankError("token-unknown", expected=f"the header Authorization must contain {_A_TOKEN}")
    kept = _find_token(call)
    if kept is None:
        return BankError("token-unknown", expected="the token endpoint has not issued this token in this session")
    if datetime.fromisoformat(kept["expires"]) <= call.clock.now():
        return BankError("token-expired", expires=kept["expires"])
    if error := _check_certificate(call, kept) or _check_key(call, kept, scheme):
        return error
    if not (_is_for_resource(call, kept) and _is_for_path(call, kept.get("scope") or "")):
        return BankError("token-invalid", scope=kept.get("scope") or f"the {kept['family']} {kept['resource']}")
    return next(owners.find_foreign(call, "client", kept["client"]), None)


def _check_certificate(call: Call, kept: Document) -> BankError | None:
    """Return the error if the token is bound to a certificate that the client does not present."""
    if (thumbprint := kept.get("cnf", {}).get(CERTIFICATE)) is None:
        return None
    certificate = certificate_of(call)
    if certificate == thumbprint:
        return None
    of = f"the client certificate that was sent has {certificate}" if certificate else "no client certificate was sent"
    text = f"the token is bound to the client certificate with the SHA-256 thumbprint {thumbprint}, and {of}"
    return BankError("token-unproven", expected=text)


def _check_key(call: Call, kept: Document, scheme: str) -> BankError | None:
    """Return the error if the token is bound to a key and the request does not prove possession of it."""
    key = kept.get("cnf", {}).get(KEY)
    if key is None:
        text = "the token is not bound to a key; send it with the scheme Bearer"
        return _key_error(text) if scheme == "dpop" else None
    if scheme != "dpop":
        return _key_error("the token is bound to a key; send it with the scheme DPoP and a proof in the header DPoP")
    try:
        proof_key = key_of(call, _secret(call))
    except Unproven as mistake:
        return BankError("token-proof-invalid", expected=str(mistake))
    if proof_key != key:
        return _key_error(
            f"the token is bound to the key with the thumbprint {key}, but the DPoP proof is signed with the "
            f"key {proof_key}"
        )
    return None


def _key_error(text: str) -> BankError:
    return BankError("token-key-wrong", expected=text)


def _is_for_resource(call: Call, kept: Document) -> bool:
    """Return whether the request is about the resource that the token was authorised for, if there is one."""
    if (name := kept.get("family")) in (None, "login"):
        return True
    # A dialect may find the consent by the token itself.
    if as_kept(str(call.take(name) or "")) == kept["resource"]:
        return True
    collection = FAMILIES[name].collection
    return any(
        addressed == collection and as_kept(id) == kept["resource"] for addressed, id, _ in owners.find_addressed(call)
    )


def _is_for_path(call: Call, scope: str) -> bool:
    """Return whether a scope of several words covers the path. A scope without known words covers every path."""
    segments = [segment for named in call.authorising.scopes_of(scope) for segment in named.paths]
    return not segments or any(segment in call.segments for segment in segments)


def client_of(call: Call) -> str | None:
    """Return the id of the client that the token was issued to, or None without a known token."""
    kept = _find_token(call)
    return kept["client"] if kept else None


def _find_token(call: Call) -> Document | None:
    secret = _secret(call)
    return call.state.get(TOKENS, secret) if secret else None


def _secret(call: Call) -> str:
    return call.headers.get("authorization", "").partition(" ")[2].strip()
