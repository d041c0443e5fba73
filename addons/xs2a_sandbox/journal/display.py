"""Redacts exchanges for the log and the journal on this machine.

Exchanges with a real bank or a recording are redacted as in a recording. All others contain only test data and user
input. They are shown as they are, except that secrets are removed, because a user may have pasted one.
"""

import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import OURS
from xs2a_sandbox.state.session import PREFIX

if TYPE_CHECKING:
    from xs2a_sandbox.redaction.redactor import Redactor

KEY_OF_THIS_RUN = secrets.token_bytes(32)
"""The key for pseudonyms that are the same in all processes that serve together: they have it from their parent."""

_SESSION = re.compile(rf"/{PREFIX}/[A-Za-z0-9._-]{{1,64}}(?=/|$)")
MARKED = re.compile(r"@|[A-Za-z]{2}\d\d[ \-\u00a0\u202f]?[A-Za-z0-9]{4}|\d(?:[ \-\u00a0\u202f]?\d){11}|eyJ", re.ASCII)
"""Patterns that occur in every account number, card number, e-mail address and token."""
_ID = re.compile(r"(?<=/)[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?=/|$)")
"""A UUID in a path, which is never redacted. Half of all UUIDs match one of the patterns above."""


class Display:
    """`personal` and `typed` create the redactors for the two kinds of exchanges, at first use."""

    def __init__(self, personal: Callable[[], "Redactor"], typed: Callable[[], "Redactor"]) -> None:
        self.use(personal, typed)

    def use(self, personal: Callable[[], "Redactor"] | None, typed: Callable[[], "Redactor"]) -> None:
        """Use these redactors from the next exchange on. None keeps the current one."""
        if personal:
            self._personal = cache(personal)
        self._typed = cache(typed)
        # Apps repeat paths. To redact the path of an account takes as long as an eighth of the answer.
        self._typed_path = lru_cache(1024)(self._redact_typed)

    def path(self, path: str, personal: bool) -> str:
        """Return the path, redacted and without the query."""
        path = path.partition("?")[0]
        if not personal:
            return self._typed_path(path)
        session, path = _split(path)
        return session + self._personal().target(path)

    def _redact_typed(self, path: str) -> str:
        return self._typed().target(path) if MARKED.search(unquote(_ID.sub("", path))) else path

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
