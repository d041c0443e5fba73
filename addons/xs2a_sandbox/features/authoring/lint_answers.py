"""Checks answers without an example by rendering them once."""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from xs2a_sandbox.bank import TestData
from xs2a_sandbox.cassette import Call, Interface, Operation, Rule
from xs2a_sandbox.cassette.answers import write
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.cassette.evaluation.expressions import Scope, mismatches
from xs2a_sandbox.cassette.matchers import TEXT, Constraint, sample
from xs2a_sandbox.cassette.model import Pointer, answers
from xs2a_sandbox.cassette.path_pattern import LITERAL
from xs2a_sandbox.cassette.schema_names import names_by_status, possible_names
from xs2a_sandbox.clock import REAL, Clock
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.errors import BankError, ExpressionError, InvalidResponse, Problem
from xs2a_sandbox.features.authoring.examples import Example, compose, example
from xs2a_sandbox.features.authoring.samples import of_body
from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.http.media_type import is_json, media_type
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.session import DEFAULT

ANSWER_SCHEMA = "answer-schema"


def check_fixed(by: Operation | Rule, interface: Interface, schemas: Schemas) -> Iterator[Problem]:
    """Yield problems with bodies without expressions, which can be checked without a request."""
    names = names_by_status(by, _operation(by, interface))
    for below, answer in answers(by):
        name = answer.schema or names.get(str(answer.status))
        if name and "{" not in name and answer.is_fixed and not _is_raw(by, below):
            response = write(replace(answer, headers=()), (), {}, names, schemas)
            if wrong := _complaint(response, name, schemas):
                pointer, text = wrong
                yield by.origin.problem(ANSWER_SCHEMA, text, (*below, "body", *pointer))


def complaint(response: Response, by: Operation | Rule, interface: Interface, schemas: Schemas) -> str | None:
    """Describe what is wrong with an answer of `by`. Only JSON is checked."""
    media = media_type(Headers(response.headers).get("content-type"))
    if not response.body or response.fault or not is_json(media):
        return None
    possible = _find_possible(by, interface, response.status)
    if None in possible:
        return None
    operation = _operation(by, interface)
    names = sorted({schema_name for name in possible for schema_name in possible_names(name, operation)})
    wrong = [one for name in names if (one := _complaint(response, name, schemas))]
    return wrong[0][1] if len(wrong) == len(names) else None


def _find_possible(by: Operation | Rule, interface: Interface, status: int) -> set[str | None]:
    """Return the schemas that an answer with that status can have. None means any form."""
    names = names_by_status(by, _operation(by, interface))
    operation = _operation(by, interface)
    shaping = operation if operation and by.behaviour.handler and not by.behaviour.respond else by
    possible = {
        None if not answer.has_json or _is_raw(shaping, below) else answer.schema or names.get(str(status))
        for below, answer in answers(shaping)
        if not answer.error and (callable(answer.status) or answer.status == status)
    }
    return possible or {names.get(str(status))}


def _operation(by: Operation | Rule, interface: Interface) -> Operation | None:
    return interface.operations.get(by.operation or "") if isinstance(by, Rule) else by


def _is_raw(by: Operation | Rule, below: tuple[str | int, ...]) -> bool:
    """Return whether the answer was recorded. Recorded answers may differ from the bank's documentation."""
    written: Any = by.origin.written
    for step in below:
        written = written[step]
    return written.get("raw") is True


def _complaint(response: Response, name: str, schemas: Schemas) -> tuple[Pointer, str] | None:
    value = json.loads(response.body, parse_float=Decimal)
    if (complaint := schemas[name].complaint(value)) is None:
        return None
    pointer = pointer_text(complaint.pointer)
    return complaint.pointer, f"{pointer or 'the body'} {complaint.text} (schema {name})"


TEMPLATE = "template"


def dry_run(
    by: Operation | Rule, interface: Interface, schemas: Schemas, data: TestData, clock: Clock = REAL
) -> Iterator[Problem]:
    """Try every answer with a request made from the rule's conditions.

    The result of a handler needs a real request.
    """
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
                yield by.origin.problem(TEMPLATE, f"this answer cannot be created: {error}", below)
    for source, reason in mismatched:
        yield mismatch(by, source, reason) or by.origin.problem(TEMPLATE, describe_failure(source, reason))


def mismatch(by: Operation | Rule, source: str, reason: str) -> Problem | None:
    """Return a problem at the text with the expression, if `by` contains it."""
    place = next((pointer for pointer, text in texts(by.origin.written) if text == source), None)
    return None if place is None else by.origin.problem(TEMPLATE, describe_failure(source, reason), place)


def describe_failure(source: str, reason: str) -> str:
    return f"{source!r} cannot be evaluated, so its value is null: {reason}"


def texts(value: Any, pointer: Pointer = ()) -> Iterator[tuple[Pointer, str]]:
    """Yield all texts with their places."""
    if isinstance(value, str):
        yield pointer, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in pairs:
        yield from texts(inner, (*pointer, step))


def _scope(by: Operation | Rule, interface: Interface, data: TestData, clock: Clock) -> Scope:
    today = data.at(clock.today())
    entry = _make_example(by, interface)
    request = compose(entry)
    state = Transaction(MemoryStore(), DEFAULT, lambda _: today)
    call = Call(request, split_target(request.target), Session(DEFAULT, ""), clock, state)
    call.path = {name: str(value) for name, value in _parameters(entry)}
    call.lets, call.shapes = interface.lets, interface.shapes
    return call.scope()


def _make_example(by: Operation | Rule, interface: Interface) -> Example:
    bare = example(by, interface, 0, {}, {})
    required = by.require.steps if isinstance(by, Operation) else ()
    constraints = by.constraints if isinstance(by, Rule) else tuple(c for step in required for c in step.constraints)
    request: dict[str, Any] = {"where": dict(_parameters(bare))}
    for part in ("headers", "query"):
        request[part] = _values(constraints, part)
    if (body := of_body(constraints)) is not None:
        request["body"] = body
    return replace(bare, request=request)


def _parameters(entry: Example) -> Iterator[tuple[str, Any]]:
    values = _values(entry.where, "where") | dict(entry.request.get("where", {}))
    for segment in entry.pattern.segments:
        if segment.kind != LITERAL:
            yield segment.text, values.get(segment.text, TEXT)


def _values(constraints: tuple[Constraint, ...], part: str) -> dict[str, Any]:
    values = {c.place.name: sample(c.spec) for c in reversed(constraints) if c.place.part == part}
    return {name: value for name, value in values.items() if value is not None}
