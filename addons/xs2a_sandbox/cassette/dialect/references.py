"""Checks names in operations and rules: each must be a known operation, error, schema, handler or parameter."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from xs2a_sandbox.cassette import handler
from xs2a_sandbox.cassette.dialect import request
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.cassette.model import ErrorAnswer, Operation, Rule, SourcePlace, answers
from xs2a_sandbox.cassette.schema_names import names_by_status, possible_names
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import Problem


def check(
    operations: Mapping[str, Operation],
    rules: Sequence[Rule],
    errors: Mapping[str, ErrorAnswer],
    schemas: Schemas,
    handlers: Mapping[str, Handler],
    bank: bool,
    gone: Mapping[str, SourcePlace],
) -> Iterator[Problem]:
    """Yield the problems with names that do not exist or are used in a wrong way."""
    everybody: list[Operation | Rule] = [*operations.values(), *rules]
    answering = {name: one for name, one in handlers.items() if not one.is_action}
    for by in everybody:
        origin, behaviour = by.origin, by.behaviour
        owner = by if isinstance(by, Operation) else operations.get(by.operation or "")
        if isinstance(by, Operation):
            for parameter, name in by.otherwise.items():
                yield from check_known(origin, "unknown-error", name, errors, "otherwise", parameter, gone=gone)
                if parameter not in by.pattern.names:
                    text = f"the path {by.pattern.text} has no parameter {parameter}"
                    yield origin.problem("where", text, ("otherwise", parameter), key=True)
        elif by.operation:
            yield from check_known(
                origin, "unknown-operation", by.operation, operations, "match", "operation", gone=gone
            )
            for place in (c.place for c in by.constraints if owner and c.place.part == "where"):
                if owner and place.name not in owner.pattern.names:
                    text = f"the path {owner.pattern.text} has no parameter {place.name}"
                    yield origin.problem("where", text, ("match",))
        is_list = isinstance(origin.written.get("require"), list)
        for number, step in enumerate(by.require.steps if by.require else ()):
            at = ("require", number) if is_list else ("require",)
            for name in possible_names(step.schema, owner):
                yield from check_known(origin, "unknown-schema", name, schemas, *at, "body", "schema")
            if step.error:
                yield from check_known(origin, "unknown-error", step.error, errors, *at, "error", gone=gone)
        if behaviour.handler:
            if (fitting := _handler_in_place(by, owner, operations, answering)) and behaviour.handler not in answering:
                text = f"unknown handler {behaviour.handler!r}; the operation {fitting.id} uses"
                yield origin.problem("unknown-handler", f"{text} {fitting.behaviour.handler!r}", ("handler",))
            else:
                yield from check_known(origin, "unknown-handler", behaviour.handler, answering, "handler")
        for status, schema in (behaviour.answers or {}).items():
            for name in possible_names(schema, owner):
                yield from check_known(origin, "unknown-schema", name, schemas, "answers", status)
        listed = names_by_status(by, owner)
        for below, answer in answers(by):
            by_status = isinstance(answer.status, int) and str(answer.status) not in listed
            if answer.nulls == "fill" and not answer.schema and by_status:
                text = f"nulls: fill needs a schema, but answers has none for {answer.status}"
                yield origin.problem("unknown-schema", text, (*below, "nulls"))
            if answer.error:
                yield from check_known(origin, "unknown-error", answer.error, errors, *below, "error", gone=gone)
            if answer.schema:
                yield from check_known(origin, "unknown-schema", answer.schema, schemas, *below, "schema")
        if owner or by.pattern:
            yield from handler.check(by, owner, handlers)
            yield from handler.check_actions(by, handlers)
            yield from request.check(by, owner.pattern if owner else by.pattern, handlers)
        if behaviour.handler and not behaviour.respond and not (owner and owner.behaviour.respond):
            where = "" if by is owner else ", here or in the operation"
            yield origin.problem("behaviour", f"the handler needs a respond for its result{where}", ("handler",))
        if behaviour.bank and not bank:
            text = "bank: true needs a bank, and none is configured; set it with --bank URL"
            yield origin.problem("no-bank", text, ("bank",))


def _handler_in_place(
    by: Operation | Rule,
    owner: Operation | None,
    operations: Mapping[str, Operation],
    handlers: Mapping[str, Handler],
) -> Operation | None:
    """Return the operation for the same requests whose handler exists, if the rule's own handler does not exist.

    Its handler is a better suggestion than a similar name, which might make a payment instead of reading one.
    """
    if isinstance(by, Operation):
        return None
    there = [owner] if owner else [one for one in operations.values() if _is_for_the_same(by, one)]
    return next((one for one in there if one.behaviour.handler in handlers), None)


def _is_for_the_same(rule: Rule, operation: Operation) -> bool:
    if rule.pattern is None or (rule.methods and operation.method not in rule.methods):
        return False
    return operation.pattern.covers(rule.pattern)


def check_known(
    origin: SourcePlace,
    code: str,
    name: str,
    entries: Mapping[str, Any] | Schemas,
    *pointer: str | int,
    key: bool = False,
    gone: Mapping[str, SourcePlace] | None = None,
) -> Iterator[Problem]:
    """Yield a problem if nothing of this kind has the name, or if the name is `gone` from the dialect below."""
    if name in entries:
        return
    kind = code.removeprefix("unknown-")
    if gone and name in gone:
        yield gone[name].problem("extends", f"this removes the {kind} {name}, which {origin.place} needs")
        return
    yield origin.problem(code, _say_unknown(kind, name, entries), pointer, key=key)


def find_unknown(kind: str, name: str, entries: Mapping[str, Any]) -> str | None:
    """Return the error text if nothing of this kind has the name."""
    return None if name in entries else _say_unknown(kind, name, entries)


def _say_unknown(kind: str, name: str, entries: Mapping[str, Any] | Schemas) -> str:
    names = sorted(entries.names(name) if isinstance(entries, Schemas) else entries)
    close = get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}" if names else "none is defined"
    return f"unknown {kind} {name!r}; {hint}"
