"""Rules made from exchanges can be loaded, give the same answer, and their examples pass."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import Client, an_engine
from tests.support.linting import run
from xs2a_sandbox.cassette.rule_text import read_rules
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.authoring.case_from_exchange import case_from
from xs2a_sandbox.features.authoring.examples import examples
from xs2a_sandbox.features.pytest.sandbox import Blueprint
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.journal.journal import KEPT_BODY, Journal, Journaled
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.state import MemoryStore

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


@pytest.fixture(scope="module")
def blueprint(tmp_path_factory: pytest.TempPathFactory) -> Blueprint:
    return Blueprint.read(Settings(state="memory:", confdir=tmp_path_factory.mktemp("confdir")))


def with_case(blueprint: Blueprint, case: dict[str, Any]) -> Engine:
    """Read the rule like a cassette, with all checks of lint."""
    cassette = read_rules(to_json({"cassette": 1, "rules": [case]}).decode(), Path("case"), blueprint.schemas, "case")
    return blueprint.engine(blueprint.extend([[cassette]]), MemoryStore(), Journal())


def exchanged(method: str, target: str, **options: Any) -> Journaled:
    engine = an_engine()
    Client(engine).request(method, target, **options)
    (entry,) = engine.journal
    return entry


CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", f"/v1/consents/{CONSENT}/status", {}),
    ("GET", "/v1/accounts?withBalance=true", {"consent": CONSENT}),
    ("GET", "/v1/accounts", {}),
    ("POST", "/v1/consents", {"json": {"access": {}, "n": [1, "a/b", {"~": None}]}}),
    ("GET", "/v1/nowhere/at/all?x=1", {}),
    ("DELETE", f"/v1/consents/{CONSENT}", {}),
    ("GET", f"/bank/v1/consents/{CONSENT}", {}),
    ("GET", f"/v1/consents/{CONSENT}/status", {"headers": {"X-Request-ID": None}}),
]


@pytest.mark.parametrize(("method", "target", "options"), CALLS, ids=[f"{m} {t}" for m, t, _ in CALLS])
def test_the_rule_gives_the_same_answer_to_the_same_request(
    blueprint: Blueprint, method: str, target: str, options: dict[str, Any]
) -> None:
    entry = exchanged(method, target, **options)
    case = case_from(entry, blueprint.interface)
    engine = with_case(blueprint, case)
    again = Client(engine).request(method, target, **options)
    assert again.headers["x-sandbox-rule"] == case["id"]
    assert again.status == entry.status
    expected = entry.answer_json
    if isinstance(expected, dict):
        expected.pop("sandbox", None)
    assert (again.json() if again.body else None) == json.loads(json.dumps(expected, default=float))
    (example,) = [one for one in examples(engine.interface) if one.owner.id == case["id"]]
    assert run(engine, example) == []


def test_values_that_change_with_each_request_may_differ(blueprint: Blueprint) -> None:
    sent = {"id": CONSENT, "endToEndIdentification": "E-1", "name": "Anna", "validUntil": "2026-11-21"}
    case = case_from(exchanged("POST", "/v1/consents", json=sent), blueprint.interface)
    assert case["match"]["body"] == {
        "/id": {"format": "uuid"},
        "/endToEndIdentification": {"exists": True},
        "/name": "Anna",
        "/validUntil": {"format": "date"},
    }


def test_a_large_body_is_not_matched(blueprint: Blueprint) -> None:
    entry = exchanged("POST", "/v1/consents", json={f"m{n}": n for n in range(50)})
    assert "body" not in case_from(entry, blueprint.interface)["match"]


def journaled(response: Response) -> Journaled:
    engine = an_engine()
    exchange = LogEntry("default", "GET", "/v1/x", response.status, 1.0, "rule", "r", fault=response.fault)
    engine.journal.add(Request("GET", "/v1/x", Headers()), response, exchange)
    return engine.journal.entries()[0]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (Response(204), {"status": 204, "raw": True}),
        (
            Response(200, (("Content-Type", "application/json"),), b'{"a": 1, "a": 2}'),
            {
                "status": 200,
                "headers": {"Content-Type": "application/json"},
                "raw": True,
                "text": '{"a": 1, "a": 2}',
            },
        ),
        (
            Response(200, (("Content-Type", "application/json"),), b'{"a": 1.10}'),
            {
                "status": 200,
                "headers": {"Content-Type": "application/json"},
                "raw": True,
                "body": {"a": Decimal("1.10")},
            },
        ),
        (
            Response(200, (("Content-Type", "text/html"), ("Date", "now"), ("X-Mine", "1")), b"<p>{{ x }}</p>"),
            {
                "status": 200,
                "headers": {"X-Mine": "1", "Content-Type": "text/html"},
                "raw": True,
                "text": "<p>{{ x }}</p>",
            },
        ),
        (
            Response(200, (("Content-Type", "image/png"),), b"\xff"),
            {"status": 200, "headers": {"Content-Type": "image/png"}, "raw": True, "base64": "/w=="},
        ),
        (
            Response(200, (("Content-Type", "application/json"),), b"{not json", "truncate"),
            {
                "status": 200,
                "headers": {"Content-Type": "application/json"},
                "fault": "truncate",
                "raw": True,
                "text": "{not json",
            },
        ),
    ],
)
def test_rules_for_all_kinds_of_answers(blueprint: Blueprint, response: Response, expected: dict[str, Any]) -> None:
    case = case_from(journaled(response), blueprint.interface)
    assert case["respond"] == expected
    with_case(blueprint, case)


def test_a_truncated_exchange_makes_no_case(blueprint: Blueprint) -> None:
    with pytest.raises(UserMistake, match="is too large"):
        case_from(journaled(Response(200, (), b"x" * (KEPT_BODY + 1))), blueprint.interface)


def test_a_rule_for_a_refused_request_does_not_match_the_corrected_request(blueprint: Blueprint) -> None:
    order = {
        "debtorAccount": {"iban": "AT459880000010204711"},
        "instructedAmount": {"amount": "1.00", "currency": "EUR"},
        "creditorAccount": {"iban": "AT049880000030577001"},
        "creditorName": "Zuzana",
    }
    path = "/v1/payments/sepa-credit-transfers"
    for wrong, matched in ((None, {"absent": True}), ("nowhere", "nowhere")):
        case = case_from(exchanged("POST", path, json=order, headers={"PSU-IP-Address": wrong}), blueprint.interface)
        assert case["match"]["headers"] == {"PSU-IP-Address": matched}
        bank = Client(with_case(blueprint, case))
        assert bank.request("POST", path, json=order, headers={"PSU-IP-Address": wrong}).status == 400
        assert bank.request("POST", path, json=order).status == 200
