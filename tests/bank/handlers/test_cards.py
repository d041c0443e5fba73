"""Card accounts, in process."""

from decimal import Decimal
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.config import RealBank

((CARD, KEPT),) = facts.cards().items()
LINKED = KEPT["linkedAccount"]
PATHS = [
    "",
    f"/{CARD}",
    f"/{CARD}/balances",
    f"/{CARD}/transactions?bookingStatus=both",
]


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.fixture
def consent() -> str:
    """Return a consent that covers the account that pays the card."""
    return facts.tied()[LINKED]


def card(client: Client, path: str, consent: str, **options: Any) -> Any:
    answer = client.get(f"/v1/card-accounts{path}", consent=consent, **options)
    assert answer.status == 200, answer.body
    return answer.json()


def test_accounts_and_card_accounts_are_separate(client: Client, consent: str) -> None:
    assert client.get(f"/v1/card-accounts/{LINKED}", consent=consent).status == 404
    assert client.get(f"/v1/accounts/{CARD}", consent=consent).status == 404


def test_ids_compare_without_case(client: Client, consent: str) -> None:
    assert card(client, f"/{CARD.upper()}", consent)["cardAccount"]["resourceId"] == CARD


def test_the_balances_add_up(client: Client, consent: str) -> None:
    body = card(client, f"/{CARD}/balances", consent)
    amounts = {b["balanceType"]: Decimal(b["balanceAmount"]["amount"]) for b in body["balances"]}
    lists = card(client, f"/{CARD}/transactions?bookingStatus=both", consent)["cardTransactions"]
    booked, pending = (
        sum(Decimal(t["transactionAmount"]["amount"]) for t in lists[name]) for name in ("booked", "pending")
    )

    assert body["cardAccount"]["maskedPan"] == KEPT["maskedPan"]
    assert amounts["interimAvailable"] == booked
    assert amounts["expected"] == booked + pending
    assert amounts["forwardAvailable"] == Decimal(KEPT["creditLimit"]["amount"]) + booked + pending


@pytest.mark.parametrize("path", PATHS)
def test_an_unsigned_consent_gives_no_access(client: Client, path: str) -> None:
    unsigned = client.post("/v1/consents", json=bodies.consent(facts.untied()[0])).json()["consentId"]
    answer = client.get(f"/v1/card-accounts{path}", consent=unsigned)

    assert (answer.status, answer.error["code"]) == (401, "CONSENT_INVALID")


def test_a_period_that_ends_before_it_starts(client: Client, consent: str) -> None:
    query = "bookingStatus=booked&dateFrom=2026-05-02&dateTo=2026-05-01"
    answer = client.get(f"/v1/card-accounts/{CARD}/transactions?{query}", consent=consent)

    assert (answer.status, answer.error["code"]) == (400, "PERIOD_INVALID")


@pytest.mark.parametrize("path", PATHS)
def test_a_consent_is_used_up_if_the_frequency_is_checked(path: str, consent: str) -> None:
    client = Client(an_engine(real=RealBank(checks=("frequency",))))
    limit = client.get(f"/v1/consents/{consent}").json()["frequencyPerDay"]
    target, alone = f"/v1/card-accounts{path}", {"PSU-IP-Address": None}
    statuses = [client.get(target, consent=consent, headers=alone).status for _ in range(limit + 1)]
    assert statuses == [200] * limit + [429]
