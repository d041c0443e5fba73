"""Handlers without preceding checks, and cases that the dialect's own operations rarely cause."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine, bundled_engine, cassette, speaking
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
def test_a_missing_consent_is_reported(operation: Any, tmp_path: Path) -> None:
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


ALL = """
rules:
  - id: balances
    match: {method: GET, path: /all/balances}
    handler: accounts.list_balances
    with: {frequency: true, rights: true}
    respond: {body: {total: "{{ result.balances | length }}"}}
  - id: entries
    match: {method: GET, path: /all/entries}
    handler: accounts.list_transactions
    with: {frequency: true, rights: true, lists: {booked: [booked]}}
    input: {lists: booked}
    respond: {body: {total: "{{ result.booked | length }}"}}
"""


@pytest.mark.parametrize("path", ["/all/balances", "/all/entries"])
def test_handlers_for_all_accounts_check_the_consent(path: str, tmp_path: Path) -> None:
    client = Client(an_engine(layers=cassette(tmp_path, ALL)))
    refused = {
        "CONSENT_UNKNOWN": facts.consent("unknown"),
        "CONSENT_EXPIRED": facts.consent("expired"),
        "CONSENT_INVALID": created(client),
        "FORMAT_ERROR": None,
    }
    assert {client.get(path, consent=consent).error["code"]: consent for consent in refused.values()} == refused

    alone = {"PSU-IP-Address": None}
    answers = [client.get(path, consent=facts.consent(), headers=alone) for _ in range(5)]
    assert [answer.status for answer in answers] == [200] * 4 + [429]
    assert all(answer.json()["total"] for answer in answers[:4])
    assert answers[4].error["code"] == "ACCESS_EXCEEDED"


def test_entries_of_all_accounts_in_an_invalid_period(tmp_path: Path) -> None:
    client = Client(an_engine(layers=cassette(tmp_path, ALL)))
    answer = client.get("/all/entries?dateFrom=2030-02-01&dateTo=2030-01-01", consent=facts.consent())

    assert (answer.status, answer.error["code"]) == (400, "PERIOD_INVALID")


def created(client: Client) -> str:
    answer = client.post("/v1/consents", json=bodies.consent(IBAN))
    assert answer.status == 200, answer.body
    return str(answer.json()["consentId"])


def test_an_unauthorised_consent_shows_no_transaction() -> None:
    client = Client(an_engine())
    answer = client.get(f"/v1/accounts/{IBAN}/transactions/x", consent=created(client))

    assert (answer.status, answer.error["code"]) == (401, "CONSENT_INVALID")


def test_an_unknown_customer_prevents_an_implicit_authorisation() -> None:
    answer = Client(an_engine()).post("/v1/consents", json=bodies.consent(IBAN), headers={"PSU-ID": "nobody"})

    assert (answer.status, answer.error["code"]) == (401, "PSU_CREDENTIALS_INVALID")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"psuData": {"password": "x"}, "confirmationCode": "y"}, "FORMAT_ERROR"),
        ({"psuData": {"password": "x"}}, "SERVICE_INVALID"),
    ],
)
def test_a_start_with_impossible_data(body: Any, code: str) -> None:
    client = Client(an_engine())
    answer = client.post(f"/v1/consents/{created(client)}/authorisations", json=body)

    assert (answer.status, answer.error["code"]) == (400, code)


def test_the_path_contains_service_and_product(tmp_path: Path) -> None:
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


LATER = """\
cassette: 1
title: Mandates whose payments come later
rules:
  - id: begin-file
    match: {method: POST, path: /our/files}
    handler: mandates.create
    with: {payments: later, payer: chosen}
    input: {kind: "{{ body.kind }}"}
    respond: {body: {id: "{{ result.id }}"}}
  - id: complete-file
    match: {method: POST, path: "/our/files/{mandate}"}
    handler: mandates.complete
    with: {payer: chosen}
    input:
      kind: "{{ body.kind }}"
      mandate: "{{ path.mandate }}"
      customer: "{{ body.customer }}"
      parts: [{amount: {currency: GBP, amount: "1.00"}, creditor: {account: {iban: GB33BUKB20201555555555}}}]
      execute_on: "{{ body.execute_on }}"
      schedule: {start: "{{ body.start }}", end: "{{ body.end }}", frequency: "{{ body.frequency }}"}
    respond: {body: {status: "{{ result.status }}"}}
"""


def test_the_payments_of_a_mandate_are_checked_when_they_are_added(tmp_path: Path) -> None:
    (tmp_path / "files.yaml").write_text(LATER)
    client = Client(speaking("obie-4.0", tmp_path))

    def complete(id: str, **body: str) -> str:
        answer = client.post(f"/our/files/{id}", json=body)
        return answer.json()["Errors"][0]["Message"] if answer.status != 200 else answer.json()["status"]

    single, standing = (client.post("/our/files", json={"kind": kind}).json()["id"] for kind in ("single", "standing"))
    assert complete("nobody", kind="single") == "consent nobody unknown"
    assert "execute_on must not be before" in complete(single, kind="single", execute_on="2020-01-01")
    order = {"kind": "standing", "start": "2099-02-01", "frequency": "monthly"}
    assert "must not be before" in complete(standing, **order, end="2099-01-01")
    assert complete(single, kind="single", customer="nobody") == "the customer is unknown"
    assert complete(single, kind="single") == "awaiting"
