"""Writes what a thing is now: time may have changed its state since a request did."""

from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.states.standing_orders import paid_by_now
from xs2a_sandbox.features.derive.unknown.states.state_words import guess_word
from xs2a_sandbox.features.derive.unknown.states.states import is_last_day
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind
from xs2a_sandbox.features.derive.unknown.written.things import LATEST

_DAY = 86400


def write_shape(scopes: ExchangeScopes, kind: ThingKind) -> Any:
    """Return the shape of a thing as it is now: time may have changed its state."""
    machine = scopes.machines.get(kind)
    if machine is None:
        return {"merge": ["{{ it }}"]}
    changes: list[tuple[int, Any, Any, int, str]] = []
    for start in machine.words:
        if any(change.after == start for change in machine.by_time):
            continue
        state, steps, unless = start, 0, ""
        while change := next((one for one in machine.by_time if one.before == state), None):
            state, steps = change.after, steps + 1
            unless += f" and {expression('it.sent', change.unless)} is none" if change.unless else ""
            changes.append((change.seconds, start, state, steps, unless))
    uncovered = [one for one in machine.uncovered if one.seconds]
    end = _end(scopes, kind, machine)
    begins = [one for one in machine.by_end if one.is_first_day]
    if not changes and not uncovered and not end and not begins and not machine.by_payments and not machine.by_newer:
        return {"merge": ["{{ it }}"]}
    state_now, version = "it.state", "it.version"
    for seconds, start, state, steps, unless in sorted(changes, key=lambda change: change[0]):
        when = f"it.state == {literal(start)} and clock.seconds >= it.since + {seconds}{unless}"
        state_now = f"{literal(state)} if {when} else {state_now}"
        version = f"it.version + {steps} if {when} else {version}"
    for one in uncovered:
        when = f"it.state == {literal(one.before)} and it.uncovered and clock.seconds >= it.since + {one.seconds}"
        state_now = f"{literal(one.after)} if {when} else {state_now}"
        version = f"it.version + 1 if {when} else {version}"
    for begin in begins:
        form = next(form for value in _values_at(kind, begin.place) if (form := date_form(value)))
        day = form.read(expression("it.sent", begin.place))
        when = f"it.state == {literal(begin.before)} and {day} and {day} <= today(0)"
        state_now = f"{literal(begin.after)} if {when} else {state_now}"
        version = f"it.version + 1 if {when} else {version}"
    for newer in machine.by_newer:
        latest = f"(state.{LATEST}[{literal(kind.name)}].id or it.id)"
        when = f"it.state == {literal(newer.before)} and it.id != {latest}"
        state_now = f"{literal(newer.after)} if {when} else {state_now}"
        version = f"it.version + 1 if {when} else {version}"
    now: dict[str, Any] = {}
    for order in machine.by_payments:
        now["paid"] = braced(paid_by_now(order))
        is_over = (
            f"it.state == {literal(order.before)} and {paid_by_now(order)} >= {expression('it.sent', order.count)}"
        )
        state_now = f"{literal(order.after)} if {is_over} else {state_now}"
    state_now = f"{end} else {state_now}" if end else state_now
    return {"merge": ["{{ it }}", {"state": braced(state_now), "version": braced(version), **now}]}


def _values_at(kind: ThingKind, place: Place) -> list[Any]:
    return [value_at(thing.created.body, place) for thing in kind.things]


def _end(scopes: ExchangeScopes, kind: ThingKind, machine: StateMachine) -> str | None:
    """Return when a thing expires: at the day or time to which its own request limits it. If not recorded, a guess.

    What nothing changes has ended, unless requests that name it, such as in a header, succeed.
    """
    words = {change.place: change.after for change in machine.by_end if not change.is_first_day}
    if not words and not scopes.world.is_payment(kind):
        words = {place: guess_word("expired", machine) for place, _ in leaves(kind.example.body)}
    used = _find_used(scopes, kind)
    goes_on = f"it.state not in {literal([word for word in machine.lasts if word not in used])}"
    for place, value in leaves(kind.example.body):
        form = date_form(value)
        if form and place in words and form.moment(value) > kind.example.time:
            read = form.read(expression("it.sent", place))
            now = "(clock.seconds | strftime('%Y-%m-%dT%H:%M:%S+00:00'))"
            over = f"{read} <= {now}" if form.has_time else f"{read} < today(0)"
            return f"{literal(words[place])} if {goes_on} and {over}"
    for place, value in leaves(kind.example.body):
        if place in words and is_last_day(kind.things[0], value):
            over = f"clock.seconds > it.made + {expression('it.sent', place)} * {_DAY}"
            return f"{literal(words[place])} if {goes_on} and {over}"
    return None


def _find_used(scopes: ExchangeScopes, kind: ThingKind) -> set[Any]:
    """Return the states in which a request was accepted that names a thing of a kind, but not as what it is about."""
    return {
        scopes.snapshot(thing, one, after=False)["state"]
        for one in scopes.is_ok
        for lookup, thing in scopes.found(one)
        if thing.kind is kind and scopes.is_ok[one] and lookup.place[0] != "path"
    }
