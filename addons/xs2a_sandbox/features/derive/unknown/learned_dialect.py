"""A dialect for a bank whose interface nobody has described, with the share of unseen requests that it gets right."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent, wrap

from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.features.derive.rehearsal import Rehearsed
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface, learn
from xs2a_sandbox.features.derive.unknown.restored import restore
from xs2a_sandbox.features.derive.unknown.seen import SeenExchange, see
from xs2a_sandbox.features.derive.unknown.trial import read_dialect, try_dialect
from xs2a_sandbox.features.derive.unknown.written_dialect import write_dialect
from xs2a_sandbox.features.derive.unknown.written_operation import WrittenOperation
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import Tape

_WIDTH = 116
PARTS = 4
"""The recording is learned this many times, each time without another part."""


@dataclass(frozen=True)
class LearnedDialect:
    """`held_out` and `right` count the requests that were left out when the dialect was learned, and those of them
    that it answered like the bank.
    """

    text: str
    unknown: Sequence[str]
    rehearsed: Sequence[Rehearsed]
    held_out: int
    right: int


def learn_dialect(
    name: str, tape: Tape, schemas: Schemas, progress: Callable[[int, int], None] = lambda done, count: None
) -> LearnedDialect:
    """Learn the dialect, and how well it answers what it has not seen. Raises Unreadable: it cannot be written."""
    tape = restore(tape)
    seen = see(tape)
    entries = [entry for entry in tape.entries if not entry.cut]
    right = held_out = 0
    for part, without in enumerate(leave_out(tape)):
        try:
            learned = learn([one for one in see(tape) if one.number not in without])
            rehearsed = _try(learned, _text(name, learned), entries, seen, schemas)
        except Unreadable:
            rehearsed = []
        held_out += len(without)
        right += sum(not outcome.unlike for one, outcome in zip(seen, rehearsed, strict=False) if one.number in without)
        progress(part + 1, PARTS + 1)
    learned = learn(seen)
    text = _text(name, learned, right, held_out)
    rehearsed = _try(learned, text, entries, seen, schemas)
    progress(PARTS + 1, PARTS + 1)
    return LearnedDialect(text, learned.unknown, rehearsed, held_out, right)


def leave_out(tape: Tape) -> list[set[int]]:
    """Return the numbers of exchanges to leave out, in parts: the bank gave the same kind of answer again, and other
    requests do not depend on them.
    """
    learned = learn(see(tape))
    makers = {thing.created.number for thing in learned.world.things}
    makers |= {change.number for thing in learned.world.things for change in thing.changes}
    possible = [
        one.number
        for classes in learned.classes.values()
        for answer in classes
        for one in answer.seen
        if len(answer.seen) > 1 and one.number not in makers
    ]
    return [set(sorted(possible)[part::PARTS]) for part in range(PARTS)]


def find_state_members(seen: Sequence[SeenExchange]) -> set[str]:
    """Return the members with a state, as far as a recording shows them."""
    return _states(learn(seen))


def _try(
    learned: LearnedInterface, text: str, entries: Sequence[Exchange], seen: Sequence[SeenExchange], schemas: Schemas
) -> list[Rehearsed]:
    return try_dialect(entries, seen, read_dialect(text, schemas), schemas, _states(learned))


def _states(learned: LearnedInterface) -> set[str]:
    return {machine.member for machine in learned.scopes.machines.values()}


def _text(name: str, learned: LearnedInterface, right: int = 0, held_out: int = 0) -> str:
    sections, operations = write_dialect(name, learned)
    text = "".join(f"# {line}\n" if line else "#\n" for line in _head(name, learned, right, held_out))
    return text + yaml_text(sections) + "".join(_sections(operations))


def _sections(operations: Sequence[WrittenOperation]) -> Iterator[str]:
    for section in ("operations", "rules"):
        own = [operation for operation in operations if operation.section == section]
        if own:
            yield f"\n{section}:\n"
            yield from (indent(_operation_text(operation), "  ") for operation in own)


def _operation_text(operation: WrittenOperation) -> str:
    comment = "".join(f"# {part}\n" for line in operation.evidence for part in wrap(line, _WIDTH))
    return comment + yaml_text([dict(operation.value)])


def _head(name: str, learned: LearnedInterface, right: int, held_out: int) -> Iterator[str]:
    number = len(learned.seen)
    yield f"Learned from {number} exchanges: xs2a-sandbox derive --dialect {name}"
    yield "No documented dialect answers like this bank, so this one has operations of its own."
    yield "The comment before an operation names the exchanges that show each of its outcomes."
    yield f"Of {held_out} requests that were left out while learning, it answered {right} like the bank."
    files = list(dict.fromkeys(one.file for one in learned.seen))
    for file in files if len(files) > 1 else ():
        numbers = [one.number for one in learned.seen if one.file == file]
        yield f"Exchanges {numbers[0]} to {numbers[-1]}: {file}"
    yield ""
    yield "States:"
    for kind, machine in learned.scopes.machines.items():
        yield f"- {kind.name}, in the member {machine.member}; it begins as {machine.first}"
        for request in machine.by_request:
            operation = learned.world.operation_of[request.one]
            how = f"{operation.method} {operation.path} (exchange {request.one.number})"
            yield f"  {request.before} -> {request.after}: {how}"
        for timed in machine.by_time:
            when = f"after about {timed.seconds} seconds (exchange {timed.one.number})"
            yield f"  {timed.before} -> {timed.after}: {when}"
        for end in machine.by_end:
            when = f"after its {'.'.join(map(str, end.place))} (exchange {end.one.number})"
            yield f"  {end.before} -> {end.after}: {when}"
        for order in machine.by_payments:
            when = f"when it has paid for the last time: a guess (exchange {order.one.number})"
            yield f"  {order.before} -> {order.after}: {when}"
        for reading in machine.by_reading:
            when = f"when it is read {reading.reads} times (exchange {reading.one.number})"
            yield f"  {reading.before} -> {reading.after}: {when}"
    if learned.unknown:
        yield ""
        yield "Not learned:"
        for line in learned.unknown:
            first, *rest = wrap(line, _WIDTH - 4) or [""]
            yield f"- {first}"
            yield from (f"  {part}" for part in rest)
