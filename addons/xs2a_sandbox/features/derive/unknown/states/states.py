"""The states of things over time, and what changes them: a request, time, or how often they are read."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.forms import DateForm, date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values
from xs2a_sandbox.features.derive.unknown.things.decisions import REDIRECTS, is_alike
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, StateChange, ThingKind, World

_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_TIMES = (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 43200, 86400)
"""Seconds that a bank is likely to wait."""


DELETED = "deleted"
_DECIDED = "decided"
"""The state after the customer's decision, if the recording goes on before the app looks at it."""
_DAY = 86400
_AT_ONCE = 5
"""The seconds in which time changes no state."""
_SOON = 60
"""The seconds in which a state hardly changes by itself."""
_NEW = "new"
"""The first state of things of which the recording shows only later ones."""


@dataclass(frozen=True)
class ByRequest:
    """A request of `one`'s operation that was answered like `one` changes the state."""

    before: Any
    after: Any
    one: SeenExchange


@dataclass(frozen=True)
class ByTime:
    """The state changes this many seconds after the last change by a request. It was seen at `one`."""

    before: Any
    after: Any
    seconds: int
    one: SeenExchange


@dataclass(frozen=True)
class ByEnd:
    """The state changes after the day or time that the thing's own request has at a place. It was seen at `one`.

    With `is_first_day`, it changes when the day begins.
    """

    before: Any
    after: Any
    place: Place
    one: SeenExchange
    is_first_day: bool = False


@dataclass(frozen=True)
class ByReading:
    """The state changes with the n-th read in the state."""

    before: Any
    after: Any
    reads: int
    one: SeenExchange


@dataclass(frozen=True)
class ByNewer:
    """The state changes when another thing of the kind gets the state `before`. It was seen at `one`."""

    before: Any
    after: Any
    one: SeenExchange


@dataclass(frozen=True)
class ByPayments:
    """The state changes when a standing order has paid for the last time: a guess, because `one` shows only a payment.

    It pays as often as its own request has at `count`, the first time on the day at `start`, then after so many `days`.
    The members `left` and `next` of answers tell how often and when it will pay.
    """

    before: Any
    after: Any
    start: Place
    count: Place
    form: DateForm
    days: int
    left: str
    next: str
    one: SeenExchange


type Change = ByRequest | ByTime | ByEnd | ByReading | ByPayments | ByNewer


@dataclass
class StateMachine:
    """The states of one kind: the member that shows them, the first one, and the changes."""

    kind: ThingKind
    member: str
    first: Any
    by_request: list[ByRequest] = field(default_factory=list)
    by_time: list[ByTime] = field(default_factory=list)
    by_end: list[ByEnd] = field(default_factory=list)
    by_reading: list[ByReading] = field(default_factory=list)
    by_payments: list[ByPayments] = field(default_factory=list)
    by_newer: list[ByNewer] = field(default_factory=list)

    @property
    def changes(self) -> list[Change]:
        later: list[Change] = [*self.by_time, *self.by_end, *self.by_reading, *self.by_payments, *self.by_newer]
        return [*self.by_request, *later]

    @property
    def words(self) -> list[Any]:
        return list(dict.fromkeys([self.first, *(word for one in self.changes for word in (one.before, one.after))]))

    @property
    def lasts(self) -> list[Any]:
        """The states that nothing changes."""
        return [word for word in self.words if not self.later(word)]

    def later(self, word: Any) -> set[Any]:
        """Return the states that can follow a state, directly or not."""
        found: set[Any] = set()
        new = {word}
        while new:
            new = {one.after for one in self.changes if one.before in new} - found
            found |= new
        return found


def find_machines(world: World) -> dict[ThingKind, StateMachine]:
    shown = _shown(world)
    machines: dict[ThingKind, StateMachine] = {}
    deciding: set[LearnedOperation] = set()
    for kind in world.kinds:
        member = _state_member(world, kind, shown)
        if member is None:
            continue
        first: Any = None
        synonyms = _find_synonyms(world, kind, member, shown)
        for thing in kind.things:
            for one, name, value in shown[thing]:
                if name == member and (not thing.states or thing.states[-1][0] != one.number):
                    thing.states.append((one.number, synonyms.get(value, value)))
            if thing.states and first is None and _is_first(world, thing):
                first = thing.states[0][1]
            _delete(world, thing, member)
        known = [state for thing in kind.things for _, state in thing.states]
        if first is None:
            first = 0 if all(isinstance(state, int) for state in known) else _NEW
        for thing in kind.things:
            if thing.states and thing.states[0][0] != thing.created.number:
                thing.states.insert(0, (thing.created.number, first))
        machine = StateMachine(kind, member, first)
        # Things of which more states were seen show how to understand the others.
        for thing in sorted(kind.things, key=lambda thing: -len(set(map(str, dict(thing.states).values())))):
            _explain(world, machine, thing, deciding)
        for thing in kind.things:
            _add_unseen(world, machine, thing)
        for thing in kind.things:
            _replace_by_newer(machine, thing)
        machines[kind] = machine
        deciding |= {world.operation_of[change.one] for change in machine.by_request}
    return machines


