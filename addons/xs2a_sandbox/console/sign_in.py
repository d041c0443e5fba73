"""Who may see the console: a link that is used up once, and the cookie that it is exchanged for.

Both are signed with the admin token, so that the commands can make a link and nothing has to be kept.
"""

import hashlib
import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from threading import Lock
from time import time

from xs2a_sandbox.http import Request
from xs2a_sandbox.journal.journal import Peers

COOKIE = "xs2a-console"
LINK = "link"
"""The name of the query parameter that signs in."""
_TAKEN = "console link"
_LINK_SECONDS = 600
_COOKIE_SECONDS = 12 * 3600


def link(base_url: str, token: str) -> str:
    """A URL that signs in once, within ten minutes."""
    return f"{base_url}/_sandbox/?{LINK}={_signed('link', token, _LINK_SECONDS)}"


class SignIn:
    """Takes links and knows cookies. Where several processes serve together, a link that one of them has taken is used
    up in all."""

    def __init__(self, peers: Peers | None = None) -> None:
        self._used: dict[str, int] = {}
        """Links that are used up, until they would have ended anyway."""
        self._lock = Lock()
        self._peers = peers
        if peers:
            peers.answers[_TAKEN] = lambda taken: self._take(*taken)

    async def redeem(self, code: str, token: str) -> str | None:
        """The cookie that a link is exchanged for, as a header's value; None where it is wrong, over or used up."""
        until = _valid("link", code, token)
        if until is None:
            return None
        taken = await self._peers.gather(_TAKEN, (code, until)) if self._peers else [self._take(code, until)]
        # Where two have come at once, each may have been told by one that it is the first: then it is for neither.
        if not taken or not all(taken):
            return None
        value = _signed("cookie", token, _COOKIE_SECONDS)
        return f"{COOKIE}={value}; Path=/; Max-Age={_COOKIE_SECONDS}; HttpOnly; SameSite=Strict"

    def _take(self, code: str, until: int) -> bool:
        """Uses a link up; false if it was before."""
        with self._lock:
            self._used = {used: end for used, end in self._used.items() if end > time()}
            is_new = code not in self._used
            self._used[code] = until
        return is_new


def is_signed_in(request: Request, token: str | None) -> bool:
    """Tells if one of the request's cookies is one of ours that has not ended."""
    if token is None:
        return False
    for header in request.headers.all("Cookie"):
        try:
            cookie = SimpleCookie(header).get(COOKIE)
        except CookieError:
            continue
        if cookie is not None and _valid("cookie", cookie.value, token):
            return True
    return False


def _signed(kind: str, token: str, seconds: int) -> str:
    text = f"{int(time()) + seconds}.{secrets.token_hex(16)}"
    return f"{text}.{_signature(kind, text, token)}"


def _valid(kind: str, code: str, token: str) -> int | None:
    """The time at which it ends; None where it has, or where nobody has signed it."""
    text, _, signature = code.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(kind, text, token).encode()):
        return None
    end = int(text.partition(".")[0])
    return end if end > time() else None


def _signature(kind: str, text: str, token: str) -> str:
    return hmac.new(token.encode(), f"console {kind} {text}".encode(), hashlib.sha256).hexdigest()
