"""Writes a draft of a case: its operation, a matching request, and an answer to edit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from os.path import relpath
from pathlib import Path
from textwrap import indent
from typing import Any
from urllib.parse import urlsplit

from xs2a_sandbox.bank import TestData, loading
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Call, Interface, Operation
from xs2a_sandbox.cassette.answers import without_nulls
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.cassette.dialect.request_ids import NAME as REQUEST_ID
from xs2a_sandbox.cassette.evaluation.expressions import render
from xs2a_sandbox.cassette.matchers import sample
from xs2a_sandbox.cassette.path_pattern import LITERAL, TAIL
from xs2a_sandbox.cassette.requirements import header_name
from xs2a_sandbox.cassette.schema_names import fill_name, names_by_status
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.files import writing
from xs2a_sandbox.documents.json_pointer import leaves
from xs2a_sandbox.documents.yaml_reader import parse
from xs2a_sandbox.documents.yaml_writer import yaml_line, yaml_text
from xs2a_sandbox.errors import ConfigError, UserMistake
from xs2a_sandbox.explain.candidates import find_nearest
from xs2a_sandbox.explain.hints import free_id
from xs2a_sandbox.features.authoring import lint
from xs2a_sandbox.features.authoring.case_from_exchange import case_from
from xs2a_sandbox.features.authoring.examples import headers_of_customer
from xs2a_sandbox.features.authoring.samples import of_schema
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import Target, split_target
from xs2a_sandbox.journal.journal import Journaled
from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.session import DEFAULT

NO_BODY = object()

_HEAD = """\
# Your own case. The sandbox answers requests that match `match` with `respond`; `xs2a-sandbox lint` runs the examples.
cassette: 1
{title}
rules:
  - id: {id}
    doc: Describe what your app has to do with this answer
"""
_NARROWER = """\
# Now it answers all these requests. Uncomment one of these lines to restrict it:
"""
_LIVELIER = """\
# headers: {Retry-After: "120"}
# delay: 2s
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """The request of a case, and its answer.

    `match` names the operation, or method and path, with further conditions; `request` is that of the example.
    `narrower` are further conditions, which are written as comments.
    """

    id: str
    title: str
    match: Mapping[str, Any]
    request: Mapping[str, Any]
    status: int
    body: Any = NO_BODY
    nulls: str | None = None
    narrower: Mapping[str, Any] = field(default_factory=dict)


def text(draft: Draft, schema: str | None = None) -> str:
    """Return the cassette. `schema` is the path of the JSON Schema of cassettes, for editors."""
    parts = [schema_line(schema)] if schema else []
    parts.append(_HEAD.format(title=yaml_text({"title": draft.title}), id=draft.id))
    narrower = "".join(f"# {key}: {yaml_line(value)}\n" for key, value in draft.narrower.items())
    parts.append(_key("match", yaml_text(draft.match) + _NARROWER + narrower))
    answer: dict[str, Any] = {"status": draft.status, **({"nulls": draft.nulls} if draft.nulls else {})}
    body = "" if draft.body is NO_BODY else yaml_text({"body": draft.body})
    parts.append(_key("respond", yaml_text(answer) + _LIVELIER + body))
    parts.append(_key("examples", yaml_text([{"request": draft.request, "expect": {"status": draft.status}}])))
    return "".join(parts)


def schema_line(schema: str) -> str:
    """Return the comment that tells editors which JSON Schema to use."""
    return f"# yaml-language-server: $schema={schema}\n"


def _key(name: str, below: str) -> str:
    return f"    {name}:\n" + indent(below, " " * 6)


ANY = "any"
"""The value of a path parameter that does not matter."""
_SHOWN = 3


def write(settings: Settings, method: str, path: str, status: int | None = None, file: Path | None = None) -> Path:
    """Write a case, and return its file: `file`, or one in the folder of the user's cases.

    Raises UserMistake if no operation has that path, the file exists, another rule already answers these requests, or
    an example of this or another case would fail.
    """
    files = loading.read(settings)
    interface, data = files.require_all()
    draft = draft_case(interface, files.schemas, data, method.upper(), path, status)
    return _save(settings, interface, draft.id, file, lambda schema: text(draft, schema))


def write_exchange(settings: Settings, entry: Journaled, file: Path | None = None) -> Path:
    """Write a case for the request of an exchange, with its answer, like `write`.

    Raises UserMistake if the journal has not kept the whole exchange, the file exists, another rule answers these
    requests, or an example of another case would fail.
    """
    interface, _ = loading.read(settings).require_all()
    rule = case_from(entry, interface)
    rule["id"] = free_id(interface, rule["id"])
    case = {"cassette": 1, "title": f"{entry.method} {entry.path}, as answered once", "rules": [rule]}

    def write_yaml(schema: str | None) -> str:
        return (schema_line(schema) if schema else "") + yaml_text(case)

    # A real bank's answer need not be valid for the operation; the author has to judge that.
    return _save(settings, interface, rule["id"], file, write_yaml, judge=False)


