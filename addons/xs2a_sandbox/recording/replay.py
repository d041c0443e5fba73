"""Replays recorded answers: requests are converted to their recorded form, answers are adapted to place and time."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from xs2a_sandbox.cassette import Call, Interface, Rule
from xs2a_sandbox.cassette.model import Recorded
from xs2a_sandbox.cassette.path_pattern import LITERAL, TAIL
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.body_members import leaves, members
from xs2a_sandbox.http.target import client_url, cut_target
from xs2a_sandbox.redaction.account_statement import is_statement
from xs2a_sandbox.upstream import links

_WORD_OF_A_STATEMENT = re.compile(r"[A-Za-z0-9-]{8,}")
_BETWEEN = re.compile(r"[/?&=#]")
_TOLD = 5
"""The most requests without an answer that are named for each file."""
_ENDLESS = 9000
"""The year from which on a date means "for ever"."""


class Replay:
    """Lets recorded rules answer an app. `redact` redacts a request as a recording does.

    With `shift_dates` the dates in answers are shifted by the days between the recording and the session's today.
    """

    def __init__(
        self,
        interface: Interface,
        redact: Callable[[Request], Request] | None,
        *,
        shift_dates: bool = False,
        rewrite_links: bool = True,
    ) -> None:
        # Longest URL first: for several URLs on one host, each link belongs to the most specific one.
        self._banks = sorted(
            {rule.tape.bank for rule in interface.rules if rule.tape}, key=lambda url: (-len(url), url)
        )
        self._redact = redact
        self._shift_dates = shift_dates
        self._rewrite_links = rewrite_links

    def as_recorded(self, call: Call, segments: int) -> Request | None:
        """Return the request with its values redacted as in a recording, or None if that changes nothing.

        Its path has only the last `segments` segments.
        """
        if self._redact is None:
            return None
        sent = call.request
        _, target = cut_target(sent.target, segments)
        seen = self._redact(Request(sent.method, target, sent.headers, sent.body, sent.host, sent.scheme))
        is_same = (seen.target, seen.headers.pairs, seen.body) == (target, sent.headers.pairs, sent.body)
        return None if is_same else seen

    def finish(self, response: Response, rule: Rule, call: Call) -> Response:
        """Return the answer with links into the sandbox, and with shifted dates."""
        tape = rule.tape
        if tape is None:
            return response
        if self._shift_dates and (days := (call.clock.today() - tape.at).days):
            response = _shift(response, timedelta(days=days))
        if not self._rewrite_links:
            return response
        # A rule's path is the part below the bank's URL, including any prefix of the interface.
        is_fixed = rule.pattern is not None and TAIL not in rule.pattern.rank
        segments = len(rule.pattern.segments) if rule.pattern and is_fixed else len(call.segments)
        here = client_url(call.request, segments)
        # Through a proxy, the bank's other hosts keep their names.
        banks = [tape.bank] if call.request.door == "proxy" else self._banks
        for bank in banks:
            response = links.rewrite(response, bank, here)
        return response


def recorded_texts(interface: Interface) -> frozenset[str]:
    """Return the texts that an app can get from recorded rules: pseudonyms, and harmless texts.

    Descriptive words such as names of members and media types do not count: if an app sends one of them in a path, the
    recording has its pseudonym.
    """
    texts: set[str] = set()
    for rule in interface.rules:
        if rule.tape:
            spec = rule.origin.document.value
            for step in rule.origin.pointer:
                spec = spec[step]
            for text in _find_sendable(spec):
                parts = _BETWEEN.split(text) if "://" in text or text.startswith("/") else ()
                texts |= {text, *map(unquote, parts)}
    return frozenset(texts - {""})


def words(interface: Interface) -> frozenset[str]:
    """Return the words in the interface's own paths and errors, which are not personal data."""
    words = {text for error in interface.errors.values() for text in (*error.codes.values(), *error.numbers.values())}
    for operation in interface.operations.values():
        words |= {segment.text for segment in operation.pattern.segments if segment.kind == LITERAL}
        for spec in (constraint.spec for alternative in operation.where for constraint in alternative):
            words |= {str(value) for value in [*spec.get("in", ()), *([spec["equals"]] if "equals" in spec else ())]}
    return frozenset(words)


