"""Descriptions of documents of the state, for features that only show them."""

from typing import Any

import pytest

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.bank.domain.documents import (
    changed_state_of,
    describe,
    entry_ids,
    frequency_of,
    intent_of,
    is_authorised,
    name_of,
    state_of,
)
from xs2a_sandbox.bank.expiry import is_expired
from xs2a_sandbox.clock import REAL

DATA = bundled_engine().parts.testdata.at(REAL.today())


def test_description_of_a_consent() -> None:
    kept = {**next(iter(DATA["consents"].values())), "role": "authorised", "accounts": ["X"], "frequency": 7}
    assert (state_of("consents", kept), changed_state_of("consents", kept)) == ("authorised", None)
    assert is_authorised(kept)
    assert (frequency_of(kept), frequency_of({})) == (7, None)
    changed = {**kept, "status": "expired"}
    assert (state_of("consents", changed), is_authorised(changed), is_expired(changed)) == ("expired", False, True)
    assert not is_expired({**kept, "role": "expired"}), "the test data contain this state"
    assert next(iter(describe("consents", kept, {}))) == "X"


@pytest.mark.parametrize(
    ("state", "number"),
    [
        ({"accounts": {"X": {"iban": "AT1"}}}, "AT1"),
        ({"cards": {"X": {"masked_pan": "499999******4711"}}}, "499999******4711"),
        ({"accounts": {"Y": {"iban": "AT1"}}}, "X"),
    ],
)
def test_a_consent_is_described_by_the_numbers_that_customers_know(state: dict[str, Any], number: str) -> None:
    assert list(describe("consents", {"accounts": ["X"]}, state)) == [number]


@pytest.mark.parametrize("approach", ["redirect", "embedded", "decoupled", "oauth"])
def test_description_of_an_authorisation(approach: str) -> None:
    authorisation = {"family": "payment", "resource": "P", "approach": approach, "psuId": "anna"}
    state = {"payments": {"P": {"amount": {"amount": "30", "currency": "EUR"}}}}
    assert name_of("authorisations", authorisation) == "Authorisation of a payment"
    assert list(describe("authorisations", authorisation, state)) == ["30.00 EUR", approach, "by anna"]
    assert next(describe("authorisations", authorisation, {})) == "P"


@pytest.mark.parametrize(
    ("basket", "name"),
    [
        ({"payments": ["1", "2"]}, "Basket of 2 payments"),
        ({"payments": ["1"], "consents": ["1"]}, "Basket of 1 payment and 1 consent"),
        ({}, "Basket of nothing"),
    ],
)
def test_name_of_a_basket(basket: dict[str, Any], name: str) -> None:
    assert name_of("baskets", basket) == name


def test_description_of_a_payment() -> None:
    payment = {
        "status": "RCVD",
        "product": "sepa",
        "amount": {"amount": "1.00", "currency": "EUR"},
        "parts": [{"creditor": {"name": "Anna"}, "end_to_end_id": "E-1"}],
    }
    assert (state_of("payments", payment), intent_of(payment), intent_of({})) == ("RCVD", "E-1", "")
    assert list(describe("payments", payment, {})) == ["sepa", "Anna", "end-to-end id E-1", "1.00 EUR"]
    several = {
        "parts": [{"end_to_end_id": "E-1"}, {}, {"end_to_end_id": "E-2"}],
        "amount": {"amount": "5000", "currency": "EUR"},
    }
    assert list(describe("payments", several, {})) == ["end-to-end ids E-1 and 1 more", "5,000.00 EUR"]


def test_entries_of_an_account() -> None:
    account = next(iter(DATA["accounts"].values()))
    ((place, id), *_) = entry_ids(account)
    assert place == ("entries", "booked", 0, "id")
    assert id == account["entries"]["booked"][0]["id"]


def test_other_collections_without_a_state_are_described_as_empty() -> None:
    assert state_of("accounts", {"name": "Konto"}) == ""
    assert state_of("notes", {"role": "valid"}) == "valid"
