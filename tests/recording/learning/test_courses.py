"""The meaning of a bank's words for states in the documented state machines."""

import pytest

from tests.recording.learning.test_recognised_exchange import INTERFACE
from tests.support.state_words import default_states
from tests.support.taping import taped
from xs2a_sandbox.bank.domain.lifecycle import BASKET, CONSENT, PAYMENT, SCA
from xs2a_sandbox.features.derive.learning.courses import StateSequences, courses
from xs2a_sandbox.features.derive.learning.recognised_exchange import recognise_exchanges
from xs2a_sandbox.http.exchange import Exchange

MACHINES = {"consent": CONSENT, "payment": PAYMENT, "basket": BASKET, "authorisation": SCA}
WORDS = default_states()
BEGINNINGS = {"consent": "received", "payment": "RCVD", "basket": "RCVD"}


def learned(*entries: Exchange) -> StateSequences:
    places = [f"tape, exchange {number}" for number in range(1, len(entries) + 1)]
    arrows = {
        thing: {(WORDS.word(thing, before), WORDS.word(thing, to)) for before, to in machine.arrows}
        for thing, machine in MACHINES.items()
    }
    return courses(recognise_exchanges(places, entries, INTERFACE), arrows, BEGINNINGS)  # type: ignore[arg-type]


def consent(*words: str) -> list[Exchange]:
    first, *others = words
    made = taped("/v1/consents", {"consentId": "c", "consentStatus": first}, "POST", status=201)
    return [made, *(taped("/v1/consents/c/status", {"consentStatus": word}) for word in others)]


def payment(*words: str) -> list[Exchange]:
    first, *others = words
    made = taped("/v1/payments/giro", {"paymentId": "p", "transactionStatus": first}, "POST", status=201)
    return [made, *(taped("/v1/payments/giro/p/status", {"transactionStatus": word}) for word in others)]


@pytest.mark.parametrize(
    ("words", "states"),
    [
        (("received", "valid"), ("received", "valid")),
        (("received", "pending", "valid"), ("received", "received", "valid")),
        (("received", "pending", "rejected"), ("received", "received", "rejected")),
        (("valid", "expired"), ("valid", "expired")),
    ],
)
def test_words_for_states_of_consents_are_learned(words: tuple[str, ...], states: tuple[str, ...]) -> None:
    made = learned(*consent(*words))
    assert tuple(made.meaning("consent", word) for word in words) == states
    assert not made.unknown


@pytest.mark.parametrize(
    ("words", "states"),
    [
        (("RCVD", "ACSC"), ("RCVD", "ACSC")),
        (("RCVD", "ACWC"), ("RCVD", "ACSP")),
        (("RCVD", "ACWC", "ACWC"), ("RCVD", "ACSP", "ACSP")),
        (("ACTC", "ACSC"), ("RCVD", "ACSC")),
        (("RCVD", "PDNG", "ACSC"), ("RCVD", "RCVD", "ACSC")),
        (("RCVD", "ACSP", "ACSC"), ("RCVD", "ACSP", "ACSC")),
        (("RCVD", "RJCT"), ("RCVD", "RJCT")),
        (("RCVD", "CANC"), ("RCVD", "CANC")),
    ],
)
def test_words_for_states_of_payments_are_learned(words: tuple[str, ...], states: tuple[str, ...]) -> None:
    made = learned(*payment(*words))
    assert tuple(made.meaning("payment", word) for word in words) == states


def test_each_operation_has_its_own_words() -> None:
    made = learned(*consent("received", "pending", "valid"))
    assert (made.words("create-consent"), made.words("consent-status")) == ({}, {"received": "pending"})


def test_a_word_for_an_unreachable_state_is_not_learned() -> None:
    made = learned(*consent("received", "frozen"))
    assert made.unknown == ("'frozen' (tape, exchange 2) is not a state that the documented consent can reach",)


def test_two_words_for_one_state_are_reported() -> None:
    made = learned(*consent("received", "received", "pending", "valid"))
    assert any("consent-status reports received (1 ×), pending (1 ×) for received" in text for text in made.unknown)


def test_the_word_for_a_deleted_resource_is_not_a_separate_state() -> None:
    deleted = taped("/v1/consents/c", None, "DELETE", status=204)
    made = learned(*consent("received", "valid"), deleted, taped("/v1/consents/c/status", {"consentStatus": "gone"}))
    assert made.after_delete["consent"].word == "gone"
    assert not made.unknown


def test_transitions_are_counted_by_operation() -> None:
    made = learned(*consent("received", "received", "valid", "valid"))
    assert made.transitions == {
        ("consent", "none", "create-consent", "received"): 1,
        ("consent", "received", "consent-status", "valid"): 1,
    }
