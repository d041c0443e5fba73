"""The words of an interface for the states of the domain, one for one, so that they lead back as well."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

STATES: Mapping[str, tuple[str, ...]] = {
    "authorisation": (
        "begun", "identified", "authenticated", "challenged", "deciding", "unconfirmed", "done", "failed", "exempted",
    ),
    "consent": ("awaiting", "partly", "authorised", "rejected", "expired", "revoked", "withdrawn"),
    "payment": ("RCVD", "PATC", "ACTC", "ACSP", "ACSC", "ACCC", "PDNG", "RJCT", "CANC"),
    "mandate": ("awaiting", "partly", "authorised", "rejected", "expired", "used"),
    "basket": ("RCVD", "PATC", "ACTC", "RJCT", "CANC"),
    "login": ("awaiting", "authorised", "rejected"),
}  # fmt: skip
"""The states that there are, by thing."""


@dataclass(frozen=True)
class StateWords:
    """By thing and state, the word of the interface. A state without one is called as the domain calls it."""

    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def word(self, thing: str, state: str | None) -> str | None:
        """What the interface calls the state; the state itself where it has no word for it."""
        return self.words.get(thing, {}).get(state, state) if state else state

    def state(self, thing: str, word: str) -> str:
        """The state that the interface calls so; the word itself where there is none."""
        return self._states.get(thing, {}).get(word, word)

    @cached_property
    def _states(self) -> Mapping[str, Mapping[str, str]]:
        return {thing: {word: state for state, word in words.items()} for thing, words in self.words.items()}
