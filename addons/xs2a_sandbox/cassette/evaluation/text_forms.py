"""Filters for the forms of texts: patterns, formats, hashes, and dates that are not written as in ISO 8601."""

import re
from base64 import b64encode
from datetime import UTC, date, datetime
from functools import lru_cache
from hashlib import sha256 as _sha256
from typing import Any

import re2

from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.documents.formats import FORMATS

_DIRECTIVE = re.compile("%.", re.DOTALL)


def matches(value: Any, pattern: str) -> bool:
    """Return whether the pattern is found in the text. Raises ValueError for an invalid pattern."""
    return _compiled(pattern).search(to_text(value)) is not None


def has_format(value: Any, name: str) -> bool:
    """Return whether a text has one of the formats of matchers. Raises ValueError for an unknown format."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}; the formats are {', '.join(sorted(FORMATS))}")
    return bool(FORMATS[name](to_text(value)))


@lru_cache(512)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


def sha256(value: Any) -> str:
    """Return the hash of the text in base64, as `request.sha256` does for the body."""
    return b64encode(_sha256(to_text(value).encode()).digest()).decode()


def strftime(value: Any, pattern: str) -> str | None:
    """Write a date, a time with an offset, or seconds since 1970. Times are written in UTC. Null for anything else."""
    moment = _moment(value)
    if isinstance(moment, datetime):
        # Python writes %s in the zone of the machine.
        seconds = str(int(moment.timestamp()))
        pattern = _DIRECTIVE.sub(lambda found: seconds if found[0] == "%s" else found[0], pattern)
    return None if moment is None else moment.strftime(pattern)


def strptime(value: Any, pattern: str) -> str | None:
    """Read a date or a time, and return it as in ISO 8601, a time in UTC. Null if the text does not have this form."""
    return _read_time(to_text(value), pattern)


@lru_cache(4096)
def _read_time(text: str, pattern: str) -> str | None:
    # A filter may read the same date for every entry of a list, which takes Python long.
    try:
        moment = datetime.strptime(text, pattern)
    except ValueError:
        return None
    has_time = any(mark in pattern for mark in ("%H", "%I", "%T", "%X", "%c"))
    if not has_time:
        return moment.date().isoformat()
    return (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _moment(value: Any) -> date | datetime | None:
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        text = to_text(value)
        if len(text) == len("2026-01-31"):
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None