def write_rules(settings: Settings, written: str, file: Path) -> Path:
    """Write a case from YAML text: a rule, a list of rules, or a whole cassette. A rule needs no id.

    Raises UserMistake with every mistake; nothing is written then.
    """
    value = parse(written, file).value
    if not (isinstance(value, dict) and "cassette" in value):
        rules = value if isinstance(value, list) else [value]
        named = [
            {"id": file.stem if len(rules) == 1 else f"{file.stem}-{number}", **rule}
            if isinstance(rule, dict)
            else rule
            for number, rule in enumerate(rules, 1)
        ]
        written = yaml_text({"cassette": 1, "rules": named})
    interface, _ = loading.read(settings).require_all()
    return _save(settings, interface, file.stem, file, lambda schema: (schema_line(schema) if schema else "") + written)


def _save(
    settings: Settings,
    interface: Interface,
    id: str,
    file: Path | None,
    written: Callable[[str | None], str],
    *,
    judge: bool = True,
) -> Path:
    """Write the file, and delete it if it conflicts with the others, or with `judge` if its own example fails."""
    file = file or Path.cwd() / loading.OWN / loading.CASES / f"{id}.yaml"
    if file.suffix != ".yaml":
        raise ConfigError(f"the name of a cassette must end in .yaml, not {file}")
    schema = Path.cwd() / "schemas" / "cassette.schema.json"
    schema_path = relpath(schema, file.parent) if schema.is_file() else None
    before = lint.check(settings)
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(written(schema_path))
        except FileExistsError:
            raise UserMistake(
                f"nothing was written, because {file} already exists; choose another file with --to FILE"
            ) from None
    layered = any(file.resolve().is_relative_to(p.resolve()) for layer in loading.layers(settings) for p in layer)
    paths = [] if layered else [file]
    if problems := loading.check(settings, paths):
        file.unlink()
        raise UserMistake(
            "nothing was written, because the cassettes would have mistakes with it:\n" + "\n".join(map(str, problems))
        )
    after = lint.new_problems(before, lint.check(settings, paths))
    if problems := [problem for problem in after if judge or problem.file.resolve() != file.resolve()]:
        file.unlink()
        raise UserMistake(lint.refusal(problems, file, interface))
    return file


def draft_case(
    interface: Interface, schemas: Schemas, data: TestData, method: str, path: str, status: int | None
) -> Draft:
    """Return a draft. Raises UserMistake with the nearest operations if none has that path."""
    url = urlsplit(path)
    target = split_target(url.path + (f"?{url.query}" if url.query else ""))
    operation, parameters = _operation(interface, method, target)
    if status is None:
        status = next((a.status for a in operation.behaviour.respond if isinstance(a.status, int)), 200)
    where = {name: value for name, value in parameters.items() if value is not None}
    request = _request(operation, interface.things, where, schemas, data)
    query = dict(target.query)
    narrower: dict[str, Any] = _narrow_to_customer(interface.things, data)
    if query:
        request["query"] = {**request.get("query", {}), **query}
    elif "query" in request:
        narrower["query"] = request["query"]
    if (body := request.get("body")) is not None:
        members = [(pointer, value) for pointer, value in leaves(body) if value is not None]
        narrower["body"] = dict(members[:_SHOWN])
    narrower["when"] = "state.payments | length > 5"
    answer, nulls = _answer(operation, interface, schemas, status)
    return Draft(
        id=free_id(interface, f"{operation.id}-{status}"),
        title=f"{method} {operation.pattern.text}",
        match={"operation": operation.id} | {k: v for k, v in (("where", where), ("query", query)) if v},
        request=request,
        status=status,
        body=answer,
        nulls=nulls,
        narrower=narrower,
    )


def _narrow_to_customer(things: Things, data: TestData) -> dict[str, Any]:
    """Return the condition on one customer, if the interface names customers in a header."""
    names = [header_name(place.name) for place in things["customer"].sent if place.part == "headers"]
    customers = list(data.at(Clock().today()).get("psus", {}))
    return {"headers": {names[0]: customers[0]}} if names and customers else {}


