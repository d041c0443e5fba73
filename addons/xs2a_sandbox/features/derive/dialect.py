"""Decides which dialect a recorded bank speaks. Requests that were not recorded are answered only in this dialect."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.schema_names import answer_schemas
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.files import replace_file
from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.features.derive.generated_file import DerivedFile, Value, rule_hash
from xs2a_sandbox.features.derive.routes import RoutedExchange
from xs2a_sandbox.http.media_type import is_json, media_type

FILE = "_dialect.yaml"
"""No resource has this name."""
NONE = "none"

_INTRODUCTION = """\
# The dialect that answers requests that were not recorded; none: they get a 404. Every derivation of rules sets it
# again, until you change it.
"""


@dataclass(frozen=True, slots=True)
class SpokenDialect:
    """`name` is that of the dialect, or `none`; `because` is the reason."""

    name: str
    because: str


def judge(interface: Interface, exchanges: Iterable[RoutedExchange], schemas: Schemas) -> SpokenDialect:
    """Return the interface's dialect if at least one answer of its operations is JSON and all match its schemas."""
    has_fitted = False
    for recorded in exchanges:
        mistake = _mistake(recorded, schemas, interface.every_error.schema)
        if mistake:
            request = f"{recorded.route.method} {recorded.route.path} was answered with {recorded.entry.status}"
            return SpokenDialect(NONE, f"{request}, in which {mistake}")
        has_fitted = has_fitted or mistake is not None
    if not has_fitted:
        return SpokenDialect(NONE, f"the recording has no JSON answer to an operation of {interface.dialect}")
    return SpokenDialect(interface.dialect, "the answers to its operations match its schemas")


def _mistake(recorded: RoutedExchange, schemas: Schemas, error_schema: str | None) -> str | None:
    """Return the mistake in an answer according to the dialect's schemas, "" if there is none, None if unknown."""
    entry, operation = recorded.entry, recorded.route.operation
    if operation is None or not is_json(media_type(entry.answer_headers.get("content-type"))):
        return None
    names = answer_schemas(operation, entry.status, error_schema)
    possible = [schemas[name] for name in names if name in schemas]
    try:
        value = json.loads(entry.answer_body, parse_float=Decimal)
        if not possible or any(schema.accepts(value) for schema in possible):
            return "" if possible else None
        complaint = possible[0].complaint(value)
    except (ValueError, RecursionError):
        return "the body is not JSON"
    if complaint is None:
        return ""
    place = pointer_text(complaint.pointer) or "the body"
    return f"{place} {complaint.text} (schema {possible[0].name})"


def write(cassettes: Path, spoken: SpokenDialect, existing: Iterable[DerivedFile]) -> SpokenDialect:
    """Write the decision, unless the user has made another one. Returns the decision that counts."""
    for file in existing:
        if (written := file.document.value.get("dialect")) and written.get("hash") != _hash(written):
            return SpokenDialect(written["name"], f"{file.file.name} says so")
    value = {"name": spoken.name, "because": spoken.because}
    text = _INTRODUCTION + yaml_text({"cassette": 1, "dialect": {**value, "hash": _hash(value)}})
    replace_file(cassettes / FILE, text.encode())
    return spoken


def _hash(value: Value) -> str:
    return rule_hash({key: text for key, text in value.items() if key != "hash"})
