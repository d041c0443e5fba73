"""Write the schemas of a dialect from the OpenAPI documents of its interface, without descriptions.

The documents of UK Open Banking are published by Open Banking Limited under its open licence. Each result contains the
schemas of one document, and the names that a cassette can fill in for each path: `{path}` for the body of a request and
`{path}.answer` for a successful answer, such as `domestic-payments.answer`.

Some interfaces send null for members without a value, but their documents do not say so, such as that of Enable
Banking. For them there is `--nullable`. Their bodies all have names, so the names of paths are not needed.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_PROSE = frozenset({"description", "example", "examples", "title", "externalDocs"})
_FORMATS = {"uuid4": "uuid"}
"""Formats of pydantic, by those of JSON Schema."""
_METHODS = ("get", "post", "put")


def without_prose(value: Any, is_named: bool = False) -> Any:
    """Return the value without descriptions and examples. In a mapping of names, these words are names."""
    if isinstance(value, list):
        return [without_prose(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _FORMATS[inner]
        if name == "format" and inner in _FORMATS
        else without_prose(inner, name == "properties" and not is_named)
        for name, inner in value.items()
        if is_named or not (name in _PROSE or name.startswith("x-"))
    }


def nullable(schema: Any) -> Any:
    """Return the schema in which null is a value of every member that is not required."""
    if isinstance(schema, list):
        return [nullable(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: nullable(value) for name, value in schema.items()}
    if isinstance(members := inner.get("properties"), dict):
        required = schema.get("required", ())
        inner["properties"] = {name: one if name in required else _or_null(one) for name, one in members.items()}
    return inner


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]} if schema else schema
    return {**schema, "type": [schema["type"], "null"]}


def by_path(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas of requests and successes, each with the name of its path."""
    for path, item in document["paths"].items():
        words = [word for word in path.split("/") if word and not word.startswith("{")]
        for method in (method for method in _METHODS if method in item):
            operation = item[method]
            if schema := _schema(document, operation.get("requestBody")):
                yield "-".join(words), schema
            success = next(
                (operation["responses"][status] for status in ("200", "201") if status in operation["responses"]), None
            )
            if schema := _schema(document, success):
                yield "-".join(words) + ".answer", schema


def _schema(document: Mapping[str, Any], holder: Mapping[str, Any] | None) -> Any:
    """Return the schema of a body in JSON, or None."""
    while holder and "$ref" in holder:
        found: Any = document
        for step in holder["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        holder = found
    content = (holder or {}).get("content", {})
    return next((body["schema"] for media, body in content.items() if media.startswith("application/json")), None)


def schemas_of(document: Mapping[str, Any], *, is_nullable: bool) -> dict[str, Any]:
    components = {name: without_prose(schema) for name, schema in document["components"]["schemas"].items()}
    if is_nullable:
        return {name: nullable(schema) for name, schema in components.items()}
    return {**components, **{name: without_prose(schema) for name, schema in by_path(document)}}


def write(document: Mapping[str, Any], file: Path, *, is_nullable: bool) -> None:
    schemas = schemas_of(document, is_nullable=is_nullable)
    lines = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(schema, ensure_ascii=False)}" for name, schema in schemas.items()
    )
    head = {
        "openapi": document["openapi"],
        "info": {name: document["info"][name] for name in ("title", "version", "license") if name in document["info"]},
    }
    about = json.dumps(head, ensure_ascii=False)[1:-1]
    file.write_text(f'{{{about}, "paths": {{}}, "components": {{"schemas": {{\n{lines}\n}}}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=Path)
    parser.add_argument("documents", type=Path, nargs="+", help="in JSON or YAML")
    parser.add_argument("--nullable", action="store_true", help="members that are not required may be null")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    for source in arguments.documents:
        document = yaml.load(source.read_text(encoding="utf-8"), yaml.CSafeLoader)
        write(document, arguments.to / f"{source.stem}.json", is_nullable=arguments.nullable)
