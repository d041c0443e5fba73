"""Card accounts, by a consent that covers the account each is paid from (spec 4.3)."""

from typing import Any

from xs2a_sandbox.bank.handlers.accounts import (
    CONSENT_READS,
    LINKS,
    UNUSABLE,
    linked,
    lists,
    shown_lists,
    usable_consent,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_SHOWN = ("maskedPan", "currency", "name", "product", "creditLimit", "debitAccounting")


@handler(
    "cards.list",
    reads=f"{CONSENT_READS} query.withBalance",
    raises=UNUSABLE,
    returns="cardAccounts",
    options={"links": LINKS},
)
def list_cards(call: Call) -> dict[str, Any]:
    """The card accounts that are paid from accounts of the consent."""
    covered = usable_consent(call)["accounts"]
    return {
        "cardAccounts": [
            _record(call, id, card, f"{call.self_path}/{id}")
            for id, card in call.state.all("cardAccounts").items()
            if card["linkedAccount"] in covered
        ]
    }


@handler(
    "cards.read",
    reads=f"{CONSENT_READS} query.withBalance where.account-id",
    raises=f"{UNUSABLE} resource-not-covered",
    returns="cardAccount",
    options={"links": LINKS},
)
def read(call: Call) -> dict[str, Any]:
    """One card account."""
    id, card = _covered(call)
    return {"cardAccount": _record(call, id, card, call.self_path)}


@handler(
    "cards.balances",
    reads=f"{CONSENT_READS} where.account-id",
    raises=f"{UNUSABLE} resource-not-covered",
    returns="cardAccount debitAccounting balances",
)
def balances(call: Call) -> dict[str, Any]:
    """A card account's balances."""
    _, card = _covered(call)
    return {**_referred(card), "balances": card["balances"]}


@handler(
    "cards.transactions",
    reads=f"{CONSENT_READS} query.bookingStatus query.dateFrom query.dateTo where.account-id",
    raises=f"{UNUSABLE} period-invalid resource-not-covered",
    returns="cardAccount debitAccounting self booked pending",
    options={"lists": shown_lists("booked", "pending")},
)
def transactions(call: Call) -> dict[str, Any]:
    """A card account's transactions in lists, by their booking date."""
    _, card = _covered(call)
    kept = card.get("transactions", {})
    return {
        **_referred(card),
        "self": call.self_path.removesuffix("/transactions"),
        **lists(call, {name: kept.get(name, ()) for name in ("booked", "pending")}),
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
    """A card account as it is shown."""
    record: dict[str, Any] = {"resourceId": id, **{name: card[name] for name in _SHOWN if name in card}}
    if call.query.get("withBalance") == "true":
        record["balances"] = card["balances"]
    return record | linked(call, path)
