"""The forms of the bank's page that create customers, accounts and entries in the session's state."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

from xs2a_sandbox.bank.entry_kinds import KINDS
from xs2a_sandbox.documents.formats import EXPECTED, FORMATS, is_iban, is_uuid
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.test_data.ibans import make_iban
from xs2a_sandbox.features.console.test_data.made_entries import EntryOrder, make_entries
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.state import documents

MOST_ENTRIES = 2_000
"""The most entries that one form creates."""
_MOST_DAYS = 3_650
_LONGEST = 200
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_LIKE_AN_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_FIELDS = (
    *("customer_id", "customer_name", "customer_password", "customer_otp"),
    *("account_owner", "account_iban", "account_id", "account_currency", "account_name", "account_balance"),
    *(
        "entries_account",
        "entries_kind",
        "entries_count",
        "entries_low",
        "entries_high",
        "entries_days",
        "entries_seed",
    ),
)
_OF_THE_BANK = ("product", "bic", "type", "status", "usage")
"""The members that are copied from another account of the bank to a new one."""

type State = Mapping[str, Mapping[str, dict[str, Any]]]


class FieldError(Exception):
    """A field of a form has a wrong value."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True, slots=True)
class BankForms:
    """The fields of the forms with the values to show, and the available choices."""

    sent: Mapping[str, str]
    opened: str
    customers: list[tuple[str, str]]
    accounts: list[tuple[str, str]]
    kinds: list[tuple[str, str]]


def show_forms(visit: ConsoleVisit, state: State) -> BankForms:
    """Return the forms with the values that were sent, or with default values."""
    model = _find_model(state)
    beginning = {
        "account_currency": model["currency"] if model else "EUR",
        "account_balance": "1000.00",
        "entries_kind": next(iter(KINDS)),
        "entries_count": "100",
        "entries_days": "90",
        "entries_seed": "1",
    }
    return BankForms(
        {name: visit.form.get(name, beginning.get(name, "")).strip() for name in _FIELDS},
        visit.form.get("create", ""),
        [(id, _name(id, customer)) for id, customer in state.get("psus", {}).items()],
        [(id, _name(id, account)) for id, account in state.get("accounts", {}).items()],
        [(name, kind.title) for name, kind in KINDS.items()],
    )


async def create(visit: ConsoleVisit, state: State) -> None:
    """Write the documents that a form describes. Raises FieldError, Refused."""
    write = _FORMS.get(visit.form.get("create", ""))
    if write is None:
        raise FieldError("", f"The bank can create: {', '.join(_FORMS)}.")
    await write(visit, {name: text.strip() for name, text in visit.form.items()}, state)


async def _create_customer(visit: ConsoleVisit, sent: Mapping[str, str], state: State) -> None:
    customers = state.get("psus", {})
    id = _read_new_id("customer_id", sent.get("customer_id", ""), customers, "a customer")
    customer: dict[str, Any] = {
        "name": _read_text("customer_name", sent, "Enter the name."),
        "password": _read_text("customer_password", sent, "Enter a password."),
    }
    if otp := _read_text("customer_otp", sent):
        customer["otp"] = otp
        sound = (other for other in customers.values() if _is_sound("psus", other))
        method = next((method for other in sound for method in other.get("methods", ())), None)
        customer["methods"] = [{"id": "method-1", "type": method["type"], "name": "Telephone"}] if method else []
    await _put(visit, "psus", id, customer)


