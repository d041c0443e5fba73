"""Writes plain values as readable YAML, which `yaml_reader` reads as the same values."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from xs2a_sandbox.documents.yaml_reader import parse
from xs2a_sandbox.errors import Unreadable

WIDTH = 110
"""The width up to which mappings and lists of scalars stay on one line."""

_INDENT = "  "
# YAML allows more without quotes, but these are clear to every reader, in flow style, too.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.+@%$*!=;()€äöüÄÖÜß-]*(?: [A-Za-z0-9_/.+@%$=;()€äöüÄÖÜß-]+)*")
_WORDS = frozenset(("null", "true", "false"))
_SPECIAL = "\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff"
_ESCAPED = re.compile(f"[{_SPECIAL}]")
_BLOCK_LINE = re.compile(f"(?: *[^\\s\x00-\x1f{_SPECIAL}][^\x00-\x08\x0a-\x1f{_SPECIAL}]*)?")


def yaml_text(value: Any) -> str:
    """Return the value as YAML with a final line break.

    `value` consists of mappings by text, lists, texts, int, Decimal, bool and None.
    """
    return "".join(line + "\n" for line in (_block_lines(value) if value else _lines(value)))


def yaml_line(value: Any) -> str:
    """Return a value as YAML on one line of any length, without a line break."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(name)}: {yaml_line(inner)}" for name, inner in value.items()) + "}"
    return "[" + ", ".join(map(yaml_line, value)) + "]" if isinstance(value, list) else _scalar(value)


def survives(value: Any) -> bool:
    """Return whether the YAML of a value is read as the same value, with the same digits."""
    try:
        read = parse(yaml_text({"value": value}), Path("value")).value["value"]
    except (Unreadable, UnicodeEncodeError, RecursionError):
        return False
    return write_exactly(read) == write_exactly(value)


def write_exactly(value: Any) -> str:
    """Return the same string for equal values. Ignores the order of members, but 1.10, 1.1 and "1.10" differ."""
    return json.dumps(value, sort_keys=True, default=_decimal)


def _decimal(value: Any) -> Any:
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    raise TypeError(f"{type(value).__name__} is not a YAML value")


def _lines(value: Any) -> list[str]:
    return _block_lines(value) if (flow := _flow(value)) is None else [flow]


def _block_lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [line for name, inner in value.items() for line in _member(_text(name) + ":", inner)]
    if isinstance(value, list):
        return [line for inner in value for line in _entry(inner)]
    return _block(value) or [_scalar(value)]


def _member(key: str, value: Any) -> list[str]:
    if (flow := _flow(value)) is not None and len(flow) <= WIDTH:
        return [f"{key} {flow}"]
    if isinstance(value, str):
        first, *rest = _block(value) or [_scalar(value)]
        return [f"{key} {first}", *rest]
    return [key, *(_INDENT + line if line else line for line in _lines(value))]


def _entry(value: Any) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(_INDENT + line if line else line for line in rest)]


def _flow(value: Any) -> str | None:
    """Return a scalar, or a short mapping or list of scalars, on one line."""
    if not isinstance(value, Mapping | list):
        return None if isinstance(value, str) and "\n" in value else _scalar(value)
    is_short = all(map(_is_short, value.values() if isinstance(value, Mapping) else value))
    return text if is_short and len(text := yaml_line(value)) <= WIDTH else None


def _is_short(value: Any) -> bool:
    return not isinstance(value, Mapping | list) and not (isinstance(value, str) and "\n" in value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{Decimal(repr(value)):f}"
    return str(value) if isinstance(value, int | Decimal) else _text(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text not in _WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _block(text: str) -> list[str] | None:
    """Return a literal block if it preserves the text exactly."""
    body = text.rstrip("\n")
    lines = body.split("\n")
    if "\n" not in text or lines[0][:1] in ("", " ") or not all(map(_BLOCK_LINE.fullmatch, lines)):
        return None
    ends = len(text) - len(body)
    return [
        "|" + "-+"[ends > 1] if ends != 1 else "|",
        *(_INDENT + line if line else line for line in lines),
        *[""] * (ends - 1),
    ]
