"""Hints name typical mistakes, and only those in the request."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine
from tests.support.explained import UUID, codes, explained
from tests.support.writing import engine, rules
from xs2a_sandbox.engine import Engine

READ = {"X-Request-ID": UUID, "Consent-ID": facts.consent()}
PAY = {"X-Request-ID": UUID, "PSU-IP-Address": "192.0.2.1"}


@pytest.fixture(scope="module")
def bank() -> Engine:
    return an_engine()


@pytest.mark.parametrize(
    ("method", "url", "headers", "body", "hints"),
    [
        ("GET", "/v1/accounts", READ, None, set()),
        ("POST", f"/v1/{bodies.SEPA}", PAY, bodies.payment(bodies.SEPA), set()),
        ("GET", "/v1/accounts", {"X-Request-ID": UUID}, None, {"consent-missing"}),
        ("GET", "/v1/acounts", {"X-Request-ID": UUID}, None, {"consent-missing"}),
        ("GET", "/v1/accounts", {**READ, "X-Request-ID": "1"}, None, {"request-id-invalid"}),
        ("GET", "/v1/accounts", {"Consent-ID": facts.consent()}, None, {"request-id-invalid"}),
        ("GET", "/v1/v1/accounts", READ, None, {"path-doubled"}),
        ("GET", "/v1/v1/acounts", READ, None, {"path-doubled"}),
        ("GET", "/accounts", READ, None, {"path-incomplete"}),
        ("PUT", "/v1/accounts", READ, None, {"method-wrong"}),
        ("POST", "/v1/payments/sepa-credit-transfer", PAY, None, {"product-unknown"}),
        ("GET", "/v1/payments/x/y/status", PAY, None, {"product-unknown"}),
        ("GET", "/v1/accounts", {**READ, "Consent-ID": UUID}, None, {"consent-unknown"}),
        ("GET", f"/v1/consents/{UUID}/status", PAY, None, {"consent-unknown"}),
        ("GET", "/nothing/like/it", {}, None, set()),
    ],
)
def test_each_mistake_has_its_hint(
    bank: Engine, method: str, url: str, headers: dict[str, str], body: Any, hints: set[str]
) -> None:
    assert codes(explained(bank, method, url, headers, body)) == hints


def text(bank: Engine, method: str, url: str, headers: dict[str, str], body: Any = None) -> str:
    (hint,) = explained(bank, method, url, headers, body)["hints"]
    return str(hint["text"])


def test_a_similar_product_is_suggested(bank: Engine) -> None:
    printed = text(bank, "POST", "/v1/payments/sepa-credit-transfer", PAY)
    assert printed == "unknown product sepa-credit-transfer; did you mean sepa-credit-transfers?"
    assert "the values are cross-border-credit-transfers, instant" in text(bank, "POST", "/v1/payments/pigeon", PAY)


def test_the_hint_about_a_consent_names_the_session_and_the_reset(bank: Engine) -> None:
    unknown = text(bank, "GET", "/s/ci/v1/accounts", {**READ, "Consent-ID": UUID})
    assert f"the consent {UUID} is unknown in the session ci; a consent is known only" in unknown

    client = Client(bank, "gone")
    assert client.delete(f"/v1/consents/{facts.consent()}").status == 204
    assert "`xs2a-sandbox reset --session gone` restores it" in text(bank, "GET", "/s/gone/v1/accounts", READ)
    assert codes(explained(bank, "GET", "/v1/accounts", READ)) == set()


def test_an_unreadable_body_has_a_hint(tmp_path: Path) -> None:
    small = engine(tmp_path, rules({"id": "r", "match": {"path": "/x", "body": {"/a": 1}}}))

    assert codes(explained(small, "POST", "/x", {}, "{a: 1}")) == {"body-unreadable"}
    assert codes(explained(small, "POST", "/x", {}, {"a": 2})) == set()


@pytest.mark.parametrize("url", ["/v1/consents", "/v1/consens"])
def test_an_unreadable_body_of_an_operation_has_a_hint(bank: Engine, url: str) -> None:
    printed = text(bank, "POST", url, {**PAY, "Content-Type": "application/json"}, '{"access":')

    assert printed.startswith("no condition on the body can match: the body must be JSON")


def test_a_body_that_the_operation_ignores_need_not_be_json(bank: Engine) -> None:
    assert codes(explained(bank, "GET", "/v1/accounts", READ, "{")) == set()
