"""Card accounts, by a consent that covers the account each is paid from (spec 4.3)."""

from typing import Any

from xs2a_sandbox.bank.handlers.accounts import lists, period, usable_consent, within
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

RAISES = frozenset(
    {"consent-expired", "consent-invalid", "consent-unknown", "format-error", "period-invalid", "resource-not-covered"}
)

_SHOWN = ("maskedPan", "currency", "name", "product", "creditLimit", "debitAccounting")


def list_cards(call: Call) -> dict[str, Any]:
    """Options: `links`, see `_record`."""
    covered = usable_consent(call)["accounts"]
    return {
        "cardAccounts": [
            _record(call, id, card, f"{call.self_path}/{id}")
            for id, card in call.state.all("cardAccounts").items()
            if card["linkedAccount"] in covered
        ]
    }


def read(call: Call) -> dict[str, Any]:
    """Options: `links`, see `_record`."""
    id, card = _covered(call)
    return {"cardAccount": _record(call, id, card, call.self_path)}


def balances(call: Call) -> dict[str, Any]:
    _, card = _covered(call)
    return {**_referred(card), "balances": card["balances"]}


def transactions(call: Call) -> dict[str, Any]:
    """Options: `lists` says which lists each bookingStatus shows; the others are null."""
    _, card = _covered(call)
    since, until = period(call)
    shown = lists(call)
    kept = card.get("transactions", {})
    return {
        **_referred(card),
        "self": call.self_path.removesuffix("/transactions"),
        **{
            name: [t for t in kept.get(name, ()) if within(t.get("bookingDate"), since, until)]
            if name in shown
            else None
            for name in ("booked", "pending")
        },
    }


def _covered(call: Call) -> tuple[str, Document]:
    id = call.path["account-id"]
    covered = usable_consent(call)["accounts"]
    card = call.state.get("cardAccounts", id.lower())
    if card is None or card["linkedAccount"] not in covered:
        raise BankError("resource-not-covered", id=id)
    return id.lower(), card


def _referred(card: Document) -> dict[str, Any]:
    return {
        "cardAccount": {"maskedPan": card["maskedPan"], "currency": card["currency"]},
        "debitAccounting": card.get("debitAccounting"),
    }


def _record(call: Call, id: str, card: Document, path: str) -> dict[str, Any]:
    """A card account as it is shown. Options: `links: {container, members}`, members being path suffixes."""
    links = call.options["links"]
    record: dict[str, Any] = {"resourceId": id, **{name: card[name] for name in _SHOWN if name in card}}
    if call.query.get("withBalance") == "true":
        record["balances"] = card["balances"]
    record[links["container"]] = {name: {"href": path + suffix} for name, suffix in links["members"].items()}
    return record
