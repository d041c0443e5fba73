"""Consents: created, read, deleted (spec 2.2 to 2.5, 3.1)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from xs2a_sandbox.bank.domain import signing
from xs2a_sandbox.bank.domain.access import IDENTIFIERS, KEPT_AS, PERMISSIONS, as_sent, may, refers
from xs2a_sandbox.bank.domain.accounts import find_by_number, iban_of, with_id
from xs2a_sandbox.bank.domain.lifecycle import CONSENT, OVER
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES, status_of
from xs2a_sandbox.bank.handlers import inputs
from xs2a_sandbox.bank.handlers.approaches import (
    APPROACH_OPTIONS,
    BEGUN,
    NOTHING_BEGUN,
    WHETHER_APART,
    WITH_RESOURCE,
    start_implicit,
)
from xs2a_sandbox.bank.handlers.ids import form, new_id
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.handler import Option, deeds, handler
from xs2a_sandbox.clock import beginning
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_STATUS = {"enum": ["awaiting", "authorised"]}
_BANK, _CUSTOMER = "bank", "customer"
_WORDS = (_ALL, _CHOSEN) = ("all", "chosen")
"""Words for accounts that the app does not name: all accounts, or those that the customer chooses."""


@handler(
    "consents.create",
    takes=(
        inputs.ACCESS.needed,
        inputs.ACCOUNT_TYPES,
        inputs.RECURRING,
        inputs.FREQUENCY,
        inputs.VALID_UNTIL,
        inputs.SENT,
        *WITH_RESOURCE,
    ),
    raises="account-not-held credentials-invalid format-error period-invalid",
    returns=f"id status self {BEGUN}",
    options={
        "status": Option(
            "The first status of a consent for `named` accounts, and of a consent for `all` accounts.",
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["named", "all"],
                "properties": {"named": _STATUS, "all": _STATUS},
            },
            required=True,
        ),
        "whose": Option(
            "Which accounts `all` means: those of the customer who authorises the consent, or all accounts of the "
            "bank.",
            {"enum": [_CUSTOMER, _BANK]},
            default=_CUSTOMER,
        ),
        "asks": Option(
            "Text for the error `format-error` if a request does not name its accounts: the requirement "
            "in the words of the interface.",
            {"type": "string"},
            default="a consent must name accounts, or be for all of them",
        ),
        "exclusive": Option(
            "Whether a consent for several kinds of access at once is refused. If false, a consent for all accounts "
            "may also name accounts.",
            {"type": "boolean"},
            default=False,
        ),
        "kinds": Option(
            "The kinds of access that a consent may request in addition to named accounts, by the `kind` in the "
            "input `access`. By default all kinds.",
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            deeds=deeds("", "access-not-offered"),
        ),
        "ends_older": Option(
            "Whether a recurring consent ends older recurring consents of its customers when it is authorised.",
            {"type": "boolean"},
            default=True,
        ),
        "reuse": Option(
            "Whether a request for a single account that has a preconfigured consent returns that consent instead "
            "of a new one.",
            {"type": "boolean"},
            default=False,
        ),
        "ids": form("consents"),
        **WHETHER_APART,
        **APPROACH_OPTIONS,
    },
)
def create(call: Call) -> dict[str, Any]:
    """Create a consent, and its authorisation unless the app starts that separately."""
    today, until = call.clock.today().isoformat(), inputs.take_date(call, inputs.VALID_UNTIL)
    if until and until < today:
        text = f"{call.name_of('valid_until')} must not be before {today}"
        raise BankError("period-invalid", path=call.pointer_of("valid_until"), expected=text)
    asked = _read_access(call)
    words = [entry.accounts for entry in asked if isinstance(entry.accounts, str)]
    kinds = len(words) + any(entry.references for entry in asked)
    if kinds == 0 or (kinds > 1 and call.options["exclusive"]):
        text = call.options["asks"] + ("; not several at once" if kinds else "")
        raise BankError("format-error", path=call.pointer_of("sent"), expected=text)
    _check_offered(call, asked)
    named = [] if words else _find_named(call, asked)
    accounts = named or (list(call.state.all("accounts")) if call.options["whose"] == _BANK else [])
    status = call.options["status"]["named" if named else "all"]
    reuses = call.options["reuse"] and not call.checks.strict
    if reuses and named and (id := _find_preconfigured(call, accounts)):
        _restore(call, id)
        return {"id": id, "status": status, "self": f"{call.self_path}/{id}", **NOTHING_BEGUN}
    id = new_id(call, "consents", call.options)
    path = f"{call.self_path}/{id}"
    document = {
        "sequence": call.next_number(),
        "status": status,
        "created_at": call.now(),
        "accounts": accounts,
        "grants": [_grant(call, entry) for entry in asked if entry.accounts or _CHOSEN in words],
        "recurring": call.take("recurring"),
        "valid_until": until,
        "frequency": _take_frequency(call),
        "last_action_on": today,
        "sent": call.take("sent"),
        **redirects(call),
    }
    if types := call.take("account_types"):
        document["account_types"] = types
    if _CHOSEN in words:
        document["customer_chooses"] = True
    if not call.options["ends_older"]:
        document["ends_older"] = False
    call.state.put("consents", id, document)
    return {"id": id, "status": status, "self": path, **start_implicit(call, FAMILIES["consent"], id, document, path)}


type Place = tuple[str | int, ...]
"""The name of an input, and the steps to a place in it."""


class _Entry(NamedTuple):
    """An entry of the requested access. `accounts` are references or a word; `number` is its position in the input."""

    number: int
    permissions: Sequence[str]
    accounts: str | Sequence[Mapping[str, Any]]
    kind: str | None

    @property
    def references(self) -> Sequence[Mapping[str, Any]]:
        return () if isinstance(self.accounts, str) else self.accounts


def _read_access(call: Call) -> list[_Entry]:
    """Return the entries of the input. Raises BankError `internal` for a mistake in the dialect."""
    access = call.need("access")
    if not isinstance(access, list) or not all(isinstance(entry, dict) for entry in access):
        raise BankError("internal", reason="the input access must be a list of permissions and accounts")
    asked = [
        _Entry(number, entry.get("permissions"), accounts, entry.get("kind"))
        for number, entry in enumerate(access)
        if (accounts := entry.get("accounts")) not in (None, "")
    ]
    for entry in asked:
        if not isinstance(entry.accounts, list) and entry.accounts not in _WORDS:
            pointer = call.pointer_of("access", entry.number, "accounts")
            raise BankError("format-error", path=pointer, expected="accounts must be a list")
        if not isinstance(entry.permissions, list) or not all(one in PERMISSIONS for one in entry.permissions):
            pointer = call.pointer_of("access", entry.number, "permissions") or call.pointer_of("sent")
            text = f"the permissions of a consent must be a list of {', '.join(PERMISSIONS)}"
            raise BankError("format-error", path=pointer, expected=text)
    return asked


def _take_frequency(call: Call) -> int | None:
    """Return the requested frequency. Raises BankError `format-error`."""
    times = call.take("frequency")
    if times is not None and (not isinstance(times, int) or isinstance(times, bool)):
        text = f"{call.name_of('frequency')} must be a whole number"
        raise BankError("format-error", path=call.pointer_of("frequency"), expected=text)
    return times


def _check_offered(call: Call, asked: Sequence[_Entry]) -> None:
    """Raise BankError `access-not-offered` if the bank does not offer a requested kind of access."""
    for entry in asked:
        if entry.kind and entry.kind not in call.options.get("kinds", [entry.kind]):
            raise BankError("access-not-offered", path=call.pointer_of("sent"), kind=entry.kind)


def _find_named(call: Call, asked: Sequence[_Entry]) -> list[str]:
    """Return the ids of the named accounts. Raises BankError."""
    ids: dict[str, None] = {}
    for entry in asked:
        for position, reference in enumerate(entry.references):
            place: Place = ("access", entry.number, "accounts", position)
            if not isinstance(reference, dict):
                text = "an object with the account's number is needed"
                raise BankError("format-error", path=_pointer_of(call, place), expected=text)
            ids[find_account(call, reference, *place)] = None
    return list(ids)


def _grant(call: Call, entry: _Entry) -> Document:
    ids = [id for reference in entry.references for id in _find_meant(call, reference)]
    grant = {"permissions": list(entry.permissions), "accounts": list(dict.fromkeys(ids)) or None}
    place, sent = call.pointer_of("access", entry.number, "accounts"), call.pointer_of("sent")
    if isinstance(entry.accounts, str) or place is None or sent is None or not place.startswith(f"{sent}/"):
        return grant
    return {**grant, "at": [str(step) for step in parse_pointer(place.removeprefix(sent))]}


def _find_meant(call: Call, reference: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the account that is meant and of its cards, or only the id of a card."""
    cards = call.state.all("cards").items()
    if card := next((id for id, card in cards if refers(reference, card)), None):
        yield card
        return
    account = find_account(call, reference)
    yield account
    yield from (id for id, card in cards if reference.get("iban") and card["account"] == account)


