"""docs/domain.md, made of the schemas of the state's documents."""

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
"""Those that are read first."""


def page() -> str:
    """docs/domain.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Domain"
    yield ""
    yield "<!-- Made by `documentation/domain_page.py` from `schemas/state/`; change it there. -->"
    yield ""
    yield "What the bank itself knows of: the documents of the [state](state.md), by collection. Their members have the"
    yield "names of no interface. A dialect says where its requests have what becomes of them ([`request` and"
    yield "`input`](define-operations.md#requests)), and how its answers tell them ([shapes](expressions.md#shapes))."
    yield "Members with a question mark may be missing, and documents may have more of your own."
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
    return f"{text}{f' Its members: {names}.' if names else ''}".replace("|", "\\|")


def _members(node: Node) -> list[str]:
    """The names of its own members, or of those of its entries."""
    node = node.resolve()
    if "items" in node.schema:
        return _members(node.at(node.schema["items"]))
    return list(node.schema.get("properties", ()))
