"""The states of things over time, and what changes them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.local_time import find_offset
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import REDIRECTS, SeenExchange
from xs2a_sandbox.features.derive.unknown.states.machines import (
    DECIDED,
    NEW,
    ByEnd,
    ByNewer,
    ByReading,
    ByRequest,
    ByTime,
    StateMachine,
)
from xs2a_sandbox.features.derive.unknown.states.shown_states import (
    SOON,
    add_deletion,
    find_repeated,
    find_shown,
    find_shown_below,
    find_state_member,
    find_synonyms,
    is_word,
)
from xs2a_sandbox.features.derive.unknown.things.decisions import is_alike
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation, find_other_word
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, StateChange, ThingKind, World

_TIMES = (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 43200, 86400)
"""Seconds that a bank is likely to wait."""

_MINUTE, _DAY = 60, 86400
_AT_ONCE = 5
"""The seconds in which time changes no state."""


def find_machines(world: World) -> dict[ThingKind, StateMachine]:
    shown = find_shown(world)
    machines: dict[ThingKind, StateMachine] = {}
    deciding: set[LearnedOperation] = set()
    members = {kind: find_state_member(world, kind, shown) for kind in world.kinds}
    for kind in world.kinds:
        member = members[kind] or _adopt_member(kind, members, shown)
        if member is None:
            continue
        for thing, below in find_shown_below(world, kind, member).items():
            shown[thing] = sorted([*shown[thing], *below], key=lambda one: one[0].number)
        first: Any = None
        synonyms = find_synonyms(world, kind, member, shown)
        for thing in kind.things:
            for one, name, value in shown[thing]:
                if name == member and (not thing.states or thing.states[-1][0] != one.number):
                    thing.states.append((one.number, synonyms.get(value, value)))
            if thing.states and first is None and _is_first(world, thing):
                first = thing.states[0][1]
            add_deletion(world, thing, member)
        known = [state for thing in kind.things for _, state in thing.states]
        if first is None:
            first = 0 if all(isinstance(state, int) for state in known) else NEW
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
        machine.by_time = [_without_waiting(machine, change) for change in machine.by_time]
        machines[kind] = machine
        deciding |= {world.operation_of[change.one] for change in machine.by_request}
    return machines


def _adopt_member(
    kind: ThingKind,
    members: Mapping[ThingKind, str | None],
    shown: Mapping[LearnedThing, Sequence[tuple[SeenExchange, str, Any]]],
) -> str | None:
    """Return the member for the states of another payment product, if answers about things of a kind have it, too."""
    names = {name for thing in kind.things for _, name, _ in shown.get(thing, ())}
    beside = (other for other in members if find_other_word(kind.made_by, other.made_by) and kind.is_asked_like(other))
    return next((members[other] for other in beside if kind.example.has_json and members[other] in names), None)


def _is_first(world: World, thing: LearnedThing) -> bool:
    """Return whether nothing can have changed a thing before its state was seen for the first time."""
    number = thing.states[0][0]
    before = [one for one in thing.events if thing.created.number < one.number <= number and world.is_ok[one]]
    shown = next(one for one in thing.events if one.number == number)
    is_soon = (shown.time - thing.created.time).total_seconds() < SOON
    return is_soon and not any(_may_change(world, one) for one in before)


def _may_change(world: World, one: SeenExchange) -> bool:
    """Return whether a request can be more than a read. A POST whose body names the thing often only reads."""
    names_thing = any(use.place[0] == "path" for use, _ in world.named(one))
    is_answer = one.method == "POST" and names_thing and not world.made(one)
    return is_answer or one.form is not None or one.method in ("PUT", "PATCH", "DELETE")


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
        refused = _find_refused(world, machine, thing, (at, then), causes)
        causes = [refused] if refused else causes or _opened_page(between, by_number[then])
        decision = _hidden_decision(world, causes, shown) if isinstance(before, str) else None
        if decision:
            alike = (
                c.after
                for c in machine.by_request
                if c.before == before and is_alike(world, c.one, decision) and _says_same(c.one, decision)
            )
            decided = next(alike, DECIDED)
            if decided != after and _waits_until_cancelled(machine, thing, causes[-1], after):
                decided = after
            _add_request(world, machine, thing, ByRequest(before, decided, decision))
            before, changed = decided, decision
            causes = [one for one in causes if one.number > decision.number and before != after]
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
        times = {one.number: one.time for one in thing.events}
        still = [times[at] for at, state in thing.states if state == before and changed.number < at < shown.number]
        passed = max((int((time - changed.time).total_seconds()) for time in still), default=0)
        told = _told_seconds(world, changed, shown)
        seconds = told if told > passed else _find_seconds(passed, waited)
        machine.by_time.append(ByTime(before, after, seconds, shown))
    elif not is_by_time and world.is_ok[shown] and all(change.before != before for change in machine.by_reading):
        since = [one for one in thing.events if changed.number < one.number <= shown.number]
        reads = [one for one in since if world.operation_of[one] is world.operation_of[shown]]
        machine.by_reading.append(ByReading(before, after, len(reads), shown))


def _told_seconds(world: World, changed: SeenExchange, shown: SeenExchange) -> int:
    """Return after how many seconds a state has changed if the answer that shows the new one tells when, or 0."""
    offset = timedelta(seconds=find_offset(list(world.operation_of)))
    told = [(form, value) for _, value in leaves(shown.document) if (form := date_form(value)) and form.has_time]
    times = [form.moment(value) - (offset if form.is_local else timedelta()) for form, value in told]
    since = [time for time in times if changed.time < time <= shown.time - timedelta(seconds=2)]
    return int((max(since) - changed.time).total_seconds()) if since else 0


def _find_seconds(passed: int, waited: int) -> int:
    """Return after how many seconds a state changes that was there after `passed` seconds, and not after `waited`.

    Apps wait a little longer than they must.
    """
    likely = (time for time in _TIMES if passed <= time < waited - 1)
    whole = (waited - 2) // _MINUTE * _MINUTE
    return max(likely, default=whole if whole > passed > 0 else waited)


def _find_first_after(world: World, thing: LearnedThing, changed: SeenExchange, shown: SeenExchange) -> int:
    """Return the number of the first exchange after as much time as when the new state was shown.

    An app often looks at the state only after a request was refused because of it.
    """
    known = max([changed.number, *(number for number, _ in thing.states if number < shown.number)])
    later = (one for one in world.operation_of if known < one.number <= shown.number)
    return min(one.number for one in later if (shown.time - one.time).total_seconds() <= _AT_ONCE)


def _add_unseen(world: World, machine: StateMachine, thing: LearnedThing) -> None:
    """Note the changes after a thing was last read: its later requests do to it what they did to other things."""
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


def _without_waiting(machine: StateMachine, change: ByTime) -> ByTime:
    """Return a change that does not happen to things that wait for a day, if one was seen that had not changed so long.

    On its day, it becomes what the others become.
    """
    usual = next(thing for thing in machine.kind.things if change.one in thing.events)
    for thing in machine.kind.things:
        times = {one.number: one.time for one in thing.events}
        begun = (times[own.number] for own in thing.changes if own.state == change.before and own.number in times)
        since = next(begun, thing.created.time)
        waits = [times[at] for at, state in thing.states if state == change.before and at in times]
        days = [place for place, value in leaves(thing.created.body) if date_form(value)]
        own = [place for place in days if value_at(usual.created.body, place) is None]
        if own and waits and (max(waits) - since).total_seconds() > change.seconds + _AT_ONCE:
            machine.by_end.append(ByEnd(change.before, change.after, own[0], change.one, is_first_day=True))
            return replace(change, unless=own[0])
    return change


def _says_same(one: SeenExchange, other: SeenExchange) -> bool:
    """Return whether no word in two requests differs. Redirects show what was decided."""
    mine, theirs = _sent(one), _sent(other)
    words = [place for place, text in mine.items() if place in theirs and is_word(text)]
    is_same = not _are_steps(one, other) and all(mine[place] == theirs[place] for place in words)
    return one.status in REDIRECTS or is_same


def _are_steps(one: SeenExchange, other: SeenExchange) -> bool:
    """Return whether two requests bring different things, such as a password and a code."""
    mine, theirs = _sent(one), _sent(other)
    return bool(mine and theirs) and mine.keys().isdisjoint(theirs)


def _sent(one: SeenExchange) -> dict[Place, Any]:
    return dict(leaves(one.form or one.body))


def _find_end(thing: LearnedThing, changed: SeenExchange, shown: SeenExchange) -> tuple[Place, bool] | None:
    """Return the place of a day or time in the thing's own request that has passed, and whether the day has begun."""
    for place, value in leaves(thing.created.body):
        form = date_form(value)
        if form and form.moment(value).year < datetime.max.year:
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
    # Many answers show the next day for another reason, so one day counts only if the time is the same, too.
    return any(form.day(value) == last.date() for form, value in told if days > 1) or any(
        form.moment(value) == last for form, value in told if form.has_time
    )


