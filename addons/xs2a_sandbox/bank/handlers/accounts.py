"""Account information with a consent (spec 2.6 to 2.8, 4.1)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from xs2a_sandbox.bank.handlers import bookings
from xs2a_sandbox.bank.handlers.consents import reference, registered, status_of
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds, handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_PAGE = re.compile(r"[1-9][0-9]{0,8}")
_PAGED = ("bookingStatus", "dateFrom", "dateTo")
"""The parameters of the request that the address of another page repeats."""


LINKS = Option(
    "Where the links of each account stand, and what each adds to the account's path.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["container", "members"],
        "properties": {
            "container": {"type": "string"},
            "members": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    required=True,
)
PAGE_SIZE = Option(
    "How many booked entries are shown at once, null for all; `next` is then the address of the next page.",
    {"type": ["integer", "null"], "minimum": 1},
    deeds=deeds("query.page"),
)
CONSENT_READS = "headers.consent-id headers.psu-ip-address"
UNUSABLE = "access-exceeded consent-expired consent-invalid consent-unknown format-error"
"""The errors of `usable_consent`; above what it reads."""


def shown_lists(*names: str) -> Option:
    return Option(
        "By bookingStatus, the lists that are shown; the others are null.",
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "array", "items": {"enum": list(names)}},
        },
        required=True,
    )


@handler(
    "accounts.list",
    reads=f"{CONSENT_READS} query.withBalance",
    raises=UNUSABLE,
    returns="accounts",
    options={"links": LINKS},
)
def list_accounts(call: Call) -> dict[str, Any]:
    """The accounts that the consent covers."""
    return {
        "accounts": [
            _record(call, iban, account, f"{call.self_path}/{iban}")
            for iban in usable_consent(call)["accounts"]
            if (account := call.state.get("accounts", iban)) is not None
        ]
    }


@handler(
    "accounts.read",
    reads=f"{CONSENT_READS} query.withBalance where.account-id",
    raises=f"{UNUSABLE} resource-not-covered",
    returns="account",
    options={"links": LINKS},
)
def read(call: Call) -> dict[str, Any]:
    """One account."""
    iban, account = _covered(call)
    return {"account": _record(call, iban, account, call.self_path)}


@handler(
    "accounts.balances",
    reads=f"{CONSENT_READS} where.account-id",
    raises=f"{UNUSABLE} resource-not-covered",
    returns="balances",
)
def balances(call: Call) -> dict[str, Any]:
    """An account's balances, with what the session's payments have moved."""
    iban, account = _covered(call)
    return {"balances": bookings.balances(account, bookings.movements(call, iban, account))}


@handler(
    "accounts.transactions",
    reads=f"{CONSENT_READS} query.bookingStatus query.dateFrom query.dateTo where.account-id",
    raises=f"{UNUSABLE} period-invalid resource-not-covered",
    returns="iban account self next booked pending information",
    options={"lists": shown_lists("booked", "pending", "information"), "page_size": PAGE_SIZE},
)
def transactions(call: Call) -> dict[str, Any]:
    """An account's transactions in lists, by their booking date."""
    is_further = call.options.get("page_size") is not None and call.query.get("page", "1") != "1"
    iban, account = _covered(call, counts=not is_further)
    filled = lists(call, _entries(call, iban, account))
    following = None
    if (size := call.options.get("page_size")) is not None and filled["booked"] is not None:
        filled["booked"], following = _page(call, filled["booked"], size)
    return {
        "iban": iban,
        "account": reference(call, iban),
        "self": call.self_path.removesuffix("/transactions"),
        "next": following,
        **filled,
    }


@handler(
    "accounts.transaction",
    reads=f"{CONSENT_READS} where.account-id where.transactionId",
    raises=f"{UNUSABLE} resource-not-covered",
    returns="transaction",
)
def transaction(call: Call) -> dict[str, Any]:
    """One transaction, whichever list it is in."""
    iban, account = _covered(call)
    id = call.path["transactionId"]
    for entries in _entries(call, iban, account).values():
        for entry in entries:
            if entry["transactionId"] == id:
                return {"transaction": entry}
    raise BankError("resource-not-covered", id=id)