async def _create_account(visit: ConsoleVisit, sent: Mapping[str, str], state: State) -> None:
    accounts, model, owner = state.get("accounts", {}), _find_model(state), sent.get("account_owner", "")
    customer = state.get("psus", {}).get(owner)
    if customer is None:
        raise FieldError("account_owner", "Create a customer first." if not owner else f"There is no customer {owner}.")
    id, iban = _read_account_numbers(sent, accounts, model)
    currency = sent.get("account_currency", "").upper()
    if not FORMATS["currency"](currency):
        raise FieldError("account_currency", f"Enter {EXPECTED['currency']}.")
    balance = sent.get("account_balance", "")
    if not FORMATS["amount"](balance):
        raise FieldError("account_balance", f"Enter {EXPECTED['amount']}.")
    today = (await visit.ask("GET", "clock"))["today"]
    account = {
        **({"iban": iban} if iban and iban != id else {}),
        "currency": currency,
        "name": _read_text("account_name", sent) or str(customer.get("name") or owner),
        **{name: model[name] for name in _OF_THE_BANK if model and name in model},
        "psuId": owner,
        "balances": [
            {"amount": {"amount": balance, "currency": currency}, "type": type, "reference_date": today}
            for type in _types_of_balances(model)
        ],
    }
    await _put(visit, "accounts", id, account)


def _read_account_numbers(
    sent: Mapping[str, str], accounts: Mapping[str, dict[str, Any]], model: dict[str, Any] | None
) -> tuple[str, str | None]:
    """Return the id and the IBAN of a new account. Missing ones are generated like those of the bank's accounts."""
    iban: str | None = "".join(sent.get("account_iban", "").split()).upper()
    if iban and not is_iban(iban):
        raise FieldError("account_iban", f"Enter {EXPECTED['iban']}, or nothing for a new one.")
    if iban and iban in _ibans(accounts):
        raise FieldError("account_iban", f"There is an account {iban} already.")
    id = sent.get("account_id", "")
    if id:
        id = _read_new_id("account_id", id, accounts, "an account")
        if id in _ibans(accounts):
            raise FieldError("account_id", f"There is an account {id} already.")
        if _LIKE_AN_IBAN.fullmatch(id) and not is_iban(id):
            raise FieldError("account_id", f"{id} looks like an IBAN, but its check digits are wrong.")
    # The same accounts always give the same new account.
    random = Random(len(accounts))
    if not iban and not is_iban(id):
        like = next(iter(_ibans(accounts)), None)
        iban = _find_unused(lambda: make_iban(like, random), _ibans(accounts)) if like else None
    if not id:
        id = iban or ""
        if model is None or "iban" in model:
            id = _find_unused(lambda: _make_id(list(accounts), random), accounts) if accounts else id
    if not id:
        raise FieldError("account_id", "The bank has no account with an IBAN yet: enter an IBAN or an id.")
    return id, iban or None


def _make_id(ids: list[str], random: Random) -> str:
    """Return an id with the form of the first one."""
    first = ids[0]
    if is_uuid(first):
        return str(UUID(bytes=random.randbytes(16), version=4))
    if first.isascii() and first.isdigit():
        return "".join(str(random.randint(1, 9)) for _ in range(max(5, len(first))))
    return f"account-{random.randint(10_000, 99_999)}"


def _find_unused(make: Callable[[], str], used: Mapping[str, Any] | set[str]) -> str:
    while (made := make()) in used:
        pass
    return made


async def _create_entries(visit: ConsoleVisit, sent: Mapping[str, str], state: State) -> None:
    id, kind = sent.get("entries_account", ""), KINDS.get(sent.get("entries_kind", ""))
    account = state.get("accounts", {}).get(id)
    if account is None:
        raise FieldError("entries_account", "Create an account first." if not id else f"There is no account {id}.")
    if not _is_sound("accounts", account):
        raise FieldError("entries_account", "The document of this account has mistakes, so it cannot get entries.")
    if kind is None:
        raise FieldError("entries_kind", f"Choose one of these: {', '.join(KINDS)}.")
    low = _read_amount("entries_low", sent, kind.low)
    high = _read_amount("entries_high", sent, kind.high)
    if low > high:
        field = "entries_high" if sent.get("entries_high") else "entries_low"
        raise FieldError(field, f"The amounts are from {low} up to {high}: the second must not be less than the first.")
    order = EntryOrder(
        sent["entries_kind"],
        _read_number("entries_count", sent, MOST_ENTRIES),
        low,
        high,
        _read_number("entries_days", sent, _MOST_DAYS),
        _read_text("entries_seed", sent, "Enter a seed, such as 1."),
        date.fromisoformat((await visit.ask("GET", "clock"))["today"]),
    )
    owner = state.get("psus", {}).get(account["psuId"], {})
    holder = str(account.get("owner_name") or owner.get("name") or "")
    made = make_entries(order, account, holder, account.get("iban") or (id if is_iban(id) else None))
    entries = account.get("entries") or {}
    booked = sorted([*made, *entries.get("booked", ())], key=lambda entry: str(entry["booked_on"]), reverse=True)
    try:
        await _put(visit, "accounts", id, {**account, "entries": {**entries, "booked": booked}})
    except Refused as refused:
        if refused.status != 413:
            raise
        text = "The account would be larger than the sandbox accepts: create fewer entries, or another account."
        raise FieldError("entries_count", text) from None


