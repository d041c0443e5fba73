"""Gives requests of a redacted recording the tokens and codes that they must have had: new texts in their place."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import bank_time
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.body_members import FORM
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.messages import to_json
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.values import DROPPED
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
_CODE = re.compile(rb"\bcode\d{16}\b")
_VERSION = re.compile(r"v?\d{1,2}([._-]\d{1,2}){0,2}")
_MOST_CHANGES = 2
"""How many values a request with the key of another one may have that the other has not."""


def restore_tokens(entries: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """Return the exchanges with tokens in answers and in later requests.

    A token that an answer has in a header, later requests send in the header of the same name. A code in a link, or a
    token in a body, they send in the member of the same name. An access token they send as `Authorization`, which is
    never recorded.
    """
    return _put_authorizations(_name_wrong_codes(_name_dropped_members(_name_dropped(_name_dropped_keys(entries)))))


def _name_dropped(entries: Sequence[Exchange]) -> list[Exchange]:
    sent = {name.lower() for entry in entries for name, value in entry.headers if value == DROPPED}
    names: dict[str, str] = {}
    named = []
    for number, entry in enumerate(entries, 1):
        told = {
            name.lower(): f"token{number:019}"
            for name, value in entry.answer_headers
            if value == DROPPED and name.lower() in sent
        }
        # An answer with a header that the request has, too, repeats it.
        own = {name.lower() for name, value in entry.headers if value == DROPPED}
        repeated = {name: token for name, token in told.items() if name in own}
        headers = _put(entry.headers, names | repeated)
        names |= {name: token for name, token in told.items() if name not in repeated}
        named.append(replace(entry, headers=headers, answer_headers=_put(entry.answer_headers, names | repeated)))
    return named


def _name_dropped_keys(entries: Sequence[Exchange]) -> list[Exchange]:
    """Put new texts in place of keys by which the bank recognises a request that is sent again.

    Such a header is one that no GET and not most requests have. A request has the key of an earlier accepted one if it
    has the same body and is accepted, or if it gets a conflict and has nearly the same body, or if its error names the
    header. The keys are short, because how long the real ones are is not known.
    """
    read = {name.lower() for entry in entries if entry.method == "GET" for name, _ in entry.headers}
    counts = Counter(name.lower() for entry in entries for name, _ in entry.headers)
    read |= {name for name, count in counts.items() if count * 2 > len(entries)}
    accepted: dict[tuple[str, str], list[tuple[Any, dict[str, str]]]] = {}
    named, is_known = [], set[str]()
    for number, entry in enumerate(entries, 1):
        dropped = {name.lower() for name, value in entry.headers if value == DROPPED} - read
        sent = body.read(entry.body)
        keys = dict.fromkeys(dropped, f"k{number}")
        if sent.kind == "json" and dropped:
            earlier = accepted.setdefault((entry.method, urlsplit(entry.target).path), [])
            for value, before in reversed(earlier):
                again = {name: before[name] for name in dropped & before.keys() if _is_again(entry, name, value)}
                if again:
                    keys |= again
                    is_known |= again.keys()
                    break
            if entry.status < 400:
                earlier.append((sent.value, keys))
        named.append((entry, keys))
    return [
        replace(entry, headers=_put(entry.headers, {name: key for name, key in keys.items() if name in is_known}))
        for entry, keys in named
    ]


def _is_again(entry: Exchange, header: str, earlier: Any) -> bool:
    """Return whether the header of a request has the same value as that of an earlier one with the other body."""
    sent, before = (set(leaves(value)) for value in (body.read(entry.body).value, earlier))
    if entry.status < 400:
        return sent == before
    is_near = {place for place, _ in sent} == {place for place, _ in before}
    if entry.status == HTTPStatus.CONFLICT and sent != before:
        return is_near and len(sent - before) <= _MOST_CHANGES
    return is_near and header.encode() in entry.answer_body.lower()


def _name_dropped_members(entries: Sequence[Exchange]) -> list[Exchange]:
    """Put new texts in place of codes and tokens in answers, and in later requests that send them.

    What customers send on pages, such as their secrets, is not from an answer.
    """
    names: dict[str, str] = {}
    named = []
    for number, entry in enumerate(entries, 1):
        is_page = entry.status in (302, 303) or "html" in (entry.answer_headers.get("content-type") or "")
        sent = entry.body if is_page or note_of(entry.answer_body) else _name_sent(entry, names)
        link = entry.answer_headers.get("location") or ""
        code = f"code{number:016}"
        if dict(parse_qsl(urlsplit(link).query)).get("code") == DROPPED:
            names["code"], link = code, link.replace(f"code={DROPPED}", f"code={code}")
        answer, tokens = _name_told(entry, number)
        names |= tokens
        headers = Headers((name, link if name.lower() == "location" else value) for name, value in entry.answer_headers)
        named.append(replace(entry, body=sent, answer_headers=headers, answer_body=answer))
    return named


def _name_wrong_codes(entries: Sequence[Exchange]) -> list[Exchange]:
    """Put other codes into requests that were refused before one with the code was accepted.

    The status 401 is about the client and its secret (RFC 6749, section 5.2).
    """
    accepted: dict[bytes, int] = {}
    for number, entry in enumerate(entries):
        for text in _CODE.findall(entry.body) if entry.status < 400 else ():
            accepted.setdefault(text, number)
    named = []
    for number, entry in enumerate(entries):
        sent = entry.body
        is_about_code = entry.status >= 400 and entry.status != HTTPStatus.UNAUTHORIZED
        for text in _CODE.findall(sent) if is_about_code else ():
            sent = sent.replace(text, f"wrong{number:016}".encode()) if number < accepted.get(text, 0) else sent
        named.append(replace(entry, body=sent))
    return named


def _name_sent(entry: Exchange, names: Mapping[str, str]) -> bytes:
    def put(name: str, value: Any) -> Any:
        # Members for the access token are also called `token`.
        known = names.get(name.lower()) or (names.get("access_token") if name.lower() == "token" else None)
        return known or value if value == DROPPED else value

    def put_all(value: Any) -> Any:
        are_members = isinstance(value, Mapping)
        return {name: put(name, put_all(inner)) for name, inner in value.items()} if are_members else value

    if media_type(entry.headers.get("content-type")) == FORM:
        fields = parse_qsl(entry.body.decode(errors="replace"), keep_blank_values=True)
        is_dropped = any(value == DROPPED for _, value in fields)
        return urlencode([(name, put(name, value)) for name, value in fields]).encode() if is_dropped else entry.body
    sent = body.read(entry.body)
    if sent.kind != "json" or (named := put_all(sent.value)) == sent.value:
        return entry.body
    return to_json(named)


def _name_told(entry: Exchange, number: int) -> tuple[bytes, dict[str, str]]:
    """Return the answer with new texts for its tokens."""
    told = body.read(entry.answer_body)
    if told.kind != "json" or not isinstance(told.value, Mapping):
        return entry.answer_body, {}
    names: dict[str, str] = {}

    def put(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        tokens = {name: f"{name}{number:019}" for name, inner in value.items() if inner == DROPPED}
        names.update({name.lower(): token for name, token in tokens.items()})
        return {name: tokens.get(name, put(inner)) for name, inner in value.items()}

    named = put(told.value)
    return (to_json(named), names) if names else (entry.answer_body, {})


def _put(headers: Headers, names: Mapping[str, str]) -> Headers:
    return Headers((name, names.get(name.lower(), value) if value == DROPPED else value) for name, value in headers)


@dataclass(frozen=True)
class _Token:
    """An access token. `purpose` is what the app asked for: tokens for the same purpose replace each other."""

    text: str
    since: datetime
    purpose: tuple[Any, ...]
    renewed_by: frozenset[str]
    """The other tokens in the answer, with which the app gets a new one."""


def _put_authorizations(entries: Sequence[Exchange]) -> tuple[Exchange, ...]:
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