def _is_covered(call: Call, consent: Document, reference: Mapping[str, Any]) -> bool:
    """Return whether the consent covers the account that is meant. Cards are not chosen, so they always count."""
    id, *_ = _find_meant(call, reference)
    return id in consent["accounts"] or call.state.get("accounts", id) is None


_SHOWN = "recurring valid_until frequency last_action_on status".split()


@handler(
    "consents.read",
    takes=(inputs.CONSENT.needed,),
    raises="consent-unknown",
    returns=" ".join(
        [
            "consent accounts permitted access self",
            *(f"consent.{name}" for name in _SHOWN),
            *(f"permitted.{name}" for name in PERMISSIONS),
        ]
    ),
)
def read(call: Call) -> dict[str, Any]:
    """Read a consent, with references to all of its accounts and to the accounts of each permission.

    `access` is the access that was `sent`, where lists of accounts contain only those that the consent covers.
    """
    _, consent = find_consent(call, call.need("consent"))
    covered = {id: reference(call, id) for id in consent["accounts"]}
    every = list(covered.values())
    return {
        "consent": {**{name: consent.get(name) for name in _SHOWN}, "status": status_of(consent)},
        "accounts": every,
        "permitted": {
            permission: [one for id, one in covered.items() if may(consent, permission, {"id": id})]
            for permission in PERMISSIONS
        },
        "access": as_sent(consent, every, lambda reference: _is_covered(call, consent, reference)),
        "self": call.self_path,
    }


