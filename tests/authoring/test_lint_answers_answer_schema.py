"""Lint checks answers against their schemas."""

from pathlib import Path

import pytest

from tests.support.engine_client import an_engine, bundled_engine, cassette
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.features.authoring.lint_answers import check_fixed, complaint
from xs2a_sandbox.http import Response

JSON = (("Content-Type", "application/json"),)


def engine(tmp_path: Path, rest: str, match: str = "{operation: consent-status}") -> Engine:
    return an_engine(layers=cassette(tmp_path, f"rules:\n  - id: mine\n    match: {match}\n{rest}"))


def fixed(bank: Engine) -> list[str]:
    (rule,) = [rule for rule in bank.interface.rules if rule.id == "mine"]
    return [f"{p.line}:{p.column} {p.text}" for p in check_fixed(rule, bank.interface, bank.schemas)]


def complaint_of(bank: Engine, response: Response) -> str | None:
    by = bank.interface.entry("mine")
    assert by
    return complaint(response, by, bank.interface, bank.schemas)


def test_each_answer_of_a_sequence_is_checked(tmp_path: Path) -> None:
    sequence = "    sequence:\n      - {body: {consentStatus: valid}}\n      - {body: {consentStatus: 1}}\n"
    (text,) = fixed(engine(tmp_path, sequence))
    assert text.startswith("8:32 ")


@pytest.mark.parametrize(
    "answer",
    [
        "{body: {consentStatus: perhaps}, raw: true}",
        "{text: perhaps}",
        "{status: 503, body: {consentStatus: perhaps}}",
        "{body: {consentStatus: '{{ query.status }}'}}",
    ],
)
def test_answers_without_a_schema_are_not_checked(tmp_path: Path, answer: str) -> None:
    assert fixed(engine(tmp_path, f"    respond: {answer}\n")) == []


def test_schemas_declared_by_the_rule_take_precedence(tmp_path: Path) -> None:
    own = "    respond: {status: 503, body: {consentStatus: perhaps}}\n    answers: {503: error}\n"
    (text,) = fixed(engine(tmp_path, own))
    assert "(schema error)" in text


def test_only_complete_json_answers_are_checked(tmp_path: Path) -> None:
    bank = engine(tmp_path, "    respond: {body: {consentStatus: '{{ query.status }}'}}\n")
    assert complaint_of(bank, Response(200, (("Content-Type", "text/plain"),), b"x")) is None
    assert complaint_of(bank, Response(200, JSON, b'{"consentStatus": 1}', fault="truncate")) is None
    assert complaint_of(bank, Response(200, JSON)) is None
    assert complaint_of(bank, Response(404, JSON, b'{"consentStatus": 1}')) is None
    text = engine(tmp_path, "    respond: {text: no json, headers: {Content-Type: application/json}}\n")
    assert complaint_of(text, Response(200, JSON, b"no json")) is None


def test_one_of_several_schemas_must_match() -> None:
    bank = bundled_engine()
    transactions = bank.interface.operations["account-transactions"]
    lean = Response(200, JSON, b'{"account": {"iban": "AT459880000010204711"}, "transactions": {"booked": []}}')
    text = complaint(lean, transactions, bank.interface, bank.schemas)
    assert text
    assert "transactions" in text