def primary(world: World, one: SeenExchange) -> LearnedThing | None:
    """Return the thing that a request is about: the one that it creates, or that its path or its only id names.

    A request that was sent twice is about what the first one has made.
    """
    if made := world.made(one) or _find_repeated(world, one):
        return made
    named = list(world.named(one))
    in_path = [thing for use, thing in named if use.place[0] == "path"]
    if in_path:
        return in_path[-1]
    others = {thing for use, thing in named if use.place[0] != "headers"}
    return next(iter(others)) if len(others) == 1 else next((thing for _, thing in named), None)


def _find_repeated(world: World, one: SeenExchange) -> LearnedThing | None:
    """Return the earlier thing that the answer of an operation that makes things shows in place of a new one."""
    kind = world.made_by(world.operation_of[one])
    told = kind.told.get(kind.id) if kind and world.is_ok[one] else None
    shown = dict(answer_values(one)).get(told[1]) if told else None
    return next((thing for thing in kind.things if thing.is_known_by(kind.id, str(shown), one)), None) if kind else None


def _nested(world: World, document: Any, place: Place = ()) -> Iterator[tuple[LearnedThing, Mapping[str, Any]]]:
    """Yield the objects in an answer that show other things: entries of lists, or what a token is for."""
    if isinstance(document, list):
        for entry in document:
            yield from _nested(world, entry, (*place, 0))
    for kind in world.kinds if isinstance(document, Mapping) and place else ():
        told = kind.told.get(kind.id)
        key = str(document.get(told[1][-1])) if told and told[1][0] == "body" else ""
        yield from ((thing, document) for thing in kind.things if key and str(thing.keys[kind.id][0]) == key)
    for name, inner in document.items() if isinstance(document, Mapping) else ():
        yield from _nested(world, inner, (*place, name))


def _shown(world: World) -> dict[LearnedThing, list[tuple[SeenExchange, str, Any]]]:
    shown: dict[LearnedThing, list[tuple[SeenExchange, str, Any]]] = defaultdict(list)
    for one in sorted(world.operation_of, key=lambda one: one.number):
        thing = primary(world, one)
        for other, document in _nested(world, one.document) if world.is_ok[one] else ():
            if other is not thing and other.created.number < one.number:
                other.events.append(one)
                shown[other] += [(one, name, value) for name, value in document.items() if _is_word(value)]
        if thing is None:
            continue
        thing.events.append(one)
        if thing.created is one:
            # A token for a code changes what the code is for.
            exchanged = (other for use, other in world.named(one) if use.place[0] == "form" and use.key != use.kind.id)
            for other in exchanged:
                other.events.append(one)
        if one.status in REDIRECTS and one is not thing.created:
            # What a customer decides about an authorisation is decided about the consent that it belongs to.
            for owner in _find_owners(world, thing):
                owner.events.append(one)
        places = [use.place[0] for use, named in world.named(one) if named is thing]
        is_of_access = bool(places) and set(places) == {"headers"}
        for place, value in leaves(one.document):
            name = next((step for step in reversed(place) if isinstance(step, str)), "")
            is_word = _is_word(value) and not (is_of_access and world.is_ok[one])
            is_small = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1000
            is_number = is_small and not is_of_access
            if (not is_word and not is_number) or value == one.status or any(isinstance(step, int) for step in place):
                continue
            if place != world.envelope and not _is_of_other(world, thing, one, place):
                shown[thing].append((one, name, value))
    return shown


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _find_owners(world: World, thing: LearnedThing) -> list[LearnedThing]:
    """Return what the path of the request names that has made a thing."""
    return [owner for use, owner in world.named(thing.created) if use.place[0] == "path" and owner is not thing]


