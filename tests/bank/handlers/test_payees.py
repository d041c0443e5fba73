"""Verification of payees at both bundled dialects: requested by an app, and during the initiation of a payment."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies
from tests.support.engine_client import Answer, Client, an_engine, speaking
from tests.support.visitor import transaction

ESELSOHR, OSKAR = "AT359850700040087109", "DE47999888770000200002"
NOBODY = "DE89370400440532013000"
EMBEDDED = {"TPP-Redirect-Preferred": "false"}


@pytest.fixture(scope="module")
def berlin() -> Client:
    return Client(speaking("berlin-group-1.3"))


@pytest.fixture(scope="module")
def documented() -> Client:
    return Client(an_engine())


def verify(client: Client, party: Any, iban: str = OSKAR, endpoint: str = "payee-verifications") -> Answer:
    return client.post(f"/v1/{endpoint}", json={"partyAccount": {"iban": iban}, "party": party})


@pytest.mark.parametrize("endpoint", ["payee-verifications", "payer-verifications", "party-verifications"])
def test_one_payee(berlin: Client, endpoint: str) -> None:
    answers = {
        name: verify(berlin, {"name": name}, endpoint=endpoint).json()
        for name in ("PETERSEN OSKAR", "Oscar Petersen", "Nora Lindqvist")
    }
    assert answers == {
        "PETERSEN OSKAR": {"partyNameMatch": "MTCH"},
        "Oscar Petersen": {"partyNameMatch": "CMTC", "matchedName": "Oskar Petersen"},
        "Nora Lindqvist": {"partyNameMatch": "NMTC"},
    }
    assert verify(berlin, {"name": "Oskar Petersen"}, NOBODY, endpoint).json() == {"partyNameMatch": "NOAP"}


def test_a_name_and_an_identifier_have_separate_results(berlin: Client) -> None:
    other = {"others": [{"identification": "DE 000000042", "schemeNameCode": "TXID"}]}
    party = {"name": "Werft Möwe", "identification": {"organisationId": other}}
    answer = verify(berlin, party, "DE27999777660000042424").json()
    assert answer == {"partyNameMatch": "NMTC", "partyIdMatch": "MTCH"}


@pytest.mark.parametrize(
    "endpoint", ["bulk-payee-verifications", "bulk-payer-verifications", "bulk-party-verifications"]
)
def test_several_payees_in_their_order(berlin: Client, endpoint: str) -> None:
    ids = [f"99435c7e-ad88-49ec-a2ad-99ddcb1f555{n}" for n in range(3)]
    parties: list[Any] = [
        {"name": "Nora Lindqvist"},
        {"name": "Oskar Petersen"},
        {"identification": {"organisationId": {"lei": "529900SEESTERN000069"}}},
    ]
    asked = [
        {"uetr": id, "partyAccount": {"iban": OSKAR}, "party": party} for id, party in zip(ids, parties, strict=True)
    ]
    answer = berlin.post(f"/v1/{endpoint}", json={"partyVerificationRequests": asked})
    assert answer.status == 200
    assert answer.json() == {
        "vopBulkStatus": "completed",
        "partyVerificationResponses": [
            {"uetr": ids[0], "partyNameMatch": "NMTC"},
            {"uetr": ids[1], "partyNameMatch": "MTCH"},
            {"uetr": ids[2], "partyIdMatch": "NOAP"},
        ],
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"partyAccount": {"iban": OSKAR}, "party": {}}, "/party/name"),
        ({"partyAccount": {"iban": OSKAR}, "party": {"name": ""}}, "/party/name"),
        ({"partyAccount": {"iban": "DE00"}, "party": {"name": "A"}}, "/partyAccount/iban"),
        ({"partyAccount": {"msisdn": "+49 170 0002002"}, "party": {"name": "A"}}, "/partyAccount/iban"),
        ({"partyAccount": {"iban": OSKAR}, "party": {"name": 7}}, "/party/name"),
        ({"party": {"name": "A"}}, "/partyAccount"),
    ],
)
def test_an_invalid_request(berlin: Client, body: Any, path: str) -> None:
    answer = berlin.post("/v1/payee-verifications", json=body)
    assert answer.status == 400
    (message,) = answer.json()["tppMessages"]
    assert (message["code"], message["path"]) == ("FORMAT_ERROR", path)


def pay(client: Client, name: str, iban: str, product: str = bodies.SEPA, **more: Any) -> Any:
    body = bodies.payment(product, creditorName=name, creditorAccount={"iban": iban}, **more)
    answer = client.post(f"/v1/{product}", json=body, headers=EMBEDDED)
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.parametrize("product", [bodies.SEPA, bodies.INSTANT, bodies.PERIODIC])
def test_without_a_redirect_the_initiation_reports_the_result(documented: Client, product: str) -> None:
    assert pay(documented, "Buchhandlung Eselsohr", ESELSOHR, product)["psuMessage"] is None
    assert (
        "belongs to Buchhandlung Eselsohr." in pay(documented, "Buchhandlung Eselohr", ESELSOHR, product)["psuMessage"]
    )
    assert "does not match" in pay(documented, "Berta Bauer", ESELSOHR, product)["psuMessage"]
    assert "could not be checked" in pay(documented, "Berta Bauer", "AT611904300234573201", product)["psuMessage"]


def test_with_a_redirect_the_initiation_does_not_change(documented: Client) -> None:
    body = bodies.payment(bodies.SEPA, creditorName="Berta Bauer", creditorAccount={"iban": ESELSOHR})
    answer = documented.post(f"/v1/{bodies.SEPA}", json=body, headers={"TPP-Redirect-Preferred": "true"}).json()
    assert answer["psuMessage"] is None


@pytest.mark.parametrize(
    ("product", "more"),
    [(bodies.CROSS_BORDER, {}), (bodies.SEPA, {"currency": "CHF"})],
)
def test_payments_without_verification_of_the_payee(documented: Client, product: str, more: Any) -> None:
    made = pay(documented, "Berta Bauer", ESELSOHR, product, **more)
    assert made["psuMessage"] is None
    assert "verifications" not in (transaction(documented).get("payments", made["paymentId"]) or {})


def test_the_results_of_a_bulk_are_stored_in_order(documented: Client) -> None:
    names = ["Buchhandlung Eselsohr", "Buchhandlung Eselohr"]
    body = bodies.payment(bodies.BULK, creditorIban=[ESELSOHR, ESELSOHR], creditorName=names)
    made = documented.post(f"/v1/{bodies.BULK}", json=body, headers=EMBEDDED).json()
    payment = transaction(documented).get("payments", made["paymentId"]) or {}
    assert payment["verifications"] == [
        {"name_match": "match", "suggested_name": None},
        {"name_match": "close-match", "suggested_name": names[0]},
    ]


def test_the_berlin_group_dialect_reports_the_result_without_a_redirect(berlin: Client) -> None:
    body = {
        "debtorAccount": {"iban": OSKAR},
        "creditorAccount": {"iban": "DE25999777660000068068"},
        "creditorName": "Wohnbau Möwe",
        "instructedAmount": {"currency": "EUR", "amount": "1.00"},
    }
    headers = {**EMBEDDED, "PSU-ID": "oskar"}
    made = berlin.post("/v1/payments/instant-sepa-credit-transfers", json=body, headers=headers)
    assert made.status == 201
    assert made.json()["psuMessage"] == "The name of the payee does not match the account: Wohnbau Möwe."
    right = berlin.post(
        "/v1/payments/sepa-credit-transfers", json={**body, "creditorName": "WOHNBAU HAFENBLICK EG"}, headers=headers
    )
    assert "psuMessage" not in right.json()


MANDATES = """\
cassette: 1
title: Mandates
operations:
  - id: ask-for-mandate
    method: POST
    path: /v1/our-mandates
    handler: mandates.create
    with: {payer: chosen}
    input:
      verify_payees: true
      parts: [{amount: "{{ body.amount }}", creditor: {name: "{{ body.name }}", account: {iban: "{{ body.iban }}"}}}]
    respond: {body: {id: "{{ result.id }}", payees: "{{ result.payees }}"}}
"""


def test_the_payee_of_a_mandate_is_verified_on_creation(tmp_path: Path) -> None:
    (tmp_path / "mandates.yaml").write_text(MANDATES)
    client = Client(speaking("xs2a-1.84", tmp_path))
    body = {"amount": {"currency": "EUR", "amount": "1.00"}, "name": "Buchhandlung Eselohr", "iban": ESELSOHR}
    made = client.post("/v1/our-mandates", json=body).json()
    outcome = {"name_match": "close-match", "suggested_name": "Buchhandlung Eselsohr"}
    assert made["payees"] == [{"name": "Buchhandlung Eselohr", **outcome}]
    assert (transaction(client).get("mandates", made["id"]) or {})["verifications"] == [outcome]
    right = client.post("/v1/our-mandates", json={**body, "name": "Buchhandlung Eselsohr"}).json()
    assert right["payees"] == []
