"""Amounts as people read them."""

import pytest

from xs2a_sandbox.bank.domain.amounts import decimals_of, write_amount


@pytest.mark.parametrize(
    ("amount", "currency", "written"),
    [
        ("5000", "EUR", "5,000.00"),
        ("5000.0", "EUR", "5,000.00"),
        ("-1234567.89", "EUR", "-1,234,567.89"),
        ("0.005", "EUR", "0.005"),
        ("5000", "JPY", "5,000"),
        ("1.5", "KWD", "1.500"),
        ("1E3", "EUR", "1,000.00"),
        ("12", "", "12.00"),
    ],
)
def test_an_amount_has_the_decimals_of_its_currency(amount: str, currency: str, written: str) -> None:
    assert write_amount(amount, currency) == written


@pytest.mark.parametrize("text", ["", "much", "NaN", "Infinity"])
def test_what_is_not_a_number_is_not_written(text: str) -> None:
    with pytest.raises(ArithmeticError):
        write_amount(text, "EUR")


def test_the_decimals_of_currencies() -> None:
    assert [decimals_of(currency) for currency in ("EUR", "JPY", "KWD")] == [2, 0, 3]
