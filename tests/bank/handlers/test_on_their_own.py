"""Handlers behind rules that check nothing before them, and what else the dialect's own operations seldom lead to."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine, bundled_engine, cassette
from tests.support.noted_handlers import NOTES, install

IBAN = facts.untied()[0]
OPERATIONS = [
    operation
    for operation in bundled_engine().interface.operations.values()
    if str(operation.behaviour.handler).startswith(("accounts.", "cards."))
]


@pytest.fixture(autouse=True)
def _declared() -> Any:
    install()
    NOTES.undeclared.clear()
    yield
    assert NOTES.undeclared == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_the_consent_is_missing(operation: Any, tmp_path: Path) -> None:
    case = f"""
    rules:
      - id: lenient
        match: {{operation: {operation.id}}}
        require: none
        handler: {operation.behaviour.handler}
    """
    client = Client(an_engine(layers=cassette(tmp_path, case)))
    answer = client.get(operation.pattern.text.replace("{account-id}", facts.covered()).replace("{transactionId}", "x"))

    assert (answer.status, answer.source) == (400, "handler")
    assert "Consent-ID" in answer.error["text"]


def created(client: Client) -> str:
    answer = client.post("/v1/consents", json=bodies.consent(IBAN))
    assert answer.status == 200, answer.body
    return str(answer.json()["consentId"])


def test_a_consent_that_nobody_has_authorised_shows_no_transaction() -> None:
    client = Client(an_engine())
    answer = client.get(f"/v1/accounts/{IBAN}/transactions/x", consent=created(client))

    assert (answer.status, answer.error["code"]) == (401, "CONSENT_INVALID")


def test_a_customer_who_may_not_sign_ends_what_would_be_begun_with_the_consent() -> None:
    answer = Client(an_engine()).post("/v1/consents", json=bodies.consent(IBAN), headers={"PSU-ID": "nobody"})

    assert (answer.status, answer.error["code"]) == (401, "PSU_CREDENTIALS_INVALID")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"psuData": {"password": "x"}, "confirmationCode": "y"}, "FORMAT_ERROR"),
        ({"psuData": {"password": "x"}}, "SERVICE_INVALID"),
    ],
)
def test_a_start_that_holds_what_does_not_go(body: Any, code: str) -> None:
    client = Client(an_engine())
    answer = client.post(f"/v1/consents/{created(client)}/authorisations", json=body)

    assert (answer.status, answer.error["code"]) == (400, code)


def test_the_path_says_service_and_product(tmp_path: Path) -> None:
    case = """
    rules:
      - id: anywhere
        match: {method: POST, path: "/mine/{service}/{product}"}
        handler: payments.initiate
        input: {parts: [{amount: "{{ body.instructedAmount }}"}]}
        respond: {body: {kind: "{{ result.service }}/{{ result.product }}"}}
    """
    client = Client(an_engine(layers=cassette(tmp_path, case)))
    answer = client.post("/mine/payments/instant", json=bodies.payment("sepa-credit-transfers"))

    assert (answer.status, answer.json()) == (200, {"kind": "payments/instant"})
