"""Consents: created, read, deleted (spec 2.2 to 2.5, 3.1)."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from xs2a_sandbox.bank.domain import signing
from xs2a_sandbox.bank.domain.access import IDENTIFIERS, KINDS, LISTS, NAMED, kind_of, references, strip_reference
from xs2a_sandbox.bank.domain.lifecycle import CONSENT
from xs2a_sandbox.bank.domain.signing import AUTHORISATIONS, FAMILIES
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
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document

_LISTS = ("balances", "transactions")


_STATUS = {"enum": ["received", "valid"]}


@handler(
    "consents.create",
    takes=WITH_RESOURCE,
    reads="body/access body/frequencyPerDay body/recurringIndicator body/validUntil",
    raises="account-not-held credentials-invalid format-error period-invalid",
    returns=f"consentId consentStatus self {BEGUN}",
    options={
        "status": Option(
            "With which status a consent for `named` accounts begins, and one for `all` of them.",
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["named", "all"],
                "properties": {"named": _STATUS, "all": _STATUS},
            },
            required=True,
        ),
        "kinds": Option(
            "Which kinds of access a consent may ask for, beside accounts by name: the accounts are then those of the "
            "customer who authorises it, and the access is kept as it was sent. Where this is left out, "
            "`availableAccounts` stands for all accounts of the bank, and nothing else may be asked for.",
            {"type": "array", "items": {"enum": list(KINDS)}, "uniqueItems": True},
            deeds=deeds("", "access-not-offered"),
        ),
        "ends_older": Option(
            "A recurring consent ends the older ones of its customers, once it is authorised.",
            {"type": "boolean"},
            default=True,
        ),
        "reuse": Option(
            "A single preconfigured account answers with its preconfigured consent.", {"type": "boolean"}, default=False
        ),
        "ids": form("consents"),
        **WHETHER_APART,
        **APPROACH_OPTIONS,
    },
)
def create(call: Call) -> dict[str, Any]:
    """A new consent, and its authorisation unless that is to be begun apart."""
    body = call.body
    access = body["access"]
    today = call.clock.today().isoformat()
    if body["validUntil"] < today:
        raise BankError("period-invalid", path="/validUntil", expected=f"validUntil must not be before {today}")
    kinds = call.options.get("kinds")
    kind, ibans, kept = _read_documented(call, access) if kinds is None else _offer(call, access, kinds)
    status = call.options["status"]["named" if kind == NAMED else "all"]
    reuses = call.options["reuse"] and not call.checks.strict
    if reuses and kind == NAMED and (id := _find_preconfigured(call, ibans)):
        _restore(call, id)
        return {"consentId": id, "consentStatus": status, "self": f"{call.self_path}/{id}", **NOTHING_BEGUN}
    id = new_id(call, "consents", call.options)
    path = f"{call.self_path}/{id}"
    document = {
        "sequence": call.next_number(),
        "consentStatus": status,
        "accounts": ibans,
        "access": kept,
        "recurringIndicator": body["recurringIndicator"],
        "validUntil": body["validUntil"],
        "frequencyPerDay": body["frequencyPerDay"],
        "lastActionDate": today,
        **redirects(call),
        **({} if call.options["ends_older"] else {"endsOlder": False}),
    }
    call.state.put("consents", id, document)
    return {
        "consentId": id,
        "consentStatus": status,
        "self": path,
        **start_implicit(call, FAMILIES["consent"], id, path),
    }


def _read_documented(call: Call, access: Mapping[str, Any]) -> tuple[str, list[str], dict[str, Any]]:
    """The kind of access, its accounts, and what is kept of it, by the documented interface. Raises BankError."""
    if access.get("availableAccounts") == "allAccounts":
        kind, ibans = "availableAccounts", list(call.state.all("accounts"))
    else:
        pairs = list(references({name: access.get(name) for name in _LISTS}))
        kind, ibans = NAMED, list(dict.fromkeys(find_account(call, reference, at) for reference, at in pairs))
    if not ibans:
        text = "access must name accounts under balances or transactions, or say availableAccounts: allAccounts"
        raise BankError("format-error", path="/access", expected=text)
    return kind, ibans, {name: [strip_reference(reference) for reference in access.get(name) or ()] for name in _LISTS}


def _offer(call: Call, access: Mapping[str, Any], kinds: Sequence[str]) -> tuple[str, list[str], dict[str, Any]]:
    """The same, where the accounts are those of the customer. Raises BankError."""
    kind = kind_of(access)
    if kind not in (NAMED, *kinds):
        raise BankError("access-not-offered", path="/access", kind=kind)
    ibans = list(dict.fromkeys(find_account(call, reference, at) for reference, at in references(access)))
    return kind, ibans, {name: value for name, value in access.items() if value is not None}


_SHOWN = "access recurringIndicator validUntil frequencyPerDay lastActionDate consentStatus".split()


@handler(
    "consents.read",
    takes=(inputs.CONSENT.needed,),
    raises="consent-unknown",
    returns=" ".join(["consent", *(f"consent.{name}" for name in _SHOWN), "access", "self"]),
)
def read(call: Call) -> dict[str, Any]:
    """The whole consent, and `access` as it was asked for; the operation decides what of it is said."""
    _, consent = find_consent(call, call.need("consent"))
    access = consent.get("access", {})
    covered = [reference(call, iban) for iban in consent["accounts"]]
    return {
        "access": access or dict.fromkeys(LISTS, covered),
        "self": call.self_path,
        "consent": {
            "access": {
                "accounts": covered,
                "balances": access.get("balances", []),
                "transactions": access.get("transactions", []),
            },
            "recurringIndicator": consent["recurringIndicator"],
            "validUntil": consent["validUntil"],
            "frequencyPerDay": consent["frequencyPerDay"],
            "lastActionDate": consent["lastActionDate"],
            "consentStatus": status_of(consent),
        },
    }


@handler("consents.status", takes=(inputs.CONSENT.needed,), raises="consent-unknown", returns="consentStatus")
def status(call: Call) -> dict[str, Any]:
    """The status alone: it is polled, and nothing else is looked up for it."""
    _, consent = find_consent(call, call.need("consent"))
    return {"consentStatus": status_of(consent)}


@handler(
    "consents.delete",
    takes=(inputs.CONSENT.needed,),
    raises="consent-unknown",
    options={
        "keeps": Option(
            "The consent stays, as terminatedByTpp unless it has ended before.", {"type": "boolean"}, default=False
        )
    },
)
def delete(call: Call) -> dict[str, Any]:
    """The consent is unknown from now on, or is kept as one that the TPP has ended."""
    id, consent = find_consent(call, call.need("consent"))
    if call.options["keeps"]:
        signing.move(call, FAMILIES["consent"], id, "delete, kept")
    else:
        call.state.delete("consents", id)
        signing.abandon(call, consent)
    return {}


def redirects(call: Call) -> dict[str, str | None]:
    """The addresses that the PSU is sent back to, as the TPP registers it with a resource."""
    return {
        "redirectUri": call.take("redirect_uri"),
        "nokRedirectUri": call.take("nok_redirect_uri"),
    }


def find_consent(call: Call, id: str) -> tuple[str, Document]:
    """The consent, and its id as it is kept."""
    kept = as_kept(id)
    consent = call.state.get("consents", kept)
    if consent is None:
        raise BankError("consent-unknown", id=id)
    original = call.state.testdata().get("consents", {}).get(kept) or {}
    if original.get("permanent") and "permanent" not in consent:
        # Kept by a version that let it expire, and without the member that says that it doesn't.
        consent = {**{name: value for name, value in consent.items() if name != "consentStatus"}, **original}
    return kept, consent


def due(consent: Mapping[str, Any]) -> datetime | None:
    """The instant at which it expires: the day after its `validUntil` begins, by the bank's time."""
    if consent.get("permanent"):
        return None
    last = date.fromisoformat(consent["validUntil"])
    can_expire = CONSENT.after(status_of(consent), "validUntil passes") and last < date.max
    return beginning(last + timedelta(days=1)) if can_expire else None


