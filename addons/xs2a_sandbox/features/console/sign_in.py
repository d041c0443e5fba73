"""Signs users in to the console: a link that works once is exchanged for a cookie.

The link is signed with the admin token, so that commands can create it. Used links are stored in the state, so that no
other process or machine accepts them. The cookie is also signed with a secret of the running sandbox, and is invalid
after a restart.
"""

import hashlib
import hmac
import secrets
from time import time

from xs2a_sandbox.http import Request
from xs2a_sandbox.http.own_credentials import COOKIE, console_cookies
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.state import Documents, MemoryStore, RemoteStore, Store, Transaction
from xs2a_sandbox.state.attempts import commit, run_transaction

LINK = "link"
"""The name of the query parameter that signs in."""
_LINK_SECONDS = 600
_COOKIE_SECONDS = 12 * 3600
_SESSION = "console links"
"""The session that contains used links. No session of a user can have this name."""


def link(base_url: str, token: str) -> str:
    """Return a URL that signs in once, within ten minutes."""
    return f"{base_url}/_sandbox/?{LINK}={_sign('link', token, _LINK_SECONDS)}"


class SignIn:
    """Exchanges links for cookies, and checks cookies."""

    def __init__(self, store: Store | RemoteStore, run: str) -> None:
        self._store = store
        self._run = run
        self.cookie = f"{COOKIE}-{hashlib.sha256(run.encode()).hexdigest()[:8]}"
        # A state in memory does not contain the links that were used before the start.
        self._since = int(time()) if isinstance(store, MemoryStore) else 0

    async def redeem(self, code: str, token: str) -> str | None:
        """Return the header value that sets the cookie, or None if the link is wrong, expired or used.

        Raises StoreUnavailable.
        """
        until = _read_end("link", code, token)
        if until is None or until - _LINK_SECONDS < self._since:
            return None
        if not await run_transaction(self._store, lambda documents: _use_up(documents, code, until)):
            return None
        value = _sign("cookie", token + self._run, _COOKIE_SECONDS)
        return f"{self.cookie}={value}; Path=/{ROOT}/; Max-Age={_COOKIE_SECONDS}; HttpOnly; SameSite=Strict"

    def is_signed_in(self, request: Request, token: str | None) -> bool:
        """Return whether the request has a valid cookie that has not expired."""
        return token is not None and any(
            _read_end("cookie", value, token + self._run) for value in console_cookies(request.headers, self.cookie)
        )


def _use_up(documents: Documents, code: str, until: int) -> bool:
    """Mark the link as used. Return False if it was used before."""
    state, id = Transaction(documents, _SESSION, lambda _: {}), hashlib.sha256(code.encode()).hexdigest()
    used = state.own("used")
    if id in used:
        return False
    for old, link in used.items():
        if link["until"] < time():
            state.delete("used", old)
    state.put("used", id, {"until": until})
    commit(state)
    return True


def _sign(kind: str, token: str, seconds: int) -> str:
    text = f"{int(time()) + seconds}.{secrets.token_hex(16)}"
    return f"{text}.{_signature(kind, text, token)}"


def _read_end(kind: str, code: str, token: str) -> int | None:
    """Return the end of a link or cookie, or None if it has expired or its signature is wrong."""
    text, _, signature = code.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(kind, text, token).encode()):
        return None
    end = int(text.partition(".")[0])
    return end if end > time() else None


def _signature(kind: str, text: str, token: str) -> str:
    return hmac.new(token.encode(), f"console {kind} {text}".encode(), hashlib.sha256).hexdigest()