@handler("consents.status", takes=(inputs.CONSENT.needed,), raises="consent-unknown", returns="status")
def status(call: Call) -> dict[str, Any]:
    """Read only the status of a consent, without further look-ups, because apps poll it."""
    _, consent = find_consent(call, call.need("consent"))
    return {"status": status_of(consent)}


@handler(
    "consents.delete",
    takes=(inputs.CONSENT.needed,),
    raises="consent-unknown",
    options={
        "keeps": Option(
            "Whether the bank keeps a deleted consent: as revoked, or in its state if it had already ended.",
            {"type": "boolean"},
            default=False,
        )
    },
)
def delete(call: Call) -> dict[str, Any]:
    """Delete a consent. It is unknown afterwards, unless the bank keeps it as ended by the app."""
    id, consent = find_consent(call, call.need("consent"))
    if call.options["keeps"]:
        signing.move(call, FAMILIES["consent"], id, "delete, kept")
    else:
        call.state.delete("consents", id)
        signing.abandon(call, consent)
    return {}


def redirects(call: Call) -> dict[str, str | None]:
    """Return the addresses that the TPP registers for sending the customer back."""
    return {
        "redirect_uri": call.take("redirect_uri"),
        "nok_redirect_uri": call.take("nok_redirect_uri"),
    }


