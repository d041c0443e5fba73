"""Checks of every answer."""

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import yaml
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

if TYPE_CHECKING:
    from tests.contract.doors import Answer

ROOT = Path(__file__).resolve().parents[2]
DIALECT = ROOT / "cassettes" / "xs2a-1.84"
SCHEMAS = ROOT / "schemas"

formats = FormatChecker(())


def check_answer(answer: "Answer", method: str, request_ids: Sequence[str] = ()) -> None:
    """Check that the request id is returned, that a body is JSON, and that it matches its schema."""
    if len(request_ids) == 1:
        assert answer.headers.get_list("X-Request-ID") == [request_ids[0]]
    if method == "HEAD" or answer.status in (204, 304):
        assert answer.body == b""
    if not answer.body:
        return
    assert answer.headers["Content-Type"].partition(";")[0].strip() == "application/json"
    json.loads(answer.body)
    check_shape(answer)


def check_shape(answer: "Answer") -> None:
    name = schema_name(answer)
    complaints = _complaints(name, answer.body)
    assert not complaints, f"{answer.status} does not match {name}: {complaints}"


@lru_cache(maxsize=4096)
def _complaints(name: str, body: bytes) -> list[str]:
    """Validate an answer, with a cache, because most answers arrive through all five doors.

    Only errors use the slow validator.
    """
    read = json.loads(body)
    if _quick_validator(name).is_valid(read):
        return []
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(read)]


def schema_name(answer: "Answer") -> str:
    """Return the schema by the operation in X-Sandbox-Rule.

    Errors have the schema `error` unless the operation names another.
    """
    operation = operations().get(answer.headers.get("X-Sandbox-Rule", ""), {})
    names = [name for status, name in operation.get("answers", {}).items() if status == str(answer.status)]
    if not names:
        assert answer.status >= 400, f"{answer.status} from {answer.headers.get('X-Sandbox-Rule')!r} is not documented"
        return "error"
    # An operation with several answers names a schema for each. The body must match one of them.
    responds = operation.get("respond", [])
    names += [one["schema"] for one in (responds if isinstance(responds, list) else [responds]) if "schema" in one]
    return next((name for name in names if not _complaints(name, answer.body)), names[0])


@cache
def operations() -> Mapping[str, Any]:
    """Return operations by id. Rules of the dialect count as the operation that they match."""
    files = [yaml.load(file.read_text(), yaml.CBaseLoader) for file in sorted(DIALECT.glob("**/*.yaml"))]
    known = {operation["id"]: operation for content in files for operation in content.get("operations", [])}
    for content in files:
        for rule in content.get("rules", []):
            known[rule["id"]] = known.get(rule["match"].get("operation"), {})
    return known


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(_schema(f"{name}.schema.json"), registry=_registry(), format_checker=formats)


@cache
def _quick_validator(name: str) -> Any:
    return jsonschema_rs.Draft202012Validator(
        _schema(f"{name}.schema.json"),
        formats={name: partial(formats.conforms, format=name) for name in formats.checkers},
        validate_formats=True,
        retriever=lambda uri: _schema(uri.partition("/schemas/")[2]),
    )


def _schema(place: str) -> Any:
    return json.loads((SCHEMAS / place).read_text())


@cache
def _registry() -> Registry[Any]:
    """Return every schema by its id and by its file, so that both kinds of references work."""
    registry: Registry[Any] = Registry()
    for file in sorted(SCHEMAS.glob("**/*.schema.json")):
        content = json.loads(file.read_text())
        resource = Resource.from_contents(content, default_specification=DRAFT202012)
        registry = registry.with_resource(file.relative_to(SCHEMAS).as_posix(), resource)
        if "$id" in content:
            registry = registry.with_resource(content["$id"], resource)
    return registry


def _format(name: str, pattern: str) -> None:
    formats.checks(name)(lambda value: not isinstance(value, str) or re.fullmatch(pattern, value) is not None)


_format("amount", r"-?\d+(\.\d+)?")
_format("currency", r"[A-Z]{3}")
_format("country", r"[A-Z]{2}")
_format("bic", r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?")


@formats.checks("iban")
def is_iban(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", value):
        return False
    return int("".join(str(int(character, 36)) for character in value[4:] + value[:4])) % 97 == 1


@formats.checks("date", raises=ValueError)
def is_date(value: object) -> bool:
    return not isinstance(value, str) or date.fromisoformat(value).isoformat() == value


@formats.checks("uuid", raises=ValueError)
def is_uuid(value: object) -> bool:
    return not isinstance(value, str) or str(uuid.UUID(value)) == value.lower()