def _is_of_other(world: World, thing: LearnedThing, one: SeenExchange, place: Place) -> bool:
    """Return whether a value belongs to something else with a key, such as the challenge of a consent.

    The innermost object with a key, or with the name of the object in which the key was told, tells whose it is.
    """
    for end in range(len(place) - 1, -1, -1):
        found = [_has_key(thing, one, place[:end], kind, key) for kind in world.kinds for key in kind.told]
        if known := [is_own for is_own in found if is_own is not None]:
            return not any(known)
    return False


def _has_key(thing: LearnedThing, one: SeenExchange, around: Place, kind: ThingKind, key: str) -> bool | None:
    """Return whether an object has a key of the thing itself, or one of something else; None for neither."""
    _, at, _ = kind.told[key]
    inner = value_at(one.document, around)
    if at[0] != "body" or not isinstance(inner, Mapping):
        return None
    told = inner.get(at[-1])
    if kind is thing.kind and key in thing.keys:
        mine = str(thing.keys[key][0])
        is_main = key == kind.id or kind.is_told_late(key)
        is_here = str(told) == mine or (told is None and around and around[-1:] == at[-2:-1])
        if is_here and (is_main or len(at) > 2 or mine in one.parameters.values()):
            return is_main
    is_other = told is not None and key == kind.id and len(at) > 2 and at[1:-1] == around
    return False if is_other and str(told) not in thing.key_texts else None


def _is_first(world: World, thing: LearnedThing) -> bool:
    """Return whether nothing can have changed a thing before its state was seen for the first time."""
    number = thing.states[0][0]
    before = [one for one in thing.events if thing.created.number < one.number <= number and world.is_ok[one]]
    shown = next(one for one in thing.events if one.number == number)
    is_soon = (shown.time - thing.created.time).total_seconds() < _SOON
    return is_soon and not any(one.form is not None or one.method in ("PUT", "PATCH", "DELETE") for one in before)


def _delete(world: World, thing: LearnedThing, member: str) -> None:
    """A thing that was deleted without a word about its state is in a state of its own.

    If only something else, such as its challenge, has a word, the thing has it, too.
    """
    told = {number for number, _ in thing.states}
    for one in thing.events:
        is_told = any(number >= one.number for number in told)
        if one.method == "DELETE" and world.is_ok[one] and not is_told and thing.states:
            words = (value for place, value in leaves(one.document) if place[-1:] == (member,))
            thing.states.append((one.number, next(words, DELETED)))
            thing.states.sort(key=lambda state: state[0])


def _state_member(
    world: World, kind: ThingKind, shown: Mapping[LearnedThing, Sequence[tuple[SeenExchange, str, Any]]]
) -> str | None:
    """Return the member with the most different words for the same things."""
    words: defaultdict[str, set[Any]] = defaultdict(set)
    told: Counter[str] = Counter()
    for thing in kind.things:
        values: defaultdict[str, list[Any]] = defaultdict(list)
        for one, name, value in shown.get(thing, ()):
            if world.is_ok[one]:
                values[name].append(value)
        for name, ones in values.items():
            told[name] += len(ones)
            if len(set(ones)) > 1:
                words[name] |= set(ones)
    return max(words, key=lambda name: (len(words[name]), told[name])) if words else None


def _find_synonyms(
    world: World, kind: ThingKind, member: str, shown: Mapping[LearnedThing, Sequence[tuple[SeenExchange, str, Any]]]
) -> dict[Any, Any]:
    """Return words for states that only answers to requests with a later key have, with those of the other answers.

    Such a consent can be `approved` in the answer about the request for it, and `active` in that about itself.
    """
    told: list[tuple[LearnedThing, SeenExchange, Any, bool]] = []
    for thing in kind.things:
        for one, name, value in shown[thing]:
            keys = [use.key for use, named in world.named(one) if named is thing and use.place[0] == "path"]
            if name == member and world.is_ok[one]:
                told.append((thing, one, value, any(map(kind.is_told_late, keys))))
    usual = {value for _, _, value, is_late in told if not is_late}
    synonyms: dict[Any, Any] = {}
    for (thing, one, value, is_late), (same, other, word, by_later_key) in pairwise(told):
        is_soon = same is thing and (other.time - one.time).total_seconds() < _SOON
        if is_soon and not is_late and by_later_key and word not in usual and other.method == "GET":
            synonyms.setdefault(word, value)
    return synonyms


