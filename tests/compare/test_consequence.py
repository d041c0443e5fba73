"""The severity of each difference is its effect on an app. The bank is a sandbox with one change."""

import asyncio
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import an_engine, bundled_engine
from xs2a_sandbox.compare.comparison import Compared, Comparison, Result, Step
from xs2a_sandbox.compare.difference import WEIGHTS
from xs2a_sandbox.compare.masking import IgnoreRule, Ignoring
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.features.compare.reports.suggest_ignores import suggest
from xs2a_sandbox.http import Headers, Request, Response

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
HEADERS = Headers(
    [("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("Consent-ID", CONSENT)],
)
ACCOUNTS = "/v1/accounts?withBalance=true"
IBAN = "AT459880000010204711"
BOOKED = f"/v1/accounts/{IBAN}/transactions?bookingStatus=booked"
REFUSED = "/v1/consents/0cae8c3e-1111-4222-8333-444455556666"
Change = Callable[[Any], Any]


@cache
def answer_to(target: str) -> Response:
    return asyncio.run(an_engine().answer(Request("GET", target, HEADERS)))


def bank(target: str, *changes: Change | None, headers: tuple[tuple[str, str], ...] | None = None) -> Any:
    """Return a bank that gives the sandbox's answers with these changes, one after the other."""
    answers = iter(changes)

    async def ask(request: Request) -> Response:
        response, change = answer_to(target), next(answers)
        body = json.loads(response.body)
        if change:
            change(body)
        return Response(response.status, response.headers if headers is None else headers, json.dumps(body).encode())

    return ask


def compared(target: str, ask: Any, *rules: IgnoreRule, reads: int = 0) -> Compared:
    answer = answer_to(target)

    async def sandbox(request: Request) -> Response:
        return answer

    engine = bundled_engine()
    comparison = Comparison(engine.interface, engine.schemas, sandbox, ask, noise_reads=reads, ignoring=Ignoring(rules))
    return asyncio.run(comparison.step(Step("", Request("GET", target, HEADERS))))


def weights(found: Compared) -> list[tuple[str, str, str]]:
    return [(one.consequence, one.severity, one.where) for one in found.differences]


def put(*path: Any, to: Any) -> Change:
    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        body[path[-1]] = to

    return change


def without(*path: Any) -> Change:
    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        del body[path[-1]]

    return change


def negated(body: Any) -> None:
    amount = body["transactions"]["booked"][0]["transactionAmount"]
    amount["amount"] = (
        amount["amount"].removeprefix("-") if amount["amount"].startswith("-") else f"-{amount['amount']}"
    )


def reversed_booked(body: Any) -> None:
    body["transactions"]["booked"].reverse()


def reversed_balances(body: Any) -> None:
    body["accounts"][0]["balances"].reverse()


FIRST = ("accounts", 0)
BALANCE = (*FIRST, "balances", 0)
MESSAGE = ("tppMessages", 0)


@pytest.mark.parametrize(
    ("target", "change", "consequence", "severity"),
    [
        (ACCOUNTS, without(*FIRST, "iban"), "required-missing", "high"),
        (ACCOUNTS, put(*FIRST, "name", to=None), "other-type", "high"),
        (ACCOUNTS, put(*FIRST, "name", to=7), "other-type", "high"),
        (ACCOUNTS, put(*BALANCE, "balanceType", to="closingBooked"), "unknown-enum", "high"),
        (ACCOUNTS, put(*BALANCE, "referenceDate", to="21.11.2026"), "against-schema", "high"),
        (ACCOUNTS, put(*BALANCE, "balanceAmount", "amount", to="12,30"), "against-schema", "high"),
        (ACCOUNTS, put(*FIRST, "ownerAge", to=7), "unlisted-member", "high"),
        (ACCOUNTS, without(*FIRST, "_links", "balances"), "required-missing", "high"),
        (ACCOUNTS, put(*FIRST, "_links", "balances", "href", to="/v2/x"), "other-link", "high"),
        (BOOKED, negated, "other-sign", "high"),
        (BOOKED, reversed_booked, "order-with-meaning", "high"),
        (REFUSED, put(*MESSAGE, "code", to="RESOURCE_UNKNOWN"), "error-code", "high"),
        (ACCOUNTS, put(*FIRST, "details", to="a text"), "more", "medium"),
        (ACCOUNTS, without(*FIRST, "balances"), "optional-missing", "medium"),
        (ACCOUNTS, without(*FIRST, "details"), "null-or-absent", "medium"),
        (ACCOUNTS, put(*FIRST, "currency", to="USD"), "other-currency", "medium"),
        (ACCOUNTS, put(*FIRST, "name", to="Somebody"), "other-value", "medium"),
        (ACCOUNTS, reversed_balances, "order", "medium"),
        (REFUSED, put(*MESSAGE, "text", to="no"), "other-value", "medium"),
    ],
)  # fmt: skip
def test_the_severity_is_the_effect_on_an_app(target: str, change: Change, consequence: str, severity: str) -> None:
    ((found, weight, _),) = weights(compared(target, bank(target, change)))
    assert (found, weight) == (consequence, severity)


def test_another_known_state_is_less_severe() -> None:
    target = f"/v1/consents/{CONSENT}/status"
    ((found, severity, _),) = weights(compared(target, bank(target, put("consentStatus", to="expired"))))
    assert (found, severity) == ("known-enum", "medium")


@pytest.mark.parametrize(
    ("headers", "consequence"),
    [
        ((("Content-Type", "application/json"), ("WWW-Authenticate", "Bearer")), "header-with-effect"),
        ((("Content-Type", "text/plain"),), "header-with-effect"),
        ((), "header-with-effect"),
        ((("Content-Type", "application/json"), ("X-Node", "7")), "header"),
    ],
)
def test_the_severity_of_a_header_depends_on_its_use_by_clients(headers: Any, consequence: str) -> None:
    ((found, severity, _),) = weights(compared(ACCOUNTS, bank(ACCOUNTS, None, headers=headers)))
    assert (found, severity) == (consequence, WEIGHTS[found].severity)


def test_all_schema_violations_are_reported() -> None:
    def broken(body: Any) -> None:
        body["accounts"][0]["currency"] = "Euro"
        body["accounts"][0]["bic"] = "bank"
        del body["accounts"][0]["balances"][0]["balanceType"]

    comparison = compared(ACCOUNTS, bank(ACCOUNTS, broken))
    assert sorted(one.where for one in comparison.differences if one.drift) == [
        "/accounts/0/balances/0/balanceType",
        "/accounts/0/bic",
        "/accounts/0/currency",
    ]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (put(*BALANCE, "referenceDate", to="21.11.2026"), put(*BALANCE, "referenceDate", to="22.11.2026")),
        (put(*BALANCE, "balanceType", to="a"), put(*BALANCE, "balanceType", to="b")),
        (without(*FIRST, "iban"), None),
        (put(*FIRST, "name", to=1), put(*FIRST, "name", to="x")),
        # Only the second read is wrong.
        (None, put(*FIRST, "currency", to="Euro")),
    ],
)
def test_noise_does_not_mask_schema_violations(first: Change | None, again: Change | None) -> None:
    (found,) = compared(ACCOUNTS, bank(ACCOUNTS, first, again), reads=1).differences
    assert found.drift
    assert found.severity == "high"


