"""The question to the payment user in words: rows of a label and lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from xs2a_sandbox.bank.handlers.signing import Family, members
from xs2a_sandbox.cassette import Call

_FOREVER = "9999"
_MOST = 20
"""Entries of a bulk payment that are shown."""

_KINDS = {
    "sepa-credit-transfers": "SEPA credit transfer",
    "instant-sepa-credit-transfers": "Instant SEPA credit transfer",
    "cross-border-credit-transfers": "Cross-border credit transfer",
}
_SERVICES = {"bulk-payments": "Bulk payment", "periodic-payments": "Standing order"}
_FREQUENCIES = {
    "daily": "every day",
    "weekly": "every week",
    "everytwoweeks": "every two weeks",
    "monthly": "every month",
    "everytwomonths": "every two months",
    "quarterly": "every quarter",
    "semiannual": "every half-year",
    "annual": "every year",
}


@dataclass(frozen=True, slots=True)
class Row:
    """Each line is a text and, smaller, what explains it."""

    label: str
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Summary:
    """`amount` and `to` stand out where there is one payment; `parts` are the members of a basket."""

    title: str
    rows: Sequence[Row]
    amount: str | None = None
    to: str | None = None
    parts: Sequence["Summary"] = field(default=())


def asked(call: Call, family: Family, resource: Mapping[str, Any]) -> Summary:
    if family.name == "consent":
        return Summary("Access to your accounts", _consent(call, resource))
    if family.name == "basket":
        parts = [asked(call, one, member) for one, _, member in members(call, resource)]
        return Summary(f"Sign {len(parts)} orders together" if len(parts) > 1 else "Sign one order", (), parts=parts)
    title = _SERVICES.get(resource["service"], "Payment")
    title = f"Cancel this {title.lower()}" if family.name == "cancellation" else title
    rows = [row for row in _payment(call, resource) if row.lines]
    return Summary(title, rows, _money(resource.get("instructedAmount")), resource.get("creditorName") or None)


def accounts_of(call: Call, ibans: Sequence[str]) -> list[dict[str, str]]:
    """`iban`, and for eyes `name` and `spaced`."""
    shown = []
    for iban in ibans:
        account = call.state.get("accounts", iban) or {}
        name = " · ".join(text for text in (account.get("product"), account.get("currency")) if text)
        shown.append(
            {"iban": iban, "name": name or "Account", "spaced": _spaced(iban), "owner": account.get("name", "")}
        )
    return shown


def _consent(call: Call, consent: Mapping[str, Any]) -> list[Row]:
    access = consent.get("access")
    kinds = ["Account details"]
    if access is None or access.get("balances"):
        kinds.append("Balances")
    if access is None or access.get("transactions"):
        kinds.append("Transactions")
    often = consent["frequencyPerDay"]
    times = "once a day" if often == 1 else f"{often} times a day"
    until = consent["validUntil"]
    return [
        Row("Accounts", [(one["name"], one["spaced"]) for one in accounts_of(call, consent["accounts"])]),
        Row("What is shared", [(", ".join(kinds), "")]),
        Row("Until", [("You withdraw it" if until.startswith(_FOREVER) else _day(until), "")]),
        Row("How often", [("Again and again", f"up to {times} without you")])
        if consent["recurringIndicator"]
        else Row("How often", [("Once", "")]),
    ]


def _payment(call: Call, payment: Mapping[str, Any]) -> Iterator[Row]:
    request = payment.get("request", payment)
    debtor = accounts_of(call, [payment["debtorAccount"]["iban"]])[0]
    creditor = payment.get("creditorAccount") or {}
    number = _spaced(creditor["iban"]) if creditor.get("iban") else creditor.get("bban") or ""
    agent = payment.get("creditorAgent")
    lines = [(payment.get("creditorName") or "", number)] if payment.get("creditorName") or number else []
    yield Row("To", [*lines, *_entries(request)])
    yield Row("Bank", [(agent, "")] if agent else [])
    yield Row("From", [(debtor["name"], debtor["spaced"])])
    yield Row("When", [_when(payment, request)])
    reference = (payment.get("remittanceInformationStructured") or {}).get("reference")
    text = payment.get("remittanceInformationUnstructured")
    yield Row("Reference", [(reference, "")] if reference else [])
    yield Row("Message", [(text, "")] if isinstance(text, str) and text else [])
    kind = _KINDS.get(payment["product"], payment["product"])
    yield Row("Kind", [(kind, "")])


def _entries(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The payments of a bulk, as far as the page shows them."""
    ibans = request.get("creditorIban") or []
    rows = zip(request.get("creditorName") or [], ibans, request.get("amount") or [], strict=False)
    currencies = request.get("amountCurrency") or []
    for position, (name, iban, amount) in enumerate(rows):
        if position == _MOST:
            yield f"and {len(ibans) - _MOST} more", ""
            return
        money = _money({"amount": amount, "currency": currencies[position]})
        yield f"{money} to {name}", _spaced(iban)


def _when(payment: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[str, str]:
    if payment["service"] == "periodic-payments":
        frequency = str(request.get("frequency") or "")
        text = _FREQUENCIES.get(frequency.lower(), frequency)
        end = f"until {_day(request['endDate'])}" if request.get("endDate") else "until you cancel it"
        return f"{text[:1].upper()}{text[1:]}, from {_day(request['startDate'])}", end
    if payment["product"].startswith("instant-"):
        return "Within seconds", ""
    day = request.get("requestedExecutionDate")
    return _day(day) if day else "As soon as possible", ""


def _money(amount: Mapping[str, str] | None) -> str | None:
    return f"{Decimal(amount['amount']):,f} {amount['currency']}" if amount else None


def _day(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


_MONTHS = "January February March April May June July August September October November December".split()


def _spaced(iban: str) -> str:
    return " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
