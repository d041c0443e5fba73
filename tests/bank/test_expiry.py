"""Consents and tokens that end before their time, because a fault says so."""

import base64
from datetime import datetime

import pytest

from tests.contract import facts
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.journal.log_line import LogEntry

((CLIENT, KEPT),) = facts.testdata()["clients"].items()


@pytest.fixture
def bank() -> Client:
    return Client(an_engine(real=RealBank(checks=("token",))))


def bearer(bank: Client) -> dict[str, str]:
    """The header with a new token of the test data's client."""
    basic = base64.b64encode(f"{CLIENT}:{KEPT['secret']}".encode()).decode()
    answer = bank.post(
        "/as/token.oauth2",
        body=b"grant_type=client_credentials",
        headers={"Authorization": f"Basic {basic}", "Content-Type": "application/x-www-form-urlencoded"},
    )
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


def statuses(bank: Client, wish: str, consent: str, headers: dict[str, str]) -> list[str]:
    """What consent status says with the wish, and again without: the status, or the code of the error."""
    path = f"/v1/consents/{consent}/status"
    answers = [
        bank.get(path, headers={**headers, "X-Sandbox-Prefer": wish}),
        bank.get(path, headers=headers),
    ]
    return [answer.json()["consentStatus"] if answer.status == 200 else str(answer.error["code"]) for answer in answers]


def test_a_consent_is_over_before_it_is_looked_at(bank: Client) -> None:
    assert statuses(bank, "expires=consent", facts.consent(), bearer(bank)) == ["expired", "expired"]


def test_a_consent_is_over_after_it_was_looked_at(bank: Client) -> None:
    assert statuses(bank, "expires=consent, after=true", facts.consent(), bearer(bank)) == ["valid", "expired"]


def test_a_token_is_over(bank: Client) -> None:
    token = bearer(bank)
    assert statuses(bank, "expires=token", facts.consent(), token) == ["TOKEN_EXPIRED", "TOKEN_EXPIRED"]
    assert statuses(bank, "delay=0s", facts.consent(), bearer(bank)) == ["valid", "valid"], "another one is good"


@pytest.mark.parametrize("token", ["Bearer nobody-knows-it", "Bearer", ""])
def test_no_token_that_is_good(bank: Client, token: str) -> None:
    """Who wished for it is told that it changes nothing."""
    log: list[LogEntry] = []
    bank.engine.use(on_exchange=log.append)
    path = f"/v1/consents/{facts.consent()}/status"
    assert bank.get(path, headers={"Authorization": token, "X-Sandbox-Prefer": "expires=token"}).status == 401
    (entry,) = log
    assert any("names no token that is still good" in warning for warning in entry.warnings)


def test_a_token_is_over_in_the_hour_in_which_clocks_go_back() -> None:
    # It is good until 02:04:59+01:00, which is later than 02:55+02:00.
    clock = Clock(frozen=datetime.fromisoformat("2026-10-25T02:55:00+02:00"))
    bank = Client(an_engine(real=RealBank(checks=("token",)), clock=clock))
    assert statuses(bank, "expires=token", facts.consent(), bearer(bank)) == ["TOKEN_EXPIRED", "TOKEN_EXPIRED"]
