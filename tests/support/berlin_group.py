"""The public OpenAPI file of the Berlin Group's framework, and whether an answer has the shape it describes.

The file is not part of the project: it is looked for in the folder that XS2A_SHARED names, else beside the checkout.
Tests that need it are marked with `needs_openapi`.
"""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft4Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

_SHARED = Path(os.environ.get("XS2A_SHARED") or Path(__file__).resolve().parents[3] / "shared")
_FILE = _SHARED / "spec" / "berlin-group" / "openapi-1.3.11.yaml"
_URI = "urn:berlin-group"

needs_openapi = pytest.mark.skipif(
    not _FILE.is_file(), reason=f"the Berlin Group's OpenAPI file is not at {_FILE}; XS2A_SHARED names another folder"
)


def validate(path: str, method: str, status: int, body: Any) -> None:
    """`path` as the file writes it, with its parameters in braces; members that are null count as absent."""
    found = [
        f"{error.json_path}: {error.message}" for error in _validator(path, method, status).iter_errors(_lean(body))
    ]
    assert not found, f"{method} {path} {status}: {found}"


@cache
def _openapi() -> Mapping[str, Any]:
    content: Mapping[str, Any] = yaml.load(_FILE.read_bytes(), yaml.CSafeLoader)
    return content


@cache
def _validator(path: str, method: str, status: int) -> Draft4Validator:
    """OpenAPI 3.0 builds upon the JSON Schema drafts before 6."""
    registry: Registry[Any] = Registry().with_resource(_URI, Resource(_openapi(), DRAFT4))
    responses = _openapi()["paths"][path][method.lower()]["responses"]
    response = responses.get(str(status)) or responses[status]
    if "$ref" in response:
        response = registry.resolver(_URI).lookup(response["$ref"]).contents
    schema = _absolute(response["content"]["application/json"]["schema"])
    if "oneOf" in schema:  # the file's alternatives overlap: what fits one of them fits others as well
        schema = {"anyOf": schema["oneOf"]}
    return Draft4Validator(schema, registry=registry, format_checker=Draft4Validator.FORMAT_CHECKER)


def _absolute(value: Any) -> Any:
    """With references that do not depend on where the schema stands."""
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
