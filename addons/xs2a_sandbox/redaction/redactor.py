"""Redacts an exchange with a bank, so that it may be written down: no secret, and pseudonyms for persons' data.

A list says what is harmless; all else is replaced or dropped, so that what nobody thought of does not get out.
"""

import json
import re
import zlib
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from msgspec import Raw

from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.body import decode, refuse, unique_members
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import FRAMING, NOISE, OURS
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.redaction import allowlist, values
from xs2a_sandbox.redaction.rules import DEFAULT, Action, RedactionRules
from xs2a_sandbox.redaction.values import Censor, without_data

MAX_INFLATED = 16 * 1024 * 1024
"""Bytes of what a compressed body may grow to; there is only a note of a larger one."""

_FORM = "application/x-www-form-urlencoded"
_MEDIA = re.compile(r"(?:application|audio|font|image|message|model|multipart|text|video)/[a-z0-9][a-z0-9.+-]{0,60}")
_NOTE = re.compile(
    rb'(?:<!-- |\{"notRecorded": ?")?(?P<what>(?:[a-z]+/[a-z0-9.+-]+|body), \d+ bytes)(?:, not recorded(?: -->)?|"\})'
)
_GZIP = b"\x1f\x8b"
_AUTHORISATION = frozenset("access_token id_token redirect_uri refresh_token state".split())
"""Members beside which `code` is an authorisation code."""


class _Number(str):
    """A number as it was written: no digit is lost, however many there are."""

    __slots__ = ()


def unrecorded(body: bytes) -> str | None:
    """Kind and size of a body that is only noted, such as `text/html, 1234 bytes`; None for any other body."""
    note = _NOTE.fullmatch(body)
    return note["what"].decode() if note else None


def redacted_body(body: bytes, media: str, censor: Censor, rules: RedactionRules, *, readable: bool = False) -> bytes:
    """`media` is its type in lower case. The very bytes, if there is nothing to replace in them.

    With `readable` text that is neither JSON nor a form is looked into as if a rule kept its media type.
    """
    if not body or _NOTE.fullmatch(body):
        return body
    if body.startswith(_GZIP):
        inflated = _inflated(body)
        if inflated is None:
            return _note(body, media)
        return redacted_body(inflated, media, censor, rules, readable=readable)
    action = rules.media.get(media)
    if action == "drop":
        return _note(body, media)
    is_json = media.endswith("json")
    if is_json or body.lstrip()[:1] in (b"{", b"["):
        redacted = _json(body, censor, rules)
        if redacted is not None or (is_json and not readable):
            return redacted or _note(body, media)
    if media == _FORM:
        return _text(body, "utf-8", censor.form)
    if action == "keep" or (readable and _is_text(body)):
        return _text(body, "latin-1", lambda text: without_data(text, censor))
    return _note(body, media)


def _json(body: bytes, censor: Censor, rules: RedactionRules) -> bytes | None:
    """None if it is no JSON, or JSON that cannot be looked through to its end."""
    try:
        value = json.loads(
            body, object_pairs_hook=unique_members, parse_int=_Number, parse_float=_Number, parse_constant=refuse
        )
        redacted = _Members(censor, rules).walk(value, "", ())
        return body if redacted == value else to_json(_raw(redacted))
    except (ValueError, RecursionError):
        return None


def _text(body: bytes, encoding: str, redact: Callable[[str], str]) -> bytes:
    text = body.decode(encoding, "replace")
    redacted = redact(text)
    return body if redacted == text else redacted.encode(encoding, "replace")


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False


def _note(body: bytes, media: str) -> bytes:
    kind = media if _MEDIA.fullmatch(media) and not allowlist.has_marks(media) else "body"
    text = f"{kind}, {len(body)} bytes"
    if media.endswith("json"):
        return to_json({"notRecorded": text})
    if media.endswith(("html", "xml")):
        return f"<!-- {text}, not recorded -->".encode()
    return f"{text}, not recorded".encode()


def _inflated(body: bytes) -> bytes | None:
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = inflater.decompress(body, MAX_INFLATED)
    except zlib.error:
        return None
    return content if inflater.eof and not inflater.unused_data and not content.startswith(_GZIP) else None


class _Members:
    """Walks through JSON with the rules for each place."""

    def __init__(self, censor: Censor, rules: RedactionRules) -> None:
        self._censor = censor
        self._rules = rules

    def walk(
        self,
        value: Any,
        name: str,
        place: tuple[str, ...],
        action: Action | None = None,
        secret: bool = False,
    ) -> Any:
        """`action` is the user's, of a place above."""
        rule = self._rules.path(place) if self._rules.paths and place else None
        action, exact = (rule.action, rule.exact) if rule else (action, False)
        match value:
            case _Number():
                return _Number(self._censor.number(name, value, action, secret=secret, exact=exact))
            case str():
                return self._censor.member(name, value, action, secret=secret, exact=exact)
            case list():
                return [self.walk(each, name, (*place, str(n)), action, secret) for n, each in enumerate(value)]
            case dict():
                codes = not _AUTHORISATION.isdisjoint(value)
                return {
                    self._censor.name(key): self.walk(
                        inner,
                        key,
                        (*place, key),
                        self._rules.members.get(key.lower(), action) or _of_a_birth(key),
                        secret or allowlist.is_secret(key) or (codes and key == "code"),
                    )
                    for key, inner in value.items()
                }
        return value


