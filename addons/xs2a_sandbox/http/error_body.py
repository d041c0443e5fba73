"""Reads the body of an error, in any of the forms that banks use: code, text, and the place of the mistake.

It knows lists of messages, under any name, OAuth errors (RFC 6749, 5.2), and problem details (RFC 9457).
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_CODES = ("error", "code", "errorcode", "title")
_TEXTS = ("message", "text", "errordescription", "detail", "errormessage")
_MARK = "{sensitive} "
"""Prefix of texts that an app must not show."""


class ErrorMessage(NamedTuple):
    """Missing values are empty texts."""

    code: str
    text: str
    path: str


def read_errors(body: Any) -> list[ErrorMessage]:
    """Return the messages in the body: those of the first list of messages, or of the body itself, or of a member."""
    if not isinstance(body, dict):
        return []
    lists = (value for value in body.values() if isinstance(value, list))
    return next(
        (messages for entries in (*lists, [body], list(body.values())) if (messages := list(_read(entries)))), []
    )


def _read(entries: list[Any]) -> Iterator[ErrorMessage]:
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        members = {name.lower().replace("_", ""): value for name, value in entry.items()}
        code, text = _first(members, _CODES), _first(members, _TEXTS)
        if code or text:
            yield ErrorMessage(code, text.removeprefix(_MARK), _first(members, ("path",)))


def _first(members: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := members.get(name), str) and value), "")
