"""Redacts what users typed, for the log and the journal on this machine."""

import re

from xs2a_sandbox.journal.display import MARKED
from xs2a_sandbox.redaction import allowlist
from xs2a_sandbox.redaction.pseudonyms import compact_pan
from xs2a_sandbox.redaction.redactor import SCHEMES, Redactor
from xs2a_sandbox.redaction.values import ValueRedactor, is_link

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
        return self.url(text, depth) if is_link(text) else self.shape(text)

    def identifier(self, text: str, depth: int = 0) -> str:
        return self.value(text, depth)

    def addresses(self, text: str) -> str:
        return text

    def redact_carefully(self, text: str) -> str:
        return self.value(text)

    def shape(self, text: str) -> str:
        if MARKED.search(text) and not self.is_unchanged(text):
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
