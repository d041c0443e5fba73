"""Handlers for accounts. Reading accounts needs a consent (spec 2.6 to 2.8, 4.1)."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from xs2a_sandbox.bank.domain import bookings, signing
from xs2a_sandbox.bank.domain.access import OWNER, may
from xs2a_sandbox.bank.domain.accounts import find_owner, with_id
from xs2a_sandbox.bank.domain.balances import compute_balances
from xs2a_sandbox.bank.domain.lifecycle import OVER
from xs2a_sandbox.bank.domain.signing import status_of
from xs2a_sandbox.bank.formats import statements
from xs2a_sandbox.bank.formats.statements import JSON
from xs2a_sandbox.bank.handlers.consents import find_consent
from xs2a_sandbox.bank.handlers.inputs import (
    ACCOUNT,
    CONSENT,
    DATE_FROM,
    DATE_TO,
    ENTRY,
    LISTS,
    NEWER_THAN,
    NEWER_THAN_LAST,
    PAGE,
    PAGE_SIZE,
    PRESENT,
    WITH_BALANCES,
    read_wish,
    take_date,
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds, handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_PAGE = re.compile(r"[1-9][0-9]{0,8}")
_PAGES = ("first", "previous", "next", "last")
PAGED = " ".join(["page page.number pages", *(f"{kind}.{name}" for kind in ("page", "pages") for name in _PAGES)])
"""The members of results about pages."""
_NO_PAGES: dict[str, Any] = {"page": dict.fromkeys(("number", *_PAGES)), "pages": dict.fromkeys(_PAGES)}
_PAGED = (LISTS, DATE_FROM, DATE_TO, WITH_BALANCES, PAGE_SIZE)
"""The request parameters that the addresses of other pages repeat."""
SHOWN_AT_ONCE = Option(
    "The number of booked entries per page if the request does not set it; null for all entries on one page. "
    "`pages.next` is then the address of the next page.",
    {"type": ["integer", "null"], "minimum": 1},
    takes=(PAGE,),
)
_LAST_DAY = "9999-12-31"
_RECENT = 90
"""Days of entries shown without a new authorisation, which is needed after twice as many days (RTS on SCA, 10a)."""
RIGHTS = {
    "rights": Option(
        "Whether to show only the data that the consent covers: balances and transactions only with the right to "
        "them, and a single account only if the consent covers more than the list of accounts.",
        {"type": "boolean"},
        default=False,
    ),
    "one_off": Option(
        "Whether a consent that is not recurring allows only one read of each address. The second read expires the "
        "consent.",
        {"type": "boolean"},
        default=False,
    ),
    "validity": Option(
        "Whether the customer's authorisation of a consent lasts only `sca_days`, and entries older than "
        "`history_days` are shown only for `history_minutes` after the authorisation. If false, the setting "
        "`checks` decides.",
        {"type": "boolean"},
        default=False,
    ),
    "sca_days": Option(
        "With `validity`: the number of days for which the customer's authorisation lasts.",
        {"type": "integer", "minimum": 1},
        default=2 * _RECENT,
    ),
    "frequency": Option(
        "Whether the `frequency` of a consent limits the accesses a day to a path without the customer. A number is "
        "also the limit for consents without a `frequency`. If false, the setting `checks` decides.",
        {"type": ["boolean", "integer"], "minimum": 1},
        default=False,
    ),
}
HISTORY = {
    "history_days": Option(
        "With `validity`: the number of days whose entries are always shown.",
        {"type": "integer", "minimum": 0},
        default=_RECENT,
    ),
    "history_minutes": Option(
        "With `validity`: the number of minutes after the customer's authorisation during which older entries are "
        "shown, too.",
        {"type": "integer", "minimum": 0},
        default=60,
    ),
}
HOLDS = Option(
    "The list that shows pending entries: their own list (`pending`), or the list of booked entries (`booked`), where "
    "with `marked` each of them has `pending: true`.",
    {"enum": ["pending", "booked", "marked"]},
    default="pending",
)
_FOLLOWED = ("details", "balances", "entries")
"""The rights to further data of an account."""
_UNSAID = ("psuId", "signatories", "balances", "entries")
"""The members of a stored account that no answer shows as they are."""
FORMATS = Option(
    "Further formats that an app can request with `Accept`, by media type: `camt` (camt.053, or camt.052 if pending "
    "entries are shown) or `mt940`. The result is then the `statement` in this `media` type.",
    {"type": "object", "additionalProperties": {"enum": list(statements.FORMATS)}},
    deeds=deeds("headers.accept", "format-not-offered"),
)
BY_CONSENT = (CONSENT.needed, PRESENT)
"""The inputs of `find_usable_consent`."""
UNUSABLE = "access-exceeded consent-expired consent-invalid consent-unknown format-error"
"""The errors of `find_usable_consent`."""


def lists_option(*names: str) -> Option:
    return Option(
        "The lists that are shown for each value of the input `lists`; the other lists are null.",
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "array", "items": {"enum": list(names)}},
        },
        required=True,
    )


REFUSED = Option(
    "Lists that a request cannot ask for. Values of the input `lists` that would show one of them are refused.",
    {"type": "array", "items": {"enum": ["pending", "information"]}},
    default=(),
)


@handler(
    "accounts.list",
    takes=(*BY_CONSENT, WITH_BALANCES),
    raises=UNUSABLE,
    returns="accounts",
    options=RIGHTS,
)
def list_accounts(call: Call) -> dict[str, Any]:
    """List the accounts that the consent covers."""
    consent = find_usable_consent(call)
    return {
        "accounts": [
            _describe(call, consent, account, f"{call.self_path}/{id}")
            for id in consent["accounts"]
            if (account := _find(call, id)) is not None and is_granted(call, consent, "list", account, needed=True)
        ]
    }


@handler(
    "accounts.read",
    takes=(*BY_CONSENT, ACCOUNT.needed, WITH_BALANCES),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="account",
    options=RIGHTS,
)
def read(call: Call) -> dict[str, Any]:
    """Read one account."""
    consent, account = _find_covered(call, "details")
    return {"account": _describe(call, consent, account, call.self_path)}


@handler(
    "accounts.balances",
    takes=(*BY_CONSENT, ACCOUNT.needed),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="account balances",
    options=RIGHTS,
)
def balances(call: Call) -> dict[str, Any]:
    """List an account's balances, including changes by the session's payments."""
    _, account = _find_covered(call, "balances")
    return {"account": identify(account), "balances": compute_balances(call, account)}


@handler(
    "accounts.list_balances",
    takes=BY_CONSENT,
    raises=f"{UNUSABLE} access-missing",
    returns="balances",
    options=RIGHTS,
)
def list_balances(call: Call) -> dict[str, Any]:
    """List the balances of all accounts that the consent covers, each with the id of its `account`."""
    _, accounts = _find_all_covered(call, "balances")
    listed = ((account["id"], compute_balances(call, account)) for account in accounts)
    return {"balances": [{**balance, "account": id} for id, balances in listed for balance in balances]}


@handler(
    "accounts.list_transactions",
    takes=(*BY_CONSENT, LISTS, DATE_FROM, DATE_TO, PAGE_SIZE),
    raises=f"{UNUSABLE} access-missing period-invalid",
    returns=f"{PAGED} booked pending information",
    options={
        "lists": lists_option("booked", "pending", "information"),
        "refused": REFUSED,
        "page_size": SHOWN_AT_ONCE,
        "holds": HOLDS,
        **HISTORY,
        **RIGHTS,
    },
)
def list_transactions(call: Call) -> dict[str, Any]:
    """List the entries of all accounts that the consent covers by booking date, each with the id of its `account`.

    `page` has the numbers of pages, and `pages` their addresses, if such pages exist.
    """
    consent, accounts = _find_all_covered(call, "entries", counts=not _is_further(call))
    merged: dict[str, list[Document]] = {}
    for account in accounts:
        for name, entries in _held(call, _entries(call, account)).items():
            merged.setdefault(name, []).extend({**entry, "account": account["id"]} for entry in entries)
    for entries in merged.values():
        entries.sort(key=lambda entry: entry.get("booked_on") or "", reverse=True)
    filled = lists(call, consent, merged)
    return {**_cut_to_page(call, filled), **filled}


@handler(
    "accounts.transactions",
    takes=(
        *BY_CONSENT,
        ACCOUNT.needed,
        LISTS,
        DATE_FROM,
        DATE_TO,
        WITH_BALANCES,
        PAGE_SIZE,
        NEWER_THAN,
        NEWER_THAN_LAST,
    ),
    raises=f"{UNUSABLE} access-missing period-invalid resource-not-covered",
    returns=f"account self {PAGED} booked pending information balances statement media",
    options={
        "lists": lists_option("booked", "pending", "information"),
        "refused": REFUSED,
        "page_size": SHOWN_AT_ONCE,
        "holds": HOLDS,
        "formats": FORMATS,
        **HISTORY,
        **RIGHTS,
    },
)
def transactions(call: Call) -> dict[str, Any]:
    """List an account's entries by booking date, and its balances if the request asks for them.

    `page` has the numbers of pages, and `pages` their addresses, if such pages exist.
    """
    media = statements.media_of(call, call.options.get("formats") or {})
    consent, account = _find_covered(call, "entries", counts=not _is_further(call))
    entries = _held(call, _entries(call, account))
    filled = lists(call, consent, _keep_newer(call, account["id"], entries))
    paged, statement = None, None
    if media != JSON:
        whole = statements.Account(account, find_owner(call, account), compute_balances(call, account))
        kind = call.options["formats"][media]
        statement = statements.write(call, kind, whole, entries["booked"], filled)
    else:
        paged = _cut_to_page(call, filled)
    return {
        "account": identify(account),
        "self": call.self_path.removesuffix("/transactions"),
        **(paged or _NO_PAGES),
        "balances": _balances_on_request(call, consent, account),
        "statement": statement,
        "media": media,
        **filled,
    }


@handler(
    "accounts.transaction",
    takes=(*BY_CONSENT, ACCOUNT.needed, ENTRY.needed),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="entry",
    options=RIGHTS,
)
def transaction(call: Call) -> dict[str, Any]:
    """Read an entry from any list."""
    _, account = _find_covered(call, "entries")
    id = call.need("entry")
    for entries in _entries(call, account).values():
        for entry in entries:
            if entry["id"] == id:
                return {"entry": entry}
    raise BankError("resource-not-covered", id=id)


def lists(
    call: Call, consent: Document, entries: Mapping[str, Sequence[Document]]
) -> dict[str, Sequence[Document] | None]:
    """Return the requested lists, limited to the requested days; null for all other lists.

    Entries without a booking date are not booked yet and always shown. Raises BankError.
    """
    since, until = take_date(call, DATE_FROM), take_date(call, DATE_TO)
    if since and until and since > until:
        text = f"{call.name_of('date_from')} must not be after {call.name_of('date_to')}"
        raise BankError("period-invalid", path=call.pointer_of("date_from"), expected=text)
    since = _history_begins(call, consent, since)
    # If the dialect fixes the lists, no TPP can have requested a list that the bank refuses.
    refused = call.options["refused"] if call.is_sent("lists") else ()
    offered = {name: shown for name, shown in call.options["lists"].items() if not set(shown) & set(refused)}
    list_names = offered.get(call.take("lists"))
    if list_names is None:
        text = f"{call.place_of('lists')} must be one of {', '.join(offered)}"
        raise BankError("format-error", path=call.pointer_of("lists"), expected=text)

    first, last = since or "", until or _LAST_DAY

    def of_those_days(listed: Sequence[Document]) -> Sequence[Document]:
        if not since and not until:
            return listed
        # ISO dates compare as text. No function for each entry: there may be many thousands.
        return [entry for entry in listed if (day := entry.get("booked_on")) is None or first <= day <= last]

    return {name: of_those_days(listed) if name in list_names else None for name, listed in entries.items()}


def _history_begins(call: Call, consent: Document, since: str | None) -> str | None:
    """Return the first day to show if the TPP requests entries `since` a day. Raises BankError if that is too early."""
    if not call.judges("validity") or _is_authorised_within(call, consent, minutes=call.options["history_minutes"]):
        return since
    days = call.options["history_days"]
    first = call.clock.today(-days).isoformat()
    if since and since < first:
        name, minutes = call.name_of("date_from"), call.options["history_minutes"]
        text = f"{name} must not be before {first}: older entries are shown for {minutes} "
        error = BankError("period-invalid", expected=f"{text}minutes after the customer has authorised the consent")
        call.object("validity", error)
    return max(since or "", first) if call.refuses("validity") else since


def _is_authorised_within(call: Call, consent: Document, **span: int) -> bool | None:
    """Return whether the consent was authorised within that time, or None if unknown (a consent of the test data)."""
    authorised = consent.get("authorised_at")
    return authorised and call.clock.now() - datetime.fromisoformat(authorised) <= timedelta(**span)


def _keep_newer(call: Call, account: str, entries: Mapping[str, list[Document]]) -> dict[str, list[Document]]:
    """Drop the booked entries that the TPP already has. Raises BankError."""
    if not call.inputs.keys() & {NEWER_THAN.name, NEWER_THAN_LAST.name}:
        return dict(entries)
    booked, since = entries["booked"], call.take("newer_than")
    last = call.state.get("reports", account)
    if booked:
        call.state.put("reports", account, {"newest": booked[0]["id"]})
    is_named = since is not None
    if not is_named and read_wish(call, NEWER_THAN_LAST) and last:
        since = last["newest"]
    if since is None:
        return dict(entries)
    found = (position for position, entry in enumerate(booked) if since in (entry["id"], entry.get("reference")))
    end = next(found, None)
    if end is None and is_named:
        text = f"no booked entry has the id or reference {since}: {call.name_of('newer_than')} must be one of them"
        raise BankError("format-error", path=call.pointer_of("newer_than"), expected=text)
    return {**entries, "booked": booked[:end]}


def _is_further(call: Call) -> bool:
    """Return whether the request is for a page after the first, which does not count as an access."""
    return _page_size(call) is not None and str(call.take("page") or 1) != "1"


def _page_size(call: Call) -> int | None:
    """Return the number of entries on a page, or None for all. Raises BankError."""
    size: int | None = call.options.get("page_size")
    return size if call.take("page_size") is None else _whole_number(call, "page_size")


def _cut_to_page(call: Call, filled: dict[str, Sequence[Document] | None]) -> dict[str, Any]:
    """Reduce the booked entries to the requested page, and return the members of the result about pages."""
    booked, size = filled["booked"], _page_size(call)
    if size is None or booked is None:
        return _NO_PAGES
    filled["booked"], page = _page(call, booked, size)
    return {"page": page, "pages": {name: _address(call, page[name]) for name in _PAGES}}


def _held(call: Call, entries: dict[str, list[Document]]) -> dict[str, list[Document]]:
    """Move the pending entries to the booked ones if the bank shows them there."""
    if (shown := call.options["holds"]) == "pending":
        return entries
    pending = entries["pending"]
    if shown == "marked":
        pending = [{**entry, "pending": True} for entry in pending]
    return {**entries, "booked": pending + entries["booked"], "pending": []}


def _page(call: Call, entries: Sequence[Document], size: int) -> tuple[Sequence[Document], dict[str, int | None]]:
    """Return the requested page and the numbers of the others, counted from 1. Pages after the last one are empty."""
    number, last = _whole_number(call, "page"), max(-(-len(entries) // size), 1)
    page = {
        "number": number,
        "first": 1 if number > 1 else None,
        "previous": number - 1 if 1 < number <= last else None,
        "next": number + 1 if number < last else None,
        "last": last if number < last else None,
    }
    return entries[(number - 1) * size : number * size], page


def _address(call: Call, page: int | None) -> str | None:
    if page is None:
        return None
    names = (call.name_of(input.name) for input in _PAGED)
    query = {name: call.query[name] for name in names if name in call.query}
    return f"{call.self_path}?{urlencode({**query, call.name_of('page'): page})}"


def _whole_number(call: Call, input: str) -> int:
    """Return a number of at least 1, which is also the default. Raises BankError `format-error`."""
    sent = call.take(input)
    text = "1" if sent is None else str(sent)
    if not _PAGE.fullmatch(text):
        text = f"{call.place_of(input)} must be a whole number from 1 on"
        raise BankError("format-error", path=call.pointer_of(input), expected=text)
    return int(text)


def _entries(call: Call, account: Document) -> dict[str, list[Document]]:
    """Return all lists of the account. Entries from the session's payments come first."""
    kept = account.get("entries", {})
    moved = bookings.movements(call, account)

    def after(added: list[Document], name: str) -> list[Document]:
        # Copy the entries only if needed: an account may have a hundred thousand, and the request may be for one page.
        listed: list[Document] = kept.get(name, [])
        return [*added, *listed] if added else listed

    return {
        "booked": after([m.record for m in moved if not m.pending], "booked"),
        "pending": after([m.record for m in moved if m.pending], "pending"),
        "information": after(bookings.standing_orders(call, account["id"]), "information"),
    }


