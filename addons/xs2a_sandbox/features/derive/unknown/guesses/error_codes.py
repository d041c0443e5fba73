"""Codes of errors that contain the status and a number, such as JV-4042: what other errors are likely to have."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves

_UNKNOWN = (404, 405)
"""The statuses of errors about paths and methods, which are those of no operation."""


def find_free_number(classes: Sequence[AnswerClass]) -> str:
    """Return the first number that no recorded code has after the status of an unknown path or method."""
    taken = {
        number
        for answer in classes
        for _, value in leaves(answer.seen[0].document)
        if answer.status in _UNKNOWN and (number := _number(value, answer.status))
    }
    return next((str(number) for number in range(10) if str(number) not in taken), "0")


def change_status(document: Any, old: int, new: int | str, number: str) -> Any:
    """Return an error with another status, also in codes that contain it. These have `number` after the status."""
    if isinstance(document, Mapping):
        return {name: change_status(inner, old, new, number) for name, inner in document.items()}
    if isinstance(document, list):
        return [change_status(inner, old, new, number) for inner in document]
    if isinstance(document, bool):
        return document
    if document == old:
        return new
    if _number(document, old):
        return f"{document[: -len(str(old)) - 1]}{new}{number}"
    return document


def _number(code: Any, status: int) -> str | None:
    found = re.fullmatch(rf"\D*{status}(\d)", code) if isinstance(code, str) else None
    return found[1] if found else None
