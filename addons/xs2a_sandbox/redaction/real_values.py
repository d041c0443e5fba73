"""Restores real values from pseudonyms, and decides which values a vault may keep."""

import logging
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from threading import get_ident
from typing import Any, Self

from msgspec import structs

from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.http.multipart import is_multipart
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.redaction import allowlist
from xs2a_sandbox.redaction.body import note_of, notes, redact_body
from xs2a_sandbox.redaction.marked_members import NONE, MarkedMembers
from xs2a_sandbox.redaction.pseudonyms import Pseudonyms, fingerprint
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import DEFAULT, Action, RedactionRules
from xs2a_sandbox.redaction.values import DROPPED, ValueRedactor
from xs2a_sandbox.redaction.vault import RealRequest, Vault, digest

log = logging.getLogger("xs2a_sandbox")

_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+\.")
"""The beginning of a JSON Web Token."""
_QUOTABLE = re.compile(r"[\w@.-]*\w")
"""A word of a string, including the characters in accounts, ids and addresses."""
_VISITS = 1000
"""The most links for payment users that are remembered."""
_MOST = 100_000
"""The maximum number of values remembered as stored, to avoid writing them to the vault twice."""


class _Other(Pseudonyms):
    """Replaces strings of every kind with the result of `other`."""

    def other(self, text: str) -> str:
        return text

    def shape(self, text: str) -> str:
        return self.other(text)

    text = spots = host = iban = pan = ip = number = date = shape


class _Secrets(ValueRedactor):
    """Drops credentials, also at later occurrences, and keeps everything else."""

    pseudonyms = _Other

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._visits: deque[tuple[str, ...]] = deque(maxlen=_VISITS)

    def expect_visit(self, link: Any) -> None:
        if isinstance(link, str):
            origin, scheme, rest = link.partition("://")
            path = rest.partition("/")[2] if scheme else origin
            self._visits.append(split_target(path).segments)

    def is_visit(self, target: str) -> bool:
        """Return whether the target is a page for payment users. Its address is a secret, because it gives access."""
        segments = split_target(target).segments
        # Links have the whole path, targets the part below the bank's URL.
        return segments != () and any(visit[-len(segments) :] == segments for visit in self._visits)

    def prose(self, text: str) -> str:
        return self._note_made(text, text)

    def is_secret(self, name: str) -> bool:
        # A challenge may contain the one-time password.
        return super().is_secret(name) or name.lower() == "challengedata"

    def opens(self, text: str) -> bool:
        """Return whether the text contains something that was dropped before, or a token."""
        return _TOKEN.search(text) is not None or bool(self.remembered.spans(text, whole=True))

    def _note_made(self, text: str, new: str) -> str:
        return self._note_left_out(text, DROPPED) if self.opens(text) else text


class WithoutSecrets(Redactor):
    """Drops only credentials. The result still identifies people."""

    censor = _Secrets
    _censor: _Secrets

    def __init__(self, rules: RedactionRules = DEFAULT, marked: MarkedMembers = NONE) -> None:
        # Tokens never get into a vault, even if a rule keeps them in the recording.
        super().__init__(b"", rules.without("keep"), marked=marked)

    def opens(self, text: str) -> bool:
        """Return whether the text contains something that was dropped before."""
        return self._censor.opens(text)

    def real_request(self, exchange: Exchange) -> RealRequest:
        """Return the request in the form that a vault may keep."""
        self.entry(exchange)  # finds credentials, before the path is redacted
        if self._censor.is_visit(exchange.target):
            return RealRequest(DROPPED, Headers(), b"", is_whole=False)
        target = self._censor.url(exchange.target)
        before = self._censor.count
        body = redact_body(exchange.body, self._media(exchange), self._censor, self._rules)
        is_same = body == exchange.body or (is_multipart(self._media(exchange)) and before == self._censor.count)
        headers, _ = self._message(exchange.headers, exchange.body)
        is_whole = (
            is_same
            and target == exchange.target
            and not notes(body, self._media(exchange))
            and all(value in exchange.headers.all(name) or name.lower() in _MAY_LACK for name, value in headers)
        )
        return RealRequest(target, headers, body, is_whole)

    def _media(self, exchange: Exchange) -> str:
        return media_type(exchange.headers.get("content-type"))

    def _redact_unknown(self, name: str, text: str) -> None:
        # The vault never has such a header. Its value is not remembered: it may be, for example, the customer's name.
        if allowlist.is_secret(name):
            self._censor.drop(text)


_MAY_LACK = allowlist.URL_HEADERS | {"content-type", "content-length"}
"""Headers that may lack a part when a request is sent again, such as a `state` that only its app knows."""


