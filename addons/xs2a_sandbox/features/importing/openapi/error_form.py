"""Finds the form of a bank's errors in the answers that its document describes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from copy import deepcopy
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any

from xs2a_sandbox.cassette.dialect.error_table import default_errors
from xs2a_sandbox.features.importing.openapi import roles
from xs2a_sandbox.features.importing.openapi.roles import Steps
from xs2a_sandbox.features.importing.openapi.templates import BodyTemplate

_CODES = frozenset(("code", "error", "type", "key", "title"))
_TEXTS = frozenset(("message", "text", "description", "detail", "details", "reason"))
_PLACES = frozenset(("path", "pointer", "field"))
_STATUS = frozenset(("status",))
_PLAIN: Mapping[str, Any] = {"code": "{{ error.code }}", "message": "{{ error.text }}"}
_NEARLY = 0.5


def common_schema(names: Iterable[str]) -> str | None:
    """Return the schema that most errors have."""
    counted = Counter(names).most_common(1)
    return counted[0][0] if counted else None


def error_body(answer: Any, allows: Callable[[Any], bool]) -> Any:
    """Return the body of `every_error`, made from an example of an error or from a sample."""
    if not isinstance(answer, dict):
        return dict(_PLAIN)
    template = BodyTemplate(deepcopy(answer), allows)
    for steps, value in roles.leaves(answer):
        source = _source(steps, value)
        if source and source not in template.said.values():
            template.say(steps, source)
    if "error.text" not in template.said.values() and "error.code" not in template.said.values():
        return dict(_PLAIN)
    return template.write()


def _source(steps: Steps, value: Any) -> str | None:
    own = roles.words(steps[-1]) if steps and isinstance(steps[-1], str) else ()
    last = own[-1] if own else ""
    if isinstance(value, int) and not isinstance(value, bool):
        return "error.status" if last in _STATUS | _CODES else None
    if not isinstance(value, str):
        return None
    if last in _STATUS or (value.isdigit() and len(value) == 3 and last in _CODES):
        return "error.status | string"
    if last in _TEXTS:
        return "error.text"
    if last in _CODES:
        return "error.code"
    if last in _PLACES:
        return "error.path"
    return "uuid()" if last in ("id", "uuid", "uid") else None


def errors_section(names: Set[str], codes: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """Return the errors with these names. `codes` are the words that the document has for errors, by status."""
    every = list(dict.fromkeys(code for offered in codes.values() for code in offered))
    section = {}
    for name in sorted(names & default_errors().keys()):
        error = default_errors()[name].origin.written
        status, code = _default(error["status"]), _default(error["code"])
        section[name] = {
            "status": status,
            "code": _nearest((code, HTTPStatus(status).phrase), codes.get(status) or every) or code,
            "text": error["text"],
        }
    return section


def _default(value: Any) -> Any:
    return value["default"] if isinstance(value, Mapping) else value


def _nearest(meant: Sequence[str], offered: Sequence[str]) -> str | None:
    """Return the first of the document's codes that is like one of the words, or else its first code."""
    plain = {_letters(one): one for one in offered}
    for word in meant:
        if near := get_close_matches(_letters(word), plain, 1, _NEARLY):
            return plain[near[0]]
    return next(iter(offered), None)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
