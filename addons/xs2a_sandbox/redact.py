"""What may be written down of an exchange with a bank: no secret, and pseudonyms where persons' data were.

A list says what is harmless; all else is replaced or dropped, so that what nobody thought of does not get out.
"""

from collections.abc import Collection
from dataclasses import replace

from xs2a_sandbox import harmless, prose
from xs2a_sandbox.censor import Censor
from xs2a_sandbox.content_encoding import decode
from xs2a_sandbox.har import Entry
from xs2a_sandbox.messages import Headers, Request, Response
from xs2a_sandbox.redacted_body import redacted_body
from xs2a_sandbox.redaction_rules import DEFAULT, RedactionRules

OURS = "x-sandbox-"
"""Header fields between a client and the sandbox."""
SCHEMES = frozenset("basic bearer digest hoba mutual negotiate".split())
"""Of authentication, in lower case."""


class Redactor:
    """Pseudonymises and drops. Only `key`, `rules` and a value decide what becomes of it, wherever it stands.

    `words` are those of the interface, which stay; so do the hosts of `banks`. `known` are the texts of recorded rules,
    which stay as they are: a client sends back what an answer gave it. Several threads may use it.
    """

    censor: type[Censor] = Censor
    readable = False
    """Whether text that is neither JSON nor a form is looked into, not only noted."""

    def __init__(
        self,
        key: bytes,
        rules: RedactionRules = DEFAULT,
        *,
        words: Collection[str] = (),
        banks: Collection[str] = (),
        known: Collection[str] = (),
    ) -> None:
        self._rules = rules
        self._censor = self.censor(key, rules, words, known)
        for bank in banks:
            self._censor.trust(bank)

    @property
    def count(self) -> int:
        """How many values have been replaced or dropped."""
        return self._censor.count

    def entry(self, entry: Entry) -> Entry:
        """What may be written to disk."""
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
        redacted = redacted_body(body, _media(Headers(kind)), self._censor, self._rules)
        return Response(response.status, tuple(kind), redacted)

    def request(self, request: Request) -> Request:
        """What is matched with recorded rules; the same object if nothing changes. Framing stays."""
        target = self._censor.url(request.target)
        headers = self._headers(request.headers, replayed=True)
        body = redacted_body(request.body, _media(request.headers), self._censor, self._rules)
        if target == request.target and headers is request.headers and body == request.body:
            return request
        return replace(request, target=target, headers=headers, body=body)

    def target(self, target: str) -> str:
        """For log lines: the path, without query."""
        return self._censor.url(target.partition("?")[0])

    def text(self, text: str) -> str:
        """For messages that may quote something, such as the reason of an error."""
        return prose.in_words(text, self._censor)

    def _message(self, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        kept = self._headers(headers)
        new = redacted_body(body, _media(headers), self._censor, self._rules, readable=self.readable)
        if new == body:
            return kept, body
        length = str(len(new))
        return Headers((name, length if name.lower() == "content-length" else text) for name, text in kept), new

    def _headers(self, headers: Headers, *, replayed: bool = False) -> Headers:
        pairs = []
        for name, text in headers:
            new = text if replayed and _frames(name) else self._header(name.lower(), text)
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
        if name in harmless.HEADERS or name in harmless.FRAMING:
            return censor.careful(text)
        if name in harmless.URL_HEADERS:
            return censor.url(text)
        if name in harmless.ID_HEADERS:
            return censor.identifier(text)
        if name in harmless.ADDRESS_HEADERS:
            return censor.addresses(text)
        if name in harmless.TEXT_HEADERS:
            return censor.shaped(text) if name in harmless.PERSONAL_HEADERS else censor.value(text)
        if name == "www-authenticate":
            scheme = text.partition(" ")[0]
            return scheme if scheme.lower() in SCHEMES else None
        if name not in harmless.NOISE_HEADERS:
            censor.dropped(text)
        return None


def _frames(name: str) -> bool:
    return name.lower() in harmless.FRAMING or name.lower().startswith(OURS)


def _media(headers: Headers) -> str:
    return (headers.get("content-type") or "").partition(";")[0].strip().lower()
