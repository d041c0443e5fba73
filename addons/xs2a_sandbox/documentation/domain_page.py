"""Generate docs/domain.md from the schemas of the state's documents."""

from collections.abc import Iterator, Mapping
from typing import Any

from xs2a_sandbox.documents.json_schema import Node
from xs2a_sandbox.state import documents

_ORDER = (
    "psus",
    "clients",
    "accounts",
    "cards",
    "consents",
    "payments",
    "mandates",
    "baskets",
    "authorisations",
)
"""The collections that the page shows first."""


def page() -> str:
    """Return the text of docs/domain.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Domain"
    yield ""
    yield "<!-- Made by `documentation/domain_page.py` from `schemas/state/`; change it there. -->"
    yield ""
    yield "The domain is the bank's own data: the documents of the [state](state.md), by collection. Their members have"
    yield "neutral names that do not belong to any interface. A dialect maps its requests to them ([`request` and"
    yield "`input`](define-operations.md#requests)), and maps them to its responses"
    yield "([shapes](expressions.md#shapes)). Members"
    yield "with a question mark are optional. Documents may also have members of your own."
    there = documents.collections()
    for name in (*(name for name in _ORDER if name in there), *sorted(there - {*_ORDER})):
        yield from _section(name)
    yield ""


def _section(name: str) -> Iterator[str]:
    schema = documents.schema_of(name)
    if schema is None:
        return
    node = schema.node.resolve()
    title = schema.document.get("title", name)
    yield from ("", f"## {name}", "", f"{title}. {schema.document.get('description', '')}".strip())
    yield from ("", "| member | type | |", "|---|---|---|")
    required = node.schema.get("required", ())
    for member, written in node.schema.get("properties", {}).items():
        inner = node.at(written)
        mark = "" if member in required else "?"
        yield f"| `{member}`{mark} | {_type(inner)} | {_meaning(written, inner)} |"


def _type(node: Node) -> str:
    schema: Mapping[str, Any] = node.resolve().schema
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    types = schema.get("type", "any value")
    listed = [types] if isinstance(types, str) else [name for name in types if name != "null"]
    form = schema.get("format")
    return " or ".join(listed) + (f", {form}" if form else "")


def _meaning(written: Mapping[str, Any], node: Node) -> str:
    text: str = written.get("description") or node.resolve().schema.get("description") or ""
    names = ", ".join(f"`{name}`" for name in _members(node))
    return f"{text}{f' Members: {names}.' if names else ''}".replace("|", "\\|")


def _members(node: Node) -> list[str]:
    """Return the names of the members of an object, or of the entries of an array."""
    node = node.resolve()
    if "items" in node.schema:
        return _members(node.at(node.schema["items"]))
    return list(node.schema.get("properties", ()))
