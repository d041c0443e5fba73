"""Restores what redaction has hidden, where the recording still shows it: tokens of requests, and words in paths."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import bank_time
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.body_members import FORM
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.messages import to_json
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.redaction.allowlist import is_kept_segment
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.values import DROPPED, LETTERS_OF_AN_ID
from xs2a_sandbox.redaction.vocabulary import is_words

_AUTHORIZATION = "authorization"
_OF_CLIENTS = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"}
"""Headers that a client sends by itself."""
_USUAL = 0.7
"""The part of requests that have a header with which the app marks its own."""
_LEAST = 20
"""The shortest access token."""
_NEW = timedelta(seconds=60)


def restore(tape: Tape) -> Tape:
    """Return the recording with the tokens that requests had, and with words in place of their pseudonyms.

    A token that an answer has in a header, later requests send in the header of the same name. A code in a link, or a
    token in a body, they send in the member of the same name. An access token they send as `Authorization`, which is
    never recorded.
    """
    entries = _put_authorizations(_name_dropped_members(_name_dropped(tape.entries)))
    words = {**_find_words(entries), **_find_header_names(entries), **_find_pages(entries)}
    return replace(tape, entries=tuple(_replace_words(entry, words) for entry in entries) if words else entries)


def _find_words(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return words by their pseudonyms: `/wqnz/k6hc0ps2n` was `/slip/k6hc0ps2n` if requests call it `slip`.

    A pseudonym is as long as its word. Names of members are never redacted, so they are not pseudonyms.
    """
    if not any(any(value == DROPPED for _, value in entry.headers) or note_of(entry.answer_body) for entry in entries):
        return {}
    names: dict[str, str] = {}
    before: dict[str, str] = {}
    members: set[str | int] = set()
    for entry in entries:
        for content in (entry.body, entry.answer_body):
            members |= {step for place, _ in leaves(body.read(content).value) for step in place}
        for place, value in leaves(body.read(entry.body).value):
            if isinstance(value, str) and is_id(value) and place:
                names.setdefault(value, str(place[-1]))
        paths = [entry.target, entry.answer_headers.get("location") or ""]
        for word, id in (pair for path in paths for pair in pairwise(urlsplit(path).path.split("/"))):
            before.setdefault(id, word)
    before = {id: word for id, word in before.items() if word not in members}
    return _find_kept(entries) | {
        word: names[id]
        for id, word in before.items()
        if id in names and len(word) == len(names[id]) > 2 and word.islower() and not is_words(word)
    }


