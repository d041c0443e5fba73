"""Account information with a consent (spec 2.6 to 2.8, 4.1)."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from xs2a_sandbox.bank.domain import bookings, signing
from xs2a_sandbox.bank.domain.access import OWNER, may
from xs2a_sandbox.bank.domain.accounts import with_id
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
_PAGED = (LISTS, DATE_FROM, DATE_TO, WITH_BALANCES, PAGE_SIZE)
"""What the address of another page repeats."""
SHOWN_AT_ONCE = Option(
    "The number of booked entries per page if the request does not set it; null for all entries on one page. "
    "`pages.next` is then the address of the next page.",
    {"type": ["integer", "null"], "minimum": 1},
    takes=(PAGE,),
)
_RECENT = 90
"""The days of entries that are shown without a fresh authorisation; one lasts twice as long (RTS on SCA, 10a)."""
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
    "The list that shows pending entries: their own list, or the list of booked entries.",
    {"enum": ["pending", "booked"]},
    default="pending",
)
_FOLLOWED = ("details", "balances", "entries")
"""The rights that lead on from an account."""
_UNSAID = ("psuId", "signatories", "balances", "entries")
"""What an account holds besides what is said of it."""
FORMATS = Option(
    "Further formats that an app can request with `Accept`, by media type: `camt` (camt.053, or camt.052 if pending "
    "entries are shown) or `mt940`. The result is then the `statement` in this `media` type.",
    {"type": "object", "additionalProperties": {"enum": list(statements.FORMATS)}},
    deeds=deeds("headers.accept", "format-not-offered"),
)
BY_CONSENT = (CONSENT.needed, PRESENT)
"""What `find_usable_consent` takes."""
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
    return {"account": identify(account), "balances": _balances(call, account)}


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
    returns="account self page page.number page.first page.previous page.next page.last pages pages.first "
    "pages.previous pages.next pages.last booked pending information balances statement media",
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
    entries = _entries(call, account)
    if call.options["holds"] == "booked":
        entries |= {"booked": entries["pending"] + entries["booked"], "pending": []}
    filled = lists(call, consent, _keep_newer(call, account["id"], entries))
    page: dict[str, int | None] = dict.fromkeys(("number", *_PAGES))
    statement = None
    if media != JSON:
        whole = statements.Account(account, find_owner(call, account), _balances(call, account))
        kind = call.options["formats"][media]
        statement = statements.write(call, kind, whole, entries["booked"], filled)
    elif (size := _page_size(call)) is not None and filled["booked"] is not None:
        filled["booked"], page = _page(call, filled["booked"], size)
    return {
        "account": identify(account),
        "self": call.self_path.removesuffix("/transactions"),
        "page": page,
        "pages": {name: _address(call, page[name]) for name in _PAGES},
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
    """Read one entry, whichever list it is in."""
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
    """The lists that the request asks for, of the days that it names; null for the others.

    Entries without a booking date are not booked yet and always shown. Raises BankError.
    """
    since, until = take_date(call, DATE_FROM), take_date(call, DATE_TO)
    if since and until and since > until:
        text = f"{call.name_of('date_from')} must not be after {call.name_of('date_to')}"
        raise BankError("period-invalid", path=call.pointer_of("date_from"), expected=text)
    since = _history_begins(call, consent, since)
    # Where the dialect says the lists, for all requests, no TPP asks for one that is refused.
    refused = call.options["refused"] if call.is_sent("lists") else ()
    offered = {name: shown for name, shown in call.options["lists"].items() if not set(shown) & set(refused)}
    list_names = offered.get(call.take("lists"))
    if list_names is None:
        text = f"{call.place_of('lists')} must be one of {', '.join(offered)}"
        raise BankError("format-error", path=call.pointer_of("lists"), expected=text)

    def is_in_period(day: str | None) -> bool:
        return day is None or ((not since or since <= day) and (not until or day <= until))  # ISO: compares as text

    def of_those_days(listed: Sequence[Document]) -> Sequence[Document]:
        return [entry for entry in listed if is_in_period(entry.get("booked_on"))] if since or until else listed

    return {name: of_those_days(listed) if name in list_names else None for name, listed in entries.items()}


def _history_begins(call: Call, consent: Document, since: str | None) -> str | None:
    """The first day that is shown where the TPP asks `since` one. Raises BankError where it is too long ago."""
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
    """Tells if the customer has authorised it so recently; None for one of the test data, of which nobody knows."""
    authorised = consent.get("authorised_at")
    return authorised and call.clock.now() - datetime.fromisoformat(authorised) <= timedelta(**span)


def _keep_newer(call: Call, account: str, entries: Mapping[str, list[Document]]) -> dict[str, list[Document]]:
    """The entries of which the booked ones are newer than the TPP says. Raises BankError."""
    if not call.inputs.keys() & {NEWER_THAN.name, NEWER_THAN_LAST.name}:
        return dict(entries)
    booked, since = entries["booked"], call.take("newer_than")
    names = [{entry["id"], entry.get("reference")} for entry in booked]
    last = call.state.get("reports", account)
    if booked:
        call.state.put("reports", account, {"newest": booked[0]["id"]})
    if since is not None and not any(since in name for name in names):
        text = f"{call.name_of('newer_than')} must be that of an entry; there is none {since}"
        raise BankError("format-error", path=call.pointer_of("newer_than"), expected=text)
    if since is None and read_wish(call, NEWER_THAN_LAST) and last:
        since = last["newest"]
    end = next((position for position, name in enumerate(names) if since in name), len(booked)) if since else None
    return {**entries, "booked": booked[:end]}


def _is_further(call: Call) -> bool:
    """Tells if it is a further page of what was asked for before, which is no access of its own."""
    return _page_size(call) is not None and str(call.take("page") or 1) != "1"


def _page_size(call: Call) -> int | None:
    """The number of entries on a page; None for all. Raises BankError."""
    size: int | None = call.options.get("page_size")
    return size if call.take("page_size") is None else _whole_number(call, "page_size")


def _page(call: Call, entries: Sequence[Document], size: int) -> tuple[Sequence[Document], dict[str, int | None]]:
    """The page that is asked for, the first is 1, and the numbers of others. There is nothing after the last."""
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
    """A number from 1 on, which is 1 where the request does not say it. Raises BankError `format-error`."""
    sent = call.take(input)
    text = "1" if sent is None else str(sent)
    if not _PAGE.fullmatch(text):
        text = f"{call.place_of(input)} must be a whole number from 1 on"
        raise BankError("format-error", path=call.pointer_of(input), expected=text)
    return int(text)


def _entries(call: Call, account: Document) -> dict[str, list[Document]]:
    """All lists of the account, what this session's payments have added first."""
    kept = account.get("entries", {})
    moved = bookings.movements(call, account)

    def after(added: list[Document], name: str) -> list[Document]:
        # Not copied without need: an account may have a hundred thousand, of which a page is asked for.
        listed: list[Document] = kept.get(name, [])
        return [*added, *listed] if added else listed

    return {
        "booked": after([m.record for m in moved if not m.pending], "booked"),
        "pending": after([m.record for m in moved if m.pending], "pending"),
        "information": after(bookings.standing_orders(call, account["id"]), "information"),
    }


