"""Who may see the console: a link that is used up once, and the cookie that it is exchanged for.

The link is signed with the admin token, so that the commands can make one. The state keeps which links were used, for
all processes and machines that share it. The cookie is signed with a secret of the running sandbox, too, and ends with
it.
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
"""Where used links are kept: no session of a user can have this name."""


def link(base_url: str, token: str) -> str:
    """A URL that signs in once, within ten minutes."""
    return f"{base_url}/_sandbox/?{LINK}={_sign('link', token, _LINK_SECONDS)}"


class SignIn:
    """Takes links and knows cookies."""

    def __init__(self, store: Store | RemoteStore, run: str) -> None:
        self._store = store
        self._run = run
        # Of the links that were used before, memory knows nothing.
        self._since = int(time()) if isinstance(store, MemoryStore) else 0

    async def redeem(self, code: str, token: str) -> str | None:
        """The cookie that a link is exchanged for, as a header's value; None where it is wrong, over or used up.

        Raises StoreUnavailable.
        """
        until = _read_end("link", code, token)
        if until is None or until - _LINK_SECONDS < self._since:
            return None
        if not await run_transaction(self._store, lambda documents: _use_up(documents, code, until)):
            return None
        value = _sign("cookie", token + self._run, _COOKIE_SECONDS)
        return f"{COOKIE}={value}; Path=/{ROOT}/; Max-Age={_COOKIE_SECONDS}; HttpOnly; SameSite=Strict"

    def is_signed_in(self, request: Request, token: str | None) -> bool:
        """Whether one of the request's cookies is one of ours that has not ended."""
        return token is not None and any(
            _read_end("cookie", value, token + self._run) for value in console_cookies(request.headers)
        )


def _use_up(documents: Documents, code: str, until: int) -> bool:
    """False if the link was used before."""
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
    """The time at which it ends; None where it has, or where nobody has signed it."""
    text, _, signature = code.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(kind, text, token).encode()):
        return None
    end = int(text.partition(".")[0])
    return end if end > time() else None


def _signature(kind: str, text: str, token: str) -> str:
    return hmac.new(token.encode(), f"console {kind} {text}".encode(), hashlib.sha256).hexdigest()
