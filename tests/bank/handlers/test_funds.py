"""Confirmations of funds, in process."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import pytest

from tests.contract import facts
from tests.support.berlin_group import needs_openapi, validate
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


def test_what_is_there_is_available_to_the_cent(client: Client) -> None:
    limit = facts.available(facts.low())

    assert available(client, body(limit)) is True
    assert available(client, body(limit + CENT)) is False
    assert available(client, body(limit)) is True, "asking sets nothing aside"


def test_an_overdrawn_account_has_nothing(client: Client) -> None:
    iban = next(iban for iban in facts.accounts() if facts.available(iban) < 0)
    assert available(client, body("0.01", iban)) is False


@pytest.mark.parametrize(("currency", "account"), [("CHF", "EUR"), ("EUR", "CHF"), ("USD", "CHF")])
def test_other_currencies_are_converted(client: Client, currency: str, account: str) -> None:
    iban = facts.debtor(account)
    limit = facts.available(iban) * facts.rate(account) / facts.rate(currency)

    assert available(client, body(limit.quantize(CENT, ROUND_FLOOR), iban, currency)) is True
    assert available(client, body(limit.quantize(CENT, ROUND_CEILING) + CENT, iban, currency)) is False


def test_card_and_payee_may_be_named(client: Client) -> None:
    assert available(client, body("1.00", cardNumber="1234567891234", payee="Bäckerei Morgenrot", more=1)) is True
    assert available(client, body("1.00", cardNumber=None, payee=None)) is True


@pytest.mark.parametrize(
    ("json", "code", "path"),
    [
        (body("1.00", facts.foreign_iban()), "RESOURCE_UNKNOWN", "/account/iban"),
        ({**body("1.00"), "account": {"iban": facts.low(), "currency": "CHF"}}, "FORMAT_ERROR", "/account/currency"),
        (body("1.00", facts.wrong_iban()), "FORMAT_ERROR", "/account/iban"),
        ({**body("1.00"), "account": {}}, "FORMAT_ERROR", "/account/iban"),
        ({"account": {"iban": facts.low()}}, "FORMAT_ERROR", "/instructedAmount"),
        (body("0"), "FORMAT_ERROR", "/instructedAmount/amount"),
        (body("-1.00"), "FORMAT_ERROR", "/instructedAmount/amount"),
        (body("1.005"), "FORMAT_ERROR", "/instructedAmount/amount"),
        (body("1.00", currency="JPY"), "FORMAT_ERROR", "/instructedAmount/amount"),
        (body("100", currency="JPY"), "FORMAT_ERROR", "/instructedAmount/currency"),
        (body("1.00", currency="euro"), "FORMAT_ERROR", "/instructedAmount/currency"),
        (body("1.00", cardNumber="1" * 36), "FORMAT_ERROR", "/cardNumber"),
        (body("1.00", payee="a" * 71), "FORMAT_ERROR", "/payee"),
        ([], "FORMAT_ERROR", None),
    ],
)
def test_what_is_refused(client: Client, json: Any, code: str, path: str | None) -> None:
    answer = ask(client, json)
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, code, path)


def test_a_consent_may_be_named_but_must_be_known(client: Client) -> None:
    assert ask(client, body("1.00"), consent=facts.consent()).status == 200
    for consent in ("no-uuid", facts.consent("unknown")):
        answer = ask(client, body("1.00"), consent=consent)
        assert (answer.status, answer.error["code"]) == (403, "CONSENT_UNKNOWN")


def test_only_json_is_taken_and_only_posts(client: Client) -> None:
    answer = client.post("/v1/funds-confirmations", body=b"a=1", headers={"Content-Type": "text/plain"})
    assert (answer.status, answer.error["code"]) == (415, "FORMAT_ERROR")
    answer = client.get("/v1/funds-confirmations")
    assert (answer.status, answer.error["code"]) == (405, "SERVICE_INVALID")


@needs_openapi
@pytest.mark.parametrize("amount", ["1.00", "999999.00"])
def test_answers_have_the_shape_of_the_framework(client: Client, amount: str) -> None:
    answer = ask(client, body(amount))
    validate("/v1/funds-confirmations", "POST", answer.status, answer.json())
