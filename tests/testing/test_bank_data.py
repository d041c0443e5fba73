"""The preconfigured data, for tests that need any document with certain properties."""

from datetime import date

import pytest

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.bank_data import BankData


@pytest.fixture
def data() -> BankData:
    return BankData(bundled_engine().parts.testdata, date(2026, 11, 21))


def test_a_consent_is_found_by_its_role(data: BankData) -> None:
    assert data.consents[data.consent()]["role"] == "authorised"
    assert data.consents[data.consent("expired")]["role"] == "expired"
    assert data.consent("unknown") not in data.consents


def test_a_consent_is_found_by_its_account(data: BankData) -> None:
    iban = "AT699880000020411880"
    assert data.consents[data.consent(account=iban)]["accounts"] == [iban]


@pytest.mark.parametrize(
    ("role", "account"), [("vaild", None), ("authorised", "AT00"), ("unknown", "AT459880000010204711")]
)
def test_a_missing_consent_is_a_mistake(data: BankData, role: str, account: str | None) -> None:
    with pytest.raises(UserMistake, match=f"there is no consent with the role '{role}'.*authorised, expired, unknown"):
        data.consent(role, account)


def test_a_payment_is_found_by_status_and_product(data: BankData) -> None:
    assert data.payments[data.payment("RJCT")]["status"] == "RJCT"
    assert data.payments[data.payment(product="instant-sepa-credit-transfers")]["product"].startswith("instant")
    assert data.payment() in data.payments
    with pytest.raises(UserMistake, match="no payment in the test data has the status XXXX and the product sepa"):
        data.payment("XXXX", "sepa")


def test_dates_depend_on_the_day(data: BankData) -> None:
    later = BankData(bundled_engine().parts.testdata, date(2027, 11, 21))
    assert data.consents[data.consent()]["last_action_on"] < later.consents[later.consent()]["last_action_on"]


def test_other_documents_are_found_by_id(data: BankData) -> None:
    assert data.accounts["AT459880000010204711"]["psuId"] == "anna"
    assert data.psus["anna"]["password"] == "alpenrose"
    assert data.cards
