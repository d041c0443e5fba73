"""Account information with a consent (spec 2.6 to 2.8, 4.1)."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

from xs2a_sandbox.bank.domain import bookings, signing
from xs2a_sandbox.bank.domain.access import LISTS as OF_ACCESS
from xs2a_sandbox.bank.domain.access import may
from xs2a_sandbox.bank.formats import statements
from xs2a_sandbox.bank.formats.statements import JSON
from xs2a_sandbox.bank.handlers.consents import find_consent, reference, status_of
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
)
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds, handler
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_PAGE = re.compile(r"[1-9][0-9]{0,8}")
_PAGED = (LISTS, DATE_FROM, DATE_TO, WITH_BALANCES, PAGE_SIZE)
"""What the address of another page repeats."""


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
SHOWN_AT_ONCE = Option(
    "How many booked entries are shown at once where the request does not say it, null for all; `next` is then the "
    "address of the next page.",
    {"type": ["integer", "null"], "minimum": 1},
    takes=(PAGE,),
)
_RECENT = 90
"""The days of entries that are shown without a fresh authorisation; one lasts twice as long (RTS on SCA, 10a)."""
RIGHTS = {
    "rights": Option(
        "Only what the consent is for is shown: no balances without the right to them, no transactions without theirs, "
        "and an account by itself only if the consent is for more than the list.",
        {"type": "boolean"},
        default=False,
    ),
    "one_off": Option(
        "A consent that is not recurring lets each address be read once; then it has expired.",
        {"type": "boolean"},
        default=False,
    ),
    "validity": Option(
        "The customer's authorisation of a consent lasts `sca_days`; entries older than `history_days` are "
        "shown for `history_minutes` after it alone; else the setting `checks` says so.",
        {"type": "boolean"},
        default=False,
    ),
    "sca_days": Option(
        "Days that the customer's authorisation lasts, with `validity`.",
        {"type": "integer", "minimum": 1},
        default=2 * _RECENT,
    ),
    "frequency": Option(
        "The consent is used up after frequencyPerDay accesses to a path without the customer; else the setting "
        "`checks` alone says so.",
        {"type": "boolean"},
        default=False,
    ),
}
HISTORY = {
    "history_days": Option(
        "Days of which entries are always shown, with `validity`.", {"type": "integer", "minimum": 0}, default=_RECENT
    ),
    "history_minutes": Option(
        "Minutes after the customer's authorisation in which older ones are shown, too, with `validity`.",
        {"type": "integer", "minimum": 0},
        default=60,
    ),
}
HOLDS = Option(
    "The list that pending entries are shown in: their own, or that of the booked ones.",
    {"enum": ["pending", "booked"]},
    default="pending",
)
IDENTIFIED_BY = {
    "identified_by": Option(
        "What an account is called in paths, and in `resourceId`: its IBAN, or the `resourceId` of the test data, else "
        "a UUID that is made of the IBAN.",
        {"enum": ["iban", "resourceId"]},
        default="iban",
    )
}
MEMBERS = {
    "members": Option(
        "The members that are shown, of those that the test data have; `ownerName` is else the customer's name, and "
        "with `rights` it needs one of its own.",
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    )
}
_SHOWN = ("currency", "name", "product", "bic")
FORMATS = Option(
    "By media type, what else a TPP may ask for with `Accept`: `camt` (camt.053, or camt.052 where pending entries "
    "are shown) or `mt940`. The result is then the `statement` in this `media` type.",
    {"type": "object", "additionalProperties": {"enum": list(statements.FORMATS)}},
    deeds=deeds("headers.accept", "format-not-offered"),
)
BY_CONSENT = (CONSENT.needed, PRESENT)
"""What `find_usable_consent` takes."""
UNUSABLE = "access-exceeded consent-expired consent-invalid consent-unknown format-error"
"""The errors of `find_usable_consent`."""


def lists_option(*names: str) -> Option:
    return Option(
        "By what the request asks for, the lists that are shown; the others are null.",
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "array", "items": {"enum": list(names)}},
        },
        required=True,
    )


@handler(
    "accounts.list",
    takes=(*BY_CONSENT, WITH_BALANCES),
    raises=UNUSABLE,
    returns="accounts",
    options={"links": LINKS, **MEMBERS, **IDENTIFIED_BY, **RIGHTS},
)
def list_accounts(call: Call) -> dict[str, Any]:
    """The accounts that the consent covers."""
    consent = find_usable_consent(call)
    return {
        "accounts": [
            _record(call, consent, iban, account, f"{call.self_path}/{_id(call, iban, account)}")
            for iban in consent["accounts"]
            if (account := call.state.get("accounts", iban)) is not None
            and is_granted(call, consent, "list", {"iban": iban, **account}, needed=True)
        ]
    }


@handler(
    "accounts.read",
    takes=(*BY_CONSENT, ACCOUNT.needed, WITH_BALANCES),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="account",
    options={"links": LINKS, **MEMBERS, **IDENTIFIED_BY, **RIGHTS},
)
def read(call: Call) -> dict[str, Any]:
    """One account."""
    consent, iban, account = _find_covered(call, "details")
    return {"account": _record(call, consent, iban, account, call.self_path)}


@handler(
    "accounts.balances",
    takes=(*BY_CONSENT, ACCOUNT.needed),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="account balances",
    options=IDENTIFIED_BY | RIGHTS,
)
def balances(call: Call) -> dict[str, Any]:
    """An account's balances, with what the session's payments have moved."""
    _, iban, account = _find_covered(call, "balances")
    return {"account": reference(call, iban), "balances": _balances(call, iban, account)}


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
    returns="iban account self next pages pages.first pages.previous pages.next pages.last booked pending information "
    "balances statement media",
    options={
        "lists": lists_option("booked", "pending", "information"),
        "page_size": SHOWN_AT_ONCE,
        "holds": HOLDS,
        "formats": FORMATS,
        **HISTORY,
        **IDENTIFIED_BY,
        **RIGHTS,
    },
)
def transactions(call: Call) -> dict[str, Any]:
    """An account's transactions in lists, by their booking date; its balances, where they are asked for."""
    media = statements.media_of(call, call.options.get("formats") or {})
    consent, iban, account = _find_covered(call, "transactions", counts=not _is_further(call))
    entries = _entries(call, iban, account)
    if call.options["holds"] == "booked":
        entries |= {"booked": entries["pending"] + entries["booked"], "pending": []}
    filled = lists(call, consent, _keep_newer(call, iban, entries))
    pages: dict[str, str | None] = dict.fromkeys(("first", "previous", "next", "last"))
    statement = None
    if media != JSON:
        whole = statements.Account(iban, account, _owner(call, account), _balances(call, iban, account))
        kind = call.options["formats"][media]
        statement = statements.write(call, kind, whole, entries["booked"], filled)
    elif (size := _page_size(call)) is not None and filled["booked"] is not None:
        filled["booked"], pages = _page(call, filled["booked"], size)
    return {
        "iban": iban,
        "account": reference(call, iban),
        "self": call.self_path.removesuffix("/transactions"),
        "next": pages["next"],
        "pages": pages,
        "balances": _balances_on_request(call, consent, iban, account),
        "statement": statement,
        "media": media,
        **filled,
    }


