"""Checks schema files before they are used: they must be valid 2020-12, without broken references.

OpenAPI 3.0 documents are checked after their translation.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from xs2a_sandbox.documents import openapi_schemas, yaml_reader
from xs2a_sandbox.documents.formats import FORMATS, OF_JSON_SCHEMA
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import ENDINGS, SCHEMAS, Schemas, mistakes_of
from xs2a_sandbox.documents.schema_errors import Complaint, did_you_mean
from xs2a_sandbox.errors import Problem, Unreadable

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = ("const", "default", "enum", "examples")
"""Keywords whose values are not schemas."""
_BY_NAME = ("$defs", "dependentSchemas", "patternProperties", "properties")
"""Keywords whose members are schemas under names of the author's choice."""
_FORMATS = frozenset((*FORMATS, *OF_JSON_SCHEMA))


def check(schemas: Schemas) -> list[Problem]:
    """Return every problem of every file that is used."""
    problems: list[Problem] = []
    checked: set[str] = set()
    # References may lead to files that have not been read yet.
    while files := [file for file in schemas.files_used() if file not in checked]:
        for file in files:
            try:
                complaints = list(_complaints(file, schemas.read(file), schemas))
                if complaints:
                    problems += _place(file, complaints, schemas)
            except Unreadable as error:
                problems += error.problems
        checked.update(files)
    return problems


def _place(file: str, complaints: list[Complaint], schemas: Schemas) -> Iterator[Problem]:
    """Yield the complaints as problems at their places.

    JSON is YAML, except for some escapes and tabs. Problems in such files are reported at the first line.
    """
    path = schemas.path(file)
    try:
        document = yaml_reader.read(path)
    except Unreadable:
        yield from (Problem(path, 1, 1, "schema", f"{'/'.join(map(str, c.pointer))}: {c.text}") for c in complaints)
    else:
        yield from (document.problem(c.pointer, "schema", c.text, key=c.key) for c in complaints)


def _complaints(file: str, document: Any, schemas: Schemas) -> Iterator[Complaint]:
    if not isinstance(document, dict):
        yield Complaint((), "schema", "a schema is an object")
        return
    if mistake := openapi_schemas.version_mistake(document):
        yield Complaint(("swagger" if "swagger" in document else "openapi",), "schema", mistake)
        return
    if document.get("$schema", DRAFT) != DRAFT:
        yield Complaint(("$schema",), "schema", f"only {DRAFT} is supported: use that value, or remove the keyword")
        return
    keywords = KEYWORDS if "$schema" in document else KEYWORDS | openapi_schemas.WORDS
    for place, schema in openapi_schemas.places(document):
        for complaint in _complaints_of_schema(file, schema, schemas, keywords):
            yield complaint._replace(pointer=(*place, *complaint.pointer))


def _complaints_of_schema(file: str, whole: Any, schemas: Schemas, keywords: frozenset[str]) -> Iterator[Complaint]:
    if not isinstance(whole, dict | bool):
        yield Complaint((), "schema", "a schema is an object")
    elif isinstance(whole, dict) and (mistakes := mistakes_of({**whole, "$schema": DRAFT})):
        yield from mistakes
        return
    for pointer, schema in _schemas_in(whole):
        if (reference := schema.get("$ref")) is not None and (wrong := _check_reference(file, reference, schemas)):
            yield Complaint((*pointer, "$ref"), "schema", wrong)
        for keyword in schema:
            if hint := did_you_mean(keyword, keywords) if keyword not in keywords else "":
                yield Complaint((*pointer, keyword), "schema", f"unknown keyword {keyword}{hint}", True)
        if (format_name := schema.get("format", "uuid")) not in _FORMATS:
            hint = did_you_mean(format_name, _FORMATS) or f"; the formats are {', '.join(sorted(_FORMATS))}"
            yield Complaint((*pointer, "format"), "schema", f"unknown format {format_name}{hint}")


def _check_reference(file: str, reference: str, schemas: Schemas, seen: frozenset[str] = frozenset()) -> str | None:
    """Describe why a reference is broken. `seen` are the references on the way to it."""
    target = _find_target(file, reference, schemas)
    if isinstance(target, str):
        return None if seen else target  # it is reported where the reference is written
    other, part, place = target
    for following in _alternatives(part):
        if place in seen:
            return f"{reference} refers to itself"
        if _check_reference(other, following, schemas, seen | {place}):
            return f"{reference} refers to itself"
    return None


def _find_target(file: str, reference: str, schemas: Schemas) -> tuple[str, Any, str] | str:
    """Return the file, the part and the URI of a reference's target, or why the reference is broken."""
    url, _, fragment = urljoin(SCHEMAS + file, reference).partition("#")
    if not url.startswith(SCHEMAS) or urlsplit(reference).netloc:
        return f"{reference} is a URL, which is never fetched: save that schema next to this one, and use its file name"
    other = url.removeprefix(SCHEMAS)
    if not schemas.has_file(other):
        hint = did_you_mean(other, schemas.files()) or f"; the names of schema files end in {', '.join(ENDINGS)}"
        return f"{reference} does not refer to a schema: there is no {other}{hint}"
    part = schemas.read(other)
    try:
        steps = parse_pointer(unquote(fragment))
    except ValueError as error:
        return f"{reference} does not end in a valid JSON Pointer: {error}"
    for position, step in enumerate(steps):
        if not isinstance(part, dict) or step not in part:
            hint = did_you_mean(step, part) if isinstance(part, dict) else ""
            above = "/".join(steps[:position])
            return f"{reference} does not exist: {f'/{above}' if above else 'the file'} has no {step}{hint}"
        part = part[step]
    return other, part, f"{url}#{fragment}"


def _alternatives(part: Any) -> Iterator[str]:
    """Yield the references that are followed before any member or entry of a value is checked."""
    if not isinstance(part, dict):
        return
    if isinstance(reference := part.get("$ref"), str):
        yield reference
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in part.get(keyword, ()):
            yield from _alternatives(branch)


def _schemas_in(schema: Any, pointer: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the schema and all its subschemas, each with its place."""
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


KEYWORDS = frozenset(
    "$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary additionalProperties allOf anyOf "
    "const contains contentEncoding contentMediaType contentSchema default dependentRequired dependentSchemas "
    "deprecated description else enum examples exclusiveMaximum exclusiveMinimum format if items maxContains maxItems "
    "maxLength maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf pattern "
    "patternProperties prefixItems properties propertyNames readOnly required then title type unevaluatedItems "
    "unevaluatedProperties uniqueItems writeOnly".split()
)
