"""The question to the payment user in words: rows of a label and lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.bank.domain.access import gives, is_bank_offered
from xs2a_sandbox.bank.domain.bookings import entries
from xs2a_sandbox.bank.domain.schedule import is_instant
from xs2a_sandbox.bank.domain.signing import Family, members
from xs2a_sandbox.bank.sca_pages.words import Words
from xs2a_sandbox.cassette import Call

_FOREVER = "9999"
_MOST = 20
"""Entries of a bulk payment that are shown."""

_KINDS = {
    "sepa-credit-transfers": "sepa",
    "instant-sepa-credit-transfers": "instant_sepa",
    "cross-border-credit-transfers": "cross_border",
    "target-2-payments": "target_2",
}
_RIGHTS = (("balances", "balances"), ("transactions", "transactions"), ("ownerName", "owner_name"))
"""Rights on accounts, and the texts that say them."""
_SERVICE_OF = {"AIS": "service_accounts", "PIS": "service_payments", "PIIS": "service_funds"}
"""The text that says what each scope of OAuth is for."""
_SERVICES = {"bulk-payments": "bulk", "periodic-payments": "periodic"}
_FREQUENCIES = {
    "daily": "daily",
    "weekly": "weekly",
    "everytwoweeks": "every_two_weeks",
    "monthly": "monthly",
    "everytwomonths": "every_two_months",
    "quarterly": "quarterly",
    "semiannual": "semi_annual",
    "annual": "annual",
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


def summary_of(call: Call, family: Family, resource: Mapping[str, Any], say: Words) -> Summary:
    if family.name == "consent":
        return Summary(say("title_consent"), _consent(call, resource, say))
    if family.name == "login":
        services = [(say(_SERVICE_OF[scope]), "") for scope in resource["scope"].split()]
        return Summary(say("title_login"), [Row(say("services"), services)])
    if family.name == "basket":
        parts = [summary_of(call, signed_member, member, say) for signed_member, _, member in members(call, resource)]
        return Summary(say.counted("title_basket_of_one", "title_basket", len(parts)), (), parts=parts)
    kind = _SERVICES.get(resource["service"], "payment")
    title = say(f"title_cancel_{kind}" if family.name == "cancellation" else f"title_{kind}")
    rows = [row for row in _payment(call, resource, say) if row.lines]
    return Summary(title, rows, say.money(resource.get("instructedAmount")), resource.get("creditorName") or None)


def accounts_of(call: Call, ibans: Sequence[str], say: Words) -> list[dict[str, str]]:
    """`iban`, and for eyes `name` and `spaced`."""
    rows = []
    for iban in ibans:
        account = call.state.get("accounts", iban) or {}
        name = " · ".join(text for text in (account.get("product"), account.get("currency")) if text)
        rows.append(
            {"iban": iban, "name": name or say("account"), "spaced": _space(iban), "owner": account.get("name", "")}
        )
    return rows


def _consent(call: Call, consent: Mapping[str, Any], say: Words) -> list[Row]:
    kinds = [say("account_details"), *(say(text) for right, text in _RIGHTS if gives(consent.get("access"), right))]
    accounts = [(account["name"], account["spaced"]) for account in accounts_of(call, consent["accounts"], say)]
    if not accounts:
        accounts = [(say("accounts_chosen" if is_bank_offered(consent) else "accounts_all"), "")]
    often = consent["frequencyPerDay"]
    until = consent["validUntil"]
    times = say.counted("up_to_once_a_day", "up_to_times_a_day", often)
    return [
        Row(say("accounts"), accounts),
        Row(say("shared"), [(", ".join(kinds), "")]),
        Row(say("until"), [(say("until_withdrawn") if until.startswith(_FOREVER) else say.day(until), "")]),
        Row(say("often"), [(say("again"), times)] if consent["recurringIndicator"] else [(say("once"), "")]),
    ]


def _payment(call: Call, payment: Mapping[str, Any], say: Words) -> Iterator[Row]:
    request = payment.get("request", payment)
    debtor = accounts_of(call, [payment["debtorAccount"]["iban"]], say)[0]
    creditor = payment.get("creditorAccount") or {}
    number = _space(creditor["iban"]) if creditor.get("iban") else creditor.get("bban") or ""
    agent = payment.get("creditorAgent")
    lines = [(payment.get("creditorName") or "", number)] if payment.get("creditorName") or number else []
    yield Row(say("to"), [*lines, *_entries(payment, say)])
    yield Row(say("bank"), [(agent, "")] if agent else [])
    yield Row(say("from"), [(debtor["name"], debtor["spaced"])])
    yield Row(say("when"), [_when(payment, request, say)])
    reference = (payment.get("remittanceInformationStructured") or {}).get("reference")
    text = payment.get("remittanceInformationUnstructured")
    yield Row(say("reference"), [(reference, "")] if reference else [])
    yield Row(say("message"), [(text, "")] if isinstance(text, str) and text else [])
    product = payment["product"].removeprefix("pain.001-")
    yield Row(say("kind"), [(say(_KINDS[product]) if product in _KINDS else product, "")])


def _entries(payment: Mapping[str, Any], say: Words) -> Iterator[tuple[str, str]]:
    """The payments of a bulk, as far as the page shows them."""
    several = entries(payment) if payment["service"] == "bulk-payments" else []
    for position, entry in enumerate(several):
        if position == _MOST:
            yield say("more", count=len(several) - _MOST), ""
            return
        creditor = entry.get("creditorAccount") or {}
        number = _space(creditor["iban"]) if creditor.get("iban") else creditor.get("bban") or ""
        yield say("entry", amount=say.money(entry["instructedAmount"]), name=entry.get("creditorName") or ""), number


def _when(payment: Mapping[str, Any], request: Mapping[str, Any], say: Words) -> tuple[str, str]:
    if payment["service"] == "periodic-payments":
        frequency = str(request.get("frequency") or "")
        end = say("until_day", day=say.day(request["endDate"])) if request.get("endDate") else say("until_cancelled")
        begin = say.day(request["startDate"])
        if frequency.lower() in _FREQUENCIES:
            return say(_FREQUENCIES[frequency.lower()], day=begin), end
        return say("other_frequency", frequency=f"{frequency[:1].upper()}{frequency[1:]}", day=begin), end
    if is_instant(payment):
        return say("instant"), ""
    day = request.get("requestedExecutionDate")
    return say.day(day) if day else say("at_once"), ""


def _space(iban: str) -> str:
    return " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
