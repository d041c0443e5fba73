"""Finds what may be the bank's own words and amounts in a redacted recording, so that a person can decide to keep them.

The person has to decide, because a recording cannot prove that a word is not a name. A state changes when it is read
again, but so does the name of the latest payee; a page offers words, but also nicknames of accounts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.documents.yaml_writer import yaml_line
from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves
from xs2a_sandbox.http import body
from xs2a_sandbox.http.body_members import FORM
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.redaction.marked_members import NONE, MarkedMembers
from xs2a_sandbox.redaction.real_values import KeptRestorer
from xs2a_sandbox.redaction.rules import DEFAULT, RedactionRules
from xs2a_sandbox.redaction.values import DROPPED, ValueRedactor
from xs2a_sandbox.redaction.vault import OpenVault
from xs2a_sandbox.redaction.vocabulary import is_words

_WORD = re.compile(r"(?!.*\d)[^\W\d_](?:[\w-]{0,38}[^\W\d_])")
_MOST_NUMBERS = 3
"""The most numbers of a member that are shown as examples."""

type _Read = tuple[str, str, tuple[str | int, ...]]
"""A place in the answers to one request: method, target, and the steps to the value."""


@dataclass(slots=True)
class HiddenPlace:
    """A place of requests and answers at which all texts are single words, or all values are numbers.

    `changes` says whether a value became another one when the same address was read again.
    """

    name: str
    words: dict[str, None] = field(default_factory=dict)
    numbers: dict[str, None] = field(default_factory=dict)
    is_answered: bool = False
    is_only_in_errors: bool = True
    is_of_words: bool = True
    changes: bool = False

    @property
    def why(self) -> str:
        if self.changes:
            return f"{self.name}, which changes when it is read again"
        if self.is_answered and self.is_only_in_errors:
            return f"{self.name}, which only errors have"
        return self.name if self.is_answered else f"{self.name}, which only requests have"

    @property
    def is_likely(self) -> bool:
        return self.changes or (self.is_answered and self.is_only_in_errors)


def find_hidden(tape: Tape, marked: MarkedMembers = NONE) -> list[HiddenPlace]:
    """Return the places that may have pseudonyms of the bank's words or amounts, the most likely ones first."""
    places: dict[str, HiddenPlace] = {}
    censor = ValueRedactor(b"-", DEFAULT, marked=marked)
    before: dict[_Read, Any] = {}
    for entry in tape.entries:
        for is_answer, kind, steps, value in _values(entry):
            names = [step for step in steps if isinstance(step, str)]
            if not names or any(censor.is_secret(name) or censor.is_personal(name) for name in names):
                continue
            name = kind + names[-1] if kind else pointer_text(["*" if _is_number(step) else step for step in steps])
            place = places.setdefault(name, HiddenPlace(name))
            place.is_answered |= is_answer
            place.is_only_in_errors &= is_answer and entry.status >= 400
            if isinstance(value, str):
                _add(place, value)
            elif _is_number(value) and not censor.is_harmless(names[-1], str(value)):
                place.numbers[str(value)] = None
            if is_answer and entry.method == "GET" and entry.status < 400 and not any(map(_is_number, steps)):
                place.changes |= before.setdefault((entry.method, entry.target, steps), value) != value
    for place in places.values():
        place.words = place.words if place.is_of_words else {}
        place.numbers = place.numbers if place.is_of_words and not place.words else {}
    return sorted(places.values(), key=lambda place: (not place.is_likely, not place.is_answered))


def _add(place: HiddenPlace, text: str) -> None:
    place.is_of_words &= text != DROPPED and (not text or _WORD.fullmatch(text) is not None)
    if text and place.is_of_words and not is_words(text) and not is_id(text, is_redacted=True):
        place.words[text] = None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _values(entry: Exchange) -> Iterator[tuple[bool, str, tuple[str | int, ...], Any]]:
    """Yield the values of an exchange: whether it is of the answer, the kind of its place, the steps, the value."""
    for is_answer, content in ((False, entry.body), (True, entry.answer_body)):
        read = body.read(content)
        if read.kind == "json":
            for steps, value in leaves(read.value):
                yield is_answer, "", steps, value
    if media_type(entry.headers.get("content-type")) == FORM:
        for name, value in parse_qsl(entry.body.decode(errors="replace")):
            yield False, "field ", (name,), value
    for is_answer, link in ((False, entry.target), (True, entry.answer_headers.get("location") or "")):
        for name, value in parse_qsl(urlsplit(link).query):
            yield is_answer, "parameter ", (name,), value


def rule_lines(tapes: str, places: Sequence[HiddenPlace], real: Mapping[str, str]) -> list[str]:
    """Return redaction rules that keep the real values of these places, as comments: a person has to choose them.

    Returns nothing if there is nothing to choose.
    """
    rules: list[str] = []
    listed: set[str] = set()
    for place in places:
        words = [real[word] for word in place.words if word in real and real[word] not in listed]
        numbers = [real[number] for number in place.numbers if number in real]
        listed.update(words)
        if words:
            rules.append(yaml_line({"words": words, "why": place.why}))
        if numbers:
            why = f"numbers such as {', '.join(numbers[:_MOST_NUMBERS])}"
            rules.append(yaml_line({"path": place.name, "why": why}))
    head = (
        f"# Values with pseudonyms in {tapes}. They may be the bank's own, or names, passwords and other secrets.",
        "# Remove the # before lines that have only words or amounts of the bank. Remove all other lines, because they",
        "# have real values, too. Save the rest as the file of the setting `redaction`, for recordings and dialects.",
        "redaction: 1",
        "keep:",
    )
    return [*head, *(f"  # - {rule}" for rule in rules)] if rules else []


def count_hidden(places: Sequence[HiddenPlace]) -> int:
    """Return how many words look like pseudonyms of the bank's words."""
    return len({word for place in places for word in place.words if place.is_answered})


def keep(tape: Tape, vault: OpenVault, rules: RedactionRules, marked: MarkedMembers = NONE) -> Tape:
    """Return a redacted recording with what the rules keep now, as if it had been recorded with them."""
    restorer = KeptRestorer(b"-", rules, marked=marked)
    entries = (
        restorer.knowing(vault.values[key]).entry(entry) if key and key in vault.values else entry
        for entry, key in zip(tape.entries, tape.keys, strict=True)
    )
    return replace(tape, entries=tuple(entries))
