"""The section `states`: the names of states in a dialect's interface."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.state_words import STATES, StateWords
from xs2a_sandbox.errors import Problem

SECTION = "states"
_WITHOUT = "without"
"""The key for the states that the interface does not have."""


def read(sections: Sections, problems: list[Problem]) -> StateWords:
    """Return the words of all layers. Problems are added to `problems`."""
    written = sections.get(SECTION)

    def note(thing: str, name: str, text: str) -> None:
        problems.append(sections.problem((SECTION, thing, name), "states", text))

    for thing, spec in written.items():
        first: dict[str, str] = {}
        words, without = _words(spec), spec.get(_WITHOUT, ())
        for state, word in words.items():
            if (other := first.setdefault(word, state)) != state:
                note(thing, state, f"{word} is already the word for {other}; each state needs its own word")
        if missing := [state for state in STATES[thing] if state not in words and state not in without]:
            text = f"there is no word for {', '.join(missing)}; add one, or list the state under `{_WITHOUT}`"
            problems.append(sections.problem((SECTION, thing), "states", text, key=True))
    return StateWords({thing: _words(spec) for thing, spec in written.items()})


def _words(spec: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the words for states, without those of states that the interface does not have.

    A lower layer may define words for such states; they do not count.
    """
    return {state: word for state, word in spec.items() if state not in (_WITHOUT, *spec.get(_WITHOUT, ()))}
