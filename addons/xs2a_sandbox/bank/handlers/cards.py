"""Handlers for cards. Reading a card needs a consent for the account that pays for it (spec 4.3)."""

from typing import Any

from xs2a_sandbox.bank.domain.access import OWNER
from xs2a_sandbox.bank.domain.accounts import find_owner, iban_of
from xs2a_sandbox.bank.handlers.accounts import (
    BY_CONSENT,
    HISTORY,
    REFUSED,
    RIGHTS,
    UNUSABLE,
    check_right,
    find_usable_consent,
    followed_rights,
    identify,
    is_granted,
    lists,
    lists_option,
)
from xs2a_sandbox.bank.handlers.inputs import ACCOUNT, DATE_FROM, DATE_TO, LISTS, WITH_BALANCES, read_wish
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import handler
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document


@handler("cards.list", takes=(*BY_CONSENT, WITH_BALANCES), raises=UNUSABLE, returns="cards", options=RIGHTS)
def list_cards(call: Call) -> dict[str, Any]:
    """List the cards that are paid from accounts of the consent."""
    consent = find_usable_consent(call)
    cards = (_with_iban(call, id, card) for id, card in call.state.all("cards").items())
    return {
        "cards": [
            _describe(call, consent, card, f"{call.self_path}/{card['id']}")
            for card in cards
            if card["account"] in consent["accounts"] and is_granted(call, consent, "list", card, needed=True)
        ]
    }


@handler(
    "cards.read",
    takes=(*BY_CONSENT, ACCOUNT.needed, WITH_BALANCES),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="card",
    options=RIGHTS,
)
def read(call: Call) -> dict[str, Any]:
    """Read one card."""
    consent, card = _find_covered(call, "details")
    return {"card": _describe(call, consent, card, call.self_path)}


@handler(
    "cards.balances",
    takes=(*BY_CONSENT, ACCOUNT.needed),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="card balances",
    options=RIGHTS,
)
def balances(call: Call) -> dict[str, Any]:
    """List a card's balances."""
    _, card = _find_covered(call, "balances")
    return {"card": identify(card), "balances": card["balances"]}


@handler(
    "cards.transactions",
    takes=(*BY_CONSENT, ACCOUNT.needed, LISTS, DATE_FROM, DATE_TO, WITH_BALANCES),
    raises=f"{UNUSABLE} access-missing period-invalid resource-not-covered",
    returns="card self booked pending balances",
    options={"lists": lists_option("booked", "pending"), "refused": REFUSED, **HISTORY, **RIGHTS},
)
def transactions(call: Call) -> dict[str, Any]:
    """List a card's entries by booking date, and its balances if the request asks for them."""
    consent, card = _find_covered(call, "entries")
    kept = card.get("entries", {})
    return {
        "card": identify(card),
        "self": call.self_path.removesuffix("/transactions"),
        "balances": _balances_on_request(call, consent, card),
        **lists(call, consent, {name: kept.get(name, ()) for name in ("booked", "pending")}),
    }


def _find_covered(call: Call, right: str) -> tuple[Document, Document]:
    """Return the consent and the requested card. Raises BankError."""
    asked, consent = call.need("account"), find_usable_consent(call)
    id = as_kept(asked)
    card = call.state.get("cards", id)
    if card is None or card["account"] not in consent["accounts"]:
        raise BankError("resource-not-covered", id=asked)
    card = _with_iban(call, id, card)
    check_right(call, consent, right, card, asked)
    return consent, card


def _with_iban(call: Call, id: str, card: Document) -> Document:
    """Return the card with its id and the IBAN of its account, because a consent for the account covers the card."""
    return {"id": id, **card, "iban": iban_of(call, card["account"])}


def _balances_on_request(call: Call, consent: Document, card: Document) -> Any:
    if not read_wish(call, WITH_BALANCES):
        return None
    return card["balances"] if is_granted(call, consent, "balances", card, needed=True) else None


def _describe(call: Call, consent: Document, card: Document, path: str) -> dict[str, Any]:
    """Return the description of a card and of the data that may be read. `self` is its address."""
    account = call.state.get("accounts", card["account"]) or {}
    is_named = is_granted(call, consent, OWNER, card)
    return {
        **identify(card),
        "owner_name": find_owner(call, {"psuId": account.get("psuId", ""), **card}) if is_named else None,
        "balances": _balances_on_request(call, consent, card),
        "rights": followed_rights(call, consent, card),
        "self": path,
    }