def find_usable_consent(call: Call, counts: bool = True) -> Document:
    """Return the consent of the request. Raises BankError if it is unknown, not authorised, expired or used up.

    `counts` is False for a further page of a list, which does not count as an access.
    """
    consent_id = call.need("consent")
    _, consent = find_consent(call, consent_id)
    status = status_of(consent)
    if status == "expired":
        raise BankError("consent-expired", id=consent_id)
    if status != "authorised":
        raise BankError("consent-invalid", id=consent_id, status=status)
    if call.judges("validity") and _is_authorised_within(call, consent, days=call.options["sca_days"]) is False:
        if call.refuses("validity"):
            signing.move(call, signing.FAMILIES["consent"], consent_id.lower(), OVER)
        call.object("validity", BankError("consent-expired", keep=True, id=consent_id))
    usual = call.options["frequency"]
    limit = consent.get("frequency") or (None if isinstance(usual, bool) else usual)
    if counts and limit is not None and call.judges("frequency") and not call.take("customer_present"):
        _count(call, consent_id, limit)
    if counts and call.judges("one-off") and not consent.get("recurring", True):
        _use_up(call, consent_id)
    return consent


def _use_up(call: Call, consent_id: str) -> None:
    """Note that the address was read. End the consent and raise BankError if it had been read before."""
    key = f"{consent_id.lower()} once {call.self_path}"
    if call.state.get("accesses", key):
        if call.refuses("one-off"):
            signing.move(call, signing.FAMILIES["consent"], consent_id.lower(), "used, not recurring")
        call.object("one-off", BankError("consent-expired", keep=True, id=consent_id))
    call.state.put("accesses", key, {"day": call.clock.today().isoformat(), "count": 1})


