"""Reads documents of the state for features that only show them and need not know their members."""

from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.bank.domain.accounts import number_of
from xs2a_sandbox.bank.domain.amounts import write_amount
from xs2a_sandbox.bank.domain.lifecycle import CONSENT
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES
from xs2a_sandbox.wording import say_count

_WITH_STATES = {AUTHORISATIONS, *(family.collection for family in FAMILIES.values())}
"""The collections whose documents have a state. The status of an account means something else."""
_AUTHORISED = frozenset(transition.to for transition in CONSENT.transitions if transition.event == "authorised by all")
INVALID = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The errors that a document causes if a user has written it in another form."""

type Members = Mapping[str, Any]
type State = Mapping[str, dict[str, Any]]
"""The collections that documents may refer to."""


def state_of(collection: str, document: Members) -> str:
    """Return the state, or the role in the test data, or an empty string."""
    return str(changed_state_of(collection, document) or document.get("role") or "")


def changed_state_of(collection: str, document: Members) -> str | None:
    """Return the state if events have changed it, or None if it is the same as in the test data."""
    state: str | None = document.get("status") if collection in _WITH_STATES else None
    return state


def is_authorised(consent: Members) -> bool:
    """Return whether a consent may be used, including one that is valid from the start."""
    return state_of("consents", consent) in _AUTHORISED


def frequency_of(consent: Members) -> int | None:
    """Return how many times a day the consent may be used without the customer. None means no limit."""
    return consent.get("frequency")


def intent_of(payment: Members) -> str:
    """Return the customer's reference. Two payments with the same reference are considered the same intent."""
    return " ".join(end_to_end_ids(payment))


def end_to_end_ids(payment: Members) -> Iterator[str]:
    """Yield the end-to-end id of each part of a payment or mandate that has one."""
    yield from filter(None, (part.get("end_to_end_id") for part in payment.get("parts") or ()))


def entry_ids(account: Members) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the ids of all entries of an account, each with its place in the document."""
    for name, entries in account.get("entries", {}).items():
        for position, entry in enumerate(entries):
            yield ("entries", name, position, "id"), entry["id"]


def name_of(collection: str, document: Members) -> str:
    """Return a readable name for a document, such as `5,000.00 EUR to Nahversorger`, or an empty string."""
    if collection in ("payments", "mandates"):
        creditors = [(part.get("creditor") or {}).get("name") for part in document.get("parts") or ()]
        money = format_money(document.get("amount"))
        payee = f"{len(creditors)} payees" if len(creditors) > 1 else (creditors or [None])[0]
        return " to ".join(filter(None, (money, payee)))
    if collection == "consents":
        count = len(document.get("accounts") or ())
        return f"Access to {count} account{'' if count == 1 else 's'}"
    if collection == AUTHORISATIONS:
        return f"Authorisation of a {document.get('family', 'document')}"
    if collection == "baskets":
        counts = ((len(document.get(f"{listed}s") or ()), listed) for listed in ("payment", "consent"))
        return f"Basket of {' and '.join(say_count(*one) for one in counts if one[0]) or 'nothing'}"
    return str(document.get("name") or "")


def format_money(amount: Any) -> str | None:
    """Return an amount with its currency, or None if it is not one."""
    if not isinstance(amount, dict):
        return None
    try:
        return f"{write_amount(amount['amount'], amount['currency'])} {amount['currency']}"
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def describe(collection: str, document: Members, state: State) -> Iterator[str]:
    """Yield the texts by which people recognise a document: accounts, names, products, end-to-end ids, amounts.

    A document that is not in `state` is named by its id.
    """
    if collection == "consents":
        yield from (_number(str(account), state) for account in document.get("accounts", ()))
        if until := document.get("valid_until"):
            yield f"until {until}"
    elif collection == AUTHORISATIONS:
        by = document.get("psuId") and f"by {document['psuId']}"
        yield from filter(None, (_name_resource(document, state), document.get("approach"), by))
    else:
        yield from (str(document[name]) for name in ("name", "product") if document.get(name))
        creditors = (part.get("creditor") or {} for part in (document.get("parts") or ())[:1])
        yield from (str(creditor["name"]) for creditor in creditors if creditor.get("name"))
        if ids := list(end_to_end_ids(document)):
            yield f"end-to-end id {ids[0]}" if len(ids) == 1 else f"end-to-end ids {ids[0]} and {len(ids) - 1} more"
        yield from filter(None, (format_money(document.get("amount")),))


def _number(account: str, state: State) -> str:
    for collection in ("accounts", "cards"):
        if found := state.get(collection, {}).get(account):
            return number_of({"id": account, **found})
    return account


def _name_resource(authorisation: Members, state: State) -> str:
    family, id = FAMILIES.get(authorisation.get("family", "")), str(authorisation.get("resource") or "")
    found = state.get(family.collection, {}).get(id) if family else None
    return name_of(family.collection, found) or id if family and found else id
