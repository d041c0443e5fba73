"""Access by a consent: its kinds, the accounts that come of them, and the rights on each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.errors import BankError

LISTS = ("accounts", "balances", "transactions")
"""The members of an access that name accounts; empty lists leave the choice to the customer and the bank."""
ADDITIONAL = ("ownerName", "trustedBeneficiaries")
NAMED, BANK_OFFERED = "named", "bankOffered"
_LISTED = frozenset({"list"})
_RIGHTS = {
    "availableAccounts": _LISTED,
    "availableAccountsWithBalance": _LISTED | {"balances"},
    "allPsd2": _LISTED | {"details", "balances", "transactions"},
}
"""The rights on every account of the customer, by the kind of access."""
KINDS = (*_RIGHTS, BANK_OFFERED)
"""The kinds of access that name no accounts."""
_WITH_NAME = "allAccountsWithOwnerName"
IDENTIFIERS = ("iban", "bban", "pan", "maskedPan", "msisdn")
"""The members of a reference that say which account it means."""


def kind_of(access: Mapping[str, Any]) -> str:
    """One of KINDS, or `named`. Raises BankError where it is none, or several at once."""
    kinds = [kind for kind in _RIGHTS if access.get(kind)]
    if any(True for _ in references(access)):
        kinds.append(NAMED)
    if not kinds and any(access.get(name) is not None for name in LISTS):
        return BANK_OFFERED
    if len(kinds) == 1:
        return kinds[0]
    text = "access must name accounts, or " + ", or ".join(f"say {kind}" for kind in _RIGHTS)
    raise BankError("format-error", path="/access", expected=f"{text}{'; not several at once' if kinds else ''}")


def references(access: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The accounts that it names, each with its place in the request."""
    additional = access.get("additionalInformation") or {}
    for parent, lists, names in (("/access", access, LISTS), ("/access/additionalInformation", additional, ADDITIONAL)):
        for name in names:
            for position, reference in enumerate(lists.get(name) or ()):
                yield reference, f"{parent}/{name}/{position}"


def strip_reference(reference: Mapping[str, Any]) -> dict[str, Any]:
    """A reference as it was sent, without members that have no value or that references do not have."""
    return {name: reference[name] for name in (*IDENTIFIERS, "currency") if reference.get(name)}


def refers(reference: Mapping[str, Any], account: Mapping[str, Any]) -> bool:
    """Tells if the reference means the account; that of a card means a card account alone."""
    return any(reference.get(name) and reference[name] == account.get(name) for name in IDENTIFIERS)


def may(consent: Mapping[str, Any], right: str, account: Mapping[str, Any]) -> bool:
    """Tells if it gives the right on an account that it covers: list, details, balances, transactions or ownerName.

    A consent of the test data that does not say what it is for gives all of them.
    """
    access = consent.get("access")
    if access is None:
        return True
    for kind, rights in _RIGHTS.items():
        if access.get(kind):
            return right in rights or (right == "ownerName" and access[kind] == _WITH_NAME)
    if _is_open(access):
        # Documented consents for all accounts are kept so; the payment user is told that they are for everything.
        return right in ("list", "details") or access.get(right) is not None
    if right in ("list", "details"):
        entries = [reference for name in LISTS for reference in access.get(name) or ()]
    elif right == "ownerName":
        entries = (access.get("additionalInformation") or {}).get(right) or []
    else:
        entries = access.get(right) or []
    return any(refers(reference, account) for reference in entries)


def gives(access: Mapping[str, Any] | None, right: str) -> bool:
    """Tells if it gives the right on any account: details, balances, transactions or ownerName."""
    if access is None:
        return right != "ownerName"
    for kind, rights in _RIGHTS.items():
        if access.get(kind):
            return right in rights or (right == "ownerName" and access[kind] == _WITH_NAME)
    if right == "details":
        return True
    lists = (access.get("additionalInformation") or {}) if right in ADDITIONAL else access
    return bool(lists.get(right)) or (lists.get(right) is not None and _is_open(access))


def of_signers(
    consent: Mapping[str, Any], accounts: Mapping[str, Mapping[str, Any]], signers: Collection[str | None]
) -> list[str]:
    """The accounts of those who sign a consent that names none; a joint account only if all its holders do."""
    kinds = consent["access"].get("restrictedTo") or ()
    return [
        iban
        for iban, account in accounts.items()
        if set(account.get("signatories") or [account["psuId"]]) <= set(signers)
        and (not kinds or account.get("cashAccountType") in kinds)
    ]


def is_bank_offered(consent: Mapping[str, Any]) -> bool:
    """Tells if the customer chooses the accounts: it names none, and is not for all of them."""
    access = consent.get("access") or {}
    return not consent["accounts"] and _is_open(access)


def _is_open(access: Mapping[str, Any]) -> bool:
    is_empty = not any(True for _ in references(access))
    return is_empty and not any(access.get(kind) for kind in _RIGHTS)


def limit_consent(
    consent: Mapping[str, Any], accounts: Mapping[str, Mapping[str, Any]], ibans: Sequence[str]
) -> dict[str, Any]:
    """The consent for just these accounts: its lists name no others, and empty ones name them all."""
    access = consent.get("access")
    if access is not None and not any(access.get(kind) for kind in _RIGHTS):
        chosen = [{"iban": iban, **accounts[iban]} for iban in ibans if iban in accounts]
        every_account = (
            [{"iban": account["iban"], "currency": account["currency"]} for account in chosen]
            if _is_open(access)
            else None
        )

        def limit(references: list[dict[str, Any]]) -> list[dict[str, Any]]:
            if every_account is not None:
                return every_account
            return [
                reference
                for reference in references
                if _is_card(reference) or any(refers(reference, account) for account in chosen)
            ]

        lists = {name: limit(access[name]) for name in LISTS if access.get(name) is not None}
        additional = access.get("additionalInformation") or {}
        more = {name: limit(additional[name]) for name in ADDITIONAL if additional.get(name) is not None}
        access = {**access, **lists, **({"additionalInformation": {**additional, **more}} if more else {})}
    return {**consent, "accounts": list(ibans), "access": access}


def _is_card(reference: Mapping[str, Any]) -> bool:
    return not any(reference.get(name) for name in ("iban", "bban", "msisdn"))
