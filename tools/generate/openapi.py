"""Generate docs/openapi.yaml, the interface as an OpenAPI 3.1 document."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import groupby, product
from operator import getitem, itemgetter
from typing import Any

import yaml

from xs2a_sandbox.bank.endings import errors_of
from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.handler import Parts
from xs2a_sandbox.cassette.matchers import RequestPart, long_form
from xs2a_sandbox.cassette.model import ErrorAnswer
from xs2a_sandbox.cassette.requirements import header_name
from xs2a_sandbox.cassette.schema_names import fill_name, names_by_status
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import SUFFIX

_LEFT_OUT = ("$schema", "$id", "$defs")

type Json = dict[str, Any]
type Fixed = dict[str, str]
type Listed = dict[str, list[str]]


class Writer:
    """Write operations, and collect the components to which they refer."""

    def __init__(self, bank: Interface, schemas: Schemas) -> None:
        self.bank = bank
        self.schemas = schemas
        self.components: dict[str, Json] = {"parameters": {}, "responses": {}, "schemas": {}}

    def document(self, version: str) -> Json:
        paths: dict[str, Json] = {}
        for operation in self.bank.operations.values():
            if not operation.pattern.text.startswith("/v1/"):
                continue  # tokens are described by RFC 6749
            for path, fixed, listed in paths_of(operation):
                paths.setdefault(path, {})[operation.method.lower()] = self.operation(operation, fixed, listed)
        return {
            "openapi": "3.1.0",
            "info": {"title": "PSD2 XS2A interface", "version": version},
            "servers": [{"url": "http://127.0.0.1:8081"}],
            "paths": paths,
            "components": {kind: dict(sorted(entries.items())) for kind, entries in self.components.items()},
        }

    def operation(self, operation: Operation, fixed: Fixed, listed: Listed) -> Json:
        written, schema = operation.origin.written, operation.require.schema
        content = self.content([fill_name(schema, fixed)]) if schema else {}
        content |= {media: {} for media in operation.require.media if media not in content}
        return {
            "operationId": "-".join([operation.id, *fixed.values()]),
            "tags": [operation.origin.document.value["title"]],
            **({"summary": written["doc"]} if "doc" in written else {}),
            "parameters": list(self.parameters(operation, fixed, listed)),
            **({"requestBody": {"required": not operation.require.optional, "content": content}} if content else {}),
            "responses": self.responses(operation, fixed, listed),
        }

    def parameters(self, operation: Operation, fixed: Fixed, listed: Listed) -> Iterator[Json]:
        for name in operation.pattern.names:
            schema = {"enum": listed[name]} if name in listed else {"minLength": 1}
            if name not in fixed:
                yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", **schema}}
        fields: dict[str, Json] = {}
        constraints = [constraint for step in operation.require.steps for constraint in step.constraints]
        for constraint in (c for c in constraints if c.place.part != "body"):
            fields[constraint.place.name] = {
                **_name_and_place(constraint.place),
                "required": not constraint.fits(()),
                "schema": text_schema(constraint.spec),
            }
        read = re.findall(r"headers\['([\w-]+)'\]", json.dumps(operation.origin.written, default=str))
        for place in (*(RequestPart("headers", name.lower()) for name in read), *sorted(_reads(operation), key=str)):
            if place.part in ("headers", "query"):
                fields.setdefault(place.name, {**_name_and_place(place), "schema": {"type": "string"}})
        for parameter in fields.values():
            same = self.components["parameters"].setdefault(parameter["name"], parameter) == parameter
            yield {"$ref": f"#/components/parameters/{parameter['name']}"} if same else parameter

    def responses(self, operation: Operation, fixed: Fixed, listed: Listed) -> Json:
        """Return the responses by status: those of the operation and of its rules, and its errors."""
        by_status = groupby(sorted(self.endings(operation, fixed, listed)), key=itemgetter(0))
        return {str(status): self.response(str(status), list(group)) for status, group in by_status}

    def endings(self, operation: Operation, fixed: Fixed, listed: Listed) -> set[tuple[int, str, str, str]]:
        """Return all possible responses: status, name of schema or error, text, schema."""
        unlisted = {error for name, error in operation.otherwise.items() if name not in listed}
        errors = errors_of(self.bank, operation) - unlisted
        entries: set[tuple[int, str, str, str]] = set()
        default = operation.behaviour
        owners: list[Operation | Rule] = [operation, *(r for r in self.bank.rules if r.operation == operation.id)]
        for by in owners:
            behaviour = by.behaviour
            for answer in (*(behaviour.respond or (default.respond if behaviour.handler else ())), *behaviour.sequence):
                name = fill_name(answer.schema or names_by_status(by, operation).get(str(answer.status), ""), fixed)
                if not answer.error and isinstance(answer.status, int):
                    title = self.schemas[name].document.get("title", "Done") if name else "Done; there is no body"
                    entries.add((answer.status, name, title, name))
        schema = self.bank.every_error.schema or ""
        raised = ((name, e) for name, e in self.bank.errors.items() if name in errors)
        return entries | {(error.status(operation.id), name, _text(error), schema) for name, error in raised}

    def response(self, status: str, entries: list[tuple[int, str, str, str]]) -> Json:
        key = ".".join([status, *(name.replace("/", ".") for _, name, _, _ in entries if name)])
        schemas = sorted({schema for *_, schema in entries if schema})
        self.components["responses"][key] = {
            "description": "; ".join(text for _, _, text, _ in entries),
            "headers": {name: {"schema": {"type": "string"}} for name, _ in self.bank.every_answer.headers},
            **({"content": self.content(schemas)} if schemas else {}),
        }
        return {"$ref": f"#/components/responses/{key}"}

    def content(self, names: list[str]) -> Json:
        first, *others = [self.schema(name) for name in names]
        return {"application/json": {"schema": {"anyOf": [first, *others]} if others else first}}

    def schema(self, name: str, pointer: str = "") -> Json:
        """Return a reference to a component. `pointer` is `/$defs/…` if it is a part of the schema."""
        key = ".".join([name.replace("/", "."), *pointer.split("/")[2:]])
        if key not in self.components["schemas"]:
            value = reduce(getitem, parse_pointer(pointer), self.schemas[name].document)
            self.components["schemas"][key] = {}  # before its content, because a schema may refer to itself
            self.components["schemas"][key] = self.inline({n: v for n, v in value.items() if n not in _LEFT_OUT}, name)
        return {"$ref": f"#/components/schemas/{key}"}

    def inline(self, value: Any, name: str) -> Any:
        if isinstance(value, list):
            return [self.inline(entry, name) for entry in value]
        if isinstance(value, dict) and "$ref" in value:
            file, _, pointer = value["$ref"].partition("#")
            return value | self.schema(file.replace("../", "").removesuffix(SUFFIX) or name, pointer)
        if isinstance(value, dict):
            return {member: self.inline(inner, name) for member, inner in value.items()}
        return value


def text_schema(matcher: Any) -> Json:
    """Return a JSON Schema for texts that match, or a wider one if JSON Schema cannot express the matcher."""
    schema: Json = {}
    for name, operand in long_form(matcher).items():
        described: Json = {"type": "string"}
        match name:
            case "equals":
                described |= {"const": operand}
            case "in":
                described |= {"enum": operand}
            case "regex":
                described |= {"pattern": operand}
            case "format" if operand == "ip":
                described |= {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}
            case "format":
                described |= {"format": "uri" if operand == "redirect-uri" else operand}
            case "any":
                first, *others = [text_schema(matcher) for matcher in operand if "absent" not in long_form(matcher)]
                described = {"anyOf": [first, *others]} if others else first
        schema |= described
    return schema


def paths_of(operation: Operation) -> Iterator[tuple[str, Fixed, Listed]]:
    """Yield each path with its fixed parameters, and the values of the last one if no schema depends on it."""
    schemas = "".join([operation.require.schema or "", *names_by_status(operation, operation).values()])
    for alternative in operation.where:
        values = {c.place.name: [str(v) for v in c.spec.get("in", [c.spec.get("equals")])] for c in alternative}
        last = [name for name in operation.pattern.names if name in values][-1:]
        kept = {n: values.pop(n) for n in last if len(values[n]) > 1 and f"{{{n}}}" not in schemas}
        for choice in product(*values.values()):
            fixed = dict(zip(values, choice, strict=True))
            yield fill_name(operation.pattern.text, fixed), fixed, kept


def _reads(operation: Operation) -> Parts:
    """Return the parts of a request that the operation's handler takes and reads."""
    behaviour = operation.behaviour
    if (handler := HANDLERS.get(behaviour.handler or "")) is None:
        return frozenset()
    options, own = behaviour.options or {}, operation.origin.written.get("input", {})
    chosen = [input for name, option in handler.options.items() if options.get(name) for input in option.takes]
    names = {input.name for input in (*handler.takes, *chosen)} | own.keys()
    places = (place.part for name in names & behaviour.inputs.keys() for place in behaviour.inputs[name].places)
    return frozenset(places) | handler.with_options(options).reads