def test_noise_within_the_schema_is_masked() -> None:
    changes = (put(*FIRST, "name", to=name) for name in ("a", "b"))
    comparison = compared(ACCOUNTS, bank(ACCOUNTS, *changes), reads=1)
    assert comparison.differences == ()
    assert len(comparison.masked) == 1


@pytest.mark.parametrize(
    ("rule", "severity"),
    [
        (IgnoreRule("ours", consequences=frozenset({"other-value"}), severity="low"), "low"),
        (IgnoreRule("ours", path=("accounts", "*", "name"), severity="high"), "high"),
        (IgnoreRule("others", consequences=frozenset({"other-sign"}), severity="low"), "medium"),
    ],
)
def test_a_rule_can_change_the_severity(rule: IgnoreRule, severity: str) -> None:
    comparison = compared(ACCOUNTS, bank(ACCOUNTS, put(*FIRST, "name", to="x")), rule)
    assert [one.severity for one in comparison.differences] == [severity]
    assert comparison.masked == ()


def test_a_success_with_another_status_is_still_checked_with_the_schema() -> None:
    headers = answer_to(ACCOUNTS).headers

    async def ask(request: Request) -> Response:
        return Response(201, headers, json.dumps({"accounts": "none"}).encode())

    comparison = compared(ACCOUNTS, ask)
    assert {one.consequence for one in comparison.differences if one.drift} == {"other-type"}


def test_the_docs_contain_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (high|medium|low) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(name, weight.severity, weight.reason) for name, weight in WEIGHTS.items()]


@pytest.mark.parametrize(
    ("target", "change"),
    [
        (f"/v1/consents/{CONSENT}/status", put("consentStatus", to="expired")),
        (REFUSED, put(*MESSAGE, "code", to="RESOURCE_UNKNOWN")),
        (ACCOUNTS, put(*FIRST, "currency", to="USD")),
        (ACCOUNTS, put(*BALANCE, "balanceType", to="closingBooked")),
        (BOOKED, negated),
    ],
)
def test_values_with_a_meaning_in_the_interface_are_never_suggested_for_ignoring(target: str, change: Change) -> None:
    rules, (refusal,) = suggest(report(Result((compared(target, bank(target, change)),)), "bank", None))
    assert rules == []
    assert "the interface defines its meaning" in refusal.because


def test_a_personal_name_can_be_suggested_for_ignoring() -> None:
    comparison = compared(ACCOUNTS, bank(ACCOUNTS, put(*FIRST, "name", to="x")))
    ((rule,), _) = suggest(report(Result((comparison,)), "bank", None))
    assert rule["path"] == "/accounts/*/name"


@pytest.mark.parametrize(
    ("mine", "theirs", "means"),
    [
        ("9e999999", "8e999999", "other-value"),
        ("-9e999999", "9e999999", "other-sign"),
        ("-1.00", "1.00", "other-sign"),
        ("-1.00", "0.00", "other-value"),
    ],
)
def test_signs_of_amounts_are_compared_for_any_magnitude(mine: str, theirs: str, means: str) -> None:
    def answering(value: str) -> Any:
        async def answer(request: Request) -> Response:
            return Response(200, (("Content-Type", "application/json"),), json.dumps({"a": value}).encode())

        return answer

    engine = bundled_engine()
    comparison = Comparison(engine.interface, engine.schemas, answering(theirs), answering(mine), noise_reads=0)
    (difference,) = asyncio.run(comparison.step(Step("", Request("GET", "/own", HEADERS)))).differences
    assert difference.consequence == means