def _explain(world: World, machine: StateMachine, thing: LearnedThing, deciding: Collection[LearnedOperation]) -> None:
    """Find out what has caused each change of the state that was seen: the last request that could.

    Those of `deciding` operations, which have changed things of other kinds, come first.
    """
    if not thing.states:
        return
    by_number = {one.number: one for one in thing.events}
    changed = thing.created
    for (at, before), (then, after) in zip(thing.states, thing.states[1:], strict=False):
        if before == after:
            continue
        between = [one for one in thing.events if at < one.number <= then and world.is_ok[one]]
        causes = [one for one in between if not _only_reads(world, one, thing)]
        # If no answer shows the state between a decision and the exchange of its code, the decision has changed it.
        causes = [one for one in causes if not world.made(one)] or causes
        shown = by_number[then]
        causes = causes or _opened_page(between, by_number[then])
        decision = _hidden_decision(causes, shown) if isinstance(before, str) else None
        if decision:
            alike = (c.after for c in machine.by_request if c.before == before and is_alike(world, c.one, decision))
            decided = next(alike, _DECIDED)
            _add_request(world, machine, thing, ByRequest(before, decided, decision))
            before, changed = decided, decision
            causes = [one for one in causes if one.number > decision.number]
        if causes:
            changed = next((one for one in reversed(causes) if world.operation_of[one] in deciding), causes[-1])
            # The thing may have been in another state first, from which it goes on by itself.
            known = (c.after for c in machine.by_request if c.before == before and is_alike(world, c.one, changed))
            is_over = _find_end(thing, changed, shown) is not None
            goes_on = machine.by_reading or (shown.time - changed.time).total_seconds() > _AT_ONCE
            first = next((s for s in known if is_over or (goes_on and after in machine.later(s))), after)
            _add_request(world, machine, thing, ByRequest(before, first, changed))
            before = first
        if before != after:
            _add_change(world, machine, thing, changed, shown, before, after)


def _add_change(
    world: World,
    machine: StateMachine,
    thing: LearnedThing,
    changed: SeenExchange,
    shown: SeenExchange,
    before: Any,
    after: Any,
) -> None:
    """Note that a thing has changed between the last request that changed it and the one that shows it."""
    waited = int((shown.time - changed.time).total_seconds())
    is_by_time = waited > _AT_ONCE
    end = _find_end(thing, changed, shown) if is_by_time else None
    number = _find_first_after(world, thing, changed, shown) if is_by_time else shown.number
    thing.changes.append(StateChange(number, after, "time" if is_by_time else "reading"))
    if after in machine.later(before):
        return
    if end:
        machine.by_end.append(ByEnd(before, after, end[0], shown, end[1]))
    elif is_by_time and all(change.before != before for change in machine.by_time):
        # Apps wait a little longer than they must.
        seconds = max((time for time in _TIMES if time < waited - 1), default=waited)
        machine.by_time.append(ByTime(before, after, seconds, shown))
    elif not is_by_time and all(change.before != before for change in machine.by_reading):
        since = [one for one in thing.events if changed.number < one.number <= shown.number]
        reads = [one for one in since if world.operation_of[one] is world.operation_of[shown]]
        machine.by_reading.append(ByReading(before, after, len(reads), shown))


def _find_first_after(world: World, thing: LearnedThing, changed: SeenExchange, shown: SeenExchange) -> int:
    """Return the number of the first exchange after as much time as when the new state was shown.

    An app often looks at the state only after a request was refused because of it.
    """
    known = max([changed.number, *(number for number, _ in thing.states if number < shown.number)])
    later = (one for one in world.operation_of if known < one.number <= shown.number)
    return min(one.number for one in later if (shown.time - one.time).total_seconds() <= _AT_ONCE)


def _add_unseen(world: World, machine: StateMachine, thing: LearnedThing) -> None:
    """Note changes after which nobody has looked at a thing: by requests that have changed others in the same way."""
    last, state = thing.states[-1] if thing.states else (thing.created.number, machine.first)
    for one in sorted(thing.events, key=lambda one: one.number):
        if one.number > last and world.is_ok[one]:
            known = (
                c.after
                for c in machine.by_request
                if c.before == state and is_alike(world, c.one, one) and _says_same(c.one, one)
            )
            after = next(known, state)
            if after != state:
                thing.changes.append(StateChange(one.number, after, "request"))
                state = after