class VaultWriter:
    """Redacts exchanges for a recording, and keeps the replaced values in a vault. Only one thread may use it."""

    def __init__(self, redactor: Redactor, rules: RedactionRules, vault: Vault, key: bytes) -> None:
        self._redactor = redactor
        self._secrets = WithoutSecrets(rules, redactor.marked)
        self._vault = vault
        self._key = fingerprint(key)
        self._fresh: dict[str, str] = {}
        self._kept: set[tuple[str, str]] = set()
        self._thread = 0
        self._has_failed = False
        redactor.tell(self._replace)
        vault.add_key(key)

    def entry[E: Exchange](self, entry: E) -> E:
        """Return the exchange as it may be written to disk. The vault then has the replaced values."""
        real = self._secrets.real_request(entry)
        self._thread = 0 if real.target == DROPPED else get_ident()
        try:
            recorded = self._redactor.entry(entry)
        finally:
            self._thread = 0
        values = {pseudonym: text for pseudonym, text in self._fresh.items() if not self._secrets.opens(text)}
        self._fresh = {}
        try:
            self._vault.add(self._key, digest(recorded), real, values)
        except OSError as error:
            if not self._has_failed:
                log.warning(
                    "cannot write the vault: %s. Until this is fixed, new recordings cannot be compared with the bank",
                    error.strerror,
                )
            self._has_failed = True
            return recorded
        if len(self._kept) > _MOST:
            self._kept = set()
        self._kept.update(values.items())
        return recorded

    def _replace(self, text: str, pseudonym: str) -> None:
        # Other threads redact only for the log, which is not part of the recording.
        if self._thread == get_ident() and (pseudonym, text) not in self._kept:
            self._fresh[pseudonym] = text


class _PutBack(_Other):
    """Returns the value behind a pseudonym."""

    values: Mapping[str, str] = {}

    def other(self, text: str) -> str:
        return self.values.get(text, text)


class _Restoring(ValueRedactor):
    """Keeps credentials: they were never recorded, and come from the app."""

    pseudonyms = _PutBack
    _pseudonyms: _PutBack

    def know(self, values: Mapping[str, str]) -> None:
        self._pseudonyms.values = values

    def drop(self, text: str) -> str:
        return text

    def prose(self, text: str) -> str:
        # In error texts, only values that also occur elsewhere are known.
        return _QUOTABLE.sub(lambda word: self._pseudonyms.other(word[0]), text)

    def number(
        self, name: str, text: str, action: Action | None = None, *, secret: bool = False, exact: bool = False
    ) -> str:
        if secret or action == "drop" or self.is_secret(name):
            return text
        return super().number(name, text, action, exact=exact)


class Depseudonymizer(Redactor):
    """Replaces pseudonyms with real values, and keeps everything else.

    It is created in the same way as the redactor.
    """

    censor = _Restoring
    _censor: _Restoring

    def knowing(self, values: Mapping[str, str]) -> Self:
        """Use these values, by their pseudonyms, from now on. Returns itself."""
        self._censor.know(values)
        return self

    def request(self, request: Request) -> Request:
        headers, body = self._message(request.headers, request.body)
        return structs.replace(request, target=self._censor.url(request.target), headers=headers, body=body)

    def answer(self, response: Response) -> Response:
        headers, body = self._message(Headers(response.headers), response.body)
        return structs.replace(response, headers=headers.pairs, body=body)

    def recorded(self, exchange: Exchange, real: RealRequest) -> Exchange:
        """Return a recorded exchange with its real request. Dropped values stay dropped."""
        fields = {name.lower() for name, _ in real.headers}
        # Headers with credentials that a rule of the user has kept in the recording.
        more = (pair for pair in exchange.headers if pair[0].lower() not in fields and pair[1] != DROPPED)
        headers, body = self._message(exchange.answer_headers, exchange.answer_body)
        return replace(
            exchange,
            target=real.target,
            headers=Headers((*real.headers, *more)),
            body=real.body,
            answer_headers=headers,
            answer_body=body,
        )

    def _message(self, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        fields, new = super()._message(headers, body)
        return (headers, body) if note_of(new) and not note_of(body) else (fields, new)

    def _header(self, name: str, text: str) -> str | None:
        new = super()._header(name, text)
        return text if new is None else new


class _Kept(_Restoring):
    """Restores only what the rules keep: their words, and the values of their members."""

    def know(self, values: Mapping[str, str]) -> None:
        self._values = values
        super().know({pseudonym: text for pseudonym, text in values.items() if text in self._rules.words})

    def member(
        self,
        name: str,
        text: str,
        action: Action | None = None,
        *,
        secret: bool = False,
        exact: bool = False,
        depth: int = 0,
    ) -> str:
        if action == "keep":
            return self._values.get(text, text)
        return super().member(name, text, action, secret=secret, exact=exact, depth=depth)

    def number(
        self, name: str, text: str, action: Action | None = None, *, secret: bool = False, exact: bool = False
    ) -> str:
        # Numbers that redaction never replaces are no pseudonyms, even if a pseudonym happens to be the same.
        return self._values.get(text, text) if action == "keep" and not self.is_harmless(name, text) else text

    def _of_a_person(self, text: str, depth: int = 0) -> str:
        return text


class KeptRestorer(Depseudonymizer):
    """Restores what `rules` keep in exchanges that were recorded before there were these rules."""

    censor = _Kept