def find_usable_consent(call: Call, counts: bool = True) -> Document:
    """The consent that the request names. Raises BankError where it is unknown, not authorised, expired or used up.

    Without `counts` it is no access of its own: a further page of a list.
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
    """Notes that the address was read. Raises BankError where it was before, which is the end of the consent."""
    key = f"{consent_id.lower()} once {call.self_path}"
    if call.state.get("accesses", key):
        if call.refuses("one-off"):
            signing.move(call, signing.FAMILIES["consent"], consent_id.lower(), "used, not recurring")
        call.object("one-off", BankError("consent-expired", keep=True, id=consent_id))
    call.state.put("accesses", key, {"day": call.clock.today().isoformat(), "count": 1})


def is_granted(call: Call, consent: Document, right: str, account: Mapping[str, Any], *, needed: bool = False) -> bool:
    """Tells if the consent gives the right on the account, or nobody looks at its rights.

    Where that would only be warned of, the lack of a right that the TPP `needed` is.
    """
    if not call.judges("rights") or may(consent, right, account):
        return True
    if needed and not call.refuses("rights"):
        call.object("rights", _access_error(call, right, account.get("iban") or account["id"]))
    return not call.refuses("rights")


def _count(call: Call, consent_id: str, limit: int) -> None:
    """Counts an access without the customer: by consent, day and path. Raises BankError beyond the limit."""
    key, today = f"{consent_id.lower()} {call.self_path}", call.clock.today().isoformat()
    last = call.state.get("accesses", key)
    count = last["count"] if last and last["day"] == today else 0
    if count >= limit:
        call.object("frequency", BankError("access-exceeded", id=consent_id, limit=limit))
    call.state.put("accesses", key, {"day": today, "count": count + 1})


def _find_covered(call: Call, right: str, counts: bool = True) -> tuple[Document, Document]:
    """The consent and the account that is asked for. Raises BankError."""
    id, consent = call.need("account"), find_usable_consent(call, counts)
    account = _find(call, id) if id in consent["accounts"] else None
    if account is None:
        raise BankError("resource-not-covered", id=id)
    check_right(call, consent, right, account, id)
    return consent, account


def _find(call: Call, id: str) -> Document | None:
    """The account with its id."""
    account = call.state.get("accounts", id)
    return None if account is None else with_id(id, account)


def check_right(call: Call, consent: Document, right: str, account: Mapping[str, Any], id: str) -> None:
    """Raises BankError `access-missing`."""
    if call.judges("rights") and not may(consent, right, account):
        call.object("rights", _access_error(call, right, id))


def _access_error(call: Call, right: str, account: str) -> BankError:
    return BankError("access-missing", id=call.take("consent"), right=right, account=account)


def _balances(call: Call, account: Document) -> list[Document]:
    return bookings.balances(account, bookings.movements(call, account))


def _balances_on_request(call: Call, consent: Document, account: Document) -> list[Document] | None:
    if not read_wish(call, WITH_BALANCES) or not is_granted(call, consent, "balances", account, needed=True):
        return None
    return _balances(call, account)


def _describe(call: Call, consent: Document, account: Document, path: str) -> dict[str, Any]:
    """What is said of an account, and of what may be read of it; `self` is its address."""
    return {
        **identify(account),
        "owner_name": find_owner(call, account) if is_granted(call, consent, OWNER, account) else None,
        "balances": _balances_on_request(call, consent, account),
        "rights": followed_rights(call, consent, account),
        "self": path,
    }


def identify(account: Mapping[str, Any]) -> dict[str, Any]:
    """The account or card by itself, without what is in it."""
    return {name: value for name, value in account.items() if name not in _UNSAID}


def followed_rights(call: Call, consent: Document, account: Mapping[str, Any]) -> list[str]:
    """The rights that the consent gives on the account; all, in a dialect that does not look at them."""
    return [right for right in _FOLLOWED if not call.options["rights"] or may(consent, right, account)]


def find_owner(call: Call, account: Mapping[str, Any]) -> str | None:
    """The name of the holder."""
    return account.get("owner_name") or (call.state.get("psus", account["psuId"]) or {}).get("name")
