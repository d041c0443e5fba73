"""The check of the token that a request presents, and of whose consents and payments its client may use."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from xs2a_sandbox.bank.handlers.token import TOKENS
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_CREATED = (
    ("consentId", "consents", "consent-unknown"),
    ("paymentId", "payments", "payment-unknown"),
    ("basketId", "baskets", "basket-unknown"),
)
"""What clients create: the name of its id, its collection, and the error where it is not there."""
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
    services, _, bound = (kept.get("scope") or "").partition(":")
    ids = [id for _, id, _ in _addressed(call)]
    if (bound and bound.lower() not in map(str.lower, ids)) or not _is_for(services, call.segments):
        return BankError("token-invalid", scope=kept["scope"])
    return next(_foreign(call, kept["client"]), None)


def _is_for(services: str, segments: tuple[str, ...]) -> bool:
    """Tells if a scope, of several services with blanks between, is for a path; one that names none is for all."""
    beginnings = [one for service in services.split() for one in _SERVICES.get(service, ())]
    return not beginnings or any(one in segments for one in beginnings)


def _foreign(call: Call, client: str) -> Iterator[BankError]:
    """The errors of what the request addresses and another client has created: to this one it is unknown."""
    for collection, id, error in _addressed(call):
        owner = (call.state.get(collection, as_kept(id)) or {}).get("client")
        if owner is not None and owner != client:
            yield BankError(error, id=id)


def _addressed(call: Call) -> Iterator[tuple[str, str, str]]:
    """The collections and ids of what the request is about, each with the error where it is not there."""
    for name, collection, error in _CREATED:
        ids = (call.path.get(name), call.headers.get("consent-id") if name == "consentId" else None)
        yield from ((collection, id, error) for id in ids if id)


def keep_client(call: Call, result: Mapping[str, Any]) -> None:
    """Keeps with what a handler has created whose it is."""
    client = client_of(call)
    for name, collection, _ in _CREATED:
        document = call.state.get(collection, result[name]) if client and name in result else None
        # What the test data have was there before everybody.
        if document is not None and "role" not in document:
            call.state.put(collection, result[name], {**document, "client": client})


def client_of(call: Call) -> str | None:
    """The id of the client that the token was given to; None without a token of the session."""
    kept = _kept(call)
    return kept["client"] if kept else None


def _kept(call: Call) -> Document | None:
    secret = call.headers.get("authorization", "").partition(" ")[2].strip()
    return call.state.get(TOKENS, secret) if secret else None