def lists(call: Call, entries: Mapping[str, Sequence[Document]]) -> dict[str, list[Document] | None]:
    """The lists that the request's bookingStatus shows, of the days that it names; null for the others.

    Entries without a booking date are not booked yet and always shown. Raises BankError.
    """
    since, until = call.query.get("dateFrom"), call.query.get("dateTo")
    if since and until and since > until:
        raise BankError("period-invalid", expected="dateFrom must not be after dateTo")
    shown = call.options["lists"].get(call.query.get("bookingStatus"))
    if shown is None:
        choices = ", ".join(call.options["lists"])
        raise BankError("format-error", expected=f"the query parameter bookingStatus must be one of {choices}")

    def is_shown(day: str | None) -> bool:
        return day is None or ((not since or since <= day) and (not until or day <= until))  # ISO: compares as text

    return {
        name: [one for one in listed if is_shown(one.get("bookingDate"))] if name in shown else None
        for name, listed in entries.items()
    }


def _page(call: Call, entries: list[Document], size: int) -> tuple[list[Document], str | None]:
    """The page that is asked for, the first is 1, and the address of the next. There is nothing after the last."""
    page = call.query.get("page", "1")
    if not _PAGE.fullmatch(page):
        raise BankError("format-error", expected="the query parameter page must be a whole number from 1 on")
    number = int(page)
    following = None
    if number * size < len(entries):
        query = {name: call.query[name] for name in _PAGED if name in call.query}
        following = f"{call.self_path}?{urlencode({**query, 'page': number + 1})}"
    return entries[(number - 1) * size : number * size], following


def _entries(call: Call, iban: str, account: Document) -> dict[str, list[Document]]:
    """All lists of the account, what this session's payments have added first."""
    kept = account.get("transactions", {})
    moved = bookings.movements(call, iban, account)
    return {
        "booked": [m.record for m in moved if not m.pending] + list(kept.get("booked", ())),
        "pending": [m.record for m in moved if m.pending] + list(kept.get("pending", ())),
        "information": list(kept.get("information", ())),
    }


def usable_consent(call: Call, counts: bool = True) -> Document:
    """The consent that the request names. Raises BankError where it is unknown, not authorised, expired or used up.

    Without `counts` it is no access of its own: a further page of a list.
    """
    consent_id = call.headers.get("consent-id")
    if consent_id is None:
        raise BankError("format-error", expected="the header Consent-ID is missing")
    _, consent = registered(call, consent_id)
    status = status_of(consent)
    if status == "expired":
        raise BankError("consent-expired", id=consent_id)
    if status != "valid":
        raise BankError("consent-invalid", id=consent_id, status=status)
    if counts and "frequency" in call.checks and not call.headers.get("psu-ip-address"):
        _count(call, consent_id, consent["frequencyPerDay"])
    return consent


def _count(call: Call, consent_id: str, limit: int) -> None:
    """Counts an access without the customer: by consent, day and path. Raises BankError beyond the limit."""
    key, today = f"{consent_id.lower()} {call.self_path}", call.clock.today().isoformat()
    last = call.state.get("accesses", key)
    count = last["count"] if last and last["day"] == today else 0
    if count >= limit:
        raise BankError("access-exceeded", id=consent_id, limit=limit)
    call.state.put("accesses", key, {"day": today, "count": count + 1})


def _covered(call: Call, counts: bool = True) -> tuple[str, Document]:
    id = call.path["account-id"]
    account = call.state.get("accounts", id) if id in usable_consent(call, counts)["accounts"] else None
    if account is None:
        raise BankError("resource-not-covered", id=id)
    return id, account


def _record(call: Call, iban: str, account: Document, path: str) -> dict[str, Any]:
    """An account as it is shown (spec 2.6)."""
    record: dict[str, Any] = {"resourceId": iban, "iban": iban}
    record |= {name: account[name] for name in ("currency", "name", "product", "bic") if name in account}
    if call.query.get("withBalance") == "true":
        record["balances"] = bookings.balances(account, bookings.movements(call, iban, account))
    return record | linked(call, path)


def linked(call: Call, path: str) -> dict[str, Any]:
    """The links of an account or card account, in their container."""
    links = call.options["links"]
    return {links["container"]: {name: {"href": path + suffix} for name, suffix in links["members"].items()}}
