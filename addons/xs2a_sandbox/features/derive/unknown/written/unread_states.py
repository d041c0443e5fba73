"""A guess: where the bank tells the address of a state, such as `/consents/1/status`, it shows only the state."""

import re
from collections.abc import Iterator

from xs2a_sandbox.features.derive.expression_text import braced
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.recorded.seen import answer_values
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.written.operation import WrittenOperation, write_operation


def write_unread_states(learned: LearnedInterface) -> Iterator[WrittenOperation]:
    """Yield an operation for each address of a state that the bank's answers contain but that was never requested."""
    patterns = {operation.pattern for operation in learned.world.operations}
    for machine in learned.scopes.machines.values():
        for operation in learned.world.operations:
            words = _told_words(learned, operation, machine)
            new = {word: number for word, number in words.items() if (*operation.pattern, word) not in patterns}
            yield from (_write(learned, operation, machine, word, number) for word, number in new.items())


def _told_words(learned: LearnedInterface, operation: LearnedOperation, machine: StateMachine) -> dict[str, int]:
    """Return the last words of addresses below that of a thing, with the exchange that has told each."""
    shows = any(one.kinds == ((machine.kind, machine.kind.id),) for one in learned.scopes.lookups[operation])
    if operation.method != "GET" or operation.pattern[-1:] != (None,) or not shows:
        return {}
    start = "/" + "/".join("[^/]+" if word is None else re.escape(word) for word in operation.pattern)
    told: dict[str, int] = {}
    for one in learned.seen:
        for _, value in answer_values(one) if learned.scopes.is_ok[one] else ():
            if (found := re.search(rf"{start}/(\w+)$", str(value))) and machine.member.lower().endswith(found[1]):
                told.setdefault(found[1], one.number)
    return told


def _write(
    learned: LearnedInterface, operation: LearnedOperation, machine: StateMachine, word: str, number: int
) -> WrittenOperation:
    like = write_operation(learned, operation).value
    errors = [answer for answer in like["respond"] if answer.get("status", 200) >= 400 and "when" in answer]
    headers = like["respond"][-1].get("headers", {})
    shown = {"body": {machine.member: braced(f"let.{machine.kind.name}.state")}, "headers": headers}
    value = {
        **like,
        "id": f"{operation.id}-{word}-unread",
        "doc": "Not recorded: a guess, because the bank tells this address.",
        "path": f"{operation.path}/{word}",
        "respond": [*errors, shown],
    }
    return WrittenOperation(value, [f"a guess, after exchange {number}; record such a request to be sure"])
