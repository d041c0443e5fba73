"""Faults through every door, requested by a header or for the session."""

from dataclasses import replace

import httpcore
import pytest

from tests.contract import facts
from tests.contract.control import Control
from tests.contract.doors import Bank
from xs2a_sandbox.cassette.fault import PREFER


def status() -> str:
    return f"/v1/consents/{facts.consent()}/status"


def test_a_header_requests_a_fault(bank: Bank) -> None:
    plain = bank.get(status())
    down = bank.get(status(), headers={PREFER: "status=503"})
    expired = bank.get(status(), headers={PREFER: "error=consent-expired"})
    mistaken = bank.get(status(), headers={PREFER: "stauts=503"})

    assert [answer.status for answer in (plain, down, expired, mistaken)] == [200, 503, 401, 400]
    assert expired.json()["tppMessages"][0]["code"] == "CONSENT_EXPIRED"
    assert "did you mean status?" in mistaken.json()["tppMessages"][0]["text"]


def test_a_fault_of_the_session_applies_to_the_next_requests(bank: Bank, control: Control) -> None:
    control.ask("POST", "faults", {"operation": "consent-status", "status": 503, "next": 2})

    assert [bank.get(status()).status for _ in range(3)] == [503, 503, 200]


def test_a_fault_can_apply_to_all_sessions(bank: Bank, control: Control) -> None:
    other = replace(control, bank=replace(control.bank, session="ci"))
    control.ask("POST", "faults", {"operation": "consent-status", "status": 503, "next": 1, "sessions": "all"})
    try:
        assert [bank.get(status()).status for _ in range(2)] == [503, 200]
        assert [one["seen"] for one in other.ask("GET", "faults").json()["faults"]] == [0]
    finally:
        control.ask("DELETE", "faults?sessions=all")
    assert other.ask("GET", "faults").json() == {"faults": []}


def test_a_connection_can_be_reset(bank: Bank) -> None:
    if bank.door == "process":
        pytest.skip("in process there is no connection")
    with pytest.raises((httpcore.NetworkError, httpcore.RemoteProtocolError)):
        bank.get(status(), headers={PREFER: "fault=reset"})
