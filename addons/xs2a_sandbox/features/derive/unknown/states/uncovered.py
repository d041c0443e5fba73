"""States that payments get because a balance does not cover them: at once, or a while after they were accepted."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.states.machines import IfUncovered, StateMachine
from xs2a_sandbox.features.derive.unknown.states.state_words import guess_word
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing

type _Branch = tuple[Any, int, SeenExchange]
"""The state that a thing got, after so many seconds, and the last request before that."""


def add_uncovered(scopes: ExchangeScopes) -> None:
    """Find the states that the recording shows for payments which a balance does not cover."""
    for machine in scopes.machines.values():
        machine.uncovered = list(_find(scopes, machine))


def guess_uncovered(scopes: ExchangeScopes, checked: Collection[LearnedOperation], paid: Collection[Any]) -> None:
    """Guess that the customer's decision rejects a payment that the balance does not cover.

    Only if the recording does not show what happens then: `checked` are the operations that refuse such payments. In
    the states `paid`, payments have reduced a balance.
    """
    for machine in scopes.machines.values():
        deciding = [change for change in machine.by_request if change.before == machine.first and change.one.form]
        operations = {scopes.world.operation_of[change.one] for change in deciding}
        is_known = machine.uncovered or not operations.isdisjoint(checked) or machine.kind.made_by in checked
        ends = [change.after for change in deciding if change.after in machine.lasts and change.after not in paid]
        for change in deciding if not is_known else ():
            operation = scopes.world.operation_of[change.one]
            own = f"kind == {literal(machine.kind.name)}"
            cover = next((one for one in scopes.covers.get(operation, ()) if own in one.source), None)
            if cover and change.after not in ends:
                after = ends[0] if ends else guess_word("declined", machine)
                machine.uncovered.append(IfUncovered(change.before, after, cover.source, change.one, is_guess=True))


def _find(scopes: ExchangeScopes, machine: StateMachine) -> Iterator[IfUncovered]:
    branches: dict[Any, list[_Branch]] = {}
    for thing in machine.kind.things:
        for before, branch in _branches(machine, thing):
            branches.setdefault(before, []).append(branch)
    for before, found in branches.items():
        usual = found[0][0]
        for after in dict.fromkeys(state for state, _, _ in found if state != usual):
            mine = [(seconds, one) for state, seconds, one in found if state == after]
            theirs = [one for state, _, one in found if state != after]
            operation = scopes.world.operation_of[mine[0][1]]
            if condition := _find_cover(scopes, operation, [one for _, one in mine], theirs):
                yield IfUncovered(before, after, condition.source, mine[0][1], mine[0][0])


def _branches(machine: StateMachine, thing: LearnedThing) -> Iterator[tuple[Any, _Branch]]:
    """Yield each state of a thing with what came after it. Before its first state, there was None."""
    requests = {one.number: one for one in [thing.created, *thing.events]}
    yield None, (thing.first, 0, thing.created)
    last, state = thing.created, thing.first
    for change in thing.changes:
        if change.by == "request" and change.number in requests:
            last = requests[change.number]
        by_time = next((one.seconds for one in machine.by_time if one.before == state), 0)
        yield state, (change.state, by_time if change.by == "time" else 0, last)
        state = change.state


def _find_cover(
    scopes: ExchangeScopes, operation: LearnedOperation, mine: Sequence[SeenExchange], theirs: Sequence[SeenExchange]
) -> Condition | None:
    """Return the condition that only the balances of some accepted requests do not cover their amounts."""
    same = [one for one in theirs if scopes.world.operation_of[one] is operation]
    covers = scopes.covers.get(operation, ()) if same else ()
    own = (one for one in covers if all(scopes.holds(one.source, each) for each in mine))
    return next((one for one in own if not any(scopes.holds(one.source, each) for each in same)), None)
