"""Consents, in process: interpretations of the documentation, and unusual bodies."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine
from tests.support.rehearsal import ONE, OWN, a_stage, with_options
from xs2a_sandbox.clock import Clock


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.mark.parametrize("accounts", [7, "x", None, [], [5], ["x"], [{}], [{"iban": 5}], {"iban": 1}])
def test_unlisted_members_are_ignored(client: Client, accounts: Any) -> None:
    alone = client.post("/v1/consents", json=bodies.consent(access={"accounts": accounts}))
    beside = client.post(
        "/v1/consents", json=bodies.consent(access={"accounts": accounts, "balances": [{"iban": facts.covered()}]})
    )

    assert (alone.status, alone.error["code"], alone.error["path"]) == (400, "FORMAT_ERROR", "/access")
    assert beside.json()["consentId"] == facts.tied()[facts.covered()]


def test_the_requested_access_is_returned_as_references(client: Client) -> None:
    iban = facts.untied()[0]
    account = {"iban": iban, "currency": "EUR", "pan": None, "colour": "red"}

    made = client.post("/v1/consents", json=bodies.consent(access={"balances": [account]})).json()["consentId"]

    reference = {"iban": iban, "bban": None, "pan": None, "maskedPan": None, "msisdn": None, "currency": "EUR"}
    access = client.get(f"/v1/consents/{made}").json()["access"]
    assert (access["accounts"], access["balances"], access["transactions"]) == ([reference], [reference], [])


def test_requesting_a_preconfigured_consent_creates_no_copy(client: Client) -> None:
    """A copy in a stored state would keep its dates and become outdated."""
    client.post("/v1/consents", json=bodies.consent(facts.covered()))

    assert client.engine.store.counts() == {}


def test_a_used_preconfigured_consent_does_not_become_outdated_in_persisted_state(client: Client) -> None:
    """It is deleted, created again with an address, and approved on the page.

    In the session default it is valid today.
    """
    path = f"/v1/consents/{facts.consent()}"
    client.delete(path)
    back = {"TPP-Redirect-URI": "https://tpp.example/"}
    made = client.post("/v1/consents", json=bodies.consent(facts.covered()), headers=back).json()
    page = urlsplit(made["_links"]["scaRedirect"]["href"])
    assert client.get(f"{page.path}?{page.query}").status == 200
    later, fresh = an_engine(client.engine.store), an_engine()
    for engine in (later, fresh):
        engine.use(started=Clock().today(100))

    content = Client(later).get(path).json()

    assert content == Client(fresh).get(path).json()
    assert content["lastActionDate"] > client.get(path).json()["lastActionDate"]
    assert len(Client(later).get(f"{path}/authorisations").json()["authorisationIds"]) == 1


@pytest.mark.parametrize("id", [facts.consent(), facts.consent("expired")])
def test_ids_compare_without_case(client: Client, id: str) -> None:
    assert client.get(f"/v1/consents/{id.upper()}/status").json() == client.get(f"/v1/consents/{id}/status").json()


@pytest.mark.parametrize("day", [0, "9999-12-31"])
def test_last_days(client: Client, day: str | int) -> None:
    assert (
        client.post("/v1/consents", json=bodies.consent(**facts.dated({"validUntil": day}))).json()["consentStatus"]
        == "valid"
    )


KINDS = {
    "create-consent": {"kinds": ["allPsd2"], "whose": "customer", "status": {"named": "awaiting", "all": "awaiting"}}
}


def test_only_the_listed_kinds_of_access_are_offered(tmp_path: Path) -> None:
    access = [
        {"kind": kind, "permissions": ["list"], "accounts": f"{{{{ 'all' if body.access.{kind} }}}}"}
        for kind in ("allPsd2", "availableAccounts")
    ]
    client = a_stage(layers=with_options(tmp_path, KINDS, access=access)).client

    offered = client.post("/v1/consents", json=bodies.consent(access={"allPsd2": "allAccounts"}))
    other = client.post("/v1/consents", json=bodies.consent(access={"availableAccounts": "allAccounts"}))
    assert (offered.status, offered.json()["consentStatus"]) == (200, "received")
    assert (other.status, other.error["code"], other.error["path"]) == (400, "PARAMETER_NOT_SUPPORTED", "/access")


def test_an_older_consent_stays_valid_if_the_dialect_says_so(tmp_path: Path) -> None:
    for ends, status in ((True, "expired"), (False, "valid")):
        stage = a_stage(layers=with_options(tmp_path, {"create-consent": {"ends_older": ends}}))
        older, newer = (stage.consent(*OWN[ONE], recurringIndicator=True) for _ in range(2))
        stage.sign(older)
        stage.sign(newer)
        assert (stage.status(older), stage.status(newer)) == (status, "valid")
