from typing import Any

import pytest

from xs2a_sandbox.bank.domain.accounts import find_by_number, iban_of, number_of, with_id

IBAN, OTHER = "AT459880000010204711", "DE47999888770000200002"
ACCOUNTS: dict[str, dict[str, Any]] = {
    IBAN: {"currency": "EUR"},
    "7": {"currency": "EUR", "iban": OTHER, "msisdn": "+43 1"},
    "card": {"currency": "EUR", "masked_pan": "4***1"},
    "bare": {"currency": "EUR"},
}


class _Call:
    """Only its state is used."""

    def __init__(self) -> None:
        self.state = self

    def get(self, _: str, id: str) -> dict[str, Any] | None:
        return ACCOUNTS.get(id)

    def all(self, _: str) -> dict[str, dict[str, Any]]:
        return ACCOUNTS


CALL: Any = _Call()


@pytest.mark.parametrize(("id", "iban"), [(IBAN, IBAN), ("7", OTHER), ("card", None), ("gone", None)])
def test_an_account_id_can_be_the_iban(id: str, iban: str | None) -> None:
    assert iban_of(CALL, id) == iban
    assert with_id(id, ACCOUNTS.get(id, {}))["id"] == id


@pytest.mark.parametrize(
    ("name", "number", "id"),
    [
        ("iban", IBAN, IBAN),
        ("iban", OTHER, "7"),
        ("iban", "7", None),
        ("msisdn", "+43 1", "7"),
        ("msisdn", "+43 2", None),
        ("masked_pan", "4***1", "card"),
    ],
)
def test_an_account_is_found_by_its_numbers(name: str, number: str, id: str | None) -> None:
    assert find_by_number(CALL, name, number) == id


@pytest.mark.parametrize(("id", "number"), [(IBAN, IBAN), ("7", OTHER), ("card", "4***1"), ("bare", "bare")])
def test_customers_see_a_number_of_an_account(id: str, number: str) -> None:
    assert number_of(with_id(id, ACCOUNTS[id])) == number
