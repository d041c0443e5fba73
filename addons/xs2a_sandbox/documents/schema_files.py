"""Checks the files of schemas before anybody is judged by them: valid 2020-12, and no reference that leads nowhere."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import SCHEMAS, SUFFIX, Schemas, mistakes_of
from xs2a_sandbox.documents.schema_errors import Complaint, did_you_mean
from xs2a_sandbox.errors import Problem, Unreadable

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = ("const", "default", "enum", "examples")
"""Keywords whose values are no schemas."""
_BY_NAME = ("$defs", "dependentSchemas", "patternProperties", "properties")
"""Keywords whose members are schemas, under names of the author's own."""
_OF_JSON_SCHEMA = (
    "date date-time duration email hostname idn-email idn-hostname ipv4 ipv6 iri iri-reference json-pointer regex "
    "relative-json-pointer time uri uri-reference uri-template uuid"
).split()


def check(schemas: Schemas) -> list[Problem]:
    """Every problem of every file that is used."""
    problems: list[Problem] = []
    for name in schemas.names():
        try:
            complaints = list(_complaints(name, schemas.document(name), schemas))
            if complaints:
                problems += _place(name, complaints, schemas)
        except Unreadable as error:
            problems += error.problems
    return problems


def _place(name: str, complaints: list[Complaint], schemas: Schemas) -> Iterator[Problem]:
    """The complaints at their places. JSON is YAML, but for some escapes and tabs: such a file's first line is told."""
    file = schemas.file(name)
    try:
        document = yaml_reader.read(file)
    except Unreadable:
        yield from (Problem(file, 1, 1, "schema", f"{'/'.join(map(str, c.pointer))}: {c.text}") for c in complaints)
    else:
        yield from (document.problem(c.pointer, "schema", c.text, key=c.key) for c in complaints)


def _complaints(name: str, document: Any, schemas: Schemas) -> Iterator[Complaint]:
    if not isinstance(document, dict):
        yield Complaint((), "schema", "a schema is an object")
        return
    if document.get("$schema", DRAFT) != DRAFT:
        yield Complaint(("$schema",), "schema", f"schemas are read as {DRAFT}: say that, or leave it out")
        return
    if mistakes := mistakes_of({**document, "$schema": DRAFT}):
        yield from mistakes
        return
    for pointer, schema in _schemas_in(document):
        if (reference := schema.get("$ref")) is not None and (wrong := _check_reference(name, reference, schemas)):
            yield Complaint((*pointer, "$ref"), "schema", wrong)
        for keyword in schema:
            if hint := did_you_mean(keyword, _KEYWORDS) if keyword not in _KEYWORDS else "":
                yield Complaint((*pointer, keyword), "schema", f"unknown keyword {keyword}{hint}", True)
        formats = {*FORMATS, *_OF_JSON_SCHEMA}
        if (format_name := schema.get("format", "uuid")) not in formats:
            hint = did_you_mean(format_name, formats) or f"; there are {', '.join(sorted(formats))}"
            yield Complaint((*pointer, "format"), "schema", f"unknown format {format_name}{hint}")


def _check_reference(name: str, reference: str, schemas: Schemas, seen: frozenset[str] = frozenset()) -> str | None:
    """Says why a reference leads to nothing that can be read; `seen` are those that have led to it."""
    url, _, fragment = urljoin(f"{SCHEMAS}{name}{SUFFIX}", reference).partition("#")
    if not url.startswith(SCHEMAS) or urlsplit(reference).netloc:
        return f"{reference} is a URL, and nothing is ever fetched: put the schema beside this one, and name its file"
    other = url.removeprefix(SCHEMAS).removesuffix(SUFFIX)
    if other not in schemas or not url.endswith(SUFFIX):
        hint = did_you_mean(other, schemas.names()) or f"; files of schemas end in {SUFFIX}"
        return f"{reference} leads to no schema: there is no {url.removeprefix(SCHEMAS)}{hint}"
    part = schemas.document(other)
    try:
        steps = parse_pointer(fragment)
    except ValueError as error:
        return f"{reference} ends in what is no JSON Pointer: {error}"
    for position, step in enumerate(steps):
        if not isinstance(part, dict) or step not in part:
            hint = did_you_mean(step, part) if isinstance(part, dict) else ""
            above = "/".join(steps[:position])
            return f"{reference} leads nowhere: {f'/{above}' if above else 'the file'} has no {step}{hint}"
        part = part[step]
    place = f"{url}#{fragment}"
    for following in _alternatives(part):
        if place in seen:
            return f"{reference} leads back to itself"
        if wrong := _check_reference(other, following, schemas, seen | {place}):
            return wrong
    return None


def _alternatives(part: Any) -> Iterator[str]:
    """The references that are followed before any member or entry of a value is looked at."""
    if not isinstance(part, dict):
        return
    if isinstance(reference := part.get("$ref"), str):
        yield reference
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in part.get(keyword, ()):
            yield from _alternatives(branch)


def _schemas_in(schema: Any, pointer: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The schema and all that are parts of it, each with its place."""
    if isinstance(schema, list):
        for position, entry in enumerate(schema):
            yield from _schemas_in(entry, (*pointer, position))
    if not isinstance(schema, dict):
        return
    yield pointer, schema
    for keyword, value in schema.items():
        if keyword in _BY_NAME and isinstance(value, dict):
            for name, inner in value.items():
                yield from _schemas_in(inner, (*pointer, keyword, name))
        elif keyword not in _PLAIN:
            yield from _schemas_in(value, (*pointer, keyword))


_KEYWORDS = frozenset(
    "$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary additionalProperties allOf anyOf "
    "const contains contentEncoding contentMediaType contentSchema default dependentRequired dependentSchemas "
    "deprecated description else enum examples exclusiveMaximum exclusiveMinimum format if items maxContains maxItems "
    "maxLength maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf pattern "
    "patternProperties prefixItems properties propertyNames readOnly required then title type unevaluatedItems "
    "unevaluatedProperties uniqueItems writeOnly".split()
)
