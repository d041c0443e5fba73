"""Answers that nobody has given an example for, written once to see whether they can be."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from xs2a_sandbox.answer import write
from xs2a_sandbox.call import Call, Session
from xs2a_sandbox.cassette import Operation, Pointer, Rule, answers
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.errors import BankError, ExpressionError, InvalidResponse, Problem
from xs2a_sandbox.example import Example, compose, example
from xs2a_sandbox.expression import Scope, mismatches
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.matching import Constraint
from xs2a_sandbox.pattern import LITERAL, split_target
from xs2a_sandbox.sample import TEXT, of_body, of_matcher
from xs2a_sandbox.schema import Schemas
from xs2a_sandbox.session import DEFAULT
from xs2a_sandbox.store import MemoryStore, Transaction
from xs2a_sandbox.testdata import TestData

CODE = "template"


def dry_run(
    by: Operation | Rule, interface: Interface, schemas: Schemas, data: TestData, clock: Clock = REAL
) -> Iterator[Problem]:
    """With a request that is made from what is matched. What a handler finds only a real request can show."""
    if by.examples or by.behaviour.handler or by.behaviour.bank:
        return
    with mismatches() as mismatched:
        scope = _scope(by, interface, data, clock)
        if isinstance(by, Rule) and by.when:
            by.when(scope)
        for below, answer in answers(by):
            if answer.when:
                answer.when(scope)
            try:
                # A status that comes from the request cannot be guessed.
                write(replace(answer, status=200) if callable(answer.status) else answer, (), scope, {}, schemas)
            except BankError:
                pass  # an error of the table, which has no schema and no headers of its own
            except (ExpressionError, InvalidResponse, TypeError, ValueError) as error:
                yield by.origin.problem(CODE, f"this answer cannot be written: {error}", below)
    for source, reason in mismatched:
        yield mismatch(by, source, reason) or by.origin.problem(CODE, computed(source, reason))


def mismatch(by: Operation | Rule, source: str, reason: str) -> Problem | None:
    """At the text that the expression stands in, if `by` has it."""
    place = _place(by.origin.written, source)
    return None if place is None else by.origin.problem(CODE, computed(source, reason), place)


def computed(source: str, reason: str) -> str:
    return f"{source!r} cannot be computed and comes out null: {reason}"


def _place(written: Any, source: str) -> Pointer | None:
    if written == source:
        return ()
    pairs = written.items() if isinstance(written, dict) else enumerate(written) if isinstance(written, list) else ()
    for step, inner in pairs:
        if (below := _place(inner, source)) is not None:
            return (step, *below)
    return None


def _scope(by: Operation | Rule, interface: Interface, data: TestData, clock: Clock) -> Scope:
    today = data.at(clock.today())
    entry = _made(by, interface)
    request = compose(entry)
    state = Transaction(MemoryStore(), DEFAULT, lambda _: today)
    call = Call(request, split_target(request.target), Session(DEFAULT, ""), clock, state)
    parameters = dict(_parameters(entry))
    call.path = {name: str(value) for name, value in parameters.items()}
    return call.scope()


def _made(by: Operation | Rule, interface: Interface) -> Example:
    bare = example(by, interface, 0, {}, {})
    asked = by.constraints if isinstance(by, Rule) else by.require.constraints
    given: dict[str, Any] = {"where": dict(_parameters(bare))}
    for part in ("headers", "query"):
        given[part] = _values(asked, part)
    if (body := of_body(asked)) is not None:
        given["body"] = body
    return replace(bare, request=given)


def _parameters(entry: Example) -> Iterator[tuple[str, Any]]:
    known = _values(entry.where, "where") | dict(entry.request.get("where", {}))
    for segment in entry.pattern.segments:
        if segment.kind != LITERAL:
            yield segment.text, known.get(segment.text, TEXT)


def _values(asked: tuple[Constraint, ...], part: str) -> dict[str, Any]:
    found = {c.place.name: of_matcher(c.spec) for c in reversed(asked) if c.place.part == part}
    return {name: value for name, value in found.items() if value is not None}
