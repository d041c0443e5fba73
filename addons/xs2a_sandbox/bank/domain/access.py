"""Access by a consent: its permissions on accounts, and the references with which apps name accounts.

Each of a consent's `grants` has `permissions` and the ids of the `accounts` and cards that they apply to; null means
all accounts and cards of the consent. `at` is the place of a list of references in `sent`, the access that the app
sent.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any

type Reference = Mapping[str, Any]

PERMISSIONS = ("list", "details", "balances", "entries", "owner", "beneficiaries")
OWNER = "owner"
IDENTIFIERS = ("iban", "bban", "pan", "maskedPan", "msisdn")
"""The members of a reference that identify an account."""
_OF_REFERENCES = frozenset({*IDENTIFIERS, "currency"})
KEPT_AS = {"maskedPan": "masked_pan"}
"""The names of these members in accounts, if they differ."""


def strip_reference(reference: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reference as it was sent, without members that are empty or not part of references."""
    return {name: value for name, value in reference.items() if value and name in _OF_REFERENCES}


def refers(reference: Mapping[str, Any], account: Mapping[str, Any]) -> bool:
    """Return whether the reference refers to the account. A card number refers only to a card account."""
    return any(reference.get(name) and reference[name] == account.get(KEPT_AS.get(name, name)) for name in IDENTIFIERS)


def may(consent: Mapping[str, Any], permission: str, account: Mapping[str, Any]) -> bool:
    """Return whether the consent gives the permission on an account or card that it covers. `account` needs its `id`.

    A consent without grants permits everything.
    """
    grants = consent.get("grants")
    return grants is None or any(
        permission in grant["permissions"] and (grant["accounts"] is None or account["id"] in grant["accounts"])
        for grant in grants
    )


def gives(consent: Mapping[str, Any], permission: str) -> bool:
    """Return whether the consent gives the permission on any account."""
    grants = consent.get("grants")
    if grants is None:
        return permission != OWNER
    return any(permission in grant["permissions"] and grant["accounts"] != [] for grant in grants)


def of_signers(
    consent: Mapping[str, Any], accounts: Mapping[str, Mapping[str, Any]], signers: Collection[str | None]
) -> list[str]:
    """Return the signers' accounts for a consent that names none. A joint account counts only if all holders sign."""
    types = consent.get("account_types") or ()
    return [
        id
        for id, account in accounts.items()
        if set(account.get("signatories") or [account["psuId"]]) <= set(signers)
        and (not types or account.get("type") in types)
    ]


def lets_choose(consent: Mapping[str, Any]) -> bool:
    """Return whether the customer has to choose accounts, because the consent is neither for named nor for all ones."""
    return bool(consent.get("customer_chooses")) and not consent["accounts"]


def limit(consent: Mapping[str, Any], chosen: Sequence[str], payers: Mapping[str, str]) -> dict[str, Any]:
    """Return the consent, limited to these accounts. `payers` maps the id of a card to the account that pays for it."""
    grants = [
        {**grant, "accounts": grant["accounts"] and [id for id in grant["accounts"] if payers.get(id, id) in chosen]}
        for grant in consent.get("grants") or ()
    ]
    return {**consent, "accounts": list(chosen), **({"grants": grants} if grants else {})}


def as_sent(
    consent: Mapping[str, Any], every: Sequence[Reference], is_covered: Callable[[Reference], bool]
) -> dict[str, Any] | None:
    """Return the access as it was sent, listing only covered accounts, or None if none was sent.

    A list that left the choice to the customer becomes `every`, the references to all accounts.
    """
    sent: dict[str, Any] = consent.get("sent") or {}
    for grant in consent.get("grants") or ():
        if at := grant.get("at"):
            listed = every if grant["accounts"] is None else filter(is_covered, _get(sent, at))
            sent = _put(sent, at, list(listed))
    return sent or None


def _get(value: Any, at: Sequence[str]) -> Any:
    return reduce(getitem, at, value)


def _put(value: Mapping[str, Any], at: Sequence[str], part: Any) -> dict[str, Any]:
    """Return a copy of the mapping with another value at this place."""
    first, *below = at
    return {**value, first: _put(value[first], below, part) if below else part}
