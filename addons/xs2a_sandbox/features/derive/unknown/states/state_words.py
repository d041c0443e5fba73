"""Words for states that were not recorded, in the style of those that were."""

from typing import Any

from xs2a_sandbox.features.derive.unknown.states.machines import OWN_WORDS, StateMachine


def guess_word(word: str, machine: StateMachine) -> Any:
    """Return a state that was not recorded: a word in the style of the others, or the next number."""
    numbers = [one for one in machine.words if isinstance(one, int)]
    if len(numbers) == len(machine.words):
        return max(numbers) + (1 if word == "declined" else 2)
    return write_in_style(word, machine)


_DECLINED = frozenset({"declined", "rejected", "rjct"})
_STANDARDS = {"RCVD": "RJCT", "received": "rejected"}
"""First states of ISO 20022 and NextGenPSD2, with the words of these standards for what has been declined."""


def write_in_style(word: str, machine: StateMachine) -> str:
    """Return a word for a state, written like the other states."""
    words = [one for one in machine.words if isinstance(one, str) and one not in OWN_WORDS]
    if word.lower() in _DECLINED and machine.first in _STANDARDS:
        return _STANDARDS[machine.first]
    if words and all(one.isupper() for one in words):
        return word.upper()
    return word.capitalize() if words and all(one.istitle() for one in words) else word.lower()
