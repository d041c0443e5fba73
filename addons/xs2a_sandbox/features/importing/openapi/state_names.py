"""Finds the words of an interface for the states of consents and payments."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette.evaluation.state_words import STATES

_WORDS_FOR: Mapping[str, frozenset[str]] = {
    "awaiting": frozenset(
        "awaiting awaitingauthorisation awaitingauthorization awau received pending created open".split()
    ),
    "partly": frozenset(("partly", "partiallyauthorised", "partiallyauthorized")),
    "authorised": frozenset("authorised authorized auth valid active approved granted given accepted".split()),
    "rejected": frozenset("rejected rjct denied refused declined".split()),
    "expired": frozenset(("expired", "expd", "over")),
    "revoked": frozenset("revoked terminatedbytpp cancelled canceled canc deleted closed".split()),
    "withdrawn": frozenset(("withdrawn", "revokedbypsu", "suspended")),
    "RCVD": frozenset("rcvd received created initiated open".split()),
    "ACTC": frozenset("actc authorised authorized accepted approved".split()),
    "ACSP": frozenset("acsp processing inprogress acceptedsettlementinprocess".split()),
    "ACSC": frozenset("acsc executed completed settled acceptedsettlementcompleted done".split()),
    "PDNG": frozenset(("pdng", "pending")),
    "RJCT": frozenset("rjct rejected failed refused".split()),
    "CANC": frozenset("canc cancelled canceled".split()),
}
"""Words for states that interfaces use, in lower case."""


_NEAREST: Mapping[str, tuple[str, ...]] = {
    "awaiting": ("partly",),
    "partly": ("awaiting",),
    "authorised": (),
    "rejected": ("revoked",),
    "expired": ("revoked", "rejected"),
    "revoked": ("withdrawn", "rejected", "expired"),
    "withdrawn": ("revoked", "rejected", "expired"),
    "RCVD": ("PDNG", "ACTC"),
    "PATC": ("RCVD", "PDNG"),
    "ACTC": ("RCVD", "PDNG", "ACSP"),
    "ACSP": ("ACSC", "ACTC"),
    "ACSC": ("ACSP", "ACCC"),
    "ACCC": ("ACSC", "ACSP"),
    "PDNG": ("RCVD", "ACTC"),
    "RJCT": (),
    "CANC": ("RJCT",),
}
"""The states that are nearest to a state, the nearest first."""


def match_states(thing: str, offered: list[str]) -> dict[str, Any]:
    """Return the interface's words for states: the same word, that of a bundled dialect, or one that begins like it."""
    found: dict[str, Any] = {}
    for state in STATES[thing]:
        for word in offered:
            if word not in found.values() and word.lower() in _WORDS_FOR.get(state, {state.lower()}):
                found[state] = word
                break
    without = [state for state in STATES[thing] if state not in found]
    return {**found, "without": without} if found and without else found


def find_nearest(words: Mapping[str, Any]) -> dict[str, str]:
    """Return the states without a word, each with the nearest state that has a word."""
    without = words.get("without", ())
    near = {state: next((one for one in _NEAREST[state] if one in words), None) for state in without}
    return {state: one for state, one in near.items() if one}