def _add_request(world: World, machine: StateMachine, thing: LearnedThing, change: ByRequest) -> None:
    """Note that a request has changed a thing."""
    thing.changes.append(StateChange(change.one.number, change.after, "request"))
    same = (one for one in machine.by_request if (one.before, one.after) == (change.before, change.after))
    if not any(is_alike(world, one.one, change.one) and not _are_steps(one.one, change.one) for one in same):
        machine.by_request.append(change)


def _hidden_decision(world: World, causes: Sequence[SeenExchange], shown: SeenExchange) -> SeenExchange | None:
    """Return the customer's decision if something else, or much time, has changed the state after it."""
    decisions = [one for one in causes if (one.status in REDIRECTS and one.form is not None) or world.decided(one)]
    if not decisions:
        return None
    is_later = causes[-1] is not decisions[-1] or (shown.time - decisions[-1].time).total_seconds() >= _DAY
    return decisions[-1] if is_later else None


def _waits_until_cancelled(machine: StateMachine, thing: LearnedThing, cause: SeenExchange, state: Any) -> bool:
    """Return whether a state in the answer to a DELETE is that of a payment which waits for the day in its request.

    The DELETE has not cancelled it yet: the state changes once more, and other payments have no such day.
    """
    days = [place for place, value in leaves(thing.created.body) if date_form(value)]
    others = [other for other in machine.kind.things if other is not thing]
    is_own = any(all(value_at(other.created.body, place) is None for other in others) for place in days)
    return cause.method == "DELETE" and is_own and bool(others) and thing.states[-1][1] != state


