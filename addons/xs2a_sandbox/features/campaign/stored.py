"""Compares what the app has stored with the entries that the bank has sent, without knowing the app.

In the runs without a fault it learns where the app stores which member of the entries, and how.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property

from xs2a_sandbox.features.campaign.records import StoredRecord
from xs2a_sandbox.features.campaign.sent import SentEntries, SentEntry, decimal, is_day
from xs2a_sandbox.wording import say_count, say_times

_SCALES = (1, 100, 1000)
"""Amounts may be stored in units of the currency, in cents or in thousandths."""
_ENOUGH = 3
"""How many entries must agree before the campaign relies on where and how the app stores them."""
_DAY = timedelta(days=1)
_AT_MIDNIGHT = re.compile(r"([T ]00:00(:00(\.0+)?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class KeptEntries:
    """The entries that the bank has sent in a run, and all records that the app has after it."""

    sent: SentEntries = field(default_factory=SentEntries)
    records: tuple[StoredRecord, ...] = ()

    def find(self, text: str) -> list[StoredRecord]:
        """Return the records that contain the text as a whole word."""
        if text not in self._found:
            self._found[text] = [record for record, all in self._texts if _contains(all, text)]
        return self._found[text]

    def count(self, text: str) -> dict[str, int]:
        """Return the number of records with the text by place."""
        counts: dict[str, int] = defaultdict(int)
        for record in self.find(text):
            counts[record.place] += 1
        return counts

    @cached_property
    def _texts(self) -> list[tuple[StoredRecord, str]]:
        return [(record, record.text) for record in self.records]

    @cached_property
    def _found(self) -> dict[str, list[StoredRecord]]:
        return {}


def _contains(text: str, word: str) -> bool:
    start = text.find(word)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(word) : start + len(word) + 1]
        if not _is_of_word(before) and not _is_of_word(after):
            return True
        start = text.find(word, start + 1)
    return False


def _is_of_word(character: str) -> bool:
    """Return whether the character can be part of an id."""
    return character.isalnum() or character in ("-", "_")


@dataclass(frozen=True)
class Storage:
    """Where and how the app stores entries, as learned from two runs without a fault in one session.

    `beside` is a run in another session, if there was one.
    """

    first: KeptEntries
    second: KeptEntries
    beside: KeptEntries | None = None

    @cached_property
    def copies(self) -> Mapping[tuple[str, str], int]:
        """How many records of a place contain a text of a member; only if that is the same for all after both runs."""
        counts: dict[tuple[str, str], set[int]] = defaultdict(set)
        entries: dict[tuple[str, str], int] = defaultdict(int)
        for _, text, member in _identified([self.first]):
            before, after = self.first.count(text), self.second.count(text)
            for place in before.keys() | after.keys():
                counts[place, member] |= {before.get(place, 0), after.get(place, 0)}
                entries[place, member] += 1
        return {
            at: next(iter(several)) for at, several in counts.items() if len(several) == 1 and entries[at] >= _ENOUGH
        }

    @cached_property
    def lasting(self) -> KeptEntries:
        """The entries of the first run with those of their texts that they have in every session."""
        of_beside = self.beside.sent.entries if self.beside else ()
        texts = {text for entry in of_beside for text in entry.texts}
        same = (
            replace(entry, texts={text: member for text, member in entry.texts.items() if text in texts})
            for entry in self.first.sent.entries
        )
        return KeptEntries(SentEntries(tuple(entry for entry in same if entry.texts)))

    @cached_property
    def members(self) -> frozenset[str]:
        """The members of which the app stores every text."""
        stored = {member for _, member in self.copies}
        return frozenset(
            member
            for member in stored
            if all(self.second.find(text) for _, text, of in _identified([self.first]) if of == member)
        )

    @cached_property
    def dated(self) -> frozenset[str]:
        """The places at which each entry is stored with one of its dates."""
        there: dict[str, set[bool]] = defaultdict(set)
        days: dict[str, set[frozenset[str]]] = defaultdict(set)
        for kept in (self.first, self.second):
            for entry, record, _ in _pairs(kept, self.copies):
                if entry.dates and (stored := _dates(record)):
                    there[record.place].add(not entry.dates.isdisjoint(stored))
                    days[record.place].add(entry.dates)
        return frozenset(place for place, fits in there.items() if fits == {True} and len(days[place]) >= _ENOUGH)

    @cached_property
    def amounts(self) -> Mapping[tuple[str, str], int]:
        """The factor between the amounts at the bank and those in a member of a place, negative if signs are inverted.

        Only members whose sign tells debits from credits, and whose factor is the same for all entries.
        """
        factors: dict[tuple[str, str], list[int]] = defaultdict(list)
        signs: dict[tuple[str, str], set[bool]] = defaultdict(set)
        for kept in (self.first, self.second):
            for entry, record, _ in _pairs(kept, self.copies):
                for member, number in _numbers(record):
                    if entry.amount and (factor := _factor(number, entry.amount)):
                        factors[record.place, member].append(factor)
                        signs[record.place, member].add(entry.amount < 0)
        return {
            at: several[0]
            for at, several in factors.items()
            if len(several) >= _ENOUGH and len({*several}) == 1 and len(signs[at]) == 2
        }


def find_copies(storage: Storage, runs: Sequence[KeptEntries]) -> Iterator[str]:
    """Yield places with entries that the app has stored more often after these runs than without the fault."""
    more: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for _, text, member in _identified(runs):
        for place, count in runs[-1].count(text).items():
            usual = storage.copies.get((place, member))
            if usual is not None and count > usual:
                more[place][text] = usual, count
    for place, texts in more.items():
        text, (usual, count) = next(iter(texts.items()))
        yield (
            f"The app has stored {_say_entries(len(texts))} too often in {place}, such as {text!r}: "
            f"{say_times(count)}, without the fault {say_times(usual)}."
        )


def find_losses(
    storage: Storage, expected: KeptEntries, last: KeptEntries, is_judged: Callable[[SentEntry], bool]
) -> Iterator[str]:
    """Yield the entries that were expected after a run and that the app does not have, although it has others.

    Entries of one account with the same dates and amount count as one, because a bank may change the texts of an entry.
    """
    if not storage.members:
        return
    texts: dict[tuple[str, frozenset[str], Decimal | None], list[str]] = defaultdict(list)
    for entry, text, member in _identified([expected, last]):
        if member in storage.members and is_judged(entry):
            texts[entry.path, entry.dates, entry.amount].append(text)
    missing = [several for several in texts.values() if not any(last.find(text) for text in several)]
    if missing and len(missing) < len(texts):
        yield (
            f"The app does not have {_say_entries(len(missing))} of {len(texts)}, such as {missing[0][0]!r}, although "
            "it has the others and ended with status 0."
        )


def find_shifted_dates(storage: Storage, kept: KeptEntries) -> Iterator[str]:
    """Yield the entries that are stored with the day before or after one of their dates instead of that."""
    shifted: dict[str, list[str]] = defaultdict(list)
    for entry, record, text in _pairs(kept, storage.copies):
        stored = _dates(record)
        if record.place not in storage.dated or not stored or not entry.dates or not entry.dates.isdisjoint(stored):
            continue
        if beside := [(at, day) for at in entry.dates for day in stored if _are_next(at, day)]:
            shifted[record.place].append(f"{text!r} of {beside[0][0]} with the date {beside[0][1]}")
    for place, several in shifted.items():
        yield f"The app has stored {_say_entries(len(several))} on another day in {place}, such as {several[0]}."


def find_wrong_amounts(storage: Storage, kept: KeptEntries) -> Iterator[str]:
    """Yield the entries that are stored with another sign, or another factor, than all entries without the fault."""
    wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry, record, text in _pairs(kept, storage.copies):
        for member, number in _numbers(record):
            usual = storage.amounts.get((record.place, member))
            factor = _factor(number, entry.amount) if usual and entry.amount else None
            if usual and factor and factor != usual:
                wrong[record.place, member].append(f"{text!r} of {entry.amount} as {number}")
    for (place, member), several in wrong.items():
        yield (
            f"The app has stored {_say_entries(len(several))} with a wrong amount in {place} ({member}), such as "
            f"{several[0]}."
        )


def _identified(runs: Collection[KeptEntries]) -> Iterator[tuple[SentEntry, str, str]]:
    """Yield the entries of the runs with each text that identifies one of them in every run, and its member."""
    ambiguous = frozenset[str]().union(*(kept.sent.ambiguous for kept in runs))
    seen: set[str] = set()
    for kept in runs:
        for entry in kept.sent.entries:
            for text, member in entry.texts.items():
                if text not in ambiguous and text not in seen:
                    seen.add(text)
                    yield entry, text, member


def _pairs(kept: KeptEntries, copies: Collection[tuple[str, str]]) -> Iterator[tuple[SentEntry, StoredRecord, str]]:
    """Yield each entry with the records that contain a text of it, and the text.

    `copies` are the places with the members whose texts identify an entry there.
    """
    for entry in kept.sent.entries:
        found: dict[StoredRecord, str] = {}
        for text, member in entry.texts.items():
            if text not in kept.sent.ambiguous:
                found |= {one: text for one in kept.find(text) if (one.place, member) in copies and one not in found}
        yield from ((entry, record, text) for record, text in found.items())


def _are_next(one: str, other: str) -> bool:
    return abs(date.fromisoformat(one) - date.fromisoformat(other)) == _DAY


def _dates(record: StoredRecord) -> frozenset[str]:
    """Return the days in the record: dates without a time, or at midnight."""
    values = (value for _, value in record.values)
    return frozenset(value[:10] for value in values if is_day(value[:10]) and _AT_MIDNIGHT.fullmatch(value[10:]))


def _numbers(record: StoredRecord) -> Iterator[tuple[str, Decimal]]:
    for member, value in record.values:
        if (number := decimal(value)) is not None:
            yield member, number


def _factor(number: Decimal, amount: Decimal) -> int | None:
    """Return how many times the amount the number is, with its sign, if it is the same amount in another unit."""
    return next(
        (scale if number == amount * scale else -scale for scale in _SCALES if abs(number) == abs(amount) * scale), None
    )


def _say_entries(count: int) -> str:
    return say_count(count, "entry", "entries")
