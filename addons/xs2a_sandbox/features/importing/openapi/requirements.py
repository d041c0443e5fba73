"""Writes what an operation requires of a request, and a request that meets it."""

from collections.abc import Callable, Mapping
from typing import Any

from xs2a_sandbox.cassette.matchers import TEXT, Surroundings, compile_matcher
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.documents.json_schema import Node
from xs2a_sandbox.features.authoring.samples import of_schema
from xs2a_sandbox.features.importing.openapi.operations import MISSING, ApiOperation, Parameter

NodeOf = Callable[[Parameter], Node | None]
_FORMATS = {"ipv4": "ip", "ipv6": "ip"}
CREDENTIAL = "token-unknown"
"""The error for a request without the app's credential."""


def matcher(node: Node | None) -> dict[str, Any]:
    """Return the matcher for a parameter with that schema."""
    schema = node.resolve().schema if node else {}
    name = str(schema.get("format"))
    name = _FORMATS.get(name, name)
    values = schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return {"in": values}
    if name in FORMATS:
        return {"format": name}
    if isinstance(pattern := schema.get("pattern"), str) and _is_simple(pattern):
        return {"regex": pattern}
    return {"exists": True}


def fits(spec: Any, text: Any) -> bool:
    return bool(compile_matcher(spec, Surroundings(True, lambda name: lambda value: True))((text,)))


def _is_simple(pattern: str) -> bool:
    """Return whether matchers have this kind of regular expression."""
    try:
        compile_matcher({"regex": pattern}, Surroundings(True, lambda name: lambda value: True))
    except ValueError:
        return False
    return True


def where(operation: ApiOperation, node_of: NodeOf) -> dict[str, Any]:
    """Return the conditions for path parameters."""
    found = {one.name: matcher(node_of(one)) for one in operation.parameters if one.place == "path"}
    return {name: spec.get("in", spec) for name, spec in found.items() if spec != {"exists": True}}


def require(operation: ApiOperation, node_of: NodeOf, body: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the requirements: the credential first, because a bank looks at it before anything else."""
    steps: list[dict[str, Any]] = []
    if credential := operation.credential:
        part = "query" if credential.place == "query" else "headers"
        text = f"the {credential.place} {credential.name} is missing"
        steps.append({part: {credential.name: {"exists": True}}, "error": CREDENTIAL, "values": {"expected": text}})
    others: dict[str, Any] = {}
    for place, part in (("header", "headers"), ("query", "query")):
        specs = {one.name: _spec(one, node_of) for one in operation.parameters if one.place == place}
        if specs := {name: spec for name, spec in specs.items() if spec}:
            others[part] = specs
    if body:
        others["body"] = dict(body)
    return [*steps, *([others] if others else [])]


def _spec(parameter: Parameter, node_of: NodeOf) -> dict[str, Any] | None:
    spec = matcher(node_of(parameter))
    if parameter.required:
        return spec
    return {"any": [{"absent": True}, spec]} if spec != {"exists": True} else None


def example_request(operation: ApiOperation, node_of: NodeOf) -> dict[str, Any]:
    """Return the required parameters of a request, with the document's examples where they are valid."""
    request: dict[str, Any] = {}
    for one in operation.parameters:
        if one.place == "path" or one.required:
            name = {"path": "where", "header": "headers"}.get(one.place, one.place)
            request.setdefault(name, {})[one.name] = _value(one, node_of(one))
    if credential := operation.credential:
        part = "query" if credential.place == "query" else "headers"
        value = "Bearer example" if credential.name == "Authorization" else "example"
        request.setdefault(part, {})[credential.name] = value
    return request


def _value(parameter: Parameter, node: Node | None) -> str:
    given = parameter.example
    if given is not MISSING and is_text_like(given) and fits(matcher(node), as_text(given)):
        return as_text(given)
    made = of_schema(node) if node else None
    return as_text(made) if is_text_like(made) and made != "" else TEXT


def is_text_like(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