def is_granted(call: Call, consent: Document, right: str, account: Mapping[str, Any], *, needed: bool = False) -> bool:
    """Return whether the consent gives the right on the account, or rights are not checked.

    If the check only warns, a missing right is reported only if the request `needed` it.
    """
    if not call.judges("rights") or may(consent, right, account):
        return True
    if needed and not call.refuses("rights"):
        call.object("rights", _access_error(call, right, account.get("iban") or account["id"]))
    return not call.refuses("rights")


def _count(call: Call, consent_id: str, limit: int) -> None:
    """Count an access without the customer, by consent, day and path. Raises BankError above the limit."""
    key, today = f"{consent_id.lower()} {call.self_path}", call.clock.today().isoformat()
    last = call.state.get("accesses", key)
    count = last["count"] if last and last["day"] == today else 0
    if count >= limit:
        call.object("frequency", BankError("access-exceeded", id=consent_id, limit=limit))
    call.state.put("accesses", key, {"day": today, "count": count + 1})


def _find_covered(call: Call, right: str, counts: bool = True) -> tuple[Document, Document]:
    """Return the consent and the requested account. Raises BankError."""
    id, consent = call.need("account"), find_usable_consent(call, counts)
    account = _find(call, id) if id in consent["accounts"] else None
    if account is None:
        raise BankError("resource-not-covered", id=id)
    check_right(call, consent, right, account, id)
    return consent, account


