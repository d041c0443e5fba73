"""Translates schemas of OpenAPI 3.0, in OpenAPI documents or in separate files, to JSON Schema 2020-12."""

from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.documents.formats import FORMATS, OF_JSON_SCHEMA

WORDS = frozenset({"discriminator", "example", "externalDocs", "nullable", "xml"})
"""Keywords that JSON Schema does not have."""

_BOUNDS = {"int32": 2**31, "int64": 2**63}
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("additionalProperties", "items", "not")
_EXCLUSIVE = {"exclusiveMaximum": "maximum", "exclusiveMinimum": "minimum"}

_NAMED = ("components", "schemas")

type Place = tuple[str | int, ...]


def is_whole(document: Mapping[str, Any]) -> bool:
    """Return whether the document is an OpenAPI document, or a part of one, whose schemas have names."""
    return "openapi" in document or ("components" in document and "$schema" not in document)


def version_mistake(document: Mapping[str, Any]) -> str | None:
    """Describe a version that is not supported."""
    if "swagger" in document:
        return "this is OpenAPI 2 (Swagger): convert it to OpenAPI 3.0 or 3.1"
    version = str(document.get("openapi", "3.0"))
    if version.split(".")[:2] in (["3", "0"], ["3", "1"]):
        return None
    return f"only OpenAPI 3.0 and 3.1 are supported, not {version[:20]}"


def places(document: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """Yield the schemas of a document with their places. A document that is not OpenAPI is a schema itself."""
    if not is_whole(document):
        yield (), document
        return
    for name, schema in named_schemas(document).items():
        yield (*_NAMED, name), schema
    yield from _unnamed(document)


def named_schemas(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schemas in the components of an OpenAPI document."""
    components = document.get("components")
    named = components.get("schemas") if isinstance(components, dict) else None
    return named if isinstance(named, dict) else {}


def _unnamed(value: Any, pointer: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield the schemas that are defined inline."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in pairs:
        below = (*pointer, step)
        if step == "schema":
            yield below, inner
        elif step not in ("example", "examples") and below != _NAMED:
            yield from _unnamed(inner, below)


def translate(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with all schemas as JSON Schema 2020-12. Only those of OpenAPI 3.0 have to be translated."""
    if not is_whole(document):
        schema: dict[str, Any] = translate_schema(document) if _has_own_words(document) else dict(document)
        return schema
    translated: dict[str, Any] = _copy(document)
    others: set[str] = set()
    is_of_3_0 = version_mistake(document) is None and not str(document.get("openapi", "3.0")).startswith("3.1")
    for pointer, part in places(document):
        above: Any = translated
        for step in pointer[:-1]:
            above = above[step]
        above[pointer[-1]] = translate_schema(part) if is_of_3_0 else part
        others |= {reference.partition("#")[0] for reference in _references(above[pointer[-1]])} - {""}
    if others:
        # Validators look for references to other files here, but not everywhere in an OpenAPI document.
        translated["$defs"] = {other: {"$ref": other} for other in sorted(others)}
    return translated


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for entry in schema:
            yield from _references(entry)
    elif isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        for inner in schema.values():
            yield from _references(inner)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(inner) for name, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _has_own_words(schema: Any) -> bool:
    """Return whether a schema uses keywords that only OpenAPI 3.0 has."""
    if not isinstance(schema, dict) or "$schema" in schema:
        return False
    exclusive = (schema.get(keyword) for keyword in _EXCLUSIVE)
    return (
        not WORDS.isdisjoint(schema)
        or any(isinstance(value, bool) for value in exclusive)
        or any(map(_has_own_words, _parts(schema)))
    )


def _parts(schema: Mapping[str, Any]) -> Iterator[Any]:
    properties = schema.get("properties")
    yield from properties.values() if isinstance(properties, dict) else ()
    for keyword in _LISTS:
        branches = schema.get(keyword)
        yield from branches if isinstance(branches, list) else ()
    yield from (schema[keyword] for keyword in _SINGLE if keyword in schema)


def translate_schema(schema: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema 2020-12. References stay as they are."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # OpenAPI 3.0 ignores the keywords next to it
    translated = {
        keyword: _translate_value(keyword, value)
        for keyword, value in schema.items()
        if keyword not in WORDS and not keyword.startswith("x-")
    }
    _translate_limits(translated)
    if isinstance(translated.get("required"), list):
        translated["required"] = _required_both_ways(schema)
    return _with_null(translated) if schema.get("nullable") is True else translated


def _translate_value(keyword: str, value: Any) -> Any:
    if keyword == "properties" and isinstance(value, dict):
        return {name: translate_schema(inner) for name, inner in value.items()}
    if keyword in _LISTS and isinstance(value, list):
        return [translate_schema(branch) for branch in value]
    return translate_schema(value) if keyword in _SINGLE else value


def _translate_limits(schema: dict[str, Any]) -> None:
    """Convert exclusive limits to numbers, and formats of numbers to limits, because formats are not standardised."""
    for keyword, of in _EXCLUSIVE.items():
        if isinstance(is_exclusive := schema.get(keyword), bool):
            del schema[keyword]
            if is_exclusive and of in schema:
                schema[keyword] = schema.pop(of)
    name = schema.get("format")
    if not isinstance(name, str):
        return
    if name not in FORMATS and name not in OF_JSON_SCHEMA:
        del schema["format"]
    if (bound := _BOUNDS.get(name)) is not None:
        schema.setdefault("minimum", -bound)
        schema.setdefault("maximum", bound - 1)


def _required_both_ways(schema: Mapping[str, Any]) -> list[Any]:
    """Return the required members that are neither `readOnly` nor `writeOnly`, so apply to requests and responses."""
    properties = schema.get("properties", {})
    one_way = {
        name
        for name, inner in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(inner, dict) and "$ref" not in inner and (inner.get("readOnly") or inner.get("writeOnly"))
    }
    return [name for name in schema["required"] if not isinstance(name, str) or name not in one_way]


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with null as a further value."""
    if not {*_LISTS, "not"}.isdisjoint(schema):
        return {"anyOf": [schema, {"type": "null"}]}
    more: dict[str, Any] = {}
    if isinstance(kind := schema.get("type"), str):
        more["type"] = [kind, "null"]
    if isinstance(values := schema.get("enum"), list) and None not in values:
        more["enum"] = [*values, None]
    return {**schema, **more}
