"""Finds out how responses depend on X-Request-ID, which is new for each request."""

import re
from collections.abc import Mapping
from typing import Any

NAME = "x-request-id"
_ECHO = re.compile(r"""\{\{\s*headers\[(['"])(?i:x-request-id)\1\](\s+or\s+uuid\(\))?\s*\}\}""")
_ONLY_FORM = ({"format": "uuid"}, {"exists": True})
_ALL_HEADERS = re.compile(r"""\bheaders\b(?!\s*\.\s*[A-Za-z_]|\s*\[\s*(['"])[\w-]*\1\s*\])""")
"""Matches the root `headers` without a header name that is written out."""
_BRACES = re.compile(r"\{\{.*\}\}", re.DOTALL)
_EXPRESSIONS = frozenset({"each", "that", "when"})
"""Keys whose expressions are written without braces."""
_ASIDE = frozenset({"doc", "examples", "title"})


def heeds(written: Any, key: str = "") -> bool:
    """Return whether the id of a request can change anything in the response except its echo, if all ids are UUIDs.

    True if in doubt.
    """
    if isinstance(written, Mapping):
        return any(_heeds_member(str(name), value) for name, value in written.items() if name not in _ASIDE)
    if isinstance(written, list):
        return any(heeds(entry, key) for entry in written)
    if not isinstance(written, str) or (key not in _EXPRESSIONS and "{{" not in written):
        return False
    # Take all from the first brace to the last, because an expression may contain texts with braces.
    expressions = written if key in _EXPRESSIONS else "".join(_BRACES.findall(written))
    return NAME in expressions.lower() or _ALL_HEADERS.search(expressions) is not None


def _heeds_member(name: str, value: Any) -> bool:
    if name.lower() == NAME:
        return not (value in _ONLY_FORM or (isinstance(value, str) and _ECHO.fullmatch(value)))
    return NAME in name.lower() or heeds(value, name)
