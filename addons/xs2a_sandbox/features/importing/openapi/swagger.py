"""Converts Swagger 2.0 to OpenAPI 3.0."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MOVED = {"definitions": "schemas", "parameters": "parameters", "responses": "responses"}
"""The sections of Swagger 2.0 with their names below `components`."""
_OF_PARAMETER = ("name", "in", "description", "required", "example", "x-example")
_METHODS = frozenset(("get", "put", "post", "delete", "options", "head", "patch"))
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


def upgrade(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document as OpenAPI 3.0. Operations keep their places."""
    shared = document.get("parameters") or {}
    components = {new: _move(document.get(old) or {}) for old, new in _MOVED.items() if old != "responses"}
    components["parameters"] = {
        name: _parameter(_move(one)) for name, one in shared.items() if _place(one) not in ("body", "formData")
    }
    produces = document.get("produces") or ["application/json"]
    components["responses"] = {
        name: _response(_move(one), produces) for name, one in (document.get("responses") or {}).items()
    }
    components["securitySchemes"] = {
        name: _scheme(one) for name, one in (document.get("securityDefinitions") or {}).items()
    }
    return {
        "openapi": "3.0.3",
        "info": document.get("info") or {},
        "servers": [{"url": document.get("basePath") or "/"}],
        "security": document.get("security") or [],
        "paths": {
            path: _path(item, document) if isinstance(item, Mapping) else item
            for path, item in (document.get("paths") or {}).items()
        },
        "components": components,
    }


def _move(value: Any) -> Any:
    """Return the value with references to the new places of shared parts."""
    if isinstance(value, list):
        return [_move(inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: moved(inner) if name == "$ref" and isinstance(inner, str) else _move(inner)
        for name, inner in value.items()
    }


def moved(reference: str) -> str:
    """Return the reference of Swagger 2.0 as OpenAPI 3.0 writes it."""
    file, separator, pointer = reference.partition("#/")
    section, slash, rest = pointer.partition("/")
    return f"{file}#/components/{_MOVED[section]}/{rest}" if separator and slash and section in _MOVED else reference


def _place(parameter: Any) -> Any:
    return parameter.get("in") if isinstance(parameter, Mapping) else None


def _path(item: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    common = list(_resolved(item.get("parameters") or [], document))
    return {
        name: _operation(value, common, document) if name in _METHODS and isinstance(value, Mapping) else value
        for name, value in item.items()
        if name != "parameters"
    }


def _resolved(parameters: Sequence[Any], document: Mapping[str, Any]) -> Iterator[Any]:
    shared = document.get("parameters") or {}
    for one in parameters:
        reference = one.get("$ref") if isinstance(one, Mapping) else None
        name = str(reference).removeprefix("#/parameters/")
        yield shared.get(name, one) if reference else one


def _operation(operation: Mapping[str, Any], common: Sequence[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    own = list(_resolved(operation.get("parameters") or [], document))
    named = {(_place(one), one.get("name")): one for one in [*common, *own] if isinstance(one, Mapping)}
    consumes = operation.get("consumes") or document.get("consumes") or ["application/json"]
    produces = operation.get("produces") or document.get("produces") or ["application/json"]
    upgraded = {
        name: value
        for name, value in operation.items()
        if name not in ("parameters", "responses", "consumes", "produces")
    }
    upgraded["parameters"] = [
        _parameter(_move(one)) for (place, _), one in named.items() if place not in ("body", "formData")
    ]
    bodies = [_move(one) for (place, _), one in named.items() if place == "body"]
    fields = [_move(one) for (place, _), one in named.items() if place == "formData"]
    if bodies:
        content = {media: {"schema": bodies[0].get("schema") or {}} for media in consumes}
        upgraded["requestBody"] = {"required": bodies[0].get("required") is True, "content": content}
    elif fields:
        form = {
            "type": "object",
            "required": [one["name"] for one in fields if one.get("required") is True],
            "properties": {one["name"]: _parameter(one)["schema"] for one in fields},
        }
        media = [one for one in consumes if one in _FORMS] or [_FORMS[1]]
        upgraded["requestBody"] = {"content": {one: {"schema": form} for one in media}}
    upgraded["responses"] = {
        status: _response(_move(one), produces) if isinstance(one, Mapping) else one
        for status, one in (operation.get("responses") or {}).items()
    }
    return upgraded


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in parameter.items() if name in _OF_PARAMETER}
    schema = {name: value for name, value in parameter.items() if name not in _OF_PARAMETER}
    return {**kept, "schema": parameter.get("schema") or schema}


def _response(response: Mapping[str, Any], produces: Sequence[str]) -> dict[str, Any]:
    if "$ref" in response:
        return dict(response)
    examples = response.get("examples") or {}
    content = {
        media: {
            **({"schema": response["schema"]} if "schema" in response else {}),
            **({"example": examples[media]} if media in examples else {}),
        }
        for media in dict.fromkeys((*produces, *examples))
    }
    return {
        "description": response.get("description", ""),
        "headers": {name: {"schema": header} for name, header in (response.get("headers") or {}).items()},
        **({"content": content} if "schema" in response or examples else {}),
    }


def _scheme(scheme: Any) -> Any:
    if not isinstance(scheme, Mapping):
        return scheme
    return {"type": "http", "scheme": "basic"} if scheme.get("type") == "basic" else dict(scheme)