def _find_all_covered(call: Call, right: str, counts: bool = True) -> tuple[Document, list[Document]]:
    """Return the consent and its accounts with the right. Raises BankError if it does not give the right on any."""
    consent = find_usable_consent(call, counts)
    accounts = [account for id in consent["accounts"] if (account := _find(call, id)) is not None]
    granted = [account for account in accounts if is_granted(call, consent, right, account, needed=True)]
    if accounts and not granted:
        raise _access_error(call, right, accounts[0]["id"])
    return consent, granted


def _find(call: Call, id: str) -> Document | None:
    """Return the account with its id, or None."""
    account = call.state.get("accounts", id)
    return None if account is None else with_id(id, account)


def check_right(call: Call, consent: Document, right: str, account: Mapping[str, Any], id: str) -> None:
    """Raise BankError `access-missing` if the consent lacks the right."""
    if call.judges("rights") and not may(consent, right, account):
        call.object("rights", _access_error(call, right, id))


def _access_error(call: Call, right: str, account: str) -> BankError:
    return BankError("access-missing", id=call.take("consent"), right=right, account=account)


def _balances_on_request(call: Call, consent: Document, account: Document) -> list[Document] | None:
    if not read_wish(call, WITH_BALANCES) or not is_granted(call, consent, "balances", account, needed=True):
        return None
    return compute_balances(call, account)


def _describe(call: Call, consent: Document, account: Document, path: str) -> dict[str, Any]:
    """Return the description of an account and of the data that may be read. `self` is its address."""
    return {
        **identify(account),
        "owner_name": find_owner(call, account) if is_granted(call, consent, OWNER, account) else None,
        "balances": _balances_on_request(call, consent, account),
        "rights": followed_rights(call, consent, account),
        "self": path,
    }


def identify(account: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that describe the account or card itself, without its entries and balances."""
    return {name: value for name, value in account.items() if name not in _UNSAID}


def followed_rights(call: Call, consent: Document, account: Mapping[str, Any]) -> list[str]:
    """Return the rights that the consent gives on the account, or all if the dialect does not check rights."""
    return [right for right in _FOLLOWED if not call.options["rights"] or may(consent, right, account)]
