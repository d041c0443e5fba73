"""Finds what a JSON Schema says about one place of a document that may be incomplete."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from xs2a_sandbox.documents.json_schema import Node, Schema
from xs2a_sandbox.features.language_server.cursor import Pointer, value_at

_UNKNOWN = object()
"""The value that is being typed: both branches of a condition may apply to it."""


def find_parts(schema: Schema, document: Any, pointer: Pointer, *, is_open: bool = False) -> list[Node]:
    """Return all parts of the schema for the value at this place. An open value may become any other value."""
    nodes, value = [schema.node], document
    for step in pointer:
        nodes = [below for node in _spread(nodes, value) for below in _below(node, step)]
        value = value_at(value, (step,))
    return list(_spread(nodes, _UNKNOWN if is_open else value))


def keys(parts: Iterable[Node]) -> dict[str, str]:
    """Return the keys that a mapping may have, with their descriptions."""
    found: dict[str, str] = {}
    for node in parts:
        for name, inner in node.schema.get("properties", {}).items():
            found[name] = found.get(name) or describe([node.at(inner)])
    return found


def values(parts: Iterable[Node]) -> list[Any]:
    """Return the scalars that the schema names for a value."""
    found: list[Any] = []
    for node in parts:
        schema = node.schema
        found += schema.get("enum", [])
        found += [schema[name] for name in ("const", "default") if name in schema]
        found += schema.get("examples", [])
        found += [True, False] if schema.get("type") == "boolean" else []
    return [value for value in found if not isinstance(value, dict | list)]


def describe(parts: Sequence[Node]) -> str:
    """Return the first description, or an empty text."""
    return next((text for node in _spread(parts, _UNKNOWN) if (text := node.schema.get("description"))), "")


def _spread(nodes: Iterable[Node], value: Any) -> Iterator[Node]:
    """Yield the nodes, and all others that apply to the same value."""
    for node in nodes:
        if not isinstance(node.schema, dict):
            continue
        yield node
        schema = node.schema
        if "$ref" in schema:
            yield from _spread([node.resolve()], value)
        yield from _spread(node.branches(), value)
        if "if" in schema:
            holds = None if value is _UNKNOWN else _holds(json.dumps(schema["if"]), value)
            chosen = [name for name, is_meant in (("then", True), ("else", False)) if holds in (None, is_meant)]
            yield from _spread((node.at(schema[name]) for name in chosen if name in schema), value)


def _holds(condition: str, value: Any) -> bool:
    return _condition(condition).accepts(value)


@cache
def _condition(text: str) -> Schema:
    return Schema("if", json.loads(text), lambda uri: {})


def _below(node: Node, step: str | int) -> Iterator[Node]:
    """Yield the parts for a member or an entry, from the keywords of this node only."""
    schema: Mapping[str, Any] = node.schema
    if isinstance(step, int):
        if "items" in schema:
            yield node.at(schema["items"])
        return
    patterns = [inner for name, inner in schema.get("patternProperties", {}).items() if re.search(name, step)]
    named = schema.get("properties", {})
    if step in named:
        yield node.at(named[step])
    yield from map(node.at, patterns)
    if step not in named and not patterns and "additionalProperties" in schema:
        yield node.at(schema["additionalProperties"])