@handler(
    "accounts.transaction",
    takes=(*BY_CONSENT, ACCOUNT.needed, ENTRY.needed),
    raises=f"{UNUSABLE} access-missing resource-not-covered",
    returns="transaction",
    options=IDENTIFIED_BY | RIGHTS,
)
def transaction(call: Call) -> dict[str, Any]:
    """One transaction, whichever list it is in."""
    _, iban, account = _find_covered(call, "transactions")
    id = call.need("entry")
    for entries in _entries(call, iban, account).values():
        for entry in entries:
            if entry["transactionId"] == id:
                return {"transaction": entry}
    raise BankError("resource-not-covered", id=id)


def lists(
    call: Call, consent: Document, entries: Mapping[str, Sequence[Document]]
) -> dict[str, Sequence[Document] | None]:
    """The lists that the request asks for, of the days that it names; null for the others.

    Entries without a booking date are not booked yet and always shown. Raises BankError.
    """
    since, until = call.take("date_from"), call.take("date_to")
    if since and until and since > until:
        text = f"{call.name_of('date_from')} must not be after {call.name_of('date_to')}"
        raise BankError("period-invalid", path=call.pointer_of("date_from"), expected=text)
    since = _history_begins(call, consent, since)
    list_names = call.options["lists"].get(call.take("lists"))
    if list_names is None:
        text = f"{call.place_of('lists')} must be one of {', '.join(call.options['lists'])}"
        raise BankError("format-error", path=call.pointer_of("lists"), expected=text)

    def is_in_period(day: str | None) -> bool:
        return day is None or ((not since or since <= day) and (not until or day <= until))  # ISO: compares as text

    def of_those_days(listed: Sequence[Document]) -> Sequence[Document]:
        return [entry for entry in listed if is_in_period(entry.get("bookingDate"))] if since or until else listed

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
    authorised = consent.get("authorisedAt")
    return authorised and call.clock.now() - datetime.fromisoformat(authorised) <= timedelta(**span)


