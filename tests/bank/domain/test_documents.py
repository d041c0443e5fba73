"""What documents of the state say to whoever only looks at them."""

from tests.support.engine_client import bundled_engine
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


def test_a_consent() -> None:
    kept = {**next(iter(DATA["consents"].values())), "role": "authorised", "accounts": ["X"], "frequency": 7}
    assert (state_of("consents", kept), changed_state_of("consents", kept)) == ("authorised", None)
    assert is_authorised(kept)
    assert (frequency_of(kept), frequency_of({})) == (7, 4)
    changed = {**kept, "status": "expired"}
    assert (state_of("consents", changed), is_authorised(changed), is_expired(changed)) == ("expired", False, True)
    assert not is_expired({**kept, "role": "expired"}), "the test data have it so"
    assert next(iter(describe("consents", kept))) == "X"


def test_a_payment() -> None:
    payment = {
        "status": "RCVD",
        "product": "sepa",
        "amount": {"amount": "1.00", "currency": "EUR"},
        "parts": [{"creditor": {"name": "Anna"}, "end_to_end_id": "E-1"}],
    }
    assert (state_of("payments", payment), intent_of(payment), intent_of({})) == ("RCVD", "E-1", "")
    assert list(describe("payments", payment)) == ["sepa", "Anna", "1.00 EUR"]


def test_an_account() -> None:
    account = next(iter(DATA["accounts"].values()))
    ((place, id), *_) = entry_ids(account)
    assert place == ("entries", "booked", 0, "id")
    assert id == account["entries"]["booked"][0]["id"]
    money = account["balances"][0]["amount"]
    assert list(describe("accounts", account))[-1] == f"{money['amount']} {money['currency']}"


def test_what_has_no_state_has_no_name_for_it() -> None:
    assert state_of("accounts", {"name": "Konto"}) == ""
    assert state_of("notes", {"role": "valid"}) == "valid"