def _find_kept(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return words by their pseudonyms where a link to the same address keeps the word."""
    paths = [urlsplit(entry.target).path.split("/") for entry in entries]
    places = [(path, at, is_kept_segment(path, at)) for path in paths for at in range(1, len(path) - 1)]
    hidden = {path[at] for path, at, is_kept in places if not is_kept and path[at].isalpha() and is_id(path[at + 1])}
    asked = {(*path[:at], path[at + 1]): path[at] for path, at, _ in places if path[at] in hidden}
    kept: dict[str, str] = {}
    for entry in entries:
        for _, value in leaves(body.read(entry.answer_body).value):
            link = urlsplit(value).path.split("/") if isinstance(value, str) and value.count("/") > 1 else []
            for at in range(1, len(link) - 1):
                word = asked.get((*link[:at], link[at + 1]))
                if word and word != link[at] and len(word) == len(link[at]) and link[at] not in hidden:
                    kept[word] = link[at]
    return kept


def _find_header_names(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return names of headers by their pseudonyms in errors about requests without them.

    A pseudonym has the form of the name. Once a request had the header, redaction knows that it is a name.
    """
    every = {name for entry in entries for name, _ in entry.headers if "-" in name}
    names: dict[str, str] = {}
    for entry in entries if any(entry.redactions for entry in entries) else ():
        own = {name.lower() for name, _ in entry.headers}
        lacking = {_form(name): name for name in every if name.lower() not in own}
        told = leaves(body.read(entry.answer_body).value) if entry.status >= 400 else ()
        for text in {value for _, value in told if isinstance(value, str) and not is_words(value)} - every:
            if name := lacking.get(_form(text)):
                names[text] = name
    return names


def _find_pages(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return last words of paths by their pseudonyms in paths of pages: redaction keeps them in the path of a form."""
    if not any(entry.redactions for entry in entries):
        return {}
    words: dict[str, str] = {}
    for at, page in enumerate(entries):
        *above, last = urlsplit(page.target).path.split("/")
        forms = (entry.target.split("/") for entry in entries[at + 1 :] if entry.method == "POST")
        word = next((path[-1] for path in forms if path[:-1] == above), "")
        is_page = page.method == "GET" and above and (len(above[-1]) >= LETTERS_OF_AN_ID or is_id(above[-1]))
        if is_page and len(word) == len(last) and word != last and last.isalpha() and last.islower():
            words[last] = word
    return {last: word for last, word in words.items() if not is_words(last)}


def _form(text: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", text))


def _replace_words(entry: Exchange, words: Mapping[str, str]) -> Exchange:
    every = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    known = re.compile(rf"(?<![A-Za-z])(?:{every})(?![A-Za-z])")

    def change(text: str) -> str:
        return known.sub(lambda found: words[found[0]], text)

    def change_bytes(content: bytes) -> bytes:
        try:
            return change(content.decode()).encode()
        except UnicodeDecodeError:
            return content

    return replace(
        entry,
        target=change(entry.target),
        body=change_bytes(entry.body),
        answer_headers=Headers((name, change(value)) for name, value in entry.answer_headers),
        answer_body=change_bytes(entry.answer_body),
    )


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
    """Return the answer to a POST with new texts for its tokens."""
    told = body.read(entry.answer_body)
    if told.kind != "json" or not isinstance(told.value, Mapping) or entry.method != "POST":
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


def _put_authorizations(entries: Sequence[Exchange]) -> tuple[Exchange, ...]:
    if any(entry.headers.get(_AUTHORIZATION) is not None for entry in entries):
        return tuple(entries)
    token, since, put, without = "", datetime.min.replace(tzinfo=UTC), list[Exchange](), set[str]()
    marked = _find_marked(entries)
    for entry in entries:
        path = urlsplit(entry.target).path
        if not token and entry.status < 400 and not _is_of_browser(entry):
            without.add(path)
        # A new token is only refused if it is missing.
        is_missing = entry.status == 401 and bank_time(entry) - since < _NEW
        # What was accepted before there was a token does not need one, such as the consent itself.
        needs_none = any(path == known or path.startswith(f"{known}/") for known in without)
        is_of_app = not _is_of_browser(entry) and (not marked or _root(entry) in marked)
        if token and not is_missing and not needs_none and is_of_app:
            put.append(replace(entry, headers=Headers((*entry.headers, (_AUTHORIZATION, f"Bearer {token}")))))
        else:
            put.append(entry)
        found = _find_token(entry)
        if found and not any(found in later.target or found.encode() in later.body for later in entries):
            token, since = found, bank_time(entry)
    return tuple(put)


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


def _find_token(entry: Exchange) -> str | None:
    """Return the access token of an answer: a long random text that must not be stored, or that is of type Bearer."""
    told = dict(leaves(body.read(entry.answer_body).value)) if entry.method == "POST" else {}
    is_secret = "no-store" in (entry.answer_headers.get("cache-control") or "")
    is_secret |= any(isinstance(value, str) and value.lower() == "bearer" for value in told.values())
    sent = [value for _, value in leaves(body.read(entry.body).value)]
    texts = [value for value in told.values() if isinstance(value, str) and is_secret and value not in sent]
    return next(
        (text for text in texts if len(text) >= _LEAST and " " not in text and "/" not in text and is_id(text)), None
    )
