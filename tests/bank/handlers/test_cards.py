"""Card accounts, in process."""

from decimal import Decimal
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.berlin_group import needs_openapi, validate
from tests.support.engine_client import Client, an_engine, bundled_engine
from tests.support.unfit_consents import UNFIT, check_refusal
from xs2a_sandbox.config import RealBank

((CARD, KEPT),) = facts.testdata()["cardAccounts"].items()
LINKED = KEPT["linkedAccount"]
OTHER = next(id for iban, id in facts.tied().items() if iban != LINKED)
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
    """The one that covers the account which pays the card."""
    return facts.tied()[LINKED]


def card(client: Client, path: str, consent: str, **options: Any) -> Any:
    answer = client.get(f"/v1/card-accounts{path}", consent=consent, **options)
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.parametrize("path", PATHS)
@UNFIT
def test_consents_that_do_not_do(client: Client, path: str, consent: str | None, status: int, code: str) -> None:
    check_refusal(client, f"/v1/card-accounts{path}", consent, status, code)


def test_the_list_and_one_card_account_are_the_same_record(client: Client, consent: str) -> None:
    (listed,) = card(client, "", consent)["cardAccounts"]

    assert card(client, f"/{CARD}/", consent) == {"cardAccount": listed}
    assert listed["resourceId"] == CARD
    assert listed["maskedPan"] == KEPT["maskedPan"]
    assert listed["creditLimit"] == KEPT["creditLimit"]
    assert listed["debitAccounting"] is False
    assert listed["_links"] == {
        "balances": {"href": f"/v1/card-accounts/{CARD}/balances"},
        "transactions": {"href": f"/v1/card-accounts/{CARD}/transactions"},
    }
    assert "balances" not in listed
    assert LINKED not in str(listed)


@pytest.mark.parametrize("path", ["", f"/{CARD}"])
def test_balances_come_with_it_when_asked_for(client: Client, consent: str, path: str) -> None:
    body = card(client, f"{path}?withBalance=true", consent)
    record = body["cardAccounts"][0] if "cardAccounts" in body else body["cardAccount"]

    assert record["balances"] == card(client, f"/{CARD}/balances", consent)["balances"]
    answer = client.get(f"/v1/card-accounts{path}?withBalance=yes", consent=consent)
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


def test_a_consent_covers_the_cards_that_its_accounts_pay(client: Client) -> None:
    everything = client.post("/v1/consents", json=bodies.consent()).json()["consentId"]

    assert [one["resourceId"] for one in card(client, "", everything)["cardAccounts"]] == [CARD]
    assert card(client, "", OTHER) == {"cardAccounts": []}


@pytest.mark.parametrize("path", PATHS[1:])
@pytest.mark.parametrize("id", [CARD, LINKED, "0cae8c3e-1111-4222-8333-444455556666"])
def test_a_card_that_the_consent_does_not_cover_is_unknown(client: Client, path: str, id: str) -> None:
    answer = client.get(f"/v1/card-accounts{path.replace(CARD, id)}", consent=OTHER)

    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")
    expected = f"XS2A016E: resource {id} unknown / not found / not part of the current consent"
    assert answer.error["text"].endswith(expected)


def test_an_account_is_no_card_account_and_the_other_way_round(client: Client, consent: str) -> None:
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


@pytest.mark.parametrize(
    ("status", "shown"), [("both", {"booked", "pending"}), ("booked", {"booked"}), ("pending", {"pending"})]
)
def test_every_list_shows_its_own(client: Client, consent: str, status: str, shown: set[str]) -> None:
    body = card(client, f"/{CARD}/transactions?bookingStatus={status}", consent)
    lists = body["cardTransactions"]

    assert {name for name in ("booked", "pending") if lists[name] is not None} == shown
    assert lists["_links"] == {"cardAccount": {"href": f"/v1/card-accounts/{CARD}"}}
    assert (body["balances"], body["_links"]) == (None, None)
    for name in shown:
        ids = [entry["cardTransactionId"] for entry in lists[name]]
        assert ids == [entry["cardTransactionId"] for entry in KEPT["transactions"][name]]
        assert len(set(ids)) == len(ids) > 0


@pytest.mark.parametrize("query", ["", "?bookingStatus=information", "?bookingStatus=all", "?bookingStatus=Booked"])
def test_another_booking_status_is_refused(client: Client, consent: str, query: str) -> None:
    answer = client.get(f"/v1/card-accounts/{CARD}/transactions{query}", consent=consent)
    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")


def test_a_period_bounds_what_is_booked(client: Client, consent: str) -> None:
    since, until = facts.today(-15), facts.today(-4)
    query = f"bookingStatus=both&dateFrom={since}&dateTo={until}"
    lists = card(client, f"/{CARD}/transactions?{query}", consent)["cardTransactions"]

    days = [entry["bookingDate"] for entry in lists["booked"]]
    assert days
    booked = facts.testdata()["cardAccounts"][CARD]["transactions"]["booked"]
    assert days == [t["bookingDate"] for t in booked if since <= t["bookingDate"] <= until]
    assert {since, until} <= set(days)
    assert len(lists["pending"]) == len(KEPT["transactions"]["pending"])


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("dateFrom=2026-05-02&dateTo=2026-05-01", "PERIOD_INVALID"),
        ("dateFrom=yesterday", "FORMAT_ERROR"),
        ("dateTo=2026-02-30", "FORMAT_ERROR"),
    ],
)
def test_a_wrong_period_is_refused(client: Client, consent: str, query: str, code: str) -> None:
    answer = client.get(f"/v1/card-accounts/{CARD}/transactions?bookingStatus=booked&{query}", consent=consent)
    assert (answer.status, answer.error["code"]) == (400, code)


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        ("", "card-account-list"),
        ("?withBalance=true", "card-account-list"),
        (f"/{CARD}", "card-account"),
        (f"/{CARD}/balances", "card-account-balances"),
        *((f"/{CARD}/transactions?bookingStatus={s}", "card-account-transactions") for s in ("both", "pending")),
    ],
)
def test_answers_fit_their_schema(client: Client, consent: str, path: str, schema: str) -> None:
    assert bundled_engine().schemas[schema].complaint(card(client, path, consent)) is None


@needs_openapi
@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("", ""),
        ("?withBalance=true", ""),
        (f"/{CARD}?withBalance=true", "/{account-id}"),
        (f"/{CARD}/balances", "/{account-id}/balances"),
        *(
            (f"/{CARD}/transactions?bookingStatus={status}", "/{account-id}/transactions")
            for status in ("both", "booked", "pending")
        ),
    ],
)
def test_answers_have_the_shape_of_the_framework(client: Client, consent: str, path: str, operation: str) -> None:
    validate(f"/v1/card-accounts{operation}", "GET", 200, card(client, path, consent))


@pytest.mark.parametrize("path", PATHS)
def test_a_consent_is_used_up_where_frequency_is_checked(path: str, consent: str) -> None:
    client = Client(an_engine(real=RealBank(checks=("frequency",))))
    limit = client.get(f"/v1/consents/{consent}").json()["frequencyPerDay"]
    target, alone = f"/v1/card-accounts{path}", {"PSU-IP-Address": None}
    statuses = [client.get(target, consent=consent, headers=alone).status for _ in range(limit + 1)]
    assert statuses == [200] * limit + [429]
