"""The check of the token that a request presents, and of whose consents and payments its client may use."""

from datetime import datetime

from xs2a_sandbox.bank import owners
from xs2a_sandbox.bank.handlers.token import THUMBPRINT, TOKENS, thumbprint_of
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_SERVICES = {
    "AIS": ("consents", "accounts", "card-accounts"),
    "PIS": ("payments", "bulk-payments", "periodic-payments", "signing-baskets"),
    "PIIS": ("consents", "funds-confirmations"),
}
"""By scope, the beginnings of the paths that it is for."""


def refusal(call: Call) -> BankError | None:
    """The error of a token that is missing, unknown, too old, or for something else, or of somebody else's resource."""
    headers = call.request.headers.all("authorization")
    if len(headers) != 1:
        times = f"is sent {len(headers)} times" if headers else "is missing"
        return BankError(
            "token-unknown", expected=f"the header Authorization {times}; it must have a token of the scheme Bearer"
        )
    if headers[0].partition(" ")[0].lower() != "bearer":
        return BankError("token-unknown", expected="the header Authorization must have a token of the scheme Bearer")
    kept = _kept(call)
    if kept is None:
        return BankError("token-unknown", expected="the token endpoint has given no such token in this session")
    if datetime.fromisoformat(kept["expires"]) <= call.clock.now():
        return BankError("token-expired", expires=kept["expires"])
    if mistake := _unproven(call, kept):
        return BankError("token-unproven", expected=mistake)
    services, _, bound = (kept.get("scope") or "").partition(":")
    ids = [id for _, id, _ in owners.addressed(call)]
    if (bound and bound.lower() not in map(str.lower, ids)) or not _is_for(services, call.segments):
        return BankError("token-invalid", scope=kept["scope"])
    return next(owners.foreign(call, "client", kept["client"]), None)


def _unproven(call: Call, kept: Document) -> str | None:
    """Says why a token is not good with the certificate that was shown; None where it is, or is bound to none."""
    if (thumbprint := kept.get("cnf", {}).get(THUMBPRINT)) is None:
        return None
    shown = thumbprint_of(call)
    if shown == thumbprint:
        return None
    of = f"the one that was shown has {shown}" if shown else "none was shown"
    return f"the token is bound to the client certificate with the SHA-256 thumbprint {thumbprint}, and {of}"


def _is_for(services: str, segments: tuple[str, ...]) -> bool:
    """Tells if a scope, of several services with blanks between, is for a path; one that names none is for all."""
    beginnings = [one for service in services.split() for one in _SERVICES.get(service, ())]
    return not beginnings or any(one in segments for one in beginnings)


def client_of(call: Call) -> str | None:
    """The id of the client that the token was given to; None without a token of the session."""
    kept = _kept(call)
    return kept["client"] if kept else None


def _kept(call: Call) -> Document | None:
    secret = call.headers.get("authorization", "").partition(" ")[2].strip()
    return call.state.get(TOKENS, secret) if secret else None
