"""Writes expressions of cassettes."""

import re
from collections.abc import Mapping, Sequence

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset("and or not in is if else true false none True False None".split())


def expression(root: str, steps: Sequence[str | int] = ()) -> str:
    """Return `body.to['from']` for a root and steps."""
    text = root
    for step in steps:
        if isinstance(step, str) and _PLAIN.fullmatch(step) and step not in _RESERVED:
            text += f".{step}"
        else:
            text += f"[{literal(step)}]"
    return text


def literal(value: object) -> str:
    """Return a value as it is written in an expression."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(name)}: {literal(inner)}" for name, inner in value.items()) + "}"
    return str(value)


def braced(source: str) -> str:
    """Return the text whose value is that of an expression."""
    return "{{ " + source + " }}"
