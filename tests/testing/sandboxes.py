"""Sandboxes in process for tests, over files that are read once."""

from functools import cache
from pathlib import Path

from tests.support.engine_client import CONFDIR
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import BASE_URL, Blueprint, Sandbox

LOOP = LoopThread()


@cache
def blueprint() -> Blueprint:
    return Blueprint.read(Settings(state="memory:", confdir=Path(CONFDIR.name), public_url=BASE_URL))


def a_sandbox(directory: Path | None = None) -> Sandbox:
    return Sandbox(blueprint(), LOOP, directory)


def consent(sandbox: Sandbox, *ibans: str, **headers: str) -> str:
    """Create a consent that awaits its payment user."""
    body = {
        "access": {"balances": [{"iban": iban} for iban in ibans], "transactions": []},
        "recurringIndicator": False,
        "validUntil": sandbox.clock.today.isoformat(),
        "frequencyPerDay": 1,
    }
    answer = sandbox.request("POST", "/v1/consents", json=body, headers=dict(headers))
    assert answer.status < 300, answer.text
    return str(answer.json()["consentId"])


def payment(sandbox: Sandbox, debtor: str, **headers: str) -> str:
    """Create a payment that awaits its payment user."""
    body = {
        "endToEndIdentification": "E2E",
        "debtorAccount": {"iban": debtor, "currency": "EUR"},
        "instructedAmount": {"currency": "EUR", "amount": "1.00"},
        "creditorAccount": {"iban": "AT359850700040087109"},
        "creditorAgent": "ESELATW1XXX",
        "creditorName": "Buchhandlung Eselsohr",
        "remittanceInformationUnstructured": "Test",
    }
    answer = sandbox.request("POST", "/v1/payments/sepa-credit-transfers", json=body, headers=dict(headers))
    assert answer.status < 300, answer.text
    return str(answer.json()["paymentId"])
