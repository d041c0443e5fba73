"""The entries that the bank has sent to the app, and the values by which they can be found in what the app stores."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from xs2a_sandbox.features.campaign.seen import SeenCall

DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DEBIT = re.compile("debit|dbit", re.IGNORECASE)
_DIGITS = re.compile("[0-9]{6}")
_SHORTEST, _LONGEST_CODE = 3, 4
_MOST_CALLS = 40
"""How many answers of a run are read."""


@dataclass(frozen=True, slots=True)
class SentEntry:
    """An entry: its texts with the member that has them, its dates without a time, and its amount, negative for debits.

    `path` is that of the request that it answered.
    """

    texts: Mapping[str, str]
    dates: frozenset[str]
    amount: Decimal | None
    path: str


@dataclass(frozen=True)
class SentEntries:
    """The entries of a run, each once, and the paths at which they were read."""

    entries: tuple[SentEntry, ...] = ()
    paths: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def ambiguous(self) -> frozenset[str]:
        """The texts that several entries have, so that they identify none of them."""
        counts = Counter(text for entry in self.entries for text in entry.texts)
        return frozenset(text for text, count in counts.items() if count > 1)


def read_entries(calls: Iterable[SeenCall]) -> SentEntries:
    """Return the entries in the answers to these calls. Raises UserMistake."""
    read = [call for call in calls if call.does and (call.does.verb, call.does.thing) == ("list", "entry")]
    found: dict[str, SentEntry] = {}
    successful = [call for call in read if call.status == 200]
    for call in successful[:_MOST_CALLS]:
        for value in _objects(call.answer):
            if (entry := _entry(value, call.path)) is not None:
                found.setdefault(json.dumps(value, sort_keys=True, default=str), entry)
    return SentEntries(tuple(found.values()), frozenset(call.path for call in successful))


def has_entries(answer: Any) -> bool:
    return any(_entry(value, "") for value in _objects(answer))


def is_day(text: str) -> bool:
    """Return whether the text is a date without a time."""
    try:
        return bool(DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


def decimal(text: str) -> Decimal | None:
    """Return the number, or None if the text is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in the outermost lists."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _objects(part)
    elif isinstance(value, list):
        yield from (part for part in value if isinstance(part, dict))


def _entry(value: dict[str, Any], path: str) -> SentEntry | None:
    """Return the entry, or None if the object has no amount."""
    values = list(_leaves(value, ""))
    amounts = [
        number for member, text in values if "amount" in member.lower() and (number := decimal(text)) is not None
    ]
    if not amounts:
        return None
    is_debit = any(_DEBIT.fullmatch(text) for _, text in values)
    return SentEntry(
        {text: member for member, text in values if _identifies(text)},
        frozenset(text for _, text in values if is_day(text)),
        -abs(amounts[0]) if is_debit else amounts[0],
        path,
    )


def _leaves(value: Any, member: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, part in value.items():
                yield from _leaves(part, f"{member}.{name}" if member else name)
        case list():
            for part in value:
                yield from _leaves(part, member)
        case str() | int() | float() | Decimal():
            yield member, str(value)


def _identifies(text: str) -> bool:
    """Return whether a text can belong to one entry only: dates, amounts and codes of currencies cannot."""
    if DATE.match(text) or len(text) < _SHORTEST:
        return False
    if text.isalpha():
        return len(text) > _LONGEST_CODE
    return decimal(text) is None or _DIGITS.search(text) is not None
