"""Entries that are made from a seed."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from xs2a_sandbox.bank.entry_kinds import KINDS
from xs2a_sandbox.documents.formats import is_iban
from xs2a_sandbox.features.console.test_data.made_entries import EntryOrder, make_entries
from xs2a_sandbox.state.documents import schema_of

IBAN = "AT459880000010204711"
TODAY = date(2026, 11, 21)


def account(balance: str = "100.00") -> dict[str, Any]:
    return {
        "currency": "EUR",
        "psuId": "anna",
        "balances": [{"amount": {"amount": balance, "currency": "EUR"}, "type": "ITAV"}],
    }


def order(kind: str = "card", count: int = 50, low: str = "2", high: str = "9.50", seed: str = "1") -> EntryOrder:
    return EntryOrder(kind, count, Decimal(low), Decimal(high), 30, seed, TODAY)


@pytest.mark.parametrize("kind", KINDS)
def test_entries_fit_the_schema_and_their_order(kind: str) -> None:
    made = make_entries(order(kind), account(), "Anna Grünwald", IBAN)
    schema = schema_of("accounts")
    assert schema
    assert list(schema.complaints({**account(), "entries": {"booked": made}})) == []
    assert len(made) == 50
    days = [entry["booked_on"] for entry in made]
    assert days == sorted(days, reverse=True)
    assert days[0] <= "2026-11-21"
    sign = 1 if KINDS[kind].is_credit else -1
    assert all(Decimal(2) <= sign * Decimal(entry["amount"]["amount"]) <= Decimal("9.50") for entry in made)
    assert {len(entry["amount"]["amount"].partition(".")[2]) for entry in made} == {2}
    own, other = ("creditor", "debtor") if KINDS[kind].is_credit else ("debtor", "creditor")
    assert {entry[f"{own}_name"] for entry in made} == {"Anna Grünwald"}
    assert {entry[f"{own}_account"]["iban"] for entry in made} == {IBAN}
    assert all(is_iban(entry[f"{other}_account"]["iban"]) for entry in made)


def test_the_same_seed_makes_the_same_entries() -> None:
    first, same, other = (make_entries(order(seed=seed), account(), "Anna", IBAN) for seed in ("1", "1", "2"))
    assert first == same
    assert first != other


def test_entries_are_spread_over_the_days() -> None:
    days = {entry["booked_on"] for entry in make_entries(order(count=500), account(), "Anna", IBAN)}
    assert (min(days), max(days)) == ("2026-10-22", "2026-11-20")
    assert len(days) == 30


def test_monthly_entries_have_one_amount_and_the_first_day_of_each_month() -> None:
    made = make_entries(order("rent", 12), account(), "Anna", IBAN)
    assert [entry["booked_on"] for entry in made][:3] == ["2026-11-01", "2026-10-01", "2026-09-01"]
    assert made[11]["booked_on"] == "2025-12-01"
    assert len({entry["amount"]["amount"] for entry in made}) == 1
    assert made[0]["remittance"] == "Rent 11/2026"


def test_ids_go_on_from_those_that_there_are() -> None:
    made = make_entries(order(count=3), account(), "Anna", IBAN)
    assert [entry["id"] for entry in made] == ["card-0003", "card-0002", "card-0001"]
    kept = {**account(), "entries": {"booked": made, "pending": [{"id": "card-x"}, {"id": "A-9"}]}}
    more = make_entries(order(count=2), kept, "Anna", IBAN)
    assert [entry["id"] for entry in more] == ["card-0005", "card-0004"]


def test_amounts_have_the_decimals_of_the_balance() -> None:
    made = make_entries(order(low="100", high="900"), account("5000"), "Anna", IBAN)
    assert all("." not in entry["amount"]["amount"] for entry in made)


def test_an_account_without_an_iban_has_partners_without_one() -> None:
    (entry,) = make_entries(order(count=1), account(), "Anna", None)
    assert "creditor_account" not in entry
    assert "debtor_account" not in entry
