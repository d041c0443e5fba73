"""Responses of cassettes: compiled when a file is read, rendered when a request arrives."""

import base64
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from operator import is_
from typing import Any

from xs2a_sandbox.cassette.body_source import BodySource, Nulls, WriteBody
from xs2a_sandbox.cassette.evaluation.expressions import (
    Render,
    Scope,
    compile_condition,
    compile_text,
    compile_value,
    render,
)
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.config.readers import LONGEST, seconds
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_schema import Schema, leave_unchanged
from xs2a_sandbox.errors import BankError, ExpressionError, InvalidResponse
from xs2a_sandbox.http import Response, to_json
from xs2a_sandbox.state import Transaction

_PATH = re.compile(
    r"""state\.(?P<collection>\w+)\[(?:(?P<quote>['"])(?P<text>(?:\{\{.*?\}\}|(?!(?P=quote)).)*)(?P=quote)|(?P<expression>[^'"].*))\](?P<members>(?:\.\w+)*)"""
)


Report = Callable[[tuple[str | int, ...], str], None]
"""Called with the place below the response or effect, and a description of the mistake."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Sets or deletes `state.<collection>['<id>']` or a member below it."""

    collection: str
    id: Render | str
    members: tuple[str, ...]
    value: Any
    deletes: bool
    when: Callable[[Scope], bool] | None = None

    def apply(self, state: Transaction, scope: Scope) -> None:
        if self.when and not self.when(scope):
            return
        id = to_text(render(self.id, scope))
        if not id:
            raise BankError(
                "internal", reason=f"an effect on {self.collection} needs an id, but its expression is empty"
            )
        if self.deletes:
            state.delete(self.collection, id)
            return
        value = render(self.value, scope)
        if self.members:
            value = _with_member(state.get(self.collection, id) or {}, self.members, value)
        if not isinstance(value, dict):
            raise BankError(
                "internal", reason=f"the value of an effect on {self.collection} must be a document (a mapping)"
            )
        state.put(self.collection, id, value)


@dataclass(frozen=True, slots=True)
class Action:
    """Runs a handler's action by name.

    `options` are the compiled form of `written`; `result` names the action's result.
    """

    name: str
    written: Mapping[str, Any]
    options: Any
    result: str | None = None
    when: Callable[[Scope], bool] | None = None


def compile_action(spec: Mapping[str, Any], roots: frozenset[str], report: Report) -> Action:
    written, when = spec.get("with", {}), None
    try:
        when = compile_condition(spec["when"], roots) if "when" in spec else None
    except ExpressionError as error:
        report(("when",), str(error))
    options = compile_value(written, roots, lambda pointer, text: report(("with", *pointer), text))
    return Action(spec["do"], written, options, spec.get("as"), when)


def compile_effect(spec: Mapping[str, Any], roots: frozenset[str], report: Report) -> Effect | None:
    key = "set" if "set" in spec else "delete"
    fits = _PATH.fullmatch(spec[key])
    if not fits:
        report((key,), f"{spec[key]!r} must have the form state.<collection>['<id>'], optionally followed by .<member>")
        return None
    members = tuple(fits["members"].split(".")[1:])
    if key == "delete" and members:
        report((key,), "only a whole document can be deleted; set a member to null instead")
    when = None
    try:
        when = compile_condition(spec["when"], roots) if "when" in spec else None
    except ExpressionError as error:
        report(("when",), str(error))
    try:
        id = compile_text(fits["text"] if fits["quote"] else "{{ " + fits["expression"] + " }}", roots)
    except ExpressionError as error:
        report((key,), str(error))
        return None
    value = compile_value(spec.get("to"), roots, lambda pointer, text: report(("to", *pointer), text))
    if key == "set" and not members and not (isinstance(spec["to"], dict) or callable(value)):
        report(("to",), "a document must be a mapping; to set a single value, name its member")
    return Effect(fits["collection"], id, members, value, key == "delete", when)


