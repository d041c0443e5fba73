"""Redacts an exchange with a bank for writing: drops credentials, and replaces personal data with pseudonyms.

Everything that is not listed as harmless is replaced or dropped, so that unknown data cannot leak.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import replace

from msgspec import structs

from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import FRAMING, NOISE, OURS
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.multipart import BOUNDARY, is_multipart, with_boundary, without_boundary
from xs2a_sandbox.redaction import allowlist, values
from xs2a_sandbox.redaction.body import redact_body
from xs2a_sandbox.redaction.marked_members import NONE, MarkedMembers
from xs2a_sandbox.redaction.rules import DEFAULT, RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor

SCHEMES = frozenset("basic bearer digest hoba mutual negotiate".split())
"""Authentication schemes in lower case."""

_VENDOR_MEDIA = re.compile(r"(?!.*\d{4})application/vnd\.[a-z0-9.-]{1,40}\+(json|xml)(; ?charset=[\w-]{1,20})?")
"""A media type of a bank, which names its interface and nobody."""


class Redactor:
    """Replaces and drops values. The result depends only on `key`, `rules` and the value, not on its place.

    `words` of the interface and the hosts of `banks` stay; `marked` members are declared as secret or personal by the
    interface. `unchanged` are texts of recorded rules, which stay, because clients send back what answers gave them.
    Several threads may use it.
    """

    censor: type[ValueRedactor] = ValueRedactor
    readable = False
    """Whether text that is neither JSON nor a form is redacted instead of replaced with a note."""

    def __init__(
        self,
        key: bytes,
        rules: RedactionRules = DEFAULT,
        *,
        words: Collection[str] = (),
        banks: Collection[str] = (),
        unchanged: Collection[str] = (),
        marked: MarkedMembers = NONE,
    ) -> None:
        self.marked = marked
        self._rules = rules
        self._censor = self.censor(key, rules, words, unchanged, marked)
        for bank in banks:
            self._censor.trust(bank)

    def tell(self, tell: Callable[[str, str], None]) -> None:
        """Call `tell` from now on for each replaced value with its pseudonym, in the thread that redacts."""
        self._censor.tell = tell

    def entry[E: Exchange](self, entry: E) -> E:
        """Return the exchange as it may be written to disk."""
        before = self._censor.count
        bank = self._censor.trust(entry.bank)
        self._censor.trust_path(entry.target, entry.method)
        headers, body = self._message(entry.headers, entry.body)
        answer_headers, answer_body = self._message(entry.answer_headers, entry.answer_body)
        redacted = replace(
            entry,
            bank=bank,
            method=self._censor.redact_carefully(entry.method),
            target=self._censor.url(entry.target),
            headers=headers,
            body=body,
            answer_headers=answer_headers,
            answer_body=answer_body,
        )
        return replace(redacted, redactions=self._censor.count - before)

    def answer(self, response: Response) -> Response:
        """Return the answer with its body as in a recording, or without a body if it cannot be decoded."""
        body = decode(Headers(response.headers), response.body) or b""
        kind = [pair for pair in response.headers if pair[0].lower() == "content-type"]
        redacted = redact_body(body, media_type(kind[0][1] if kind else None), self._censor, self._rules)
        fields = tuple((name, with_boundary(text, BOUNDARY)) for name, text in kind)
        return Response(response.status, fields, redacted)

    def request(self, request: Request) -> Request:
        """Return the request as it is matched with recorded rules, or the same object if nothing changes.

        Framing headers stay.
        """
        target = self._censor.url(request.target)
        headers = self._headers(request.headers, replayed=True)
        body = redact_body(request.body, media_type(request.headers.get("content-type")), self._censor, self._rules)
        if target == request.target and headers is request.headers and body == request.body:
            return request
        return structs.replace(request, target=target, headers=headers, body=body)

    def target(self, target: str) -> str:
        """Return the redacted path, without the query, for log lines."""
        return self._censor.url(target.partition("?")[0])

    def text(self, text: str) -> str:
        """Redact a message that may quote something, such as the reason of an error."""
        return values.in_words(text, self._censor)

    def _message(self, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        kept = self._headers(headers)
        media = media_type(headers.get("content-type"))
        new = redact_body(body, media, self._censor, self._rules, readable=self.readable)
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
        """Redact a header value. Returns None if the header is dropped."""
        if name == "content-type" and is_multipart(media_type(text)):
            return with_boundary(self._apply_rule(name, without_boundary(text)) or media_type(text), BOUNDARY)
        return self._apply_rule(name, text)

    def _apply_rule(self, name: str, text: str) -> str | None:
        censor = self._censor
        match self._rules.headers.get(name):
            case "keep":
                return text
            case "drop":
                censor.drop(text)
                return None
            case "replace":
                return censor.replace(text)
        return self._redact_unruled(name, text)

    def _redact_unruled(self, name: str, text: str) -> str | None:
        """Redact a header without a rule of the user, by what is known about it."""
        censor = self._censor
        if name == "host":
            return censor.host(text)
        if name == "content-type" and _VENDOR_MEDIA.fullmatch(text):
            return text
        if name in allowlist.HEADERS or name in FRAMING:
            return censor.redact_carefully(text)
        if name in allowlist.URL_HEADERS:
            return censor.url(text)
        if name in allowlist.ID_HEADERS:
            return censor.identifier(text)
        if name in allowlist.ADDRESS_HEADERS:
            return censor.addresses(text)
        if name in allowlist.TEXT_HEADERS:
            return censor.shape(text) if name in allowlist.PERSONAL_HEADERS else censor.value(text)
        if name == "www-authenticate":
            scheme = text.partition(" ")[0]
            return scheme if scheme.lower() in SCHEMES else self._redact_unknown(name, text)
        if name in NOISE or name.startswith(OURS):
            return None
        if name in allowlist.CREDENTIAL_HEADERS or not allowlist.is_name(name):
            censor.drop(text)
            return None
        censor.note_name(name)
        return self._redact_unknown(name, text)

    def _redact_unknown(self, name: str, text: str) -> str | None:
        """Redact a header of which only the name may be kept."""
        return self._censor.unknown(text)