def find_consent(call: Call, id: str) -> tuple[str, Document]:
    """Return the stored id and the consent."""
    kept = as_kept(id)
    consent = call.state.get("consents", kept)
    if consent is None:
        raise BankError("consent-unknown", id=id)
    original = call.state.testdata().get("consents", {}).get(kept) or {}
    if original.get("permanent") and "permanent" not in consent:
        # Consents from an earlier version have no `permanent`, and expire.
        consent = {**{name: value for name, value in consent.items() if name != "status"}, **original}
    return kept, consent


def due(consent: Mapping[str, Any]) -> datetime | None:
    """Return the instant when it expires: the end of its last day in the bank's time zone."""
    until = consent.get("valid_until")
    if consent.get("permanent") or not until:
        return None
    last = date.fromisoformat(until)
    can_expire = CONSENT.after(status_of(consent), OVER) and last < date.max
    return beginning(last + timedelta(days=1)) if can_expire else None


def reference(call: Call, id: str) -> dict[str, Any]:
    """Return the reference to an account (spec 2.2)."""
    account = call.state.get("accounts", id)
    return {"iban": iban_of(call, id), "currency": account["currency"] if account else None}


def find_account(call: Call, reference: Mapping[str, Any], *place: str | int) -> str:
    """Return the id of the account that the first number in the reference identifies.

    `place` is the input with the reference, and the steps to it.

    Raises BankError `account-not-held`, or `format-error` for a missing number or another currency.
    """
    for name in IDENTIFIERS:
        if number := reference.get(name):
            break
    else:
        expected = f"one of {', '.join(IDENTIFIERS)} is needed"
        raise BankError("format-error", path=_pointer_of(call, place), expected=expected)
    kept_as = KEPT_AS.get(name, name)
    id = find_by_number(call, kept_as, number) or _pays_card(call, kept_as, number)
    account = None if id is None else call.state.get("accounts", id)
    if id is None or account is None:
        raise BankError("account-not-held", path=_pointer_of(call, place, name), id=number)
    _check_currency(call, id, account, reference, place)
    return id


def _pointer_of(call: Call, place: Place, *members: str) -> str | None:
    """Return the JSON Pointer to a member below a place, or None without a place, or for one outside the body."""
    return call.pointer_of(str(place[0]), *place[1:], *members) if place else None


def _pays_card(call: Call, name: str, number: str) -> str | None:
    """Return the id of the account that pays for the card with this number."""
    return next((card["account"] for card in call.state.all("cards").values() if card.get(name) == number), None)


def check_currency(call: Call, reference: Mapping[str, Any], *place: str | int) -> None:
    """Raise BankError `format-error` if the account is one of the bank's and has another currency.

    The parameters are as in `find_account`.
    """
    iban = reference.get("iban")
    id = find_by_number(call, "iban", iban) if iban and reference.get("currency") else None
    if id:
        _check_currency(call, id, call.state.get("accounts", id) or {}, reference, place)


def _check_currency(
    call: Call, id: str, account: Mapping[str, Any], reference: Mapping[str, Any], place: Place
) -> None:
    currency = reference.get("currency")
    if account and currency and currency != account["currency"]:
        number = with_id(id, account).get("iban") or id
        text = f"currency must be {account['currency']}, that of the account {number}, or left out, not {currency}"
        raise BankError("format-error", path=_pointer_of(call, place, "currency"), expected=text)


def _find_preconfigured(call: Call, ibans: list[str]) -> str | None:
    """Return the id of the consent that the test data define for exactly these accounts (spec 2.1)."""
    consents = call.state.testdata().get("consents", {}).items()
    return next((id for id, c in consents if c["role"] == "authorised" and c["accounts"] == ibans), None)


def _restore(call: Call, id: str) -> None:
    """Reset the consent to its preconfigured content. Its open authorisations continue."""
    begun = [
        authorisation_id
        for authorisation_id, _ in signing.open_authorisations(call, call.state.get("consents", id) or {})
    ]
    call.state.restore("consents", id)
    changes: dict[str, Any] = {AUTHORISATIONS: begun} if begun else {}
    if any(redirects(call).values()):
        changes |= redirects(call)
    if changes:
        call.state.put("consents", id, {**(call.state.get("consents", id) or {}), **changes})
