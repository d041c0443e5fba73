"""Account information, in process."""

from pathlib import Path

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine
from tests.support.rehearsal import ONE, Thing, a_stage, with_options
from xs2a_sandbox.config import RealBank


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.mark.parametrize(
    "path", ["", "/{id}", "/{id}/balances", "/{id}/transactions?bookingStatus=both", "/{id}/transactions/{entry}"]
)
def test_a_consent_is_used_up_if_the_frequency_is_checked(path: str) -> None:
    client, iban, consent = (
        Client(an_engine(real=RealBank(checks=("frequency",)))),
        facts.covered(),
        facts.consent(),
    )
    everything = client.get(f"/v1/accounts/{iban}/transactions?bookingStatus=booked", consent=consent).json()
    entry = everything["transactions"]["booked"][0]["transactionId"]
    target = f"/v1/accounts{path.format(id=iban, entry=entry)}"
    limit = client.get(f"/v1/consents/{consent}").json()["frequencyPerDay"]
    statuses = [client.get(target, consent=consent, headers={"PSU-IP-Address": None}).status for _ in range(limit + 1)]
    assert statuses == [200] * limit + [429]
    assert client.get(target, consent=consent).status == 200


@pytest.mark.parametrize("consent", [facts.consent(), facts.consent().upper()])
def test_one_account_is_returned(client: Client, consent: str) -> None:
    answer = client.get(f"/v1/accounts/{facts.covered()}/", consent=consent)

    assert (answer.status, answer.json()["resourceId"]) == (200, facts.covered())
    assert "balances" not in answer.json()
    other = client.get(f"/v1/accounts/{facts.uncovered()}", consent=consent)
    assert (other.status, "XS2A016E" in other.error["text"]) == (404, True)


ANNAS = facts.covered()
CARD = "6e0f2a94-3b7d-4c15-8a62-d4097be1c508"
LIST_ONLY = {
    "account-details": f"/v1/accounts/{ANNAS}",
    "account-balances": f"/v1/accounts/{ANNAS}/balances",
    "account-transactions": f"/v1/accounts/{ANNAS}/transactions?bookingStatus=booked",
    "transaction-details": f"/v1/accounts/{ANNAS}/transactions/A-0001",
    "card-account-details": f"/v1/card-accounts/{CARD}",
    "card-account-balances": f"/v1/card-accounts/{CARD}/balances",
    "card-account-transactions": f"/v1/card-accounts/{CARD}/transactions?bookingStatus=booked",
}


@pytest.mark.parametrize("operation", LIST_ONLY)
def test_a_consent_for_the_list_gives_no_other_access_if_rights_are_checked(operation: str, tmp_path: Path) -> None:
    theirs = {"whose": "customer", "status": {"named": "awaiting", "all": "awaiting"}}
    layers = with_options(
        tmp_path,
        {"create-consent": theirs, operation: {"rights": True}},
        access=[{"permissions": ["list"], "accounts": "{{ 'all' if body.access.availableAccounts }}"}],
    )
    stage = a_stage(layers=layers)
    body = bodies.consent(access={"availableAccounts": "allAccounts"})
    consent = Thing("consent", stage.client.post("/v1/consents", json=body).json()["_links"]["self"]["href"], "")
    stage.sign(consent, ONE)

    refused = stage.client.get(LIST_ONLY[operation], consent=consent.id)
    assert (refused.status, refused.error["code"]) == (401, "CONSENT_INVALID")
    assert stage.client.get("/v1/accounts", consent=consent.id).status == 200


def test_an_unsupported_format_is_refused(tmp_path: Path) -> None:
    layers = with_options(tmp_path, {"account-transactions": {"formats": {"text/plain": "mt940"}}})
    client = Client(an_engine(layers=layers))
    path = f"/v1/accounts/{ANNAS}/transactions?bookingStatus=booked"

    refused = client.get(path, consent=facts.consent(), headers={"Accept": "application/xml"})
    assert (refused.status, refused.error["code"]) == (406, "REQUESTED_FORMATS_INVALID")
