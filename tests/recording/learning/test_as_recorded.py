"""Rules that answer as recorded: while a consent is valid, if the recording has created one."""

from typing import Any

from tests.recording.learning.test_recognised_exchange import INTERFACE
from tests.support.taping import taped
from xs2a_sandbox.features.derive.learning.as_recorded import as_recorded
from xs2a_sandbox.features.derive.learning.recognised_exchange import recognise_exchanges
from xs2a_sandbox.http.exchange import Exchange

VALID = "state.consents[headers['consent-id']].status == 'authorised'"


def rules(*entries: Exchange, consents: tuple[str, ...] = ("c-1",)) -> list[dict[str, Any]]:
    places = [f"tape, exchange {number}" for number in range(1, len(entries) + 1)]
    return [one.value for one in as_recorded(recognise_exchanges(places, entries, INTERFACE), consents)]


def balances(account: str, amount: int, consent: str = "c-1") -> Exchange:
    return taped(f"/b/v1/accounts/{account}/balances", {"amount": amount}, headers=[("Consent-ID", consent)])


def test_data_are_answered_for_each_account_while_the_consent_is_valid() -> None:
    one, two = rules(balances("1", 10), balances("2", 20))
    assert one["match"] == {"operation": "account-balances", "where": {"account-id": "1"}, "when": VALID}
    assert (one["respond"]["body"], two["respond"]["body"]) == ({"amount": 10}, {"amount": 20})
    assert "require" not in one
    assert one["id"] != two["id"]


def test_a_consent_from_before_the_recording_is_required() -> None:
    (rule,) = rules(balances("1", 10, "old"))
    assert rule["match"]["headers"] == {"Consent-ID": "old"}
    assert "when" not in rule["match"]
