"""JSON Pointer (RFC 6901): the place of a value in a JSON document, as text and as steps."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

Pointer = tuple[str | int, ...]
"""The steps of a JSON Pointer. Positions in arrays are integers."""

_BAD_ESCAPE = re.compile("~(?![01])")
_INDEX = re.compile("0|[1-9][0-9]{0,8}")


def pointer_text(pointer: Sequence[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in pointer)


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the steps, unescaped. Raises ValueError."""
    if text and not text.startswith("/"):
        raise ValueError("a JSON Pointer must start with /")
    if _BAD_ESCAPE.search(text):
        raise ValueError("in a JSON Pointer, write ~0 for ~, and ~1 for a / inside a name")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])


def at_pointer(value: Any, steps: Sequence[str]) -> tuple[Any, ...]:
    """Return the value in a tuple of one, or an empty tuple if there is none."""
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return ()
    return (value,)


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every string, number, boolean and null in a JSON value, with its JSON Pointer."""
    if not isinstance(value, dict | list):
        yield pointer, value
        return
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, pointer + pointer_text((step,)))
