"""Access by a consent: what it permits on which accounts, and the references by which apps name accounts.

Each of a consent's `grants` has `permissions`, and the ids of the `accounts` and cards that they are for, null where
that is all that it covers. `at` is the place of a list of references in what was `sent`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any

type Reference = Mapping[str, Any]

PERMISSIONS = ("list", "details", "balances", "entries", "owner", "beneficiaries")
OWNER = "owner"
IDENTIFIERS = ("iban", "bban", "pan", "maskedPan", "msisdn")
"""The members of a reference that say which account it means."""
_OF_REFERENCES = frozenset({*IDENTIFIERS, "currency"})
KEPT_AS = {"maskedPan": "masked_pan"}
"""What accounts call these numbers, where it is something else."""


def strip_reference(reference: Mapping[str, Any]) -> dict[str, Any]:
    """A reference as it was sent, without members that have no value or that references do not have."""
    return {name: value for name, value in reference.items() if value and name in _OF_REFERENCES}


def refers(reference: Mapping[str, Any], account: Mapping[str, Any]) -> bool:
    """Tells if the reference means the account; that of a card means a card account alone."""
    return any(reference.get(name) and reference[name] == account.get(KEPT_AS.get(name, name)) for name in IDENTIFIERS)


def may(consent: Mapping[str, Any], permission: str, account: Mapping[str, Any]) -> bool:
    """Tells if it permits this on an account or card that it covers, whose `id` is known.

    A consent that does not say what it is for permits everything.
    """
    grants = consent.get("grants")
    return grants is None or any(
        permission in grant["permissions"] and (grant["accounts"] is None or account["id"] in grant["accounts"])
        for grant in grants
    )


def gives(consent: Mapping[str, Any], permission: str) -> bool:
    """Tells if it permits this on any account."""
    grants = consent.get("grants")
    if grants is None:
        return permission != OWNER
    return any(permission in grant["permissions"] and grant["accounts"] != [] for grant in grants)


def of_signers(
    consent: Mapping[str, Any], accounts: Mapping[str, Mapping[str, Any]], signers: Collection[str | None]
) -> list[str]:
    """The accounts of those who sign a consent that names none; a joint account only if all its holders do."""
    types = consent.get("account_types") or ()
    return [
        id
        for id, account in accounts.items()
        if set(account.get("signatories") or [account["psuId"]]) <= set(signers)
        and (not types or account.get("type") in types)
    ]


def lets_choose(consent: Mapping[str, Any]) -> bool:
    """Tells if the customer has yet to choose the accounts: it names none, and is not for all of them."""
    return bool(consent.get("customer_chooses")) and not consent["accounts"]


def limit(consent: Mapping[str, Any], chosen: Sequence[str], payers: Mapping[str, str]) -> dict[str, Any]:
    """The consent for just these accounts; `payers` are those that cards are paid from, by the ids of the cards."""
    grants = [
        {**grant, "accounts": grant["accounts"] and [id for id in grant["accounts"] if payers.get(id, id) in chosen]}
        for grant in consent.get("grants") or ()
    ]
    return {**consent, "accounts": list(chosen), **({"grants": grants} if grants else {})}


def as_sent(
    consent: Mapping[str, Any], every: Sequence[Reference], is_covered: Callable[[Reference], bool]
) -> dict[str, Any] | None:
    """The access as it was sent, with lists of only those accounts that the consent covers; None if none was sent.

    A list that left the choice to the customer becomes `every`, the references to all of them.
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
    """The mapping with another value at that place below it."""
    first, *below = at
    return {**value, first: _put(value[first], below, part) if below else part}
