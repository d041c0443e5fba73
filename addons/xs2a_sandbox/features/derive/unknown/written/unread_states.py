"""A guess: where the bank tells the address of a state, such as `/consents/1/status`, it shows only the state.

An authorisation of NextGenPSD2 has such an address, too, below that of its consent or payment.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from xs2a_sandbox.features.derive.expression_text import braced, literal
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.seen import answer_values
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.states.shown_states import is_word
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.written.operation import WrittenOperation, write_operation

_RECEIVED, _FINALISED, _FAILED = "received", "finalised", "failed"
"""States of an authorisation in NextGenPSD2."""
_REJECTED = ("rejected", "RJCT")
"""States of consents and payments in NextGenPSD2."""


class _Told(NamedTuple):
    """An address below that of a thing: the rest of its path, what it shows, and the exchange that has told it."""

    rest: str
    pattern: tuple[str | None, ...]
    member: str
    source: str
    number: int


def write_unread_states(learned: LearnedInterface) -> Iterator[WrittenOperation]:
    """Yield an operation for each address of a state that the bank's answers contain but that was never requested."""
    patterns = {operation.pattern for operation in learned.world.operations}
    for machine in learned.scopes.machines.values():
        for operation in learned.world.operations:
            told = {one.pattern: one for one in reversed(list(_find_told(learned, operation, machine)))}
            yield from (_write(learned, operation, one) for one in told.values() if one.pattern not in patterns)


def _find_told(learned: LearnedInterface, operation: LearnedOperation, machine: StateMachine) -> Iterator[_Told]:
    """Yield the addresses of states below that of a thing."""
    shows = any(one.kinds == ((machine.kind, machine.kind.id),) for one in learned.scopes.lookups[operation])
    if operation.method != "GET" or operation.pattern[-1:] != (None,) or not shows:
        return
    start = "/" + "/".join("[^/]+" if word is None else re.escape(word) for word in operation.pattern)
    state = f"let.{machine.kind.name}.state"
    for one in learned.seen:
        for place, value in answer_values(one) if learned.scopes.is_ok[one] else ():
            found = re.search(rf"{start}/(\w+)(/[^/?]+)?$", str(value))
            if not found:
                continue
            word, id = found.groups()
            if id is None and machine.member.lower().endswith(word):
                yield _Told(word, (*operation.pattern, word), machine.member, state, one.number)
            links = [step for step in place if isinstance(step, str) and step.lower().endswith("status")]
            if id and links:
                rest, pattern = f"{word}/{{authorisation}}", (*operation.pattern, word, None)
                source = _authorisation_state(learned, machine, state, links[-1])
                yield _Told(rest, pattern, links[-1], source, one.number)


def _authorisation_state(learned: LearnedInterface, machine: StateMachine, state: str, member: str) -> str:
    """Return the state of an authorisation, by that of the thing that the customer decides on with it."""
    shown = (item for one in learned.seen if one.method == "POST" for item in answer_values(one))
    first = next((value for place, value in shown if place[-1] == member and is_word(value)), _RECEIVED)
    decided = {change.after for change in machine.by_request if change.before == machine.first}
    ended = [word for word in machine.words if word in decided & set(machine.lasts)]
    failed = [word for word in decided if word in _REJECTED] or (ended if decided - set(ended) else [])
    if_failed = f"{literal(_FAILED)} if {state} in {literal(failed)} else " if failed else ""
    return f"{literal(first)} if {state} == {literal(machine.first)} else {if_failed}{literal(_FINALISED)}"


def _write(learned: LearnedInterface, operation: LearnedOperation, told: _Told) -> WrittenOperation:
    like = write_operation(learned, operation).value
    errors = [answer for answer in like["respond"] if answer.get("status", 200) >= 400 and "when" in answer]
    headers = like["respond"][-1].get("headers", {})
    value = {
        **like,
        "id": f"{operation.id}-{told.rest.partition('/')[0]}-unread",
        "doc": "Not recorded: a guess, because the bank tells this address.",
        "path": f"{operation.path}/{told.rest}",
        "respond": [*errors, {"body": {told.member: braced(told.source)}, "headers": headers}],
    }
    return WrittenOperation(value, [f"a guess, after exchange {told.number}; record such a request to be sure"])