def find_outdated(interface: Interface, now: datetime, oldest: timedelta | None) -> Iterator[str]:
    """Yield a line for each file of recorded rules that is older than allowed."""
    for file, tape in _tapes(interface):
        age = now.astimezone(UTC).date() - tape.at
        if oldest is not None and age > oldest:
            yield f"{file} was recorded {age.days} days ago, longer than max_age allows"


def of_another_key(interface: Interface, fingerprint: str) -> Iterator[str]:
    """Yield a line for each file whose pseudonyms were made with another key."""
    for file, tape in _tapes(interface):
        if tape.redacted and tape.redacted != fingerprint:
            text = "requests with real IBANs and names will not match its rules"
            yield f"{file} was redacted with another key ({tape.redacted}, not {fingerprint}): {text}"


def list_left_out(interface: Interface) -> Iterator[str]:
    """Yield lines about recorded exchanges that cannot be replayed, only the first ones for each file."""
    for file, tape in sorted(interface.tapes.items()):
        yield from (f"{file} lacks {line}" for line in tape.left_out[:_TOLD])
        if (more := len(tape.left_out) - _TOLD) > 0:
            yield f"{file} lacks {more} more; it lists them under recorded.left_out"


def find_replaced(interface: Interface) -> Iterator[str]:
    """Yield a line for each file with recorded rules that never answer because rules of a later layer do."""
    files: defaultdict[tuple[Path, Path], list[str]] = defaultdict(list)
    for rule, by in interface.replaced:
        files[rule.origin.document.file, by.origin.document.file].append(rule.id)
    for (file, later), ids in sorted(files.items()):
        more = f" and {len(ids) - _TOLD} more" if len(ids) > _TOLD else ""
        yield f"{file}: {later} replaces {', '.join(ids[:_TOLD])}{more} with other answers"


def _tapes(interface: Interface) -> list[tuple[Path, Recorded]]:
    return sorted({rule.origin.document.file: rule.tape for rule in interface.rules if rule.tape}.items())


def _find_sendable(rule: Any) -> Iterator[str]:
    yield from _texts(rule.get("match"))
    for answer in [rule.get("respond", {}), *rule.get("sequence", ())]:
        headers = Headers(answer.get("headers", {}).items())
        yield from _texts([answer.get("body"), *(value for name, value in headers if name.lower() in links.HEADERS)])
        yield from _values(answer.get("text", ""), headers.get("content-type"))


def _values(text: str, content_type: str | None) -> Iterator[str]:
    """Yield the values in a string that is not JSON: elements of XML, fields of a form, words of a statement."""
    try:
        member = members(text.encode(), content_type)
    except ValueError:
        member = None
    if member:
        yield from (str(value) for _, value in leaves(member))
        return
    yield text
    if is_statement(text):
        for word in _WORD_OF_A_STATEMENT.findall(text):
            yield from (word, word[:-3])  # with and without a currency


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if any(character.isdigit() for character in name):
                yield name
            if name != "format":
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        yield str(value)


def _shift(response: Response, span: timedelta) -> Response:
    try:
        body = json.loads(response.body, parse_float=Decimal)
    except ValueError:
        return response
    moved = _move(body, span)
    return response if moved == body else Response(response.status, response.headers, to_json(moved), response.fault)


def _move(value: Any, span: timedelta) -> Any:
    if isinstance(value, dict):
        return {name: _move(inner, span) for name, inner in value.items()}
    if isinstance(value, list):
        return [_move(entry, span) for entry in value]
    if not isinstance(value, str):
        return value
    # The time of day and its format stay; only the date before it changes.
    if FORMATS["date"](value) or FORMATS["date-time"](value):
        day = date.fromisoformat(value[:10])
        with suppress(OverflowError):
            return value if day.year > _ENDLESS else (day + span).isoformat() + value[10:]
    return value
