"""The owners of consents, payments and baskets: other clients do not get to see these."""

from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError

_CREATED = (
    ("consentId", "consents", "consent-unknown"),
    ("paymentId", "payments", "payment-unknown"),
    ("basketId", "baskets", "basket-unknown"),
)
"""The resources of clients: the name of the id, the collection, and the error where it is not there."""


def find_addressed(call: Call) -> Iterator[tuple[str, str, str]]:
    """The collections and ids of what the request is about, each with the error where it is not there."""
    for name, collection, error in _CREATED:
        ids = (call.path.get(name), call.headers.get("consent-id") if name == "consentId" else None)
        yield from ((collection, id, error) for id in ids if id)


def find_foreign(call: Call, member: str, owner: str) -> Iterator[BankError]:
    """The errors of what the request is about and another has created: the `member` of a document names who has."""
    for collection, id, error in find_addressed(call):
        other = (call.state.get(collection, as_kept(id)) or {}).get(member)
        if other is not None and other != owner:
            yield BankError(error, id=id)


def keep(call: Call, result: Mapping[str, Any], owners: Mapping[str, str | None]) -> None:
    """Keeps with what a handler has created whose it is, by the member that names them."""
    members = {member: owner for member, owner in owners.items() if owner}
    for name, collection, _ in _CREATED:
        document = call.state.get(collection, result[name]) if members and name in result else None
        # What the test data have was there before everybody.
        if document is not None and "role" not in document:
            call.state.put(collection, result[name], {**document, **members})


def organisation(call: Call, client: str | None) -> str | None:
    """The organisation identifier of a client: what the test data say, or its id where that is one. None if unknown."""
    # Imported by who asks for one: it takes its time.
    from xs2a_sandbox.tpp import organisation_identifier

    document = call.state.get("clients", client) if client else None
    if document is None or client is None:
        return None
    identifier: str | None = document.get("organizationIdentifier")
    return identifier or (client if organisation_identifier.parse(client) else None)