def _find_refused(
    world: World, machine: StateMachine, thing: LearnedThing, between: tuple[int, int], causes: Sequence[SeenExchange]
) -> SeenExchange | None:
    """Return the refused request that has changed the state, such as a wrong code that ends an authorisation.

    It was the last JSON that was sent, and the state, which nothing changes any more, was shown at once.
    """
    at, then = between
    events = {one.number: one for one in thing.events}
    end = dict(thing.states)[then]
    if any(one == end != other for each in machine.kind.things for (_, one), (_, other) in pairwise(each.states)):
        return None
    shown = events[then]
    named = (one for one in world.operation_of if at < one.number <= then and one.method != "GET" and _sent(one))
    about = [one for one in named if any(other is thing for _, other in world.named(one))]
    last = max(about, key=lambda one: one.number, default=None)
    if last is None or last.form or world.is_ok[last] or any(one.number > last.number for one in causes):
        return None
    since = events[at] if last is shown and at in events else last
    if (shown.time - since.time).total_seconds() > _AT_ONCE or (last is shown and causes):
        return None
    return last


def _opened_page(between: Sequence[SeenExchange], shown: SeenExchange) -> list[SeenExchange]:
    """Return the last request for a page with a form: a change that nothing else explains comes from opening it."""
    is_soon = (shown.time - between[0].time).total_seconds() < SOON if between else False
    return [one for one in between if is_soon and one.method == "GET" and "<form" in one.text][-1:]


def _only_reads(world: World, one: SeenExchange, thing: LearnedThing) -> bool:
    """Return whether a request changes nothing: a GET, or one that was also sent without a change."""
    if one.method in ("GET", "HEAD") or one is thing.created or find_repeated(world, one) is thing:
        return True
    operation = world.operation_of[one]
    changes = [
        (before, after, event)
        for other in world.things
        for (_, before), (then, after) in pairwise(other.states)
        for event in other.events
        if event.number == then and world.operation_of[event] is operation and world.is_ok[event]
    ]
    if one.status not in REDIRECTS and _shows_decisions(world, operation, changes):
        return True
    # The same request does not change a state again and again.
    goes_on = any(
        before != after == then and _says_same(event, later)
        for before, after, event in changes
        for then, _, later in changes
    )
    return goes_on or any(before == after and _says_same(event, one) for before, after, event in changes)


def _shows_decisions(
    world: World, operation: LearnedOperation, changes: Sequence[tuple[Any, Any, SeenExchange]]
) -> bool:
    """Return whether an operation shows different states for the same request, each after the customer's decision."""

    def is_decided(event: SeenExchange) -> bool:
        things = [thing for thing in world.things if event in thing.events]
        decisions = [e for thing in things for e in thing.events if e.status in REDIRECTS and e.number < event.number]
        return any(world.operation_of[decision] is not operation for decision in decisions)

    different = [
        (one, other)
        for (before, after, one), (start, end, other) in combinations(changes, 2)
        if before == start and after != end and before != after and _says_same(one, other)
    ]
    return any(is_decided(one) and is_decided(other) for one, other in different)


def unix_seconds(time: datetime) -> int:
    return int(time.timestamp())
