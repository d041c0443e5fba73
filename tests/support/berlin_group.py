"""Validation of answers with the public OpenAPI file of the Berlin Group's framework.

The file is not part of the project. Tests that need it are marked with `needs_openapi`.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml
from jsonschema import Draft4Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

from tests.support.shared import SHARED, needs_shared

_FILE = SHARED / "spec" / "berlin-group" / "openapi-1.3.11.yaml"
_URI = "urn:berlin-group"
_METHODS = ("get", "post", "put", "delete")

HAS_OPENAPI = _FILE.is_file()
needs_openapi = needs_shared("spec/berlin-group/openapi-1.3.11.yaml")


def validate(path: str, method: str, status: int, body: Any) -> None:
    """Validate a body.

    `path` is written as in the file, with parameters in braces. Members that are null count as missing.
    """
    _check(path, method, status, _lean(body))


def validate_answer(
    method: str, target: str, status: int, headers: Mapping[str, str], body: bytes, *, prefix: str = ""
) -> None:
    """Validate a complete answer without changing it: the status and media type must be documented, and the body
    must match.
    """
    path = _template(target.partition("?")[0].removeprefix(prefix))
    response = _response(path, method, status)
    if not body:
        assert "content" not in response or method == "HEAD", f"{method} {path} {status} has no body"
        return
    kind = headers["Content-Type"].partition(";")[0].strip()
    assert kind in response.get("content", {}), f"{method} {path} {status} does not have the media type {kind}"
    if kind == "application/json":
        _check(path, method, status, json.loads(body))


def _check(path: str, method: str, status: int, body: Any) -> None:
    complaints = [f"{error.json_path}: {error.message}" for error in _validator(path, method, status).iter_errors(body)]
    assert not complaints, f"{method} {path} {status}: {complaints}"


def _template(path: str) -> str:
    """Return the path as the file writes it. The path with fewest parameters wins."""
    templates = sorted(openapi()["paths"], key=lambda template: template.count("{"))
    fitting = (template for template in templates if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), path))
    template = next(fitting, None)
    assert template, f"the file has no path {path}"
    return template


@cache
def openapi() -> Mapping[str, Any]:
    """Return the parsed file."""
    content: Mapping[str, Any] = yaml.load(_FILE.read_bytes(), yaml.CSafeLoader)
    return content


def operations() -> list[tuple[str, str]]:
    """Return the lowercase method and the path of each operation, or nothing if the file is missing."""
    paths = openapi()["paths"] if _FILE.is_file() else {}
    return [(method, path) for path, item in paths.items() for method in item if method in _METHODS]


@cache
def _validator(path: str, method: str, status: int) -> Draft4Validator:
    """OpenAPI 3.0 is based on JSON Schema drafts before draft 6."""
    schema = _absolute(_response(path, method, status)["content"]["application/json"]["schema"])
    if "oneOf" in schema:  # the file's alternatives overlap, so an answer can match several of them
        schema = {"anyOf": schema["oneOf"]}
    return Draft4Validator(schema, registry=_registry(), format_checker=Draft4Validator.FORMAT_CHECKER)


@cache
def _response(path: str, method: str, status: int) -> Mapping[str, Any]:
    responses = openapi()["paths"][path][method.lower()]["responses"]
    response = responses.get(str(status)) or responses.get(status)
    assert response is not None, f"the status {status} is not documented for {method} {path}"
    return _registry().resolver(_URI).lookup(response["$ref"]).contents if "$ref" in response else response


@cache
def _registry() -> Registry[Any]:
    registry: Registry[Any] = Registry()
    return registry.with_resource(_URI, Resource(openapi(), DRAFT4))


def _absolute(value: Any) -> Any:
    """Make references independent of the place of the schema."""
    if isinstance(value, dict):
        return {
            key: _URI + inner if key == "$ref" and isinstance(inner, str) else _absolute(inner)
            for key, inner in value.items()
        }
    return [_absolute(inner) for inner in value] if isinstance(value, list) else value


def _lean(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lean(inner) for name, inner in value.items() if inner is not None}
    return [_lean(entry) for entry in value] if isinstance(value, list) else value