def _of_a_birth(name: str) -> Action | None:
    """The action for when and where somebody was, in numbers that would be kept anywhere else."""
    return "replace" if allowlist.is_birth(name) or allowlist.is_position(name) else None


def _raw(value: Any) -> Any:
    """The value with its numbers as `to_json` writes them unchanged."""
    match value:
        case _Number():
            return Raw(str(value).encode())
        case dict():
            return {key: _raw(inner) for key, inner in value.items()}
        case list():
            return [_raw(inner) for inner in value]
    return value


SCHEMES = frozenset("basic bearer digest hoba mutual negotiate".split())
"""Schemes of authentication, in lower case."""


class Redactor:
    """Pseudonymises and drops. Only `key`, `rules` and a value decide what becomes of it, wherever it stands.

    `words` are those of the interface, which stay; so do the hosts of `banks`. `unchanged` are the texts of recorded
    rules, which stay as they are: a client sends back what an answer gave it. Several threads may use it.
    """

    censor: type[Censor] = Censor
    readable = False
    """True if text that is neither JSON nor a form is looked into, not only noted."""

    def __init__(
        self,
        key: bytes,
        rules: RedactionRules = DEFAULT,
        *,
        words: Collection[str] = (),
        banks: Collection[str] = (),
        unchanged: Collection[str] = (),
    ) -> None:
        self._rules = rules
        self._censor = self.censor(key, rules, words, unchanged)
        for bank in banks:
            self._censor.trust(bank)

    @property
    def count(self) -> int:
        """The number of values that have been replaced or dropped."""
        return self._censor.count

    def entry[E: Exchange](self, entry: E) -> E:
        """The exchange as it may be written to disk."""
        bank = self._censor.trust(entry.bank)
        headers, body = self._message(entry.headers, entry.body)
        answer_headers, answer_body = self._message(entry.answer_headers, entry.answer_body)
        return replace(
            entry,
            bank=bank,
            method=self._censor.careful(entry.method),
            target=self._censor.url(entry.target),
            headers=headers,
            body=body,
            answer_headers=answer_headers,
            answer_body=answer_body,
        )

    def answer(self, response: Response) -> Response:
        """The answer with the body that a recording would hold; nothing of one that cannot be decoded."""
        body = decode(Headers(response.headers), response.body) or b""
        kind = [pair for pair in response.headers if pair[0].lower() == "content-type"]
        redacted = redacted_body(body, media_type(kind[0][1] if kind else None), self._censor, self._rules)
        return Response(response.status, tuple(kind), redacted)

    def request(self, request: Request) -> Request:
        """The request as it is matched with recorded rules; the same object if nothing changes. Framing stays."""
        target = self._censor.url(request.target)
        headers = self._headers(request.headers, replayed=True)
        body = redacted_body(request.body, media_type(request.headers.get("content-type")), self._censor, self._rules)
        if target == request.target and headers is request.headers and body == request.body:
            return request
        return replace(request, target=target, headers=headers, body=body)

    def target(self, target: str) -> str:
        """The path, without query, for log lines."""
        return self._censor.url(target.partition("?")[0])

    def text(self, text: str) -> str:
        """Redacts messages that may quote something, such as the reason of an error."""
        return values.in_words(text, self._censor)

    def _message(self, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        kept = self._headers(headers)
        media = media_type(headers.get("content-type"))
        new = redacted_body(body, media, self._censor, self._rules, readable=self.readable)
        if new == body:
            return kept, body
        length = str(len(new))
        return Headers((name, length if name.lower() == "content-length" else text) for name, text in kept), new

    def _headers(self, headers: Headers, *, replayed: bool = False) -> Headers:
        pairs = []
        for name, text in headers:
            is_framing = name.lower() in FRAMING or name.lower().startswith(OURS)
            new = text if replayed and is_framing else self._header(name.lower(), text)
            if new is not None:
                pairs.append((name, new))
        return headers if tuple(pairs) == headers.pairs else Headers(pairs)

    def _header(self, name: str, text: str) -> str | None:
        """None for a field that is dropped, with its name."""
        censor = self._censor
        match self._rules.headers.get(name):
            case "keep":
                return text
            case "drop":
                censor.dropped(text)
                return None
            case "replace":
                return censor.replaced(text)
        return self._unruled(name, text)

    def _unruled(self, name: str, text: str) -> str | None:
        """By what is known of the field, as no rule of the user's is about it."""
        censor = self._censor
        if name == "host":
            return censor.host(text)
        if name in allowlist.HEADERS or name in FRAMING:
            return censor.careful(text)
        if name in allowlist.URL_HEADERS:
            return censor.url(text)
        if name in allowlist.ID_HEADERS:
            return censor.identifier(text)
        if name in allowlist.ADDRESS_HEADERS:
            return censor.addresses(text)
        if name in allowlist.TEXT_HEADERS:
            return censor.shaped(text) if name in allowlist.PERSONAL_HEADERS else censor.value(text)
        if name == "www-authenticate":
            scheme = text.partition(" ")[0]
            return scheme if scheme.lower() in SCHEMES else None
        if name not in NOISE:
            censor.dropped(text)
        return None
