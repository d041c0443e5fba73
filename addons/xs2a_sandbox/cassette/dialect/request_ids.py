"""The part that X-Request-ID, new with each request, has in what a cassette answers."""

import re
from collections.abc import Mapping
from typing import Any

NAME = "x-request-id"
_ECHO = re.compile(r"""\{\{\s*headers\[(['"])(?i:x-request-id)\1\](\s+or\s+uuid\(\))?\s*\}\}""")
_ONLY_FORM = ({"format": "uuid"}, {"exists": True})
_ALL_HEADERS = re.compile(r"""\bheaders\b(?!\s*\.\s*[A-Za-z_]|\s*\[\s*(['"])[\w-]*\1\s*\])""")
"""The root `headers` without the name of one of them, as written."""
_BRACES = re.compile(r"\{\{.*\}\}", re.DOTALL)
_EXPRESSIONS = frozenset({"each", "that", "when"})
"""Keys of expressions that are written without braces."""
_ASIDE = frozenset({"doc", "examples", "title"})


def heeds(written: Any, key: str = "") -> bool:
    """Says whether answers can differ by more than its echo between requests whose ids are UUIDs; if in doubt, yes."""
    if isinstance(written, Mapping):
        return any(_heeds_member(str(name), value) for name, value in written.items() if name not in _ASIDE)
    if isinstance(written, list):
        return any(heeds(entry, key) for entry in written)
    if not isinstance(written, str) or (key not in _EXPRESSIONS and "{{" not in written):
        return False
    # From the first brace to the last: an expression may hold texts with braces in them.
    expressions = written if key in _EXPRESSIONS else "".join(_BRACES.findall(written))
    return NAME in expressions.lower() or _ALL_HEADERS.search(expressions) is not None


def _heeds_member(name: str, value: Any) -> bool:
    if name.lower() == NAME:
        return not (value in _ONLY_FORM or (isinstance(value, str) and _ECHO.fullmatch(value)))
    return NAME in name.lower() or heeds(value, name)
