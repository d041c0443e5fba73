"""Events that fall due: before a request is answered, all events up to the clock's current time happen.

The `due` of a document computes when something will happen to it. The timeline notes that instant in a collection per
hour, so that nothing is searched while nothing is due. A note is not binding: what counts is the document at that time.
Documents of the test data are searched themselves.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from xs2a_sandbox.bank.callbacks import note_callbacks
from xs2a_sandbox.bank.domain import schedule, signing
from xs2a_sandbox.bank.domain.documents import INVALID
from xs2a_sandbox.bank.domain.lifecycle import OVER
from xs2a_sandbox.bank.domain.testdata_cache import for_each_testdata
from xs2a_sandbox.bank.handlers import consents
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.state import Document, MemoryStore, Transaction
from xs2a_sandbox.state.session import DEFAULT
from xs2a_sandbox.state.store import Collections

log = logging.getLogger("xs2a_sandbox")

_AGENDA = ("_session", "agenda")
NEVER = 32_503_680_000
"""The year 3000, which no clock reaches."""
_NOTHING_NOTED: Document = {"hours": [], "soonest": NEVER, "looked": ""}
"""`hours` are those with notes. None of them is due before `soonest`, in seconds since 1970. Events of the test data
have happened up to `looked`.
"""
_HOUR = "_due-"


class Event(NamedTuple):
    """Something that happens to a document.

    Events of one instant happen in the order in which their documents were made.
    """

    at: str
    sequence: int
    collection: str
    id: str


class _Expected:
    """The events of the test data, in order."""

    __slots__ = ("_first", "events")

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._first = _seconds(events[0].at) if events else NEVER

    def soonest(self, looked: str) -> int:
        """Return the time of the first event after that instant, in seconds since 1970."""
        if not looked:
            return self._first
        return next((_seconds(event.at) for event in self.events if event.at > looked), NEVER)


@dataclass(frozen=True, slots=True)
class _Kind:
    """`due` returns the instant of a document's next event; `happen` makes it happen."""

    due: Callable[[Mapping[str, Any]], datetime | None]
    happen: Callable[[Call, str, Document], Any]


def _moves(family: str, event: str) -> Callable[[Call, str, Document], Any]:
    return lambda call, id, document: signing.move(call, signing.FAMILIES[family], id, event)


_KINDS = {
    signing.AUTHORISATIONS: _Kind(signing.due, signing.happen),
    "consents": _Kind(consents.due, _moves("consent", OVER)),
    "payments": _Kind(schedule.due, _moves("payment", "its day comes")),
}


def run(call: Call) -> None:
    """Make all events happen that are due by the call's clock, each at its own instant."""
    agenda = call.state.get_own(*_AGENDA) or _NOTHING_NOTED
    if call.clock.timestamp() < _find_soonest(call.state, agenda):
        return
    clock = call.clock
    try:
        _happen(call, agenda, _text(clock.now()))
    finally:
        call.clock = clock


def quiet_until(state: Transaction) -> int:
    """Return the time, in seconds since 1970, before which nothing happens unless something is written."""
    return _find_soonest(state, state.get_own(*_AGENDA) or _NOTHING_NOTED)


def _find_soonest(state: Transaction, agenda: Document) -> int:
    soonest: int = agenda["soonest"]
    return min(soonest, _of_testdata(state.testdata()).soonest(agenda["looked"]))


def upcoming(call: Call) -> list[Event]:
    """Return the events that will happen without any action, soonest first."""
    state, now = call.state, _text(call.clock.now())
    agenda = state.get_own(*_AGENDA) or _NOTHING_NOTED
    noted = (Event(*_parts(name)) for hour in agenda["hours"] for name in state.own(hour))
    events = {event for event in (*_of_testdata(state.testdata()).events, *noted) if event.at > now}
    return sorted(event for event in events if _event(state, event.collection, event.id) == event)


def note(state: Transaction) -> list[Event]:
    """Note the next events of the documents that were written, and return them."""
    events = []
    for collection, id in dict.fromkeys(state.take_changes()):
        if collection in _KINDS and (event := _event(state, collection, id)):
            events.append(event)
            hour, name = _hour(event.at), _name(event)
            # A new document has no note yet, so a remote state need not be asked.
            if state.before(collection, id) is None or state.get_own(hour, name) is None:
                state.put(hour, name, {})
            _expect(state, hour, _seconds(event.at))
    return events


