"""Card accounts, by a consent that covers the account each is paid from (spec 4.3)."""

from typing import Any

from xs2a_sandbox.bank.handlers.accounts import (
    BY_CONSENT,
    HISTORY,
    LINKS,
    MEMBERS,
    RIGHTS,
    UNUSABLE,
    build_links,
    check_right,
    find_usable_consent,
    is_granted,
    lists,
    lists_option,
    visible_members,
)
from xs2a_sandbox.bank.handlers.inputs import ACCOUNT, DATE_FROM, DATE_TO, LISTS, WITH_BALANCES, read_wish
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_SHOWN = ("maskedPan", "currency", "name", "product", "creditLimit", "debitAccounting")


@handler(
    "cards.list",
    takes=(*BY_CONSENT, WITH_BALANCES),
    raises=UNUSABLE,
    returns="cardAccounts",
    options={"links": LINKS, **MEMBERS, **RIGHTS},
)
def list_cards(call: Call) -> dict[str, Any]:
    """The card accounts that are paid from accounts of the consent."""
    consent = find_usable_consent(call)
    return {
        "cardAccounts": [
            _record(call, consent, id, card, f"{call.self_path}/{id}")
            for id, card in call.state.all("cardAccounts").items()
            if card["linkedAccount"] in consent["accounts"]
            and is_granted(call, consent, "list", _add_iban(card), needed=True)
        ]
    }


@handler(
    "cards.read",
    takes=(*BY_CONSENT, ACCOUNT.needed, WITH_BALANCES),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="cardAccount",
    options={"links": LINKS, **MEMBERS, **RIGHTS},
)
def read(call: Call) -> dict[str, Any]:
    """One card account."""
    consent, id, card = _find_covered(call, "details")
    return {"cardAccount": _record(call, consent, id, card, call.self_path)}


@handler(
    "cards.balances",
    takes=(*BY_CONSENT, ACCOUNT.needed),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="cardAccount debitAccounting balances",
    options=RIGHTS,
)
def balances(call: Call) -> dict[str, Any]:
    """A card account's balances."""
    _, _, card = _find_covered(call, "balances")
    return {**_refer_to(card), "balances": card["balances"]}


@handler(
    "cards.transactions",
    takes=(*BY_CONSENT, ACCOUNT.needed, LISTS, DATE_FROM, DATE_TO, WITH_BALANCES),
    raises=f"{UNUSABLE} access-missing period-invalid resource-not-covered",
    returns="cardAccount debitAccounting self booked pending balances",
    options={"lists": lists_option("booked", "pending"), **HISTORY, **RIGHTS},
)
def transactions(call: Call) -> dict[str, Any]:
    """A card account's transactions in lists, by their booking date; its balances, where they are asked for."""
    consent, _, card = _find_covered(call, "transactions")
    kept = card.get("transactions", {})
    return {
        **_refer_to(card),
        "self": call.self_path.removesuffix("/transactions"),
        "balances": _balances_on_request(call, consent, card),
        **lists(call, consent, {name: kept.get(name, ()) for name in ("booked", "pending")}),
    }


def _find_covered(call: Call, right: str) -> tuple[Document, str, Document]:
    id, consent = call.need("account"), find_usable_consent(call)
    card = call.state.get("cardAccounts", id.lower())
    if card is None or card["linkedAccount"] not in consent["accounts"]:
        raise BankError("resource-not-covered", id=id)
    check_right(call, consent, right, _add_iban(card), id)
    return consent, id.lower(), card


def _add_iban(card: Document) -> dict[str, Any]:
    """The card account with the IBAN of the account that pays for it: a consent for either is one for the card."""
    return {**card, "iban": card["linkedAccount"]}


def _balances_on_request(call: Call, consent: Document, card: Document) -> Any:
    if not read_wish(call, WITH_BALANCES):
        return None
    return card["balances"] if is_granted(call, consent, "balances", _add_iban(card), needed=True) else None


def _refer_to(card: Document) -> dict[str, Any]:
    return {
        "cardAccount": {"maskedPan": card["maskedPan"], "currency": card["currency"]},
        "debitAccounting": card.get("debitAccounting"),
    }


def _record(call: Call, consent: Document, id: str, card: Document, path: str) -> dict[str, Any]:
    """A card account as it is shown."""
    psu = (call.state.get("accounts", card["linkedAccount"]) or {}).get("psuId", "")
    record: dict[str, Any] = {"resourceId": id, **visible_members(call, consent, _add_iban(card), psu, _SHOWN)}
    if (held := _balances_on_request(call, consent, card)) is not None:
        record["balances"] = held
    return record | build_links(call, path, consent, _add_iban(card))
