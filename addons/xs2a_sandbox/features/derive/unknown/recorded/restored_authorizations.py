"""Gives requests of a redacted recording the access token that they must have had: `Authorization` is not recorded."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import bank_time
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.body_members import FORM
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.vocabulary import is_words

_AUTHORIZATION = "authorization"
_OF_CLIENTS = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"}
"""Headers that a client sends by itself."""
_USUAL = 0.7
"""The part of requests that have a header with which the app marks its own."""
_LEAST = 20
"""The shortest access token."""
_NEW = timedelta(seconds=60)
_OF_ACCESS = re.compile(r"^(access|bearer|session|api)?[-_]?(token|key|pass|ticket)$")
"""Names of members with access tokens."""
_VERSION = re.compile(r"v?\d{1,2}([._-]\d{1,2}){0,2}")


@dataclass(frozen=True)
class _Token:
    """An access token. `purpose` is what the app asked for: tokens for the same purpose replace each other."""

    text: str
    since: datetime
    purpose: tuple[Any, ...]
    renewed_by: frozenset[str]
    """The other tokens in the answer, with which the app gets a new one."""


def restore_authorizations(entries: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """Return the exchanges with the access tokens that answers have told in later requests."""
    if any(entry.headers.get(_AUTHORIZATION) is not None for entry in entries):
        return tuple(entries)
    tokens, put, without = list[_Token](), list[Exchange](), set[str]()
    accepted: dict[str, tuple[Any, ...]] = {}
    marked = _find_marked(entries)
    for number, entry in enumerate(entries):
        path = urlsplit(entry.target).path
        if not tokens and entry.status < 400 and not _is_of_browser(entry):
            without.add(path)
        # What was accepted before there was a token does not need one, such as the consent itself.
        needs_none = any(path == known or path.startswith(f"{known}/") for known in without)
        is_of_app = not _is_of_browser(entry) and (not marked or _root(entry) in marked)
        token = _choose(tokens, accepted, entries, number) if tokens and is_of_app and not needs_none else None
        # A new token is only refused if it is missing.
        if token and (entry.status != HTTPStatus.UNAUTHORIZED or bank_time(entry) - token.since >= _NEW):
            put.append(replace(entry, headers=Headers((*entry.headers, (_AUTHORIZATION, f"Bearer {token.text}")))))
            if entry.status < 400:
                accepted[_address(entry)] = token.purpose
        else:
            put.append(entry)
        if (found := _find_token(entry, tokens)) and not _is_sent(found.text, entries):
            tokens.append(found)
    return tuple(put)


def _choose(
    tokens: Sequence[_Token], accepted: Mapping[str, tuple[Any, ...]], entries: Sequence[Exchange], number: int
) -> _Token:
    """Return the token that a request had: the last one for the purpose for which the bank has accepted it before.

    If it is refused, but accepted again with no new token, it had one for another purpose.
    """
    entry, address = entries[number], _address(entries[number])
    above = [known for known in accepted if address == known or address.startswith(f"{known}/")]
    known = max(above, key=len, default="")
    purpose = accepted.get(known, tokens[-1].purpose)
    if known == address and entry.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        later = entries[number + 1 :]
        again = next((n for n, one in enumerate(later) if one.status < 400 and _address(one) == address), None)
        others = [token for token in tokens if token.purpose != purpose]
        if others and again is not None and not any(_find_token(one, tokens) for one in later[:again]):
            return others[-1]
    return next((token for token in reversed(tokens) if token.purpose == purpose), tokens[-1])


def _address(entry: Exchange) -> str:
    """Return the path with a mark in place of ids."""
    segments = urlsplit(entry.target).path.split("/")
    return "/".join("*" if is_id(segment) and not _VERSION.fullmatch(segment) else segment for segment in segments)


def _is_sent(token: str, entries: Sequence[Exchange]) -> bool:
    return any(token in entry.target or token.encode() in entry.body for entry in entries)


def _find_marked(entries: Sequence[Exchange]) -> set[str]:
    """Return the first words of paths of requests with a header that the app sends nearly always, such as an id.

    What the customer does in a sandbox has its own paths, without this header and without a token.
    """
    of_app = [entry for entry in entries if not _is_of_browser(entry)]
    counts = Counter(name.lower() for entry in of_app for name, _ in entry.headers if name.lower() not in _OF_CLIENTS)
    usual = {name for name, count in counts.items() if count > len(of_app) * _USUAL}
    return {_root(entry) for entry in of_app if any(name.lower() in usual for name, _ in entry.headers)}


def _root(entry: Exchange) -> str:
    return urlsplit(entry.target).path.split("/")[1]


def _is_of_browser(entry: Exchange) -> bool:
    is_page = media_type(entry.answer_headers.get("content-type")) == "text/html" or bool(note_of(entry.answer_body))
    return is_page or entry.status in (302, 303) or media_type(entry.headers.get("content-type")).endswith("urlencoded")


def _find_token(entry: Exchange, tokens: Sequence[_Token]) -> _Token | None:
    """Return the access token of an answer: a long random text with such a name, or of type Bearer, or not to store."""
    if entry.status >= 400 or (_is_of_browser(entry) and media_type(entry.headers.get("content-type")) != FORM):
        return None
    told = dict(leaves(body.read(entry.answer_body).value))
    is_secret = "no-store" in (entry.answer_headers.get("cache-control") or "")
    is_secret |= any(isinstance(value, str) and value.lower() == "bearer" for value in told.values())
    fields = dict(parse_qsl(entry.body.decode(errors="replace")))
    sent: dict[Place, Any] = {(name,): value for name, value in fields.items()}
    sent |= dict(leaves(body.read(entry.body).value))
    random = {
        place: value
        for place, value in told.items()
        if isinstance(value, str) and value not in sent.values() and len(value) >= _LEAST and is_id(value)
        if " " not in value and "/" not in value
    }
    named = (value for place, value in random.items() if _OF_ACCESS.search(str(place[-1]).lower()))
    if not (text := next(named, next(iter(random.values()), None) if is_secret and entry.method == "POST" else None)):
        return None
    renewed = next((token for token in tokens if not token.renewed_by.isdisjoint(map(str, sent.values()))), None)
    words = sorted((place, value) for place, value in sent.items() if isinstance(value, str) and is_words(value))
    purpose = renewed.purpose if renewed else (_address(entry), *words)
    return _Token(text, bank_time(entry), purpose, frozenset(random.values()) - {text})