def _replace_by_newer(machine: StateMachine, thing: LearnedThing) -> None:
    """Explain a change that seems to come by itself with another thing that got the same state just before it."""
    others = [other for other in machine.kind.things if other is not thing]
    for at, own in enumerate(thing.changes):
        by_itself: list[ByTime | ByReading] = [*machine.by_time, *machine.by_reading]
        shown = (one for one in by_itself if one.after == own.state and one.one in thing.events)
        change = next((one for one in shown if one.one.number >= own.number), None)
        if change is None or own.by == "request":
            continue
        before = max((one.number for one in thing.changes[:at]), default=thing.created.number)
        newer = [
            one.number
            for other in others
            for one in other.changes
            if one.by == "request" and one.state == change.before and before < one.number < change.one.number
        ]
        if newer:
            machine.by_newer.append(ByNewer(change.before, change.after, change.one))
            machine.by_time = [one for one in machine.by_time if one is not change]
            machine.by_reading = [one for one in machine.by_reading if one is not change]
            thing.changes[at] = StateChange(newer[0], own.state, "time")


def _says_same(one: SeenExchange, other: SeenExchange) -> bool:
    """Return whether no word in two requests differs. Redirects show what was decided."""
    mine, theirs = (
        {name: text for name, text in (each.form or each.body or {}).items() if isinstance(text, str)}
        if isinstance(each.form or each.body or {}, dict)
        else {}
        for each in (one, other)
    )
    words = [name for name in mine if name in theirs and _WORD.fullmatch(mine[name])]
    return one.status in REDIRECTS or all(mine[name] == theirs[name] for name in words)


def _find_end(thing: LearnedThing, changed: SeenExchange, shown: SeenExchange) -> tuple[Place, bool] | None:
    """Return the place of a day or time in the thing's own request that has passed, and whether the day has begun."""
    for place, value in leaves(thing.created.body):
        if form := date_form(value):
            is_first_day = not form.has_time and form.day(value) == shown.time.date()
            end = form.moment(value) + timedelta(days=0 if form.has_time or is_first_day else 1)
            if changed.time < end <= shown.time:
                return place, is_first_day
        elif is_last_day(thing, value) and changed.time < thing.created.time + timedelta(days=value) <= shown.time:
            return place, False
    return None


def is_last_day(thing: LearnedThing, days: Any) -> bool:
    """Return whether an answer about a thing shows the day, or the time, that is so many days after it was made."""
    if type(days) is not int or not 0 < days < 1000:
        return False
    last = thing.created.time + timedelta(days=days)
    told = [(form, value) for one in thing.events for _, value in leaves(one.document) if (form := date_form(value))]
    # One day later is only an accident less likely if the time is the same.
    return any(form.day(value) == last.date() for form, value in told if days > 1) or any(
        form.moment(value) == last for form, value in told if form.has_time
    )


def _add_request(world: World, machine: StateMachine, thing: LearnedThing, change: ByRequest) -> None:
    """Note that a request has changed a thing."""
    thing.changes.append(StateChange(change.one.number, change.after, "request"))
    same = (one for one in machine.by_request if (one.before, one.after) == (change.before, change.after))
    if not any(is_alike(world, one.one, change.one) for one in same):
        machine.by_request.append(change)


def _hidden_decision(causes: Sequence[SeenExchange], shown: SeenExchange) -> SeenExchange | None:
    """Return the customer's decision if something else, or much time, has changed the state after it."""
    decisions = [one for one in causes if one.status in REDIRECTS and one.form is not None]
    if not decisions:
        return None
    is_later = causes[-1] is not decisions[-1] or (shown.time - decisions[-1].time).total_seconds() >= _DAY
    return decisions[-1] if is_later else None


def _opened_page(between: Sequence[SeenExchange], shown: SeenExchange) -> list[SeenExchange]:
    """Return the last request for a page with a form: a change that nothing else explains comes from opening it."""
    is_soon = (shown.time - between[0].time).total_seconds() < _SOON if between else False
    return [one for one in between if is_soon and one.method == "GET" and "<form" in one.text][-1:]


def _only_reads(world: World, one: SeenExchange, thing: LearnedThing) -> bool:
    """Return whether a request changes nothing: a GET, or one that was also sent without a change."""
    if one.method in ("GET", "HEAD") or one is thing.created or _find_repeated(world, one) is thing:
        return True
    operation = world.operation_of[one]
    for other in world.things:
        for (_, before), (then, after) in zip(other.states, other.states[1:], strict=False):
            if before == after and any(
                event.number == then and world.operation_of[event] is operation and world.is_ok[event]
                for event in other.events
            ):
                return True
    return False


def unix_seconds(time: datetime) -> int:
    return int(time.timestamp())
