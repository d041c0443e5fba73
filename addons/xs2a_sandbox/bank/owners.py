"""The owners of consents, payments and baskets: other clients do not get to see these."""

from collections.abc import Iterator, Mapping

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError

_OWNED = (
    ("consent", "consents", "consent-unknown"),
    ("payment", "payments", "payment-unknown"),
    ("basket", "baskets", "basket-unknown"),
    ("mandate", "mandates", "mandate-unknown"),
)
"""What clients own: the thing, the collection, and the error where it is not there."""


def find_addressed(call: Call) -> Iterator[tuple[str, str, str]]:
    """The collections and ids of what the request is about, each with the error where it is not there."""
    for thing, collection, error in _OWNED:
        yield from ((collection, id, error) for id in call.things[thing].ids(call))


def find_foreign(call: Call, member: str, owner: str) -> Iterator[BankError]:
    """The errors of what the request is about and another has created: the `member` of a document names who has."""
    for collection, id, error in find_addressed(call):
        other = (call.state.get(collection, as_kept(id)) or {}).get(member)
        if other is not None and other != owner:
            yield BankError(error, id=id)


def keep(call: Call, owners: Mapping[str, str | None]) -> None:
    """Keeps with what the request has created whose it is, by the member that names them."""
    members = {member: owner for member, owner in owners.items() if owner}
    for _, collection, _ in _OWNED if members else ():
        for id, document in call.state.created(collection).items():
            call.state.put(collection, id, {**document, **members})


def organisation(call: Call, client: str | None) -> str | None:
    """The organisation identifier of a client: what the test data say, or its id where that is one. None if unknown."""
    # Imported by who asks for one: it takes its time.
    from xs2a_sandbox.tpp import organisation_identifier

    document = call.state.get("clients", client) if client else None
    if document is None or client is None:
        return None
    identifier: str | None = document.get("organizationIdentifier")
    return identifier or (client if organisation_identifier.parse(client) else None)
