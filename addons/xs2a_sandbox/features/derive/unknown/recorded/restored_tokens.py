"""Gives requests of a redacted recording the tokens and codes that they must have had: new texts in their place."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.restored_keys import put_in
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.body_members import FORM
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.messages import to_json
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.values import DROPPED

_CODE = re.compile(rb"\bcode\d{16}\b")


def restore_tokens(entries: Sequence[Exchange]) -> list[Exchange]:
    """Return the exchanges with tokens in answers and in later requests.

    A token that an answer has in a header, later requests send in the header of the same name. A code in a link, or a
    token in a body, they send in the member of the same name.
    """
    return _name_wrong_codes(_name_dropped_members(_name_dropped(entries)))


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
        headers = put_in(entry.headers, names | repeated)
        names |= {name: token for name, token in told.items() if name not in repeated}
        named.append(replace(entry, headers=headers, answer_headers=put_in(entry.answer_headers, names | repeated)))
    return named


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
