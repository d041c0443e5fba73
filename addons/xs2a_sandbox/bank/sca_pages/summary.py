"""Summarises for the payment user what they are about to authorise, as rows with a label and lines of text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xs2a_sandbox.bank.domain.access import OWNER, gives, lets_choose
from xs2a_sandbox.bank.domain.accounts import number_of, with_id
from xs2a_sandbox.bank.domain.payees import CLOSE_MATCH, NO_MATCH, NOT_POSSIBLE, doubtful_payees
from xs2a_sandbox.bank.domain.schedule import BULK, STANDING
from xs2a_sandbox.bank.domain.signing import Family, members, payer_of
from xs2a_sandbox.bank.sca_pages.words import Words
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.evaluation.expressions import render
from xs2a_sandbox.cassette.evaluation.values import to_text

_FOREVER = "9999"
_MOST = 20
"""The most entries of a bulk payment that are shown."""

_RIGHTS = (("balances", "balances"), ("entries", "transactions"), (OWNER, "owner_name"))
"""Rights on accounts, and the names of their texts."""
_DOUBTS = {CLOSE_MATCH: "payee_close", NO_MATCH: "payee_wrong", NOT_POSSIBLE: "payee_unchecked"}
"""Outcomes of the verification of a payee, and the names of their texts."""
_SERVICES = {BULK: "bulk", STANDING: "periodic"}
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
    """A labelled row. Each line consists of a text and an explanation in smaller type."""

    label: str
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Doubt:
    """A payee whose verification was not a match. `payee` is the name if there are several payees."""

    text: str
    payee: str
    is_mild: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """`amount` and `to` are emphasised for a single payment; `parts` are the members of a basket."""

    title: str
    rows: Sequence[Row]
    amount: str | None = None
    to: str | None = None
    doubts: Sequence[Doubt] = ()
    parts: Sequence["Summary"] = field(default=())


def summary_of(call: Call, family: Family, resource: Mapping[str, Any], say: Words) -> Summary:
    summary = _summary(call, family, resource, say)
    shown = [row for row in (*summary.rows, *_own_rows(call, family, resource)) if row.lines]
    return replace(summary, rows=shown)


def _own_rows(call: Call, family: Family, resource: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows that the dialect adds. A row without text is left out."""
    if not (authorised := call.authorising.of.get(family.name)) or not authorised.rows:
        return
    scope = call.scope() | {"resource": resource}
    for label, text in authorised.rows:
        lines = [(said, "")] if (said := to_text(render(text, scope))) else []
        yield Row(to_text(render(label, scope)), lines)


def _summary(call: Call, family: Family, resource: Mapping[str, Any], say: Words) -> Summary:
    if family.name == "consent":
        return Summary(say("title_consent"), list(_consent(call, resource, say)))
    if family.name == "login":
        services = [(text, "") for text in _services(call, resource, say)]
        return Summary(say("title_login"), [Row(say("services"), services)])
    if family.name == "basket":
        parts = [summary_of(call, signed_member, member, say) for signed_member, _, member in members(call, resource)]
        return Summary(say.counted("title_basket_of_one", "title_basket", len(parts)), (), parts=parts)
    kind = _SERVICES.get(resource.get("kind") or "", "payment")
    title = say(f"title_cancel_{kind}" if family.name == "cancellation" else f"title_{kind}")
    rows = list(_payment(call, resource, say))
    doubts = list(_doubts(resource, say)) if family.name in ("payment", "mandate") else []
    return Summary(title, rows, say.money(resource.get("amount")), _creditor(resource).get("name"), doubts)


def _doubts(payment: Mapping[str, Any], say: Words) -> Iterator[Doubt]:
    is_bulk = payment.get("kind") == BULK
    doubtful = list(doubtful_payees(payment))
    for payee in doubtful[:_MOST]:
        text = say(_DOUBTS[payee["name_match"]], name=payee["suggested_name"])
        yield Doubt(text, (payee["name"] or "") if is_bulk else "", payee["name_match"] == NOT_POSSIBLE)
    if len(doubtful) > _MOST:
        yield Doubt(say("more", count=len(doubtful) - _MOST), "", is_mild=True)


def accounts_of(call: Call, ids: Sequence[str], say: Words) -> list[dict[str, str]]:
    """Return `number`, and for display `name` and `spaced`, of each account."""
    rows = []
    for id in ids:
        account = with_id(id, call.state.get("accounts", id) or {})
        name = " · ".join(text for text in (account.get("product"), account.get("currency")) if text)
        number = number_of(account)
        rows.append(
            {
                "number": number,
                "name": name or say("account"),
                "spaced": _space(number),
                "owner": account.get("name", ""),
            }
        )
    return rows


