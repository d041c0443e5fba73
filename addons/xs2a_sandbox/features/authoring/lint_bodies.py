"""Finds matchers on bodies that can never match with the operation's media types and schema."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from xs2a_sandbox.cassette import Operation, Rule
from xs2a_sandbox.cassette.matchers import Constraint
from xs2a_sandbox.cassette.model import Pointer, Requirement
from xs2a_sandbox.cassette.schema_names import possible_names
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import Schema
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.http.body_members import Kind, kind_of
from xs2a_sandbox.http.media_type import media_type

_ELEMENT = re.compile(r"@?[^\W\d][\w.\-\u00b7]*")


def check_bodies(by: Operation | Rule, operation: Operation | None, schemas: Schemas) -> Iterator[Problem]:
    """Yield the problems. `operation` is the one whose requirements a request meets before the rule `by` is checked."""
    if isinstance(by, Operation):
        yield from _check_requirements(by, ())
        return
    types = _own_types(by) or (_of_all(operation.require) if operation and not by.skips_requirements else ())
    yield from _check(by, types, by.constraints, ("match",))
    yield from _check_requirements(by, types)
    if operation and not by.skips_requirements:
        yield from _check_names(by, operation, schemas)


def _check_names(rule: Rule, operation: Operation, schemas: Schemas) -> Iterator[Problem]:
    """Yield problems with members that the operation's schemas do not have, but whose names they nearly have.

    Banks accept other members, so a rule may match them.
    """
    names = [name for step in operation.require.steps for name in possible_names(step.schema, operation)]
    for constraint in rule.constraints:
        if constraint.place.part != "body" or not constraint.place.name:
            continue
        hints = [_misspelled(schemas[name], constraint.place.name) for name in names]
        if hints and all(hints):
            text = f"no body of {operation.id} has {constraint.place.name}{hints[0]}"
            yield rule.origin.problem("member", text, ("match", "body", constraint.place.name))


def _misspelled(schema: Schema, pointer: str) -> str:
    """Return which member of the schema is nearly like the first unknown one of the pointer, or an empty string."""
    steps: list[str | int] = [int(step) if step.isdecimal() else step for step in parse_pointer(pointer)]
    for number, step in enumerate(steps):
        if not schema.nodes(steps[: number + 1]):
            above = schema.nodes(steps[:number])
            return did_you_mean(str(step), {name for node in above for name in node.schema.get("properties", ())})
    return ""


def _check_requirements(by: Operation | Rule, types: Sequence[str]) -> Iterator[Problem]:
    """Yield problems with the entry's own requirements. `types` are the default media types of the body."""
    is_list = isinstance(by.origin.written.get("require"), list)
    for number, step in enumerate(by.require.steps if by.require else ()):
        own = _find_required(step) if isinstance(by, Operation) else step.media
        pointer: Pointer = ("require", number) if is_list else ("require",)
        yield from _check(by, own or types, step.constraints, pointer, step.schema)


def _of_all(require: Requirement) -> Sequence[str]:
    return next((types for step in require.steps if (types := _find_required(step))), ())


def _find_required(require: Requirement) -> Sequence[str]:
    """Return the accepted media types, or nothing if all are accepted."""
    wants_json = require.schema is not None or any(
        constraint.place.part == "body" for constraint in require.constraints
    )
    return require.media or (("application/json",) if wants_json else ())


def _own_types(rule: Rule) -> Sequence[str]:
    """Return the media types that the rule itself requires."""
    own = next(
        (constraint.spec for constraint in rule.constraints if str(constraint.place) == "headers.content-type"), {}
    )
    return [media_type(str(text)) for text in ([own["equals"]] if "equals" in own else own.get("in", ()))]


def _check(
    by: Operation | Rule,
    types: Sequence[str],
    constraints: Sequence[Constraint],
    pointer: Pointer,
    schema: str | None = None,
) -> Iterator[Problem]:
    if not types:
        return
    if schema is not None and not any(kind_of(t) == "json" for t in types):
        text = f"a body with the media type {' or '.join(types)} cannot have a JSON Schema"
        yield by.origin.problem("body-media", text, (*pointer, "body", "schema"))
    for constraint in constraints:
        if constraint.place.part != "body" or constraint.fits(()):
            continue
        reasons = [_MISFITS[kind_of(media)](constraint) for media in types]
        if all(reasons):
            name = constraint.place.name or next(iter(constraint.spec))
            text = f"no body with the media type {' or '.join(types)} can match this: {reasons[0]}"
            yield by.origin.problem("body-media", text, (*pointer, "body", name))


def _of_a_form(constraint: Constraint) -> str | None:
    return _check_whole(constraint) or (
        f"the fields of a form, such as {'/' + steps[0]}, have no members"
        if len(steps := parse_pointer(constraint.place.name)) > 2 or (steps[1:] and not steps[1].isdecimal())
        else _no_text(constraint)
    )


def _of_xml(constraint: Constraint) -> str | None:
    if whole := _check_whole(constraint):
        return whole
    steps = [step for step in parse_pointer(constraint.place.name) if not step.isdecimal()]
    for number, step in enumerate(steps, 1):
        if ":" in step:
            return f"write the names of elements without their prefix: {step.rpartition(':')[2]}"
        if not _ELEMENT.fullmatch(step):
            return f"{step!r} is not a valid element name"
        if step.startswith("@") and number < len(steps):
            return f"the attribute {step} must be the last step"
    return _no_text(constraint)


def _check_whole(constraint: Constraint) -> str | None:
    return None if constraint.place.name else f"{next(iter(constraint.spec))} works only with JSON"


def _no_text(constraint: Constraint) -> str | None:
    spec = constraint.spec
    values = [spec["equals"]] if "equals" in spec else spec.get("in", ())
    if not values or any(isinstance(value, str) for value in values):
        return None
    return "all its values are strings; put this into quotes"


_MISFITS: Mapping[Kind, Callable[[Constraint], str | None]] = {
    "json": lambda constraint: None,
    "form": _of_a_form,
    "multipart": _check_whole,
    "xml": _of_xml,
    "other": lambda constraint: "only JSON, forms, multipart bodies and XML have members",
}
