"""Consents over time. Tests can move the clock only of the engine in process."""

import uuid
from collections.abc import Callable

import pytest

from tests.contract import bodies, facts, resources
from tests.contract.conftest import Sandbox
from tests.contract.doors import Bank, Send

spec = pytest.mark.spec

DAY = 24 * 60 * 60


@pytest.fixture
def bank(senders: dict[str, Send], sandbox: Sandbox) -> Bank:
    return Bank("process", senders["process"], f"time-{uuid.uuid4().hex}", sandbox.addresses)


@pytest.fixture
def wait(bank: Bank, sandbox: Sandbox) -> Callable[[int], None]:
    """Let days pass in the test's session. Its test data keep their dates."""

    def days(count: int) -> None:
        assert bank.session
        bank.get("/v1/accounts/", consent=facts.consent())
        place = ("_session", "time")
        store = sandbox.engine.store
        version, kept = store.read(bank.session, *place)
        assert store.commit(bank.session, {place: version}, {}, {place: {**(kept or {}), "shift": count * DAY}})

    return days


@spec("reading-consent-lapses")
@pytest.mark.parametrize("ibans", [[], facts.untied()[:1]], ids=["valid", "received"])
def test_a_consent_ends_after_its_last_day(bank: Bank, wait: Callable[[int], None], ibans: list[str]) -> None:
    # Otherwise the consent starts an implicit authorisation, which rejects the consent when it expires after a day.
    apart = {"TPP-Explicit-Authorisation-Preferred": "true"}
    body = bodies.consent(*ibans, validUntil=facts.today(2))
    made = bank.post("/v1/consents", json=body, headers=apart).json()
    path = f"/v1/consents/{made['consentId']}"

    wait(2)
    assert bank.get(f"{path}/status").json() == {"consentStatus": made["consentStatus"]}

    wait(3)
    assert bank.get(f"{path}/status").json() == {"consentStatus": "expired"}
    assert bank.get(path).json()["consentStatus"] == "expired"
    listed = bank.get("/v1/accounts/", consent=made["consentId"])
    assert (listed.status, listed.error["code"]) == (401, "CONSENT_EXPIRED")


@spec("2.1-valid-status")
def test_only_delete_ends_preconfigured_valid_consents(bank: Bank, wait: Callable[[int], None]) -> None:
    for psu in ("anna", "lukas", "zuzana"):
        resources.sign(bank, resources.consent(bank, psu, recurringIndicator=True), psu)
    wait(400)

    for iban, consent_id in facts.tied().items():
        _is_valid(bank, iban, consent_id)
        assert bank.delete(f"/v1/consents/{consent_id}").status == 204
        assert bank.get(f"/v1/consents/{consent_id}/status").error["code"] == "CONSENT_UNKNOWN"
        asked = bank.post("/v1/consents", json=bodies.consent(iban, validUntil="9999-12-31"))
        assert asked.json()["consentId"] == consent_id
        _is_valid(bank, iban, consent_id)


@spec("2.1-valid-status")
def test_a_preconfigured_consent_that_an_older_version_ended_is_valid_again(bank: Bank, sandbox: Sandbox) -> None:
    iban, consent_id = next(iter(facts.tied().items()))
    bank.get("/v1/accounts/", consent=consent_id)
    old = {name: value for name, value in facts.testdata()["consents"][consent_id].items() if name != "permanent"}
    place, store = ("consents", consent_id), sandbox.engine.store
    assert bank.session
    version, _ = store.read(bank.session, *place)
    assert store.commit(bank.session, {place: version}, {}, {place: {**old, "status": "expired"}})

    _is_valid(bank, iban, consent_id)


def _is_valid(bank: Bank, iban: str, consent_id: str) -> None:
    assert bank.get(f"/v1/consents/{consent_id}/status").json() == {"consentStatus": "valid"}
    content = bank.get(f"/v1/consents/{consent_id}").json()
    assert content["consentStatus"] == "valid"
    assert content["validUntil"] >= facts.today(400)
    assert bank.get("/v1/accounts/", consent=consent_id).status == 200
    assert bank.get(f"/v1/accounts/{iban}/transactions?bookingStatus=both", consent=consent_id).status == 200


@spec("reading-consent-lapses")
def test_dates_of_the_test_data_do_not_move(bank: Bank, wait: Callable[[int], None]) -> None:
    path = f"/v1/accounts/{facts.covered()}/transactions?bookingStatus=booked"
    before = bank.get(path, consent=facts.consent()).json()

    wait(5)

    assert bank.get(path, consent=facts.consent()).json() == before