def _with_member(document: Mapping[str, Any], members: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = members
    if rest:
        inner = document.get(first)
        value = _with_member(inner if isinstance(inner, dict) else {}, tuple(rest), value)
    return {**document, first: value}


@dataclass(frozen=True, slots=True)
class Delay:
    """The delay of a response: `median` in seconds. With `sigma` 0 it is always the median, otherwise log-normal."""

    median: float
    sigma: float = 0.0

    def seconds(self) -> float:
        if not self.sigma or not self.median:
            return self.median
        return min(random.lognormvariate(math.log(self.median), self.sigma), LONGEST)


def parse_delay(value: Any) -> Delay:
    """Parse `250ms`, `1.5s` or `{lognormal: {median: 200ms, sigma: 0.4}}`. Raises ValueError."""
    if isinstance(value, dict):
        shape = value["lognormal"]
        return Delay(seconds(shape["median"]), float(Decimal(shape["sigma"])))
    return Delay(seconds(value))


JSON = "application/json"
NO_BODY = object()
"""Marks a missing body. None cannot be used, because null is a valid JSON body."""


@dataclass(frozen=True, slots=True)
class ResponseTemplate:
    """One `respond`, or one entry of a `sequence`. Values with expressions are compiled to functions of the scope.

    `writers` write the `body`, by the schema whose nulls are filled in.
    """

    status: int | Render = 200
    when: Callable[[Scope], bool] | None = None
    headers: tuple[tuple[str, Any], ...] = ()
    body: Any = NO_BODY
    writers: "BodyWriters" = field(default_factory=lambda: BodyWriters(NO_BODY, None, frozenset(), None))
    content: bytes | Render | str | None = None
    nulls: str | None = None
    schema: str | None = None
    error: str | None = None
    values: Any = None
    delay: Delay | None = None
    fault: str | None = None

    @property
    def has_json(self) -> bool:
        return self.body is not NO_BODY

    @property
    def is_empty(self) -> bool:
        return not self.has_json and self.content is None

    def schema_name(self, names: Mapping[str, str], status: int | None = None) -> str | None:
        """Return the schema whose nulls are filled in. `names` are the schemas of the operation by status."""
        if self.nulls != "fill":
            return None
        return self.schema or names.get(str(self.status if status is None else status))

    @property
    def is_fixed(self) -> bool:
        """Return whether status and JSON body are the same for every request."""
        return self.has_json and not callable(self.body) and isinstance(self.status, int)


def compile_answer(
    spec: Mapping[str, Any], roots: frozenset[str], read: Callable[[str], bytes], report: Report
) -> ResponseTemplate:
    """Compile a response. `spec` must be valid under the cassette schema; other mistakes go to `report`.

    `read` returns the content of a file that the cassette names, or raises OSError.
    """
    raw = spec.get("raw") is True
    bodies = [key for key in ("body", "text", "base64", "file", "error") if key in spec]
    if len(bodies) > 1:
        report(
            (bodies[1],),
            f"an answer can have only one of body, text, base64, file and error, not {' and '.join(bodies)}",
        )

    def compile_at(value: Any, *pointer: str) -> Any:
        return value if raw else compile_value(value, roots, lambda below, text: report((*pointer, *below), text))

    def attempt[T](make: Callable[..., T], key: str, *more: Any) -> T | None:
        try:
            return make(spec[key], *more) if key in spec else None
        except (ExpressionError, ValueError) as error:
            report((key,), str(error))
            return None

    content: bytes | Render | str | None = compile_at(spec.get("text"), "text")
    if "base64" in spec:
        try:
            content = base64.b64decode(spec["base64"], validate=True)
        except ValueError as error:
            report(("base64",), f"this is not valid base64: {error}")
    if "file" in spec:
        try:
            content = read(spec["file"])
        except OSError as error:
            report(("file",), f"{spec['file']} cannot be read: {error.strerror}")
    if spec.get("status") in (204, 304) and (bodies or spec.get("nulls")):
        report(("status",), f"an answer with status {spec['status']} cannot have a body")
    status, headers, delay = compile_fields(spec, roots, report)
    body, nulls = compile_at(spec["body"], "body") if "body" in spec else NO_BODY, spec.get("nulls")
    return ResponseTemplate(
        status=200 if status is None else status,
        when=attempt(compile_condition, "when", roots),
        headers=headers,
        body=body,
        writers=BodyWriters(body, spec.get("body"), roots, nulls),
        content=content,
        nulls=nulls,
        schema=spec.get("schema"),
        error=spec.get("error"),
        values=compile_at(spec.get("values", {}), "values"),
        delay=delay,
        fault=spec.get("fault"),
    )


class BodyWriters(dict[Schema | None, WriteBody]):
    """The functions that write a body, by schema. Each is compiled at its first use."""

    def __init__(self, body: Any, written: Any, roots: frozenset[str], nulls: str | None) -> None:
        self._body, self._written, self._roots = body, written, roots
        self._drop = without_nulls if nulls == "drop" else None

    def __missing__(self, schema: Schema | None) -> WriteBody:
        if not callable(self._body):
            text = self.interpret(schema, {})
            self[schema] = lambda scope: text
        else:
            try:
                self[schema] = self._source("write_body", schema).compile()
            except (SyntaxError, RecursionError, MemoryError):
                # Python limits how deep its code may be nested.
                self[schema] = partial(self.interpret, schema)
        return self[schema]

    def show(self, name: str, schema: Schema | None) -> str:
        """Return the Python that writes the body, for people."""
        return self._source(name, schema).text if callable(self._body) else f"{name} = {self.interpret(schema, {})!r}"

    def _source(self, name: str, schema: Schema | None) -> BodySource:
        return BodySource(self._written, self._roots, Nulls(schema.node if schema else None, self._drop), name)

    def interpret(self, schema: Schema | None, scope: Scope) -> bytes:
        """Write the body step by step, with the same result."""
        complete = schema.fill if schema else self._drop or leave_unchanged
        return to_json(complete(render(self._body, scope)))


def compile_fields(
    spec: Mapping[str, Any], roots: frozenset[str], report: Report
) -> tuple[int | Render | None, tuple[tuple[str, Any], ...], Delay | None]:
    """Compile the status, headers and delay of a response or an amendment."""

    def compile_at(value: Any, *pointer: str) -> Any:
        if spec.get("raw") is True:
            return value
        return compile_value(value, roots, lambda below, text: report((*pointer, *below), text))

    status: Any = compile_at(spec.get("status"), "status")
    if isinstance(status, str):
        report(("status",), f"{status!r} is not a status: write a number or a single {{{{ expression }}}}")
    headers = tuple((name, compile_at(value, "headers", name)) for name, value in spec.get("headers", {}).items())
    for name, value in headers:
        try:
            Response(headers=((name, "" if callable(value) else to_text(value)),))
        except InvalidResponse as error:
            report(("headers", name), str(error))
    try:
        delay = parse_delay(spec["delay"]) if "delay" in spec else None
    except ValueError as error:
        report(("delay",), str(error))
        delay = None
    return status, headers, delay


def choose(answers: Sequence[ResponseTemplate], scope: Scope) -> ResponseTemplate:
    """Return the first response whose condition is true."""
    for answer in answers:
        if answer.when is None or answer.when(scope):
            return answer
    raise BankError(
        "internal", reason="none of the conditions in the list of answers is true: add an answer without a when"
    )


def write(
    answer: ResponseTemplate, every: Sequence[tuple[str, Any]], scope: Scope, names: Mapping[str, str], schemas: Schemas
) -> Response:
    """Render a response.

    `every` are the headers that every response gets; `names` gives the schema name for each status.

    Raises:
        BankError: the response is an error of the error table.
        InvalidResponse: the rendered response is not valid HTTP.
    """
    if answer.error:
        raise BankError(answer.error, **render(answer.values, scope))
    status = answer.status if isinstance(answer.status, int) else status_of(answer.status(scope))
    headers = render_headers(add_headers(answer.headers, every), scope)
    if answer.body is not NO_BODY:
        schema = answer.schema_name(names, status)
        body = answer.writers[schemas[schema] if schema else None](scope)
        return Response(status, with_content_type(headers, JSON), body, answer.fault)
    if answer.content is None:
        return Response(status, tuple(headers), b"", answer.fault)
    content = render(answer.content, scope)
    if isinstance(content, bytes):
        return Response(status, with_content_type(headers, "application/octet-stream"), content, answer.fault)
    headers_of_text = with_content_type(headers, "text/plain; charset=utf-8")
    return Response(status, headers_of_text, to_text(content).encode(), answer.fault)


def add_headers(own: Sequence[tuple[str, Any]], every: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
    """Merge an answer's own headers with the headers of every answer. On the same name the own header wins."""
    if not own:
        return every
    names = {name.lower() for name, _ in own}
    return [*own, *((name, value) for name, value in every if name.lower() not in names)]


def render_headers(headers: Sequence[tuple[str, Any]], scope: Scope) -> list[tuple[str, str]]:
    """Return the rendered headers as pairs, without those whose value is null."""
    rendered = [(name, render(value, scope)) for name, value in headers]
    return [(name, to_text(value)) for name, value in rendered if value is not None]


def with_content_type(headers: Sequence[tuple[str, str]], default: str) -> tuple[tuple[str, str], ...]:
    if "content-type" in [name.lower() for name, _ in headers]:
        return tuple(headers)
    return (("Content-Type", default), *headers)


def without_nulls(value: Any) -> Any:
    """Return the value without members that are null. Parts without nulls are returned as they are, not copied."""
    if type(value) is dict:
        changed: dict[str, Any] | None = None
        for name, inner in value.items():
            if type(inner) is str:
                continue
            kept = None if inner is None else without_nulls(inner)
            if kept is not None and kept is inner:
                continue
            changed = dict(value) if changed is None else changed
            if kept is None:
                del changed[name]
            else:
                changed[name] = kept
        return value if changed is None else changed
    if type(value) is list:
        entries = [entry if type(entry) is str else without_nulls(entry) for entry in value]
        return value if all(map(is_, entries, value)) else entries
    if isinstance(value, Mapping):
        return without_nulls(dict(value))
    return value


def status_of(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BankError("internal", reason=f"the status must be a whole number, not {value!r}")
    return value
