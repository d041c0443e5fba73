"""One line of log for each request answered."""

import json
import logging
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from xs2a_sandbox.http.target import outline

_LONGEST = 500
_log = logging.getLogger("xs2a_sandbox")


class LogEntry(NamedTuple):
    """An exchange as one line tells it; `source` and `rule` are those of the answer's X-Sandbox-… headers.

    `error` is the name of the error of the dialect's table that was answered; `personal` says that real people's data
    may be in it, as a bank or a recording had a part in it. `reason` is why the status is 400 or more, as it may be
    shown; `amended` are the ids of rules that have changed the answer. `request_id` is the app's X-Request-ID where it
    is a UUID: anything else could be anything.
    """

    session: str
    method: str
    path: str
    status: int
    milliseconds: float
    source: str
    rule: str | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None
    personal: bool = True
    reason: str | None = None
    amended: tuple[str, ...] = ()
    request_id: str | None = None
    operation: str | None = None


def shown(path: str, redact: Callable[[str], str]) -> str:
    """The path as it may be seen."""
    try:
        return redact(path)
    except Exception as error:
        # Its text, or a traceback, could quote what must not be seen.
        _log.error("a path could not be redacted (%s)", type(error).__name__)
        return outline(path)


def line(exchange: LogEntry, form: Literal["text", "json"], now: datetime) -> str:
    """One line, whatever the client sent; without the query, which may hold personal data."""
    path = exchange.path.partition("?")[0]
    milliseconds = round(exchange.milliseconds, 1)
    if form == "json":
        entry = {
            "time": now.isoformat(timespec="milliseconds"),
            "session": exchange.session,
            "method": exchange.method,
            "path": _cut(path),
            "status": exchange.status,
            "ms": milliseconds,
            "source": exchange.source,
            "rule": exchange.rule,
            "request_id": exchange.request_id,
            "warnings": list(exchange.warnings),
            "reason": exchange.reason and _cut(exchange.reason),
        }
        if exchange.amended:
            entry["amended"] = list(exchange.amended)
        return json.dumps(entry)
    request = _words(exchange.session, exchange.method, path)
    answer = f"{exchange.status} {milliseconds}ms {exchange.source} {_words(exchange.rule or '-')}"
    written = f"{now.isoformat(sep=' ', timespec='milliseconds')} {request} {answer}"
    if exchange.amended:
        written += f" amended={_words(','.join(exchange.amended))}"
    for warning in exchange.warnings:
        written += f" warning={json.dumps(_cut(warning))}"
    if exchange.reason:
        written += f" reason={json.dumps(_cut(exchange.reason), ensure_ascii=False)}"
    return printable(written)


def printable(text: str) -> str:
    """One line, without control characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


@lru_cache(1024)  # an app asks for the same again and again
def _words(*texts: str) -> str:
    return " ".join(map(_word, texts))


def _word(text: str) -> str:
    """The text without blanks and control characters: nothing that a client sends looks like another field or line."""
    text = _cut(text) or "-"
    if text.isprintable() and " " not in text:
        return text
    return "".join(c if c.isprintable() and c != " " else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return "\\x20" if character == " " else character.encode("unicode_escape").decode()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
