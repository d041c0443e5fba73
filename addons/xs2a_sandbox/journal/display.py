"""Redacts exchanges for the log and the journal on this machine.

Exchanges with a real bank or a recording are redacted as in a recording. All others contain only test data and user
input. They are shown as they are, except that secrets are removed, because a user may have pasted one.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from urllib.parse import unquote

from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import OURS
from xs2a_sandbox.redaction import allowlist
from xs2a_sandbox.redaction.pseudonyms import compact_pan
from xs2a_sandbox.redaction.redactor import SCHEMES, Redactor
from xs2a_sandbox.redaction.values import ValueRedactor
from xs2a_sandbox.state.session import PREFIX

_SESSION = re.compile(rf"/{PREFIX}/[A-Za-z0-9._-]{{1,64}}(?=/|$)")
_MARKED = re.compile(r"@|[A-Za-z]{2}\d\d[ \-\u00a0\u202f]?[A-Za-z0-9]{4}|\d(?:[ \-\u00a0\u202f]?\d){11}|eyJ", re.ASCII)
"""Patterns that occur in every account number, card number, e-mail address and token."""
_ID = re.compile(r"(?<=/)[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?=/|$)")
"""A UUID in a path, which is never redacted. Half of all UUIDs match one of the patterns above."""
_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]{6}[A-Za-z0-9_.-]*", re.ASCII)


class Typed(ValueRedactor):
    """Redacts typed text: secrets are removed; account numbers, card numbers and e-mail addresses that are not test
    data, and so may be real, become pseudonyms.
    """

    def by_name(self, name: str, text: str, depth: int) -> str:
        return self.value(text, depth)

    def is_harmless(self, name: str, number: str) -> bool:
        return not compact_pan(number) or self.is_unchanged(number)

    def name(self, text: str) -> str:
        return self.shape(text)

    def value(self, text: str, depth: int = 0) -> str:
        return self.url(text, depth) if self.is_link(text) else self.shape(text)

    def identifier(self, text: str, depth: int = 0) -> str:
        return self.value(text, depth)

    def addresses(self, text: str) -> str:
        return text

    def redact_carefully(self, text: str) -> str:
        return self.value(text)

    def shape(self, text: str) -> str:
        if _MARKED.search(text) and not self.is_unchanged(text):
            text = _TOKEN.sub(lambda token: self.drop(token[0]), text)
            text = self.spots(text)
        return self.remembered.replace(text)

    def host(self, authority: str) -> str:
        user, at, host = authority.rpartition("@")
        if at:
            self.drop(user)
        return host

    def looks_into(self, scheme: str) -> bool:
        return True


class TypedRedactor(Redactor):
    """Redacts what users typed. Headers with credentials are shown without their values."""

    censor = Typed
    readable = True

    def _redact_unruled(self, name: str, text: str) -> str | None:
        if name in allowlist.URL_HEADERS:
            return self._censor.url(text)
        if not allowlist.is_secret(name):
            return self._censor.value(text)
        scheme, blank, secret = text.partition(" ")
        if blank and scheme.lower() in SCHEMES:
            return f"{scheme} {self._censor.drop(secret)}"
        return self._censor.drop(text)


@lru_cache(1024)
def _is_marked(path: str) -> bool:
    """Return whether the path may contain anything to redact. Cached, because apps repeat paths."""
    return _MARKED.search(unquote(_ID.sub("", path))) is not None


class Display:
    """`personal` and `typed` create the redactors for the two kinds of exchanges, at first use."""

    def __init__(self, personal: Callable[[], Redactor], typed: Callable[[], Redactor]) -> None:
        self.use(personal, typed)

    def use(self, personal: Callable[[], Redactor] | None, typed: Callable[[], Redactor]) -> None:
        """Use these redactors from the next exchange on. None keeps the current one."""
        if personal:
            self._personal = cache(personal)
        self._typed = cache(typed)

    def path(self, path: str, personal: bool) -> str:
        """Return the path, redacted and without the query."""
        path = path.partition("?")[0]
        if not personal:
            return self._typed().target(path) if _is_marked(path) else path
        session, path = _split(path)
        return session + self._personal().target(path)

    def text(self, text: str, personal: bool) -> str:
        """Return the text of a reason or an exception, redacted."""
        return (self._personal() if personal else self._typed()).text(text)

    def answer(self, response: Response) -> Response:
        """Return the answer of a real bank, whose texts may contain personal data, redacted."""
        return self._personal().answer(response)

    def entry[E: Exchange](self, entry: E, personal: bool) -> E:
        if not personal:
            return self._typed().entry(entry)
        session, target = _split(entry.target)
        displayed = self._personal().entry(replace(entry, target=target))
        return replace(
            displayed,
            target=session + displayed.target,
            headers=Headers((*displayed.headers, *_ours(entry.headers))),
            answer_headers=Headers((*displayed.answer_headers, *_ours(entry.answer_headers))),
        )


def _split(target: str) -> tuple[str, str]:
    """Split a target into the prefix that names a session, and the rest for the bank."""
    session = _SESSION.match(target)
    return (session[0], target[session.end() :]) if session else ("", target)


def _ours(headers: Headers) -> Iterator[tuple[str, str]]:
    """Return the headers between the client and the sandbox, which are not sent to banks."""
    return (pair for pair in headers if pair[0].lower().startswith(OURS))
