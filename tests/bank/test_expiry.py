"""Consents and tokens that a fault makes expire early."""

import base64
from datetime import datetime

import pytest

from tests.contract import facts
from tests.families.test_uk_open_banking import AISP, BILLS, account_consent, ask, authorise
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.journal.log_line import LogEntry

((CLIENT, KEPT),) = facts.testdata()["clients"].items()


@pytest.fixture
def bank() -> Client:
    return Client(an_engine(real=RealBank(checks=("token",))))


def bearer(bank: Client) -> dict[str, str]:
    """Return a header with a new token of the client in the test data."""
    basic = base64.b64encode(f"{CLIENT}:{KEPT['secret']}".encode()).decode()
    answer = bank.post(
        "/as/token.oauth2",
        body=b"grant_type=client_credentials",
        headers={"Authorization": f"Basic {basic}", "Content-Type": "application/x-www-form-urlencoded"},
    )
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


def statuses(bank: Client, wish: str, consent: str, headers: dict[str, str]) -> list[str]:
    """Read the consent's status with the fault, and again without it. Return the statuses or error codes."""
    path = f"/v1/consents/{consent}/status"
    answers = [
        bank.get(path, headers={**headers, "X-Sandbox-Prefer": wish}),
        bank.get(path, headers=headers),
    ]
    return [answer.json()["consentStatus"] if answer.status == 200 else str(answer.error["code"]) for answer in answers]


def test_a_consent_expires_before_it_is_read(bank: Client) -> None:
    assert statuses(bank, "expires=consent", facts.consent(), bearer(bank)) == ["expired", "expired"]


def test_a_consent_expires_after_it_was_read(bank: Client) -> None:
    assert statuses(bank, "expires=consent, after=true", facts.consent(), bearer(bank)) == ["valid", "expired"]


def test_a_token_expires(bank: Client) -> None:
    token = bearer(bank)
    assert statuses(bank, "expires=token", facts.consent(), token) == ["TOKEN_EXPIRED", "TOKEN_EXPIRED"]
    assert statuses(bank, "delay=0s", facts.consent(), bearer(bank)) == ["valid", "valid"], "another token is valid"


@pytest.mark.parametrize("token", ["Bearer nobody-knows-it", "Bearer", ""])
def test_an_invalid_token_cannot_expire(bank: Client, token: str) -> None:
    """A warning says that the fault changes nothing."""
    log: list[LogEntry] = []
    bank.engine.use(on_exchange=log.append)
    path = f"/v1/consents/{facts.consent()}/status"
    assert bank.get(path, headers={"Authorization": token, "X-Sandbox-Prefer": "expires=token"}).status == 401
    (entry,) = log
    assert any("has no token that is still valid" in warning for warning in entry.warnings)


def test_a_token_expires_in_the_hour_of_the_clock_change() -> None:
    # It is valid until 02:04:59+01:00, which is later than 02:55+02:00.
    clock = Clock(frozen=datetime.fromisoformat("2026-10-25T02:55:00+02:00"))
    bank = Client(an_engine(real=RealBank(checks=("token",)), clock=clock))
    assert statuses(bank, "expires=token", facts.consent(), bearer(bank)) == ["TOKEN_EXPIRED", "TOKEN_EXPIRED"]


def test_the_consent_of_a_token_expires() -> None:
    """In UK Open Banking only the token names the consent."""
    bank = Client(build(Settings(dialect="obie-4.0", state="memory:")))
    consent, own = account_consent(bank, "ReadAccountsDetail")
    token = authorise(bank, consent, "accounts", BILLS)

    assert ask(bank, "GET", f"{AISP}/accounts", token, **{"X-Sandbox-Prefer": "expires=consent"}).status == 401
    shown = ask(bank, "GET", f"{AISP}/account-access-consents/{consent}", own).json()
    assert shown["Data"]["Status"] == "EXPD"