_FORMS: Mapping[str, Callable[[ConsoleVisit, Mapping[str, str], State], Awaitable[None]]] = {
    "customer": _create_customer,
    "account": _create_account,
    "entries": _create_entries,
}


async def _put(visit: ConsoleVisit, collection: str, id: str, document: Mapping[str, Any]) -> None:
    await visit.ask("PUT", f"state/{collection}/{quote(id, safe='')}", document)


def _read_new_id(field: str, text: str, known: Mapping[str, Any], what: str) -> str:
    if not _ID.fullmatch(text):
        raise FieldError(field, "Enter an id of letters, digits and . _ @ - (100 characters at most).")
    if text in known:
        raise FieldError(field, f"There is {what} {text} already.")
    return text


def _read_text(field: str, sent: Mapping[str, str], needed: str = "") -> str:
    """Return the text of a field. `needed` is the error for an empty field; without it the field may be empty."""
    text = sent.get(field, "")
    if needed and not text:
        raise FieldError(field, needed)
    if len(text) > _LONGEST:
        raise FieldError(field, f"Enter {_LONGEST} characters at most.")
    return text


def _read_number(field: str, sent: Mapping[str, str], most: int) -> int:
    text = sent.get(field, "")
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= most):
        raise FieldError(field, f"Enter a whole number from 1 to {most}.")
    return int(text)


def _read_amount(field: str, sent: Mapping[str, str], default: Decimal) -> Decimal:
    text = sent.get(field, "")
    if text and (not FORMATS["amount"](text) or Decimal(text) <= 0):
        raise FieldError(field, f"Enter {EXPECTED['amount']}, greater than 0, or nothing for {default}.")
    return Decimal(text) if text else default


def _find_model(state: State) -> dict[str, Any] | None:
    """Return the bank's first account that can be a model for a new one."""
    usable = (account for account in state.get("accounts", {}).values() if account.get("status") in (None, "enabled"))
    return next((account for account in usable if _is_sound("accounts", account)), None)


def _types_of_balances(model: dict[str, Any] | None) -> list[str]:
    types = dict.fromkeys(balance["type"] for balance in model["balances"]) if model else {}
    return [type for type in types if type != "INFO"] or ["ITAV"]


def _ibans(accounts: Mapping[str, dict[str, Any]]) -> dict[str, None]:
    """Return the IBANs of the accounts in order."""
    numbers = (account.get("iban") or id for id, account in accounts.items())
    return dict.fromkeys(number for number in numbers if isinstance(number, str) and is_iban(number))


def _is_sound(collection: str, document: dict[str, Any]) -> bool:
    schema = documents.schema_of(collection)
    return schema is None or not any(True for _ in schema.complaints(document))


def _name(id: str, document: Mapping[str, Any]) -> str:
    """Return the label of a customer or account in a list of choices."""
    return ", ".join(_words(id, document))


def _words(id: str, document: Mapping[str, Any]) -> Iterator[str]:
    if name := document.get("name"):
        yield str(name)
    yield str(document.get("iban") or id)
    if currency := document.get("currency"):
        yield str(currency)