def _name_and_place(place: RequestPart) -> Json:
    if place.part == "query":
        return {"name": place.name, "in": "query"}
    return {"name": header_name(place.name), "in": "header"}


def _text(error: ErrorAnswer) -> str:
    codes, numbers = map(_by_operation, (error.codes, error.numbers))
    text = re.sub(r"\{\{ *([\w.]+) *\}\}", r"<\1>", error.origin.written["text"])
    return f"{codes}, {numbers}: {text}"


def _by_operation(words: Mapping[str, str]) -> str:
    return ", ".join(word if by == "default" else f"{word} on {by}" for by, word in words.items())


def bundled_document(dialect: str = Settings().dialect) -> Json:
    """Return the document of a bundled dialect, without user cases."""
    return writer(dialect).document(dialect.rpartition("-")[2])


def writer(dialect: str) -> Writer:
    """Return a writer for a bundled dialect."""
    schemas = Schemas([bundled("schemas")])
    return Writer(layers.read([[bundled("cassettes") / dialect]], schemas, HANDLERS), schemas)


def to_yaml(document: Json, sources: str = "`cassettes/` and `schemas/`") -> str:
    unshared = json.loads(json.dumps(document))  # otherwise YAML would contain anchors
    text = yaml.safe_dump(unshared, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    return f"# Generated by `make generate` from {sources}.\n{text}"


def text() -> str:
    """Return the content of docs/openapi.yaml."""
    return to_yaml(bundled_document())
