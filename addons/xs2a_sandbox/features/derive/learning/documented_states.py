"""The documented state machines in the words of a dialect."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.bank.domain.lifecycle import BASKET, CONSENT, MANDATE, PAYMENT, SCA
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.compare.states import Thing
from xs2a_sandbox.features.derive.learning.courses import Arrows

_MACHINES: Mapping[Thing, Any] = {
    "consent": CONSENT,
    "payment": PAYMENT,
    "basket": BASKET,
    "mandate": MANDATE,
    "authorisation": SCA,
}
_BEGINNINGS: Mapping[Thing, str] = {"consent": "awaiting", "payment": "RCVD", "basket": "RCVD", "mandate": "awaiting"}


def documented_states(interface: Interface) -> tuple[Mapping[Thing, Arrows], Mapping[Thing, str]]:
    """Return the transitions of the state machines, and the initial states."""

    def word(thing: Thing, state: str) -> str:
        return str(interface.states.word(thing, state))

    arrows = {
        thing: {(word(thing, before), word(thing, after)) for before, after in machine.arrows}
        for thing, machine in _MACHINES.items()
    }
    return arrows, {thing: word(thing, state) for thing, state in _BEGINNINGS.items()}
