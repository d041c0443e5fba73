"""Redacts an exchange with a bank, so that it may be written down: no secret, and pseudonyms for persons' data.

A list says what is harmless; all else is replaced or dropped, so that what nobody thought of does not get out.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

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
"""Schemes of authentication, in lower case."""


class Redactor:
    """Pseudonymises and drops. Only `key`, `rules` and a value decide what becomes of it, wherever it stands.

    `words` are those of the interface, which stay; so do the hosts of `banks`; of what is `marked` the interface itself
    says what it is. `unchanged` are the texts of recorded rules, which stay as they are: a client sends back what an
    answer gave it. Several threads may use it.
    """

    censor: type[ValueRedactor] = ValueRedactor
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
        marked: MarkedMembers = NONE,
    ) -> None:
        self.marked = marked
        self._rules = rules
        self._censor = self.censor(key, rules, words, unchanged, marked)
        for bank in banks:
            self._censor.trust(bank)

    def tell(self, tell: Callable[[str, str], None]) -> None:
        """Tells from now on of each value that is replaced, and of its pseudonym; the thread is that which redacts."""
        self._censor.tell = tell

    def entry[E: Exchange](self, entry: E) -> E:
        """The exchange as it may be written to disk."""
        before = self._censor.count
        bank = self._censor.trust(entry.bank)
        self._censor.trust_prefix(entry.target)
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
        """The answer with the body that a recording would hold; nothing of one that cannot be decoded."""
        body = decode(Headers(response.headers), response.body) or b""
        kind = [pair for pair in response.headers if pair[0].lower() == "content-type"]
        redacted = redact_body(body, media_type(kind[0][1] if kind else None), self._censor, self._rules)
        fields = tuple((name, with_boundary(text, BOUNDARY)) for name, text in kind)
        return Response(response.status, fields, redacted)

    def request(self, request: Request) -> Request:
        """The request as it is matched with recorded rules; the same object if nothing changes. Framing stays."""
        target = self._censor.url(request.target)
        headers = self._headers(request.headers, replayed=True)
        body = redact_body(request.body, media_type(request.headers.get("content-type")), self._censor, self._rules)
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
        """None for a field that is dropped, with its name."""
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
        """Redacts a field that no rule of the user is about, by what is known of it."""
        censor = self._censor
        if name == "host":
            return censor.host(text)
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
            return scheme if scheme.lower() in SCHEMES else None
        if name not in NOISE:
            self._redact_unknown(name, text)
        return None

    def _redact_unknown(self, name: str, text: str) -> None:
        """A field of which nothing is known is left out."""
        self._censor.drop(text)
