"""What becomes of consents as time goes by. Only the engine in process has a clock that a test can move."""

import uuid
from collections.abc import Callable

import pytest

from tests.contract import bodies, facts
from tests.contract.conftest import Sandbox
from tests.contract.doors import Bank, Send

spec = pytest.mark.spec

DAY = 24 * 60 * 60


@pytest.fixture
def bank(senders: dict[str, Send], sandbox: Sandbox) -> Bank:
    return Bank("process", senders["process"], f"time-{uuid.uuid4().hex}", sandbox.addresses)


@pytest.fixture
def wait(bank: Bank, sandbox: Sandbox) -> Callable[[int], None]:
    """Lets days go by in the test's session; its history stays where it is."""

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
    # Else an authorisation begins with the consent, and nobody finishing it within a day refuses the consent.
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


@spec("reading-consent-lapses")
def test_preconfigured_consents_end_too(bank: Bank, wait: Callable[[int], None]) -> None:
    wait(400)

    for consent_id in facts.tied().values():
        assert bank.get(f"/v1/consents/{consent_id}/status").json() == {"consentStatus": "expired"}
        answer = bank.get(
            f"/v1/accounts/{facts.covered(consent_id)}/transactions?bookingStatus=both", consent=consent_id
        )
        assert answer.status == 401
        assert answer.error["text"] == f"{{sensitive}} XS2A004E: consent {consent_id} expired"


@spec("reading-consent-lapses")
def test_history_does_not_move(bank: Bank, wait: Callable[[int], None]) -> None:
    path = f"/v1/accounts/{facts.covered()}/transactions?bookingStatus=booked"
    before = bank.get(path, consent=facts.consent()).json()

    wait(5)

    assert bank.get(path, consent=facts.consent()).json() == before
