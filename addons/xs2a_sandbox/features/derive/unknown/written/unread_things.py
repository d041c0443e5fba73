"""A guess: a thing can be read at the address that the bank told, also if nobody asked for it in the recording."""

from collections.abc import Iterator

from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind
from xs2a_sandbox.features.derive.unknown.written.answers import (
    adopt_answer,
    show_thing,
    without_unknown,
)
from xs2a_sandbox.features.derive.unknown.written.operation import PAGES, WrittenOperation
from xs2a_sandbox.features.derive.unknown.written.things import write_lookup


def write_unread_things(learned: LearnedInterface) -> Iterator[WrittenOperation]:
    """Yield operations that read things at such addresses."""
    for kind in learned.world.kinds:
        possible = (_write(learned, kind, operation) for operation in learned.world.operations)
        yield from [written for written in possible if written][:1]


def _write(learned: LearnedInterface, kind: ThingKind, operation: LearnedOperation) -> WrittenOperation | None:
    """Return the operation that reads a thing where `operation` changes it, or None if there is no such address."""
    scopes, world = learned.scopes, learned.world
    uses = [use for use in world.uses[operation] if use.kind is kind and use.place[0] == "path"]
    lookups = [one for one in scopes.lookups[operation] if one.place[0] == "path" and one.name == kind.name]
    last = ("path", operation.names.get(len(operation.pattern) - 1))
    if not uses or uses[0].key != kind.id or uses[-1].place != last or len(lookups) != 1:
        return None
    is_read = any(one.pattern == operation.pattern and one.method == "GET" for one in world.operations)
    made = next((one for one in learned.classes[kind.made_by] if any(map(world.made, one.seen))), None)
    if is_read or operation.pattern[0] == PAGES or made is None or made.seen[0].document is None:
        return None

    # What changes a thing may show it as it is. If not, the answer that made it does.
    machine = scopes.machines.get(kind)
    changed = (one for one in learned.classes[operation] if one.is_ok and one.seen[0].document is not None)
    shown = next((one for one in changed if machine and machine.member in str(one.seen[0].document)), made)
    respond = [show_thing(learned, operation, shown, kind.name)]
    checks = [check for check in learned.checks[operation] if check.condition.kind == "unknown"]
    if known := next((check for check in checks if check.condition.name == kind.name), None):
        error = without_unknown(adopt_answer(learned, operation, known), operation, {kind.name}, kind.name)
        respond.insert(0, {"when": f"not let.{kind.name}", **error})
    value = {
        "id": f"get-{operation.id.partition('-')[2]}-unread",
        "doc": "Not recorded: a guess, because the bank tells this address.",
        "method": "GET",
        "path": operation.path,
        "let": write_lookup(lookups[0]),
        "respond": respond,
    }
    evidence = f"a guess, after exchange {shown.seen[0].number}; record such a request to be sure"
    return WrittenOperation(value, [evidence])