def _operation(interface: Interface, method: str, target: Target) -> tuple[Operation, Mapping[str, str | None]]:
    """Return the most literal operation, and its path parameters, None for those left open: `{id}`."""
    fitting = [
        (operation, parameters)
        for operation in interface.operations.values()
        if operation.method == method
        for start in range(len(target.segments))
        if (parameters := _fit(operation, target.segments[start:])) is not None
    ]
    if fitting:
        return max(fitting, key=lambda scored: scored[0].pattern.rank)
    path = "/" + "/".join(target.segments)
    nobody = Transaction(MemoryStore(), DEFAULT, lambda _: {})
    call = Call(Request(method, path), target, Session(DEFAULT, ""), Clock(), nobody)
    operations = list(interface.operations.values())
    lines = [
        f"  {one.entry.method} {one.entry.pattern.text} ({one.entry.id})"
        for one in find_nearest(operations, interface, call, _SHOWN)
        if isinstance(one.entry, Operation)
    ]
    raise UserMistake(f"no operation has the method and path {method} {path}. The nearest are:\n" + "\n".join(lines))


def _fit(operation: Operation, segments: tuple[str, ...]) -> dict[str, str | None] | None:
    parameters: dict[str, str | None] = {}
    pattern = operation.pattern.segments
    if len(segments) != len(pattern) and not (pattern and pattern[-1].kind == TAIL and len(segments) > len(pattern)):
        return None
    for position, segment in enumerate(pattern):
        word = "/".join(segments[position:]) if segment.kind == TAIL else segments[position]
        if segment.kind == LITERAL and word != segment.text:
            return None
        if segment.kind != LITERAL:
            parameters[segment.text] = None if word.startswith("{") else word
    values = {name: value for name, value in parameters.items() if value is not None}
    return parameters if any(_takes(alternative, values) for alternative in operation.where) else None


def _request(
    operation: Operation, things: Things, where: Mapping[str, str], schemas: Schemas, data: TestData
) -> dict[str, Any]:
    """Return a request that meets the operation's requirements."""
    required = [constraint for step in operation.require.steps for constraint in step.constraints]
    request: dict[str, Any] = {}
    fitting = next((a for a in operation.where if _takes(a, where)), ())
    listed = {c.place.name for c in operation.where[0]} if fitting == operation.where[0] else set()
    values = {c.place.name: sample(c.spec) for c in fitting} | dict(where)
    open_ones = {name: values.get(name) or ANY for name in operation.pattern.names if name not in {*where, *listed}}
    if open_ones:
        request["where"] = open_ones
    consents = data.at(Clock().today()).get("consents", {})
    valid = next((id for id, consent in consents.items() if consent["role"] == "authorised"), None)
    of_consents = {place.name for place in things["consent"].sent if place.part == "headers"}
    anyway = {REQUEST_ID, *headers_of_customer(things)}
    headers = {
        header_name(c.place.name): valid if valid and c.place.name in of_consents else sample(c.spec)
        for c in required
        if c.place.part == "headers" and c.place.name not in anyway and not c.fits(())
    }
    query = {c.place.name: sample(c.spec) for c in required if c.place.part == "query" and not c.fits(())}
    request |= {key: value for key, value in (("headers", headers), ("query", query)) if value}
    for step in operation.require.steps:
        if step.schema and not step.optional:
            request["body"] = of_schema(schemas[fill_name(step.schema, values)].node)
    return request


def _takes(alternative: Any, where: Mapping[str, str]) -> bool:
    return all(c.place.name not in where or c.fits((where[c.place.name],)) for c in alternative)


def _answer(operation: Operation, interface: Interface, schemas: Schemas, status: int) -> tuple[Any, str | None]:
    """Return the body, and how its nulls are handled."""
    name = names_by_status(operation, None).get(str(status))
    if status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        return NO_BODY, None
    if name:
        schema = schemas[name]
        whole = of_schema(schema.node)
        bare = without_nulls(whole)
        return (bare, "fill") if bare != whole and schema.accepts(schema.fill(bare)) else (whole, None)
    if status < HTTPStatus.BAD_REQUEST:
        return {}, None
    return _error(operation, interface, status), None


def _error(operation: Operation, interface: Interface, status: int) -> Any:
    """Return an error of the dialect, with the operation's code for that status, if it has one."""
    handler = collect_handlers().get(operation.behaviour.handler or "")
    names = sorted(handler.with_options(operation.behaviour.options or {}).raises) if handler else []
    usual = [interface.errors[name] for name in (*names, "format-error", "busy") if name in interface.errors]
    row = next((error for error in usual if error.status(operation.id) == status and error.body is None), None)
    phrase = next((standard.phrase for standard in HTTPStatus if standard == status), "Error")
    error = {
        "name": row.name if row else "",
        "status": status,
        "code": row.code(operation.id) if row else phrase.upper().replace(" ", "_").replace("-", "_").replace("'", ""),
        "number": row.number(operation.id) if row else "NUMBER",
        "text": "what the bank says then",
        "path": None,
    }
    return render(interface.every_error.body, {"error": error, "headers": {}})