def _keep_newer(call: Call, iban: str, entries: Mapping[str, list[Document]]) -> dict[str, list[Document]]:
    """The entries of which the booked ones are newer than the TPP says. Raises BankError."""
    if not call.inputs.keys() & {NEWER_THAN.name, NEWER_THAN_LAST.name}:
        return dict(entries)
    booked, since = entries["booked"], call.take("newer_than")
    names = [{entry["transactionId"], entry.get("entryReference")} for entry in booked]
    last = call.state.get("reports", iban)
    if booked:
        call.state.put("reports", iban, {"newest": booked[0]["transactionId"]})
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


def _page(call: Call, entries: Sequence[Document], size: int) -> tuple[Sequence[Document], dict[str, str | None]]:
    """The page that is asked for, the first is 1, and the addresses of others. There is nothing after the last."""
    number, last = _whole_number(call, "page"), max(-(-len(entries) // size), 1)
    names = (call.name_of(input.name) for input in _PAGED)
    query = {name: call.query[name] for name in names if name in call.query}

    def address(page: int, is_there: bool) -> str | None:
        return f"{call.self_path}?{urlencode({**query, call.name_of('page'): page})}" if is_there else None

    pages = {
        "first": address(1, number > 1),
        "previous": address(number - 1, 1 < number <= last),
        "next": address(number + 1, number < last),
        "last": address(last, number < last),
    }
    return entries[(number - 1) * size : number * size], pages


def _whole_number(call: Call, input: str) -> int:
    """A number from 1 on, which is 1 where the request does not say it. Raises BankError `format-error`."""
    sent = call.take(input)
    text = "1" if sent is None else str(sent)
    if not _PAGE.fullmatch(text):
        text = f"{call.place_of(input)} must be a whole number from 1 on"
        raise BankError("format-error", path=call.pointer_of(input), expected=text)
    return int(text)


def _entries(call: Call, iban: str, account: Document) -> dict[str, list[Document]]:
    """All lists of the account, what this session's payments have added first."""
    kept = account.get("transactions", {})
    moved = bookings.movements(call, iban, account)

    def after(added: list[Document], name: str) -> list[Document]:
        # Not copied without need: an account may have a hundred thousand, of which a page is asked for.
        listed: list[Document] = kept.get(name, [])
        return [*added, *listed] if added else listed

    return {
        "booked": after([m.record for m in moved if not m.pending], "booked"),
        "pending": after([m.record for m in moved if m.pending], "pending"),
        "information": after(bookings.standing_orders(call, iban), "information"),
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
    if status != "valid":
        raise BankError("consent-invalid", id=consent_id, status=status)
    if call.judges("validity") and _is_authorised_within(call, consent, days=call.options["sca_days"]) is False:
        if call.refuses("validity"):
            signing.move(call, signing.FAMILIES["consent"], consent_id.lower(), "validUntil passes")
        call.object("validity", BankError("consent-expired", keep=True, id=consent_id))
    if counts and call.judges("frequency") and not call.take("customer_present"):
        _count(call, consent_id, consent["frequencyPerDay"])
    if counts and call.judges("one-off") and not consent["recurringIndicator"]:
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
        call.object("rights", _access_error(call, right, account["iban"]))
    return not call.refuses("rights")


def _count(call: Call, consent_id: str, limit: int) -> None:
    """Counts an access without the customer: by consent, day and path. Raises BankError beyond the limit."""
    key, today = f"{consent_id.lower()} {call.self_path}", call.clock.today().isoformat()
    last = call.state.get("accesses", key)
    count = last["count"] if last and last["day"] == today else 0
    if count >= limit:
        call.object("frequency", BankError("access-exceeded", id=consent_id, limit=limit))
    call.state.put("accesses", key, {"day": today, "count": count + 1})


def _find_covered(call: Call, right: str, counts: bool = True) -> tuple[Document, str, Document]:
    """The consent, and the account of the path with its IBAN. Raises BankError."""
    id, consent = call.need("account"), find_usable_consent(call, counts)
    for iban in consent["accounts"]:
        account = call.state.get("accounts", iban)
        if account is not None and _id(call, iban, account) == id:
            check_right(call, consent, right, {"iban": iban, **account}, id)
            return consent, iban, account
    raise BankError("resource-not-covered", id=id)


def check_right(call: Call, consent: Document, right: str, account: Mapping[str, Any], id: str) -> None:
    """Raises BankError `access-missing`."""
    if call.judges("rights") and not may(consent, right, account):
        call.object("rights", _access_error(call, right, id))


def _access_error(call: Call, right: str, account: str) -> BankError:
    return BankError("access-missing", id=call.take("consent"), right=right, account=account)


def _id(call: Call, iban: str, account: Document) -> str:
    """The name of the account in paths."""
    if call.options["identified_by"] == "iban":
        return iban
    return str(account.get("resourceId") or uuid5(NAMESPACE_URL, f"iban:{iban}"))


def _balances(call: Call, iban: str, account: Document) -> list[Document]:
    return bookings.balances(account, bookings.movements(call, iban, account))


def _balances_on_request(call: Call, consent: Document, iban: str, account: Document) -> list[Document] | None:
    if not read_wish(call, WITH_BALANCES):
        return None
    if not is_granted(call, consent, "balances", {"iban": iban, **account}, needed=True):
        return None
    return _balances(call, iban, account)


def _record(call: Call, consent: Document, iban: str, account: Document, path: str) -> dict[str, Any]:
    """An account as it is shown (spec 2.6)."""
    record: dict[str, Any] = {"resourceId": _id(call, iban, account), "iban": iban}
    record |= visible_members(call, consent, {"iban": iban, **account}, account["psuId"])
    if (held := _balances_on_request(call, consent, iban, account)) is not None:
        record["balances"] = held
    return record | build_links(call, path, consent, {"iban": iban, **account})


def visible_members(
    call: Call, consent: Document, account: Mapping[str, Any], psu: str, usual: Sequence[str] = _SHOWN
) -> dict[str, Any]:
    """The members of an account or card account that are shown, and have a value."""
    names = call.options.get("members", usual)
    if "ownerName" in names:
        allowed = is_granted(call, consent, "ownerName", account)
        account = {**account, "ownerName": _owner(call, {"psuId": psu, **account}) if allowed else None}
    return {name: account[name] for name in names if account.get(name) is not None}


def _owner(call: Call, account: Mapping[str, Any]) -> str | None:
    """The name of the holder."""
    return account.get("ownerName") or (call.state.get("psus", account["psuId"]) or {}).get("name")


def build_links(call: Call, path: str, consent: Document, account: Mapping[str, Any]) -> dict[str, Any]:
    """The links of an account or card account that can be followed, in their container."""
    links = call.options["links"]
    # A dialect that does not look at rights itself has all of its links in its schema.
    followed = {
        name: {"href": path + suffix}
        for name, suffix in links["members"].items()
        if not call.options["rights"] or suffix[1:] not in OF_ACCESS or may(consent, suffix[1:], account)
    }
    return {links["container"]: followed}
