"""Guesses the simplest value that fits a matcher or a JSON Schema. The caller has to check it."""

import re
from collections.abc import Iterable
from typing import Any

from xs2a_sandbox.cassette.matchers import OPERATORS, TEXT, Constraint, sample
from xs2a_sandbox.documents.formats import SAMPLES
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import Node

_WORDS = (TEXT, TEXT.upper(), "1", "12", "1234", "12.50", "/")
"""Texts that are tried if a schema has a pattern."""


def of_body(constraints: Iterable[Constraint]) -> Any:
    """Return the required members of a body, or None if there are none. Members of unknown type are left out."""
    made: Any = None
    for constraint in constraints:
        if constraint.place.part == "body" and any(OPERATORS[name].is_typed for name in constraint.spec):
            made = _with(made, parse_pointer(constraint.place.name), sample(constraint.spec))
    return made


def of_schema(node: Node) -> Any:
    """Return a value with only the required members. If that is not valid, the schema provides `examples`."""
    node = node.resolve()
    schema = node.schema
    if "const" in schema:
        return schema["const"]
    for keyword in ("enum", "examples"):
        if keyword in schema:
            return schema[keyword][0]
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "null" in kinds:
        return None
    if "object" in kinds or "properties" in schema:
        members, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        optional = [name for name in members if name not in schema.get("required", ())]
        names = [*schema.get("required", ()), *optional]
        most = max(len(names) - len(optional), schema.get("minProperties", 0))
        return {name: of_schema(node.at(members.get(name, others))) for name in names[:most]}
    if "array" in kinds:
        return [of_schema(node.at(schema["items"]))] * max(schema.get("minItems", 1), 1) if "items" in schema else []
    if "string" in kinds:
        words = [SAMPLES[schema["format"]]] if schema.get("format") in SAMPLES else _WORDS
        return next((word for word in words if re.search(schema.get("pattern", ""), word)), words[0])
    if "boolean" in kinds:
        return True
    if kinds:
        return max(1, schema.get("minimum", 1))
    return next((of_schema(branch) for branch in node.branches()), None)


def _with(whole: Any, tokens: tuple[str, ...], value: Any) -> Any:
    if not tokens:
        return {**whole, **value} if isinstance(whole, dict) and isinstance(value, dict) else value
    first, *rest = tokens
    if first.isdecimal() and not isinstance(whole, dict):
        entries = whole if isinstance(whole, list) else []
        entries = [*entries, *[None] * (int(first[:3]) + 1 - len(entries))]
        entries[int(first[:3])] = _with(entries[int(first[:3])], tuple(rest), value)
        return entries
    members = whole if isinstance(whole, dict) else {}
    return {**members, first: _with(members.get(first), tuple(rest), value)}
