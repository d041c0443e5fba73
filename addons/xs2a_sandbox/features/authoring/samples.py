"""Guesses the simplest value that matches a matcher or a JSON Schema. The caller has to check it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from xs2a_sandbox.cassette.matchers import OPERATORS, TEXT, Constraint, sample
from xs2a_sandbox.documents.formats import SAMPLES
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import Node

_WORDS = (TEXT, TEXT.upper(), "1", "12", "1234", "12.50", "/")
"""Texts that are tried if a schema has a pattern."""
_OTHER_SAMPLES = {
    "duration": "P1D",
    "email": "info@bank.example",
    "hostname": "bank.example",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "09:00:00Z",
    "uri": "https://bank.example/",
    "uri-reference": "/",
}
"""Samples of formats that only JSON Schema has."""
_SHOWN_BY = {
    "object": ("properties",),
    "array": ("items",),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum"),
}
"""The keywords that show the type of a value without `type`."""
_DEEPEST = 12
_LONGEST = 40
"""The deepest nesting of a sample, and the longest text that is tried for a pattern."""


def of_body(constraints: Iterable[Constraint]) -> Any:
    """Return the required members of a body, or None if there are none. Members of unknown type are left out."""
    made: Any = None
    for constraint in constraints:
        if constraint.place.part == "body" and any(OPERATORS[name].is_typed for name in constraint.spec):
            made = _with(made, parse_pointer(constraint.place.name), sample(constraint.spec))
    return made


def of_schema(node: Node, *, whole: bool = False) -> Any:
    """Return a value with only the required members, or with `whole` all of them.

    If that is not valid, the schema provides `examples`.
    """
    return _of_schema(node, whole, ())


def _of_schema(node: Node, whole: bool, above: tuple[int, ...]) -> Any:
    node = node.resolve()
    schema = node.schema
    if "const" in schema:
        return schema["const"]
    for keyword in ("enum", "examples"):
        if values := schema.get(keyword):
            return values[0]
    kinds = _kinds(schema)
    if above.count(id(schema)) > 1:
        # No value fits a schema that needs itself without end.
        return {} if "object" in kinds else None
    if "null" in kinds:
        if not whole:
            return None
        kinds = [kind for kind in kinds if kind != "null"]
    own = _of_kind(node, kinds, whole, above)
    parts = [own, *(_of_schema(node.at(part), whole, (*above, id(schema))) for part in schema.get("allOf", ()))]
    for keyword in ("oneOf", "anyOf"):
        choices = (_of_schema(node.at(part), whole, (*above, id(schema))) for part in schema.get(keyword, ()))
        parts.append(next((value for value in choices if value is not None), None))
    given = [part for part in parts if part is not None]
    if len(given) > 1 and all(isinstance(part, dict) for part in given):
        return reduce(lambda one, other: {**one, **other}, given)
    return given[0] if given else None


def _kinds(schema: Mapping[str, Any]) -> Sequence[str]:
    """Return the types of a value. Without `type`, other keywords show it."""
    kinds = schema.get("type", ())
    if not kinds:
        return next(([kind] for kind, words in _SHOWN_BY.items() if not schema.keys().isdisjoint(words)), [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _of_kind(node: Node, kinds: Sequence[str], whole: bool, above: tuple[int, ...]) -> Any:
    schema, below = node.schema, (*above, id(node.schema))
    if "object" in kinds:
        return _of_object(node, whole, below)
    if "array" in kinds:
        if "items" not in schema or above.count(id(schema)) > 0:
            return []
        return [_of_schema(node.at(schema["items"]), whole, below)] * max(schema.get("minItems", 1), 1)
    if "string" in kinds:
        return _text(schema)
    if "boolean" in kinds:
        return True
    return max(1, schema.get("minimum", 1)) if kinds else None


def _of_object(node: Node, whole: bool, below: tuple[int, ...]) -> dict[str, Any]:
    """Return an object. Optional members end where a schema contains itself."""
    schema = node.schema
    members, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    required = [*schema.get("required", ())]
    optional = [name for name in members if name not in required]
    most = max(len(required), schema.get("minProperties", 0))
    if whole and below.count(below[-1]) == 1 and len(below) < _DEEPEST:
        made = {name: _of_schema(node.at(members.get(name, others)), whole, below) for name in (*members, *required)}
        return {name: value for name, value in made.items() if value is not None or name in required}
    if len(below) > _DEEPEST:
        return {}
    return {
        name: _of_schema(node.at(members.get(name, others)), whole, below) for name in [*required, *optional][:most]
    }


def _text(schema: Mapping[str, Any]) -> str:
    """Return a text with the format, pattern and length of the schema, if one of the words has them."""
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", _LONGEST)
    formats = {**_OTHER_SAMPLES, **SAMPLES}
    words = [formats[schema["format"]]] if schema.get("format") in formats else [*_WORDS, *SAMPLES.values()]
    length = min(max(shortest, 1), _LONGEST)
    words += [letter * number for number in range(length, min(longest, _LONGEST) + 1) for letter in "A1a"]
    try:
        pattern = re.compile(schema.get("pattern", ""))
    except re.error:
        pattern = re.compile("")
    fitting = (word for word in words if shortest <= len(word) <= longest and pattern.search(word))
    return next(fitting, words[0])


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
