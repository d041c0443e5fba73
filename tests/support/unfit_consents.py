"""Consents with which no account is read, and how each is refused."""

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client

UNFIT = pytest.mark.parametrize(
    ("consent", "status", "code"),
    [
        (None, 400, "FORMAT_ERROR"),
        ("no-uuid", 403, "CONSENT_UNKNOWN"),
        (facts.consent("unknown"), 403, "CONSENT_UNKNOWN"),
        (facts.consent("expired"), 401, "CONSENT_EXPIRED"),
        ("received", 401, "CONSENT_INVALID"),
    ],
)


def check_refusal(client: Client, target: str, consent: str | None, status: int, code: str) -> None:
    if consent == "received":
        consent = client.post("/v1/consents", json=bodies.consent(facts.untied()[0])).json()["consentId"]

    answer = client.get(target, consent=consent)

    assert (answer.status, answer.error["code"], answer.error["path"]) == (status, code, None)
    if code == "CONSENT_EXPIRED":
        assert ("XS2A004E" if "transactions" in target else "XS2A005E") in answer.error["text"]
