""""""

import re
from collections.abc import Sequence
from typing import Any

Pointer = tuple[str | int, ...]
"""The steps of a JSON Pointer; positions in arrays are integers."""


def pointer_text(pointer: Pointer) -> str:
    """As RFC 6901 writes it."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in pointer)


def steps(path: str) -> tuple[str, ...]:
    """Of a JSON Pointer, unescaped."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:])


_BAD_ESCAPE = re.compile("~(?![01])")
_INDEX = re.compile("0|[1-9][0-9]{0,8}")


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """RFC 6901. Raises ValueError."""
    if pointer and not pointer.startswith("/"):
        raise ValueError("a JSON Pointer begins with /")
    if _BAD_ESCAPE.search(pointer):
        raise ValueError("in a JSON Pointer ~ is written ~0, and a / inside a name ~1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def at_pointer(value: Any, tokens: Sequence[str]) -> tuple[Any, ...]:
    """The value there, as the only entry, or nothing."""
    for token in tokens:
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            return ()
    return (value,)


def _steps(pointer: str) -> tuple[str, ...]:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))