def status_of(consent: Mapping[str, Any]) -> str:
    return signing.status_of(FAMILIES["consent"], consent)


def reference(call: Call, iban: str) -> dict[str, Any]:
    """An account as it is referred to (spec 2.2)."""
    account = call.state.get("accounts", iban)
    return {"iban": iban, "currency": account["currency"] if account else None}


def find_account(call: Call, reference: Mapping[str, Any], pointer: str) -> str:
    """The IBAN of an account that the body refers to at `pointer`, by the first of its numbers.

    Raises BankError: `account-not-held`, or `format-error` for no number at all and for another currency.
    """
    name = next((name for name in IDENTIFIERS if reference.get(name)), None)
    if name is None:
        raise BankError("format-error", path=pointer, expected=f"one of {', '.join(IDENTIFIERS)} is needed")
    number: str = reference[name]
    iban = number if name == "iban" else _iban(call, name, number)
    if iban is None or call.state.get("accounts", iban) is None:
        raise BankError("account-not-held", path=f"{pointer}/{name}", id=number)
    check_currency(call, {**reference, "iban": iban}, pointer)
    return iban


def _iban(call: Call, name: str, number: str) -> str | None:
    """The IBAN of the account that has another number, or of the one that a card is paid from."""
    accounts, cards = call.state.all("accounts"), call.state.all("cardAccounts").values()
    linked = (card["linkedAccount"] for card in cards if card.get(name) == number)
    return next((iban for iban, account in accounts.items() if account.get(name) == number), next(linked, None))


def check_currency(call: Call, reference: Mapping[str, Any], pointer: str) -> None:
    """Raises BankError `format-error` where the account is the bank's own and has another currency."""
    iban, currency = reference.get("iban"), reference.get("currency")
    account = call.state.get("accounts", iban) if iban and currency else None
    if account and currency != account["currency"]:
        text = f"currency must be {account['currency']}, that of the account {iban}, or left out, not {currency}"
        raise BankError("format-error", path=f"{pointer}/currency", expected=text)


def _find_preconfigured(call: Call, ibans: list[str]) -> str | None:
    """The consent that the test data ties to just this account (spec 2.1)."""
    consents = call.state.testdata().get("consents", {}).items()
    return next((id for id, c in consents if c["role"] == "valid" and c["accounts"] == ibans), None)


def _restore(call: Call, id: str) -> None:
    """Shows the consent as it is preconfigured; authorisations of it that are open go on."""
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
