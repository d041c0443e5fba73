"""Verifies payees: whether an account belongs to the person or company that the payer means."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xs2a_sandbox.bank.domain.accounts import find_by_number, find_owner
from xs2a_sandbox.bank.domain.payee_names import compare_names
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.state import Document
from xs2a_sandbox.state.faults import PAYEE_OUTCOMES, demand

COMPARED = "compared"
MATCH, CLOSE_MATCH, NO_MATCH, NOT_POSSIBLE = PAYEE_OUTCOMES


class Payee(NamedTuple):
    """A holder of an account, with identifiers by scheme."""

    name: str | None
    identifiers: Mapping[str, str]


def verify(call: Call, payee: Mapping[str, Any], verification: str) -> Document:
    """Return the outcomes for a payee with an `account`, a `name`, or `identifiers` of a `scheme` and a `value`.

    `verification` is `compared`, or the outcome of all verifications. A fault of the session takes precedence.
    """
    known = find_payee(call, payee.get("account") or {})
    name, identifiers = payee.get("name"), _identifiers(payee["identifiers"]) if payee.get("identifiers") else []
    forced = demand(call.state, "payee") or (None if verification == COMPARED else verification)
    by_name = (forced or _compare_name(name, known)) if name else None
    by_identifier = (forced or _compare_identifiers(identifiers, known)) if identifiers else None
    return {
        "name_match": by_name,
        "suggested_name": ((known and known.name) or name) if by_name == CLOSE_MATCH else None,
        "identifier_match": MATCH if by_identifier == CLOSE_MATCH else by_identifier,
    }


def find_payee(call: Call, account: Mapping[str, Any]) -> Payee | None:
    """Return the holder of the account with this IBAN, here or at another bank, or None if the bank knows none."""
    iban = "".join(str(account.get("iban") or "").split()).upper()
    if id := find_by_number(call, "iban", iban) if iban else None:
        held = call.state.get("accounts", id) or {}
        return Payee(find_owner(call, held), held.get("identifiers") or {})
    elsewhere = call.state.get("payees", iban) if iban else None
    return Payee(elsewhere["name"], elsewhere.get("identifiers") or {}) if elsewhere else None


def doubtful_payees(payment: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the payees of a payment that are not a match: the `name` as it was sent, and the outcome."""
    for part, outcome in zip(payment.get("parts") or (), payment.get("verifications") or (), strict=False):
        if outcome and outcome["name_match"] != MATCH:
            yield {"name": (part.get("creditor") or {}).get("name"), **outcome}


def _compare_name(name: str, known: Payee | None) -> str:
    return compare_names(name, known.name) if known and known.name else NOT_POSSIBLE


def _compare_identifiers(identifiers: Sequence[tuple[str, str]], known: Payee | None) -> str:
    """Compare with the identifiers of the same scheme. Without any, a comparison is not possible."""
    there = {_plain(scheme): _plain(value) for scheme, value in (known.identifiers if known else {}).items()}
    results = [there[scheme] == value for scheme, value in identifiers if scheme in there]
    return (MATCH if all(results) else NO_MATCH) if results else NOT_POSSIBLE


def _identifiers(listed: Sequence[Any]) -> list[tuple[str, str]]:
    """Return scheme and value of each identifier that has a value."""
    return [(_plain(str(item.get("scheme") or "")), _plain(str(item["value"]))) for item in listed if item.get("value")]


def _plain(text: str) -> str:
    """Return letters and digits only: spaces and dots make no difference."""
    return "".join(sign for sign in text.upper() if sign.isalnum())