def _services(call: Call, login: Mapping[str, Any], say: Words) -> Iterator[str]:
    """Yield the purposes of a login: the texts of the dialect's scopes, or the scope itself if it has no text."""
    for word in (login.get("scope") or "").split():
        name = next((scope.text for scope in call.authorising.scopes_of(word)), None)
        yield say(name) if name else word


def _consent(call: Call, consent: Mapping[str, Any], say: Words) -> Iterator[Row]:
    kinds = [say("account_details"), *(say(text) for right, text in _RIGHTS if gives(consent, right))]
    accounts = [(account["name"], account["spaced"]) for account in accounts_of(call, consent["accounts"], say)]
    if not accounts:
        accounts = [(say("accounts_chosen" if lets_choose(consent) else "accounts_all"), "")]
    yield Row(say("accounts"), accounts)
    yield Row(say("shared"), [(", ".join(kinds), "")])
    if until := consent.get("valid_until"):
        yield Row(say("until"), [(say("until_withdrawn") if until.startswith(_FOREVER) else say.day(until), "")])
    if consent.get("recurring"):
        often = consent.get("frequency")
        times = say.counted("up_to_once_a_day", "up_to_times_a_day", often) if often else ""
        yield Row(say("often"), [(say("again"), times)])
    elif "recurring" in consent:
        yield Row(say("often"), [(say("once"), "")])


def _payment(call: Call, payment: Mapping[str, Any], say: Words) -> Iterator[Row]:
    payer = payer_of(payment)
    debtors = accounts_of(call, [payer] if payer else [], say)
    creditor, remittance = _creditor(payment), _only_part(payment).get("remittance") or {}
    name, number, agent = creditor.get("name") or "", _number(creditor), creditor.get("agent")
    lines = [(name, number)] if name or number else []
    yield Row(say("to"), [*lines, *_entries(payment, say)])
    yield Row(say("bank"), [(agent, "")] if agent else [])
    chosen = [(debtor["name"], debtor["spaced"]) for debtor in debtors]
    yield Row(say("from"), chosen or [(say("payer_chosen"), "")])
    yield Row(say("when"), [_when(payment, say)])
    reference, text = remittance.get("reference"), remittance.get("text")
    yield Row(say("reference"), [(reference, "")] if reference else [])
    yield Row(say("message"), [(text, "")] if isinstance(text, str) and text else [])
    product = (payment.get("product") or "").removeprefix("pain.001-")
    yield Row(say("kind"), [(say.texts.get(product, product), "")] if product else [])


def _entries(payment: Mapping[str, Any], say: Words) -> Iterator[tuple[str, str]]:
    """Yield the payments of a bulk that the page shows."""
    several = payment["parts"] if payment.get("kind") == BULK else []
    for position, part in enumerate(several):
        if position == _MOST:
            yield say("more", count=len(several) - _MOST), ""
            return
        creditor = part.get("creditor") or {}
        yield say("entry", amount=say.money(part["amount"]), name=creditor.get("name") or ""), _number(creditor)


def _only_part(payment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only part of a single payment."""
    parts = payment.get("parts") or ()
    return parts[0] if parts and payment.get("kind") != BULK else {}


def _creditor(payment: Mapping[str, Any]) -> Mapping[str, Any]:
    return _only_part(payment).get("creditor") or {}


def _number(creditor: Mapping[str, Any]) -> str:
    account = creditor.get("account") or {}
    return _space(account["iban"]) if account.get("iban") else account.get("bban") or ""


def _when(payment: Mapping[str, Any], say: Words) -> tuple[str, str]:
    if payment.get("kind") == STANDING:
        schedule = payment["schedule"]
        frequency = str(schedule.get("frequency") or "")
        end = say("until_day", day=say.day(schedule["end"])) if schedule.get("end") else say("until_cancelled")
        begin = say.day(schedule["start"])
        if frequency.lower() in _FREQUENCIES:
            return say(_FREQUENCIES[frequency.lower()], day=begin), end
        return say("other_frequency", frequency=f"{frequency[:1].upper()}{frequency[1:]}", day=begin), end
    if payment.get("instant"):
        return say("instant"), ""
    day = payment.get("execute_on")
    return say.day(day) if day else say("at_once"), ""


def _space(iban: str) -> str:
    return " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
