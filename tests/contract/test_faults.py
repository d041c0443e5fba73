"""Faults on demand through every door: a request's own header, and what its session was told of."""

import httpcore
import pytest

from tests.contract import facts
from tests.contract.control import Control
from tests.contract.doors import Bank
from xs2a_sandbox.cassette.fault import PREFER


def status() -> str:
    return f"/v1/consents/{facts.consent()}/status"


def test_a_request_says_what_goes_wrong_with_it(bank: Bank) -> None:
    plain = bank.get(status())
    down = bank.get(status(), headers={PREFER: "status=503"})
    expired = bank.get(status(), headers={PREFER: "error=consent-expired"})
    mistaken = bank.get(status(), headers={PREFER: "stauts=503"})

    assert [answer.status for answer in (plain, down, expired, mistaken)] == [200, 503, 401, 400]
    assert expired.json()["tppMessages"][0]["code"] == "CONSENT_EXPIRED"
    assert "did you mean status?" in mistaken.json()["tppMessages"][0]["text"]


def test_its_session_is_told_what_goes_wrong(bank: Bank, control: Control) -> None:
    control.ask("POST", "faults", {"operation": "consent-status", "status": 503, "next": 2})

    assert [bank.get(status()).status for _ in range(3)] == [503, 503, 200]


def test_a_connection_is_reset(bank: Bank) -> None:
    if bank.door == "process":
        pytest.skip("it has no connection")
    with pytest.raises((httpcore.NetworkError, httpcore.RemoteProtocolError)):
        bank.get(status(), headers={PREFER: "fault=reset"})
