"""Comparing an answer with the expectations of a script."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from tests.outside.obie.manifests import Script

_STEP = re.compile(r'#\[(\w+)="([^"]*)"\]|([^.]+)')
Resolve = Callable[[str], str]


def unmet(script: Script, expected: Mapping[str, Any], answer: httpx.Response, resolve: Resolve) -> Iterator[str]:
    """Return the unmet expectations of `asserts`, `asserts_one_of` and `asserts_last_if_all`."""

    def of(member: str) -> list[Mapping[str, Any]]:
        return [expected[name] for name in script.source.get(member, ())]

    status = [expect["status-code"] for expect in of("asserts") if "status-code" in expect][-1:]
    yield from _differs({"status-code": status[0]} if status else {}, answer, resolve)
    for expect in of("asserts"):
        yield from _differs({"matches": expect.get("matches", ())}, answer, resolve)
    choices = [list(_differs(expect, answer, resolve)) for expect in of("asserts_one_of")]
    if choices and all(choices):
        yield "none of: " + "; or ".join(", ".join(choice) for choice in choices)
    *conditions, last = [list(_differs(expect, answer, resolve)) for expect in of("asserts_last_if_all")] or [[]]
    if not any(conditions):
        yield from last


def _differs(expect: Mapping[str, Any], answer: httpx.Response, resolve: Resolve) -> Iterator[str]:
    if expect.get("status-code", answer.status_code) != answer.status_code:
        yield f"status {answer.status_code}, not {expect['status-code']}"
    for match in expect.get("matches", ()):
        value = resolve(match.get("value", match.get("Value", "")))
        if header := match.get("header") or match.get("header-present"):
            got = answer.headers.get(header)
            if got is None or (value and got != value):
                yield f"header {header} is {got!r}" + (f", not {value!r}" if value else "")
        elif path := match.get("JSON"):
            found = text_at(answer, path)
            if found is None or (value and found != value):
                yield f"{path} is {found!r}" + (f", not {value!r}" if value else "")
        elif (found := text_at(answer, match["JSON-NOT-PRESENT"])) is not None:
            yield f"{match['JSON-NOT-PRESENT']} is {found!r}, not absent"


def text_at(answer: httpx.Response, path: str) -> str | None:
    """Return the value at the path as text, or None if there is none."""
    try:
        value = answer.json()
    except ValueError:
        return None
    for member, wanted, name in _STEP.findall(path):
        if member and isinstance(value, list):
            value = next((item for item in value if item.get(member) == wanted), None)
        elif isinstance(value, list) and name.isdigit():
            value = dict(enumerate(value)).get(int(name))
        else:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return None
    return value if isinstance(value, str) else json.dumps(value)
