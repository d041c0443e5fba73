"""The section `states`: what a dialect's interface calls the states of the domain."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.state_words import STATES, StateWords
from xs2a_sandbox.errors import Problem

SECTION = "states"
_WITHOUT = "without"
"""The key for the states that the interface does not know."""


def read(sections: Sections, problems: list[Problem]) -> StateWords:
    """The words of all layers. Every mistake goes to `problems`."""
    written = sections.get(SECTION)

    def note(thing: str, name: str, text: str) -> None:
        problems.append(sections.problem((SECTION, thing, name), "states", text))

    for thing, spec in written.items():
        first: dict[str, str] = {}
        words, without = _words(spec), spec.get(_WITHOUT, ())
        for state, word in words.items():
            if (other := first.setdefault(word, state)) != state:
                note(thing, state, f"{word} is the word for {other} already; each state needs one of its own")
        if missing := [state for state in STATES[thing] if state not in words and state not in without]:
            text = f"no word for {', '.join(missing)}; write one, or name it under `{_WITHOUT}`"
            problems.append(sections.problem((SECTION, thing), "states", text, key=True))
    return StateWords({thing: _words(spec) for thing, spec in written.items()})


def _words(spec: Mapping[str, Any]) -> Mapping[str, str]:
    """The words that a lower layer may have for states that the interface is without do not count."""
    return {state: word for state, word in spec.items() if state not in (_WITHOUT, *spec.get(_WITHOUT, ()))}
