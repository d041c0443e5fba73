"""Confirmations of funds, in process."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import pytest

from tests.contract import facts
from tests.support.engine_client import Answer, Client, an_engine

CENT = Decimal("0.01")


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


def body(amount: Any, iban: str = facts.low(), currency: str = "EUR", **more: Any) -> dict[str, Any]:
    return {"account": {"iban": iban}, "instructedAmount": {"currency": currency, "amount": str(amount)}, **more}


def ask(client: Client, json: Any, **options: Any) -> Answer:
    return client.post("/v1/funds-confirmations", json=json, **options)


def available(client: Client, json: Any) -> bool:
    answer = ask(client, json)
    assert answer.status == 200, answer.body
    ((name, value),) = answer.json().items()
    assert name == "fundsAvailable"
    assert isinstance(value, bool)
    return value


def test_an_overdrawn_account_has_no_funds(client: Client) -> None:
    iban = next(iban for iban in facts.accounts() if facts.available(iban) < 0)
    assert available(client, body("0.01", iban)) is False


@pytest.mark.parametrize(("currency", "account"), [("CHF", "EUR"), ("EUR", "CHF"), ("USD", "CHF")])
def test_other_currencies_are_converted(client: Client, currency: str, account: str) -> None:
    iban = facts.debtor(account)
    limit = facts.available(iban) * facts.rate(account) / facts.rate(currency)

    assert available(client, body(limit.quantize(CENT, ROUND_FLOOR), iban, currency)) is True
    assert available(client, body(limit.quantize(CENT, ROUND_CEILING) + CENT, iban, currency)) is False


def test_a_card_and_a_payee_may_be_sent(client: Client) -> None:
    assert available(client, body("1.00", cardNumber="1234567891234", payee="Bäckerei Morgenrot", more=1)) is True
    assert available(client, body("1.00", cardNumber=None, payee=None)) is True


def test_a_consent_is_optional_but_must_be_known(client: Client) -> None:
    assert ask(client, body("1.00"), consent=facts.consent()).status == 200
    for consent in ("no-uuid", facts.consent("unknown")):
        answer = ask(client, body("1.00"), consent=consent)
        assert (answer.status, answer.error["code"]) == (403, "CONSENT_UNKNOWN")


def test_a_currency_without_a_rate_is_refused(client: Client) -> None:
    answer = ask(client, body("1.00", currency="THB"))
    assert (answer.status, answer.error["code"], answer.error["path"]) == (
        400,
        "FORMAT_ERROR",
        "/instructedAmount/currency",
    )
    assert "no exchange rate for THB" in answer.error["text"]
