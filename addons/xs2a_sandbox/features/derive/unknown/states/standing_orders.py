"""Standing orders: their request has the first day and the number of the payments."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves, value_at
from xs2a_sandbox.features.derive.unknown.states.machines import ByPayments, StateMachine
from xs2a_sandbox.features.derive.unknown.states.state_words import guess_word
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind

_DAY = 86400
_MIDNIGHT = "'T00:00:00+00:00'"


def add_standing_orders(machines: Mapping[ThingKind, StateMachine]) -> None:
    """Note which things pay again and again, and that they are over when they have paid for the last time."""
    for machine in machines.values():
        machine.by_payments += list(_find(machine))[:1]


def _find(machine: StateMachine) -> Iterator[ByPayments]:
    """Yield the first day, the number and the period that explain what an answer shows after a payment."""
    thing = machine.kind.things[0]
    body, told = thing.created.body, dict(leaves(thing.created.document))
    days = [(place, form) for place, value in leaves(body) if (form := date_form(value)) and not form.has_time]
    counts = [(place, value) for place, value in leaves(body) if type(value) is int and 1 < value < 1000]
    for (start, form), (count, number) in ((day, count) for day in days for count in counts):
        first = form.day(value_at(body, start))
        lefts = [place for place, value in told.items() if type(value) is int and value == number]
        nexts = [place for place, value in told.items() if date_form(value) == form and form.day(value) == first]
        for one in thing.events:
            now = dict(leaves(one.document))
            for left, at in ((left, at) for left in lefts for at in nexts if date_form(now.get(at)) == form):
                paid = number - now.get(left, number)
                period = (form.day(now[at]) - first).days // paid if paid > 0 else 0
                state = next((state for seen, state in thing.states if seen == one.number), machine.first)
                end, members = guess_word("completed", machine), (str(left[-1]), str(at[-1]))
                order = ByPayments(state, end, start, count, form, period, *members, one)
                if period and count_paid(order, body, one.time) == paid:
                    yield order


def count_paid(order: ByPayments, sent: Any, time: datetime) -> int:
    """Return how many payments a standing order had made by this time, if nobody has stopped it."""
    days = time.date() - order.form.day(value_at(sent, order.start))
    return int(min(max(days // timedelta(days=order.days) + 1, 0), value_at(sent, order.count)))


def paid_by_now(order: ByPayments) -> str:
    """Return the expression for how often the thing `it` has paid."""
    days = f"(clock.seconds - {_first_second(order, 'it')}) // {_DAY}"
    now = f"[[{days} // {order.days} + 1, 0] | max, {expression('it.sent', order.count)}] | min"
    return f"({now} if it.state == {literal(order.before)} else it.paid)"


def tell_payments(order: ByPayments, machine: StateMachine, name: str) -> dict[str, str]:
    """Return expressions for the members of answers that tell how often, and when next, the thing `let.NAME` pays."""
    thing = f"let.{name}"
    day = order.form.write(f"({_first_second(order, thing)} + {thing}.paid * {order.days * _DAY})")
    return {
        order.left: f"{expression(f'{thing}.sent', order.count)} - {thing}.paid",
        order.next: f"({day}) if {thing}.state not in {literal(machine.lasts)} else none",
    }


def _first_second(order: ByPayments, thing: str) -> str:
    start = order.form.read(expression(f"{thing}.sent", order.start))
    return f"(({start} ~ {_MIDNIGHT}) | strftime('%s') | int)"
