"""Puts tokens back into requests, from whose headers redaction has dropped them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from xs2a_sandbox.features.derive.unknown.names import is_id
from xs2a_sandbox.features.derive.unknown.places import leaves
from xs2a_sandbox.features.derive.unknown.seen import bank_time
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.values import DROPPED

_AUTHORIZATION = "authorization"
_LEAST = 20
"""The shortest access token."""
_NEW = timedelta(seconds=60)


def put_tokens_back(tape: Tape) -> Tape:
    """Return the recording with the tokens that requests had.

    A token that an answer has in a header, later requests send in the header of the same name. One that it has in the
    body, they send as `Authorization`, which is never recorded.
    """
    return replace(tape, entries=_put_authorizations(_name_dropped(tape.entries)))


def _name_dropped(entries: Sequence[Exchange]) -> list[Exchange]:
    sent = {name.lower() for entry in entries for name, value in entry.headers if value == DROPPED}
    names: dict[str, str] = {}
    named = []
    for number, entry in enumerate(entries, 1):
        headers = _put(entry.headers, names)
        names |= {
            name.lower(): f"token{number:019}"
            for name, value in entry.answer_headers
            if value == DROPPED and name.lower() in sent
        }
        named.append(replace(entry, headers=headers, answer_headers=_put(entry.answer_headers, names)))
    return named


def _put(headers: Headers, names: Mapping[str, str]) -> Headers:
    return Headers((name, names.get(name.lower(), value) if value == DROPPED else value) for name, value in headers)


def _put_authorizations(entries: Sequence[Exchange]) -> tuple[Exchange, ...]:
    if any(entry.headers.get(_AUTHORIZATION) is not None for entry in entries):
        return tuple(entries)
    token, since, put = "", datetime.min.replace(tzinfo=UTC), []
    for entry in entries:
        # A new token is only refused if it is missing.
        is_missing = entry.status == 401 and bank_time(entry) - since < _NEW
        if token and not is_missing and not _is_of_browser(entry):
            put.append(replace(entry, headers=Headers((*entry.headers, (_AUTHORIZATION, f"Bearer {token}")))))
        else:
            put.append(entry)
        if found := _find_token(entry):
            token, since = found, bank_time(entry)
    return tuple(put)


def _is_of_browser(entry: Exchange) -> bool:
    is_page = media_type(entry.answer_headers.get("content-type")) == "text/html" or bool(note_of(entry.answer_body))
    return is_page or entry.status in (302, 303) or media_type(entry.headers.get("content-type")).endswith("urlencoded")


def _find_token(entry: Exchange) -> str | None:
    """Return the long random text of an answer that must not be stored (RFC 6749, section 5.1)."""
    if "no-store" not in (entry.answer_headers.get("cache-control") or "") or entry.method != "POST":
        return None
    texts = [value for _, value in leaves(body.read(entry.answer_body).value) if isinstance(value, str)]
    return next(
        (text for text in texts if len(text) >= _LEAST and " " not in text and "/" not in text and is_id(text)), None
    )
