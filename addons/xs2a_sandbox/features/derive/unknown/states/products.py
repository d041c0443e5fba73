"""A guess: a payment product has the states of another one, as far as the recording does not show its own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.places import leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.things.operations import find_other_word
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind, World


def find_products(kind: ThingKind, machines: Mapping[ThingKind, StateMachine]) -> Iterator[StateMachine]:
    """Yield the states of the other payment products: their paths differ in a word, and their requests are alike."""
    for other, machine in machines.items():
        is_product = find_other_word(kind.made_by, other.made_by) and kind.is_asked_like(other)
        if is_product and machines[kind].member == machine.member:
            yield machine


def share_times(machines: Mapping[ThingKind, StateMachine]) -> None:
    """Let a state that nothing was seen to change go on by itself as that of another product does."""
    for kind, machine in machines.items():
        for change in [one for other in find_products(kind, machines) for one in other.by_time]:
            if not machine.later(change.before):
                machine.by_time.append(replace(change, one=replace(change.one, like=change.one.number)))


def find_shared(
    world: World, machines: Mapping[ThingKind, StateMachine], machine: StateMachine, ones: Sequence[SeenExchange]
) -> Any:
    """Return the state that another product gets by the same request at its own path, or None."""
    for other in find_products(machine.kind, machines):
        words = find_other_word(machine.kind.made_by, other.kind.made_by)
        for change in other.by_request if ones else ():
            operation, like = world.operation_of[ones[0]], world.operation_of[change.one]
            is_same = find_other_word(operation, like) == words and _sent(ones[0]) == _sent(change.one)
            if is_same and ones[0].status == change.one.status:
                return change.after
    return None


def _sent(one: SeenExchange) -> set[Any]:
    return {place for place, _ in leaves(one.form or one.body)}
