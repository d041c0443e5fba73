"""The entries in the answers of banks."""

from decimal import Decimal
from typing import Any

from tests.campaign.seeing import call
from xs2a_sandbox.features.campaign.seen import SeenCall
from xs2a_sandbox.features.campaign.sent import SentEntries, read_entries

PATH = "/v1/accounts/A/transactions"
KINO = {
    "transactionId": "A-0303",
    "bookingDate": "2026-11-20",
    "valueDate": "2026-99-99",
    "transactionAmount": {"amount": "-12.50", "currency": "EUR"},
    "remittanceInformationUnstructured": "Kino, Reihe 7",
}


def page(*booked: dict[str, Any], status: int = 200, path: str = PATH) -> SeenCall:
    return call("account-transactions", path, status=status, answer={"transactions": {"booked": list(booked)}})


def test_an_entry_has_its_texts_dates_and_amount() -> None:
    (entry,) = read_entries([page(KINO), page(KINO)]).entries

    assert entry.texts == {"A-0303": "transactionId", "Kino, Reihe 7": "remittanceInformationUnstructured"}
    assert (entry.dates, entry.amount, entry.path) == ({"2026-11-20"}, Decimal("-12.50"), PATH)


def test_the_sign_can_be_a_word() -> None:
    amounts = [
        read_entries([page({"amount": {"amount": "3.00"}, "credit_debit_indicator": word})]).entries[0].amount
        for word in ("DBIT", "Debit", "CRDT")
    ]

    assert amounts == [Decimal("-3.00"), Decimal("-3.00"), Decimal("3.00")]


def test_only_successful_reads_of_entries_count() -> None:
    balances = call("account-balances", answer={"balances": [{"amount": {"amount": "1.00"}, "id": "B-0001"}]})
    read = read_entries([balances, page(KINO, status=500), page(path="/v1/accounts/B/transactions")])

    assert read == SentEntries((), frozenset({"/v1/accounts/B/transactions"}))


def test_a_text_of_several_entries_identifies_none() -> None:
    other = {**KINO, "transactionId": "A-0304"}

    assert read_entries([page(KINO, other)]).ambiguous == {"Kino, Reihe 7"}
