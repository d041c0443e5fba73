"""Observations of the bank during a run, read from its journal and state."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.campaign.seeing import INDEX, call
from tests.support.admin import CONSENT, STATUS
from tests.support.doors import opened
from tests.support.engine_client import an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.features.campaign.seen import Payments, last_number, look, payment_ids

HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}
PAYMENT = {
    "endToEndIdentification": "E-1",
    "debtorAccount": {"iban": "AT459880000010204711"},
    "instructedAmount": {"amount": "12.50", "currency": "EUR"},
    "creditorAccount": {"iban": "AT379821100040023757"},
    "creditorName": "Nahversorger Talblick",
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Return a control client for one session of a running sandbox."""
    engine = an_engine()
    engine.use(admin_token=ensure_token(tmp_path))
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield Client(f"http://127.0.0.1:{door.port}", "run", confdir=tmp_path)


def ask(client: Client, method: str, path: str, session: str = "run", **more: Any) -> httpx.Response:
    with httpx.Client(trust_env=False) as http:
        return http.request(method, f"{client.url}/s/{session}{path}", **{"headers": HEADERS, **more})


def test_only_calls_of_the_run_and_its_session_are_read(client: Client) -> None:
    ask(client, "GET", STATUS)
    since = last_number(client)
    ask(client, "GET", STATUS, session="another")
    ask(client, "GET", STATUS)
    ask(client, "GET", "/v1/accounts", headers={**HEADERS, "Consent-ID": CONSENT.upper()})
    ask(client, "GET", "/v1/nothing")

    seen = look(client, INDEX, "run", since, frozenset())

    assert [(one.operation, one.path, one.status, one.consent) for one in seen.calls] == [
        ("consent-status", STATUS, 200, None),
        ("account-list", "/v1/accounts", 200, CONSENT),
        ("nothing", "/v1/nothing", 404, None),
    ]
    assert seen.calls[0].target == STATUS
    assert seen.calls[0].header("psu-ip-address") == "192.0.2.1"
    assert seen.calls[0].answer == {"consentStatus": "valid"}
    assert seen.counts == Counter({"consent-status": 1, "account-list": 1, "nothing": 1})
    assert not seen.is_cut
    assert seen.calls[0].began <= seen.calls[0].ended


def test_payments_are_counted_by_intent_without_cancelled_ones(client: Client) -> None:
    earlier = payment_ids(client)
    ids = [
        ask(client, "POST", "/v1/payments/sepa-credit-transfers", json=PAYMENT).json()["paymentId"] for _ in range(3)
    ]
    for id, status in ((ids[0], "CANC"), (ids[1], "RJCT")):
        client.put_document("payments", id, {**client.document("payments", id), "status": status})

    seen = look(client, INDEX, "run", 0, earlier)

    assert seen.payments == Payments(Counter({"E-1": 2}), Counter({"E-1": 1}))
    assert look(client, INDEX, "run", 0, frozenset(ids), earlier).all_payments == seen.payments
    assert payment_ids(client) - earlier == set(ids)


@pytest.mark.parametrize(
    ("status", "header", "seconds"), [(429, "3", 3.0), (503, "0", 0.0), (429, "soon", None), (500, "3", None)]
)
def test_the_requested_waiting_time_is_read(status: int, header: str, seconds: float | None) -> None:
    assert call("account-list", status=status, answered={"Retry-After": header}).retry_after == seconds