def _expect(state: Transaction, hour: str, at: int) -> None:
    agenda = state.get_own(*_AGENDA) or _NOTHING_NOTED
    if hour not in agenda["hours"] or at < agenda["soonest"]:
        hours, soonest = sorted({*agenda["hours"], hour}), min(agenda["soonest"], at)
        state.put(*_AGENDA, {**agenda, "hours": hours, "soonest": soonest})


def _happen(call: Call, agenda: Document, now: str) -> None:
    state, clock = call.state, call.clock
    of_testdata = [event for event in _of_testdata(state.testdata()).events if agenda["looked"] < event.at <= now]
    due = [event for event in (*of_testdata, *_find_noted(state, agenda, now)) if event.at <= now]
    heapify(due)
    while due:
        event = heappop(due)
        document = state.get(event.collection, event.id)
        if document is None or _event(state, event.collection, event.id) != event:
            continue
        call.clock = replace(clock, frozen=datetime.fromisoformat(event.at))
        undo = state.trial()
        try:
            _KINDS[event.collection].happen(call, event.id, document)
        except (BankError, *INVALID) as error:
            # A user has written an invalid document. Skip its event and continue with the others.
            undo()
            text = "skipped the event of %s %s at %s, because its document cannot be used: %r"
            log.warning(text, event.collection, event.id, event.at, error)
        note_callbacks(call, is_event=True)
        for following in note(state):
            if following.at <= now:
                heappush(due, following)
    _look_ahead(state, now, bool(of_testdata))


def _look_ahead(state: Transaction, now: str, looked: bool) -> None:
    """Delete hours that are over, and note when the next event is due."""
    agenda = state.get_own(*_AGENDA) or _NOTHING_NOTED
    hours = [hour for hour in agenda["hours"] if hour > _hour(now)]
    soonest = _seconds(f"{hours[0].removeprefix(_HOUR)}:00+00:00") if hours else NEVER
    if later := [event.at for event in _find_noted(state, agenda, now) if event.at > now]:
        hours, soonest = [_hour(now), *hours], _seconds(min(later))
    ahead = {"hours": hours, "soonest": soonest, "looked": now if looked else agenda["looked"]}
    if ahead != agenda:
        state.put(*_AGENDA, ahead)


def _find_noted(state: Transaction, agenda: Document, now: str) -> Iterator[Event]:
    """Yield the events of the hours up to now, including those that have happened."""
    for hour in agenda["hours"]:
        if hour <= _hour(now):
            for name in state.own(hour):
                yield Event(*_parts(name))


def _event(state: Transaction, collection: str, id: str) -> Event | None:
    """Return the next event of a document as it is now, or None if there is none or the document is invalid."""
    document = state.get(collection, id)
    if document is None:
        return None
    try:
        at = _KINDS[collection].due(document)
        return Event(_text(at), int(document.get("sequence", 0)), collection, id) if at else None
    except INVALID:
        return None


@for_each_testdata
def _of_testdata(testdata: Collections) -> _Expected:
    """Return the events of the test data's documents."""
    below = Transaction(MemoryStore(), DEFAULT, lambda _: testdata)
    events = [_event(below, name, id) for name in _KINDS for id in testdata.get(name, ())]
    return _Expected(sorted(filter(None, events)))


def _text(moment: datetime) -> str:
    """Return the instant in UTC as a string. The strings sort like the instants."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


@lru_cache(64)  # a second may have many authorisations, which all expire at the same time
def _seconds(at: str) -> int:
    return math.floor(datetime.fromisoformat(at).timestamp())


def _hour(at: str) -> str:
    """Return the name of the collection for the notes of that hour."""
    return _HOUR + at[:13]


def _parts(name: str) -> tuple[str, int, str, str]:
    at, sequence, collection, id = name.split("|", 3)
    return at, int(sequence), collection, id


def _name(event: Event) -> str:
    return f"{event.at}|{event.sequence}|{event.collection}|{event.id}"
