"""Learns a dialect from a recording alone, and drops conditions that would spoil a second journey."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from textwrap import indent, wrap
from typing import NamedTuple

from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.rating import Rating
from xs2a_sandbox.features.derive.rehearsal import Rehearsed, read_dialect
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.interface import LearnedInterface, learn
from xs2a_sandbox.features.derive.unknown.recorded.places import source_of
from xs2a_sandbox.features.derive.unknown.recorded.repetition import cut_repetition
from xs2a_sandbox.features.derive.unknown.recorded.restored import restore
from xs2a_sandbox.features.derive.unknown.tried.other_values import AS_RECORDED, OtherValues, invent_values
from xs2a_sandbox.features.derive.unknown.tried.trial import try_dialect
from xs2a_sandbox.features.derive.unknown.written.dialect import write_dialect
from xs2a_sandbox.features.derive.unknown.written.operation import WrittenOperation
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.wording import say_count

_WIDTH = 116
_STEPS = 5


@dataclass(frozen=True)
class LearnedDialect:
    """`rehearsed` are the answers to the recording, and `rated` those to a second journey with other values.

    `left_out` is the number of exchanges at the end of the recording that show nothing new, and were not used.
    """

    text: str
    unknown: Sequence[str]
    rehearsed: Sequence[Rehearsed]
    rated: Sequence[Rehearsed]
    left_out: int = 0


def learn_dialect(
    name: str, tape: Tape, schemas: Schemas, progress: Callable[[int, int], None] = lambda done, count: None
) -> LearnedDialect:
    """Learn the dialect, and how it answers a second journey. Raises Unreadable: it cannot be written."""
    whole = restore(tape)
    tape = cut_repetition(whole)
    left_out = len(whole.entries) - len(tape.entries)
    entries = [entry for entry in tape.entries if not entry.cut]
    progress(1, _STEPS)
    learned = learn(tape)
    progress(2, _STEPS)
    attempt = partial(_try, name, learned, entries, schemas, _invent_values(learned))
    tried = attempt()
    progress(3, _STEPS)
    while better := _drop_spoiling(learned, tried, attempt):
        tried = better
    progress(4, _STEPS)
    interface = read_dialect(tried.text, schemas)
    rehearsed = try_dialect(entries, learned.seen, interface, schemas, _states(learned), AS_RECORDED)
    progress(_STEPS, _STEPS)
    lines = _head(name, learned, Rating.of(tried.rated), left_out)
    head = "".join(f"# {line}\n" if line else "#\n" for line in lines)
    return LearnedDialect(head + tried.text, learned.unknown, rehearsed, tried.rated, left_out)


_SPOILS = "also refuses requests with other values"


class _Tried(NamedTuple):
    """The text of a dialect without its head, and its answers to a second journey."""

    text: str
    rated: Sequence[Rehearsed]


def _try(
    name: str, learned: LearnedInterface, entries: Sequence[Exchange], schemas: Schemas, other: OtherValues
) -> _Tried:
    sections, operations = write_dialect(name, learned)
    text = yaml_text(sections) + "".join(_sections(operations))
    return _Tried(
        text, try_dialect(entries, learned.seen, read_dialect(text, schemas), schemas, _states(learned), other)
    )


def _drop_spoiling(learned: LearnedInterface, tried: _Tried, attempt: Callable[[], _Tried]) -> _Tried | None:
    """Drop the check that is the first to refuse what the bank accepts, if more answers are right without it.

    Later refusals may be consequences. Returns None if nothing was dropped.
    """
    statuses = [one.answer.status if one.answer else 0 for one in tried.rated]
    refused = (at for at, one in enumerate(learned.seen) if learned.world.is_ok[one] and statuses[at] >= 400)
    at = next(refused, None)
    if at is None:
        return None
    operation = learned.world.operation_of[learned.seen[at]]
    checks = learned.checks[operation]

    def without(dropped: Sequence[LearnedCheck], narrowed: Sequence[LearnedCheck] = ()) -> _Tried:
        learned.checks[operation] = [*narrowed, *(check for check in checks if check not in dropped)]
        return attempt()

    possible = [check for check in checks if check.answer.status == statuses[at]]
    while len(possible) > 1:
        half = possible[: len(possible) // 2]
        answer = without(half).rated[at].answer
        is_accepted = answer is not None and answer.status != statuses[at]
        possible = half if is_accepted else possible[len(half) :]
    for check in possible:
        better = without([check])
        if Rating.of(better.rated).right > Rating.of(tried.rated).right + len(check.shown_by):
            narrowed = _narrow(check)
            learned.unknown.append(
                f"{operation.method} {operation.path}: when it is answered with {check.answer.name}; the condition "
                f"that was found {'holds for the recorded value only' if narrowed else _SPOILS}"
            )
            return without([check], [narrowed]) if narrowed else better
    learned.checks[operation] = checks
    return None


def _narrow(check: LearnedCheck) -> LearnedCheck | None:
    """Return a check that refuses only the recorded values of a header, such as the key of an unknown app."""
    place = check.condition.place
    if check.condition.kind != "header":
        return None
    values = {value for one in check.answer.seen if one.number in check.shown_by if (value := one.at(place))}
    source = f"{source_of(place)} in {literal(sorted(values))}"
    is_narrow = not values or check.condition.source == source
    return None if is_narrow else replace(check, condition=replace(check.condition, source=source))


def _invent_values(learned: LearnedInterface) -> OtherValues:
    wrong = [check for own in learned.checks.values() for check in own if check.condition.kind == "credentials"]
    owned = [check.condition for check in wrong if check.condition.owner]
    personal = {place for condition in owned for place in (condition.owner[-2:], condition.place)}
    shared = {check.condition.place for check in wrong if not check.condition.owner}
    values = invent_values(learned.seen, learned.world.is_ok, personal, shared, learned.scopes.iban_country)
    return replace(values, mistyped={number for check in wrong for number in check.shown_by})


def find_state_members(tape: Tape) -> set[str]:
    """Return the members with a state, as far as a recording shows them."""
    return _states(learn(cut_repetition(tape)))


def _states(learned: LearnedInterface) -> set[str]:
    return {machine.member for machine in learned.scopes.machines.values()}


def _sections(operations: Sequence[WrittenOperation]) -> Iterator[str]:
    for section in ("operations", "rules"):
        own = [operation for operation in operations if operation.section == section]
        if own:
            yield f"\n{section}:\n"
            yield from (indent(_operation_text(operation), "  ") for operation in own)


def _operation_text(operation: WrittenOperation) -> str:
    comment = "".join(f"# {part}\n" for line in operation.evidence for part in wrap(line, _WIDTH))
    return comment + yaml_text([dict(operation.value)])


def _head(name: str, learned: LearnedInterface, rating: Rating, left_out: int) -> Iterator[str]:
    number = len(learned.seen)
    yield f"Learned from {number} exchanges: xs2a-sandbox derive --dialect {name}"
    if left_out:
        yield f"Left out: the last {say_count(left_out, 'exchange')} of the recording, in which nothing is new."
    yield "No documented dialect answers like this bank, so this one has operations of its own."
    yield "The comment before an operation names the exchanges that show each of its outcomes."
    for line in rating.lines(name):
        yield from wrap(line, _WIDTH)
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
            how = f"{operation.method} {operation.path} ({request.one.evidence})"
            yield f"  {request.before} -> {request.after}: {how}"
        for timed in machine.by_time:
            when = f"after about {timed.seconds} seconds ({timed.one.evidence})"
            yield f"  {timed.before} -> {timed.after}: {when}"
        for one in machine.uncovered:
            later = f", after about {one.seconds} seconds" if one.seconds else ""
            shown = "a guess" if one.is_guess else one.one.evidence
            when = f"if the balance does not cover it{later} ({shown})"
            yield f"  {one.before or 'new'} -> {one.after}: {when}"
        for newer in machine.by_newer:
            when = f"when another one gets the state {newer.before} ({newer.one.evidence})"
            yield f"  {newer.before} -> {newer.after}: {when}"
        for end in machine.by_end:
            when = f"after its {'.'.join(map(str, end.place))} ({end.one.evidence})"
            yield f"  {end.before} -> {end.after}: {when}"
        for order in machine.by_payments:
            when = f"when it has paid for the last time: a guess ({order.one.evidence})"
            yield f"  {order.before} -> {order.after}: {when}"
        for reading in machine.by_reading:
            when = f"when it is read {reading.reads} times ({reading.one.evidence})"
            yield f"  {reading.before} -> {reading.after}: {when}"
    if learned.unknown:
        yield ""
        yield "Not learned:"
        for line in learned.unknown:
            first, *rest = wrap(line, _WIDTH - 4) or [""]
            yield f"- {first}"
            yield from (f"  {part}" for part in rest)
