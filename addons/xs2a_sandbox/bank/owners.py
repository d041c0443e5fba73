"""The owners of consents, payments and baskets. Other clients cannot see them."""

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
"""What clients own: the thing, its collection, and the error if it does not exist."""


def find_addressed(call: Call) -> Iterator[tuple[str, str, str]]:
    """Yield the collections and ids of the request's subject, each with the error if it does not exist."""
    for thing, collection, error in _OWNED:
        yield from ((collection, id, error) for id in call.things[thing].ids(call))


def find_foreign(call: Call, member: str, owner: str) -> Iterator[BankError]:
    """Yield an error for each subject of the request that another client created: its `member` names the creator."""
    for collection, id, error in find_addressed(call):
        other = (call.state.get(collection, as_kept(id)) or {}).get(member)
        if other is not None and other != owner:
            yield BankError(error, id=id)


def keep(call: Call, owners: Mapping[str, str | None]) -> None:
    """Store the owner in each document that the request has created, under the member that names it."""
    members = {member: owner for member, owner in owners.items() if owner}
    for _, collection, _ in _OWNED if members else ():
        for id, document in call.state.created(collection).items():
            call.state.put(collection, id, {**document, **members})


def organisation(call: Call, client: str | None) -> str | None:
    """Return a client's organisation identifier: from the test data, otherwise the client id if it has that format.

    None if unknown.
    """
    # Imported only when needed, because the import is slow.
    from xs2a_sandbox.tpp import organisation_identifier

    document = call.state.get("clients", client) if client else None
    if document is None or client is None:
        return None
    identifier: str | None = document.get("organizationIdentifier")
    return identifier or (client if organisation_identifier.parse(client) else None)
