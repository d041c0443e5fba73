"""The words of an interface for the states of the domain. The mapping is one-to-one, so it works both ways."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

STATES: Mapping[str, tuple[str, ...]] = {
    "authorisation": (
        "begun", "identified", "authenticated", "challenged", "deciding", "unconfirmed", "done", "failed", "exempted",
    ),
    "consent": ("awaiting", "partly", "authorised", "rejected", "expired", "revoked", "withdrawn"),
    "payment": ("RCVD", "PATC", "ACTC", "ACSP", "ACSC", "ACCC", "PDNG", "RJCT", "CANC"),
    "mandate": ("incomplete", "awaiting", "partly", "authorised", "rejected", "expired", "used"),
    "basket": ("RCVD", "PATC", "ACTC", "RJCT", "CANC"),
    "login": ("awaiting", "authorised", "rejected"),
}  # fmt: skip
"""The states of each thing."""


@dataclass(frozen=True)
class StateWords:
    """The word of the interface for each thing and state. A state without a word keeps its name."""

    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def word(self, thing: str, state: str | None) -> str | None:
        """Return the interface's word for the state, or the state itself if there is no word."""
        return self.words.get(thing, {}).get(state, state) if state else state

    def state(self, thing: str, word: str) -> str:
        """Return the state for the interface's word, or the word itself if no state has it."""
        return self._states.get(thing, {}).get(word, word)

    @cached_property
    def _states(self) -> Mapping[str, Mapping[str, str]]:
        return {thing: {word: state for state, word in words.items()} for thing, words in self.words.items()}
