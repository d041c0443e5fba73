"""States that a thing must have had although no answer shows them: other things show them, or a day in its request."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.states.machines import ByEnd, ByRequest, ByTime, StateMachine
from xs2a_sandbox.features.derive.unknown.things.decisions import is_alike
from xs2a_sandbox.features.derive.unknown.things.things import StateChange, ThingKind, World

_STEM = 4
"""Two words for states mean the same if at least so many of their first letters are the same."""


def add_implied_states(world: World, machines: Mapping[ThingKind, StateMachine]) -> None:
    for machine in machines.values():
        for timed in machine.by_time:
            _pass_unseen(machine, timed)
        for change in list(machine.by_request):
            _pass_through(world, machine, change, machines)
        for change in list(machine.by_request):
            _become_due(world, machine, change)


def _pass_unseen(machine: StateMachine, timed: ByTime) -> None:
    """Let things change by time as others did, also if no answer shows this before the next request changes them."""
    known = {(change.before, change.after) for change in machine.by_request}
    for thing in machine.kind.things:
        times = {one.number: one.time for one in thing.events} | {thing.created.number: thing.created.time}
        before, since = machine.first, thing.created.time
        for at, own in enumerate(thing.changes):
            waited = (times.get(own.number, since) - since).total_seconds()
            is_due = waited >= timed.seconds and (timed.after, own.state) in known
            if before == timed.before and own.by == "request" and is_due:
                thing.changes.insert(at, StateChange(own.number, timed.after, "time"))
                _drop_unmade(machine, before, own.state)
                break
            before, since = own.state, times.get(own.number, since)


def _drop_unmade(machine: StateMachine, before: Any, after: Any) -> None:
    """Remove the changes from one state to another by a request if no thing has changed so any more."""
    for thing in machine.kind.things:
        states = [machine.first, *(change.state for change in thing.changes)]
        if (before, after) in pairwise(states):
            return
    machine.by_request = [one for one in machine.by_request if (one.before, one.after) != (before, after)]


def _pass_through(
    world: World, machine: StateMachine, change: ByRequest, machines: Mapping[ThingKind, StateMachine]
) -> None:
    """Add a state that only lasts for a while. Things of another kind show it after the same request."""
    for other in machines.values():
        for known in other.by_request if other is not machine else ():
            timed = next((one for one in other.by_time if one.before == known.after), None)
            stem = _stem(str(timed.after), str(change.after)) if timed else ""
            is_same = timed and (len(stem) >= _STEM or timed.after == change.after)
            if not timed or not is_same or not is_alike(world, known.one, change.one):
                continue
            ending, own = str(timed.after)[len(stem) :], str(change.after)[len(stem) :]
            middle = known.after
            if isinstance(middle, str) and ending and middle.endswith(ending):
                middle = middle.removesuffix(ending) + own
            if _put_between(machine, change, timed, middle):
                return


def _stem(one: str, other: str) -> str:
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _put_between(machine: StateMachine, change: ByRequest, timed: ByTime, middle: Any) -> bool:
    """Put a state between two that a thing has shown, unless it has shown the second one too soon."""
    for thing in machine.kind.things:
        for at, own in enumerate(thing.changes):
            if (own.number, own.state) != (change.one.number, change.after):
                continue
            seen = next(one for one in thing.events if any(one.number == n > own.number for n, _ in thing.states))
            if (seen.time - change.one.time).total_seconds() < timed.seconds:
                return False
            thing.changes[at : at + 1] = [replace(own, state=middle), StateChange(seen.number, own.state, "time")]
            machine.by_request[machine.by_request.index(change)] = replace(change, after=middle)
            machine.by_time.append(replace(timed, before=middle, after=change.after, one=seen))
            return True
    return False


def _become_due(world: World, machine: StateMachine, change: ByRequest) -> None:
    """Let things that wait for a day end on this day in the state in which the others have ended."""
    usual = next((one for one in machine.by_request if one.before == change.before and one.after != change.after), None)
    place = _find_day(machine, change)
    if usual is None or place is None or not is_alike(world, usual.one, change.one):
        return
    if any(one.before == change.after for one in machine.changes if not isinstance(one, ByRequest)):
        return
    by_itself = [one for one in machine.changes if not isinstance(one, ByRequest)]
    last = usual.after
    while later := next((one.after for one in by_itself if one.before == last), None):
        last = later
    if last != usual.after:
        machine.by_end.append(ByEnd(change.after, last, place, change.one, is_first_day=True))


def _find_day(machine: StateMachine, change: ByRequest) -> Place | None:
    """Return the place of a day that exactly the things have that have changed like this."""
    bodies = [
        (thing.created.body, own.state)
        for thing in machine.kind.things
        for own in thing.changes
        if own.by == "request" and isinstance(thing.created.body, Mapping)
    ]
    mine = [body for body, state in bodies if state == change.after]
    others = [body for body, state in bodies if body not in mine]
    for place, value in leaves(mine[0]) if mine else ():
        have = [value_at(body, place) is not None for body in mine]
        if date_form(value) and all(have) and all(value_at(body, place) is None for body in others):
            return place
    return None
