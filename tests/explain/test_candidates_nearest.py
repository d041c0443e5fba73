"""The nearest candidates come first."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import Client, an_engine, cassette
from tests.support.explained import explained, names
from tests.support.writing import ask, engine, rules
from xs2a_sandbox.engine import Engine

CASES = """
rules:
  - id: token-for-gold
    match: {path: /oauth/token, method: POST, headers: {X-Tier: gold}}
    respond: {body: gold}
  - id: token-by-code
    match: {path: /oauth/token, method: POST, body: {/grant_type: authorization_code, /code: {regex: "^c-"}}}
    respond: {body: code}
  - id: revoked
    match: {path: /oauth/revoked, when: "state.notes.revoked"}
    respond: {body: revoked}
  - id: large-transfer
    match: {path: /corporate/transfers, method: POST, body: {/amount: {gte: "10000"}}}
    respond: {body: large}
  - id: small-transfer
    match: {path: /corporate/transfers, method: POST, body: {/amount: {lt: "10"}}}
    respond: {body: small}
  - id: november
    match: {path: /statements, query: {from: {gte: "2026-11-01"}}}
    respond: {body: november}
  - id: catch-tenant
    match: {path: "/{rest*}", headers: {X-Tenant: acme}}
    respond: {body: tenant}
"""

TWELVE: list[tuple[str, str, dict[str, str], Any, str]] = [
    ("GET", "/v1/acounts", {}, None, "account-list"),
    ("GET", "/v1/account/AT1/balance", {}, None, "account-balances"),
    ("GET", "/consents/c-1/status", {}, None, "consent-status"),
    ("POST", "/v1/v1/consent", {}, None, "create-consent"),
    ("POST", "/bank/psd2/v1/payment/sepa-credit-transfers", {}, None, "initiate-payment"),
    ("GET", "/v1/card-acounts/c1/transaction", {}, None, "card-account-transactions"),
    ("POST", "/oauth/token", {"X-Tier": "golden"}, None, "token-for-gold"),
    ("POST", "/oauth/token", {}, {"grant_type": "authorization_code", "code": "x"}, "token-by-code"),
    ("GET", "/oauth/revoked", {}, None, "revoked"),
    ("POST", "/corporate/transfers", {}, {"amount": "9500"}, "large-transfer"),
    ("POST", "/corporate/transfers", {}, {"amount": 10.5}, "small-transfer"),
    ("GET", "/statements?from=2026-10-20", {}, None, "november"),
]
"""Requests without an answer, each with the intended operation."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return an_engine(layers=cassette(tmp_path_factory.mktemp("cases"), CASES))


@pytest.mark.parametrize(("method", "url", "headers", "body", "meant"), TWELVE, ids=[f"{m} {u}" for m, u, *_ in TWELVE])
def test_the_intended_operation_is_the_nearest(
    cases: Engine, method: str, url: str, headers: dict[str, str], body: Any, meant: str
) -> None:
    explanation = explained(cases, method, url, headers, body)

    assert (explanation["decision"], explanation["answer"]["status"]) == ("nothing", 404)
    assert names(explanation)[0] == meant
    assert len(names(explanation)) == 3
    distances = [one["distance"] for one in explanation["nearest"]]
    assert distances == sorted(distances)
    assert 0 < distances[0] < 0.5


def test_an_answer_contains_the_same_explanation_for_all_twelve(cases: Engine) -> None:
    assert len(TWELVE) == 12
    for method, url, headers, body, meant in TWELVE:
        options = {} if body is None else {"json": body}
        explanation = Client(cases).request(method, url, headers=headers, **options).json()["sandbox"]
        assert names(explanation)[0] == meant


@pytest.mark.parametrize(
    ("method", "path", "best"),
    [
        ("GET", "/v1/thing", "list"),
        ("POST", "/v1/thing", "make"),
        ("GET", "/v1/tings/5", "one"),
        ("GET", "/v2/things/5", "one"),
        ("PUT", "/oauth/tokn", "token"),
    ],
)
def test_similar_paths_are_near(tmp_path: Path, method: str, path: str, best: str) -> None:
    bank = engine(tmp_path, rules({"id": "token", "match": {"path": "/oauth/token"}}))

    assert names(explained(bank, method, path))[0] == best


@pytest.mark.parametrize("path", ["/", "//", "/" + "x" * 8_000, "/a" * 4_000, "/v1" * 2_700])
def test_strange_paths_are_explained(tmp_path: Path, path: str) -> None:
    assert len(names(explained(engine(tmp_path), "GET", path))) == 3


def test_of_equally_distant_rules_the_one_with_more_met_conditions_is_first(tmp_path: Path) -> None:
    bank = engine(
        tmp_path,
        rules(
            {"id": "plain", "match": {"path": "/hook", "query": {"a": "1"}}},
            {"id": "special", "match": {"path": "/hook", "headers": {"X-A": "1"}, "query": {"a": "1", "b": "2"}}},
        ),
    )

    # Both miss one condition.
    assert names(explained(bank, "GET", "/hook?b=2", {"X-A": "1"}))[0] == "special"


def test_the_nearest_of_thousands_of_paths_and_rules_is_found(tmp_path: Path) -> None:
    specs = [{"id": f"r{n}", "match": {"path": f"/recorded/{n}/status"}} for n in range(1500)]
    specs += [{"id": f"q{n}", "match": {"path": "/one", "query": {"n": str(n)}}} for n in range(1500)]
    bank = engine(tmp_path, rules(*specs))

    assert names(explained(bank, "GET", "/recorded/1234/state"))[0] == "r1234"
    assert names(explained(bank, "GET", "/one?n=123x"))[0].startswith("q123")


def test_the_answer_to_an_unmatched_request_lists_the_nearest_entries(tmp_path: Path) -> None:

    answer = json.loads(ask(engine(tmp_path), "/v1/thing").body)

    assert answer["sandbox"]["nearest"][0]["operation"] == "list"
