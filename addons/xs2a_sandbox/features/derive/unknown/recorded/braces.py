"""Hides `{{` in a bank's own words while they are learned, so that none of them becomes an expression."""

import re
from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.places import change_texts

_HIDDEN = "\ue000"
_EXPRESSION = re.compile(r"(\{\{.*?\}\})", re.DOTALL)
_CONDITIONS = ("when", "that")
"""Members that are an expression without braces."""
_WRITTEN, _ESCAPED = "{{ '{{' }}", r"\x7b\x7b"
"""`{{` in the text of a template, and in a string of an expression."""


def hide_braces(value: Any) -> Any:
    """Return what the bank or the app has sent, without `{{`."""
    return change_texts(value, lambda text: text.replace("{{", _HIDDEN))


def restore_braces(value: Any, name: str = "") -> Any:
    """Return what was learned with the bank's `{{` again, which is no expression anywhere.

    `name` is that of the member.
    """
    if isinstance(value, Mapping):
        return {key.replace(_HIDDEN, "{{"): restore_braces(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [restore_braces(inner, name) for inner in value]
    if not isinstance(value, str):
        return value
    return "".join(
        piece.replace(_HIDDEN, _ESCAPED if name in _CONDITIONS or _EXPRESSION.fullmatch(piece) else _WRITTEN)
        for piece in _EXPRESSION.split(value)
    )
