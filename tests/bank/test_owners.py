"""Whose consents and payments are: to another client they are unknown."""

import base64
from pathlib import Path

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.config import RealBank

CLIENTS = ("PSDAT-FMA-123456", "other-tpp")
BUNDLED = bundled("cassettes") / "testdata.yaml"
SEPA = "payments/sepa-credit-transfers"


@pytest.fixture
def bank(tmp_path: Path) -> Client:
    file = tmp_path / "clients.yaml"
    file.write_text("testdata: 1\nclients:\n" + "".join(f"  {id}: {{secret: x, name: {id}}}\n" for id in CLIENTS))
    return Client(an_engine(testdata=testdata.load([BUNDLED, file]), real=RealBank(checks=("token",))))


def bearer(bank: Client, client: str) -> dict[str, str]:
    """The header with a token of this client's own."""
    basic = base64.b64encode(f"{client}:x".encode()).decode()
    headers = {"Authorization": f"Basic {basic}", "Content-Type": "application/x-www-form-urlencoded"}
    answer = bank.post("/as/token.oauth2", body=b"grant_type=client_credentials", headers=headers)
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


def made(bank: Client, what: str, headers: dict[str, str]) -> str:
    """Where the new one is."""
    if what == "consents":
        consent = bank.post("/v1/consents", json=bodies.consent(facts.untied()[0]), headers=headers)
        return f"/v1/consents/{consent.json()['consentId']}"
    payment = bank.post(f"/v1/{SEPA}", json=bodies.payment(bodies.SEPA), headers=headers)
    return f"/v1/{SEPA}/{payment.json()['paymentId']}"


@pytest.mark.parametrize(("what", "error"), [("consents", "CONSENT_UNKNOWN"), (SEPA, "RESOURCE_UNKNOWN")])
def test_what_another_client_has_created_is_unknown(bank: Client, what: str, error: str) -> None:
    mine, other = (bearer(bank, client) for client in CLIENTS)
    place = made(bank, what, mine)
    assert bank.get(f"{place}/status", headers=mine).status == 200
    refused = bank.get(f"{place}/status", headers=other)
    nowhere = bank.get(f"{place[:-1]}{'0' if place[-1] != '0' else '1'}/status", headers=other)
    assert (refused.status, refused.error["code"]) == (nowhere.status, nowhere.error["code"]), "as one that never was"
    assert refused.error["code"] == error
    assert bank.get(f"{place}/status", headers=mine).status == 200


def test_the_consent_of_another_client_gives_no_accounts(bank: Client) -> None:
    mine, other = (bearer(bank, client) for client in CLIENTS)
    consent = made(bank, "consents", mine).rpartition("/")[2]
    assert bank.get("/v1/accounts", consent=consent, headers=other).error["code"] == "CONSENT_UNKNOWN"


def test_what_the_test_data_have_is_everybodys(bank: Client) -> None:
    path = f"/v1/consents/{facts.consent()}/status"
    assert [bank.get(path, headers=bearer(bank, client)).status for client in CLIENTS] == [200, 200]
