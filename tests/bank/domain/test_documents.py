"""Descriptions of documents of the state, for features that only show them."""

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.bank.domain.amounts import write_amount
from xs2a_sandbox.bank.domain.documents import (
    changed_state_of,
    describe,
    entry_ids,
    frequency_of,
    intent_of,
    is_authorised,
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
    assert next(iter(describe("consents", kept))) == "X"


def test_description_of_a_payment() -> None:
    payment = {
        "status": "RCVD",
        "product": "sepa",
        "amount": {"amount": "1.00", "currency": "EUR"},
        "parts": [{"creditor": {"name": "Anna"}, "end_to_end_id": "E-1"}],
    }
    assert (state_of("payments", payment), intent_of(payment), intent_of({})) == ("RCVD", "E-1", "")
    assert list(describe("payments", payment)) == ["sepa", "Anna", "end-to-end id E-1", "1.00 EUR"]
    several = {
        "parts": [{"end_to_end_id": "E-1"}, {}, {"end_to_end_id": "E-2"}],
        "amount": {"amount": "5000", "currency": "EUR"},
    }
    assert list(describe("payments", several)) == ["end-to-end ids E-1 and 1 more", "5,000.00 EUR"]


def test_description_of_an_account() -> None:
    account = next(iter(DATA["accounts"].values()))
    ((place, id), *_) = entry_ids(account)
    assert place == ("entries", "booked", 0, "id")
    assert id == account["entries"]["booked"][0]["id"]
    money = account["balances"][0]["amount"]
    written = write_amount(money["amount"], money["currency"])
    assert list(describe("accounts", account))[-1] == f"{written} {money['currency']}"


def test_other_collections_without_a_state_are_described_as_empty() -> None:
    assert state_of("accounts", {"name": "Konto"}) == ""
    assert state_of("notes", {"role": "valid"}) == "valid"
