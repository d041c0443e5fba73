"""Formats a log line for each answered request."""

import json
import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import msgspec

from xs2a_sandbox.clock import stamp
from xs2a_sandbox.http.target import outline

_LONGEST = 500
_log = logging.getLogger("xs2a_sandbox")


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """An exchange for the log. `source` and `rule` are those in the answer's X-Sandbox-… headers.

    `error` is the name of the answered error in the dialect's table; `personal` means that it may contain data of real
    people, because a bank or a recording was involved. `reason` is why the status is 400 or more, as it may be shown;
    `amended` are the ids of rules that changed the answer, and `fault` is what broke its content or connection.
    `request_id` is the app's X-Request-ID if it is a UUID; otherwise it could be anything. `cause` is set for a request
    that the bank sent to an app, and says what caused it.
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
    fault: str | None = None
    cause: str | None = None


def redact_path(path: str, redact: Callable[[str], str]) -> str:
    """Return the redacted path, or a placeholder if redaction fails."""
    try:
        return redact(path)
    except Exception as error:
        # The text or traceback of the error could quote data that must not be shown.
        _log.error("a path could not be redacted (%s)", type(error).__name__)
        return outline(path)


def line(exchange: LogEntry, form: Literal["text", "json"], instant: float, *, is_verbose: bool = False) -> str:
    """Return a single line for any request. It lacks the query, which may contain personal data.

    `is_verbose` adds the operation and the request's id to a line of text; JSON always has the id.
    """
    if form == "json":
        return _object(exchange, instant)
    before, after = _words(
        exchange.session, exchange.method, exchange.path, exchange.status, exchange.source, exchange.rule
    )
    written = f"{stamp(instant, ' ')} {before} {exchange.milliseconds:.1f}ms {after}"
    if is_verbose:
        written += f" operation={_word(exchange.operation or '-')} request_id={exchange.request_id or '-'}"
    if exchange.fault:
        written += f" fault={exchange.fault}"
    if exchange.amended:
        written += f" amended={_word(','.join(exchange.amended))}"
    for warning in exchange.warnings:
        written += f" warning={json.dumps(_cut(warning))}"
    if exchange.cause:
        written += f" cause={json.dumps(_cut(exchange.cause))}"
    if exchange.reason:
        written += f" reason={make_printable(json.dumps(_cut(exchange.reason), ensure_ascii=False))}"
    return written


def _object(exchange: LogEntry, instant: float) -> str:
    before, after = _members(
        exchange.session, exchange.method, exchange.path, exchange.status, exchange.source, exchange.rule
    )
    id = f'"{exchange.request_id}"' if exchange.request_id else "null"
    more = _remarks(exchange.warnings, exchange.reason, exchange.amended, exchange.fault, exchange.cause)
    answer = f'"ms": {exchange.milliseconds:.1f}, {after}, "request_id": {id}, {more}'
    return f'{{"time": "{stamp(instant)}", {before}, {answer}}}'


# Apps repeat requests, and formatting the whole line again would take three times as long.
@lru_cache(1024)
def _words(session: str, method: str, path: str, status: int, source: str, rule: str | None) -> tuple[str, str]:
    """Return the parts of a line before and after the milliseconds."""
    return f"{_word(session)} {_word(method)} {_word(_strip_query(path))} {status}", f"{source} {_word(rule or '-')}"


@lru_cache(1024)
def _members(session: str, method: str, path: str, status: int, source: str, rule: str | None) -> tuple[str, str]:
    """Return the same parts of a JSON line."""
    before = {"session": session, "method": method, "path": _cut(_strip_query(path)), "status": status}
    return json.dumps(before)[1:-1], json.dumps({"source": source, "rule": rule})[1:-1]


@lru_cache(64)
def _remarks(
    warnings: tuple[str, ...], reason: str | None, amended: tuple[str, ...], fault: str | None, cause: str | None
) -> str:
    """Return the last members of a JSON line, which are mostly empty."""
    remarks: dict[str, Any] = {"warnings": warnings, "reason": reason and _cut(reason)}
    more = {"amended": amended, "fault": fault, "cause": cause}
    return json.dumps(remarks | {name: value for name, value in more.items() if value})[1:-1]


def _strip_query(path: str) -> str:
    return path.partition("?")[0]


def make_printable(text: str) -> str:
    """Escape control characters and line breaks."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _word(text: str) -> str:
    """Escape blanks and control characters, so that nothing from a client looks like another field or line."""
    text = _cut(text) or "-"
    if text.isprintable() and " " not in text:
        return text
    return "".join(c if c.isprintable() and c != " " else _escape(c) for c in text)


def _escape(character: str) -> str:
    return "\\x20" if character == " " else character.encode("unicode_escape").decode()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
