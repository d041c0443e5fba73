"""Protects control of the sandbox, and its way to a bank, from web pages of other sites and from forged host names."""

import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from xs2a_sandbox.documents.files import ensure_file, read_file
from xs2a_sandbox.errors import ConfigError, Refused
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.origin import Origin, destinations

FILE = "admin-token"

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,512}=*")
_WHAT = "admin token"


def ensure_token(confdir: Path) -> str:
    """Return the token in `confdir`, and create it if there is none. Raises ConfigError."""
    token = ensure_file(confdir / FILE, _WHAT, lambda: secrets.token_urlsafe(32), _TOKEN.fullmatch)
    return _check(token, confdir)


def read_token(confdir: Path) -> str | None:
    """Return the token, or None if no sandbox has created one. Raises ConfigError if the file is invalid."""
    token = read_file(confdir / FILE, _WHAT, _TOKEN.fullmatch)
    return None if token is None else _check(token, confdir)


def _check(token: str, confdir: Path) -> str:
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            f"{confdir / FILE} contains no valid admin token. Remove it: the next start creates a new one"
        )
    return token


_REALM = 'Bearer realm="xs2a-sandbox"'


@dataclass(frozen=True, slots=True)
class Guard:
    """`host` is the address that the sandbox listens on, `public_url` its URL for browsers.

    Without `token` nobody can control the sandbox.

    `allowed` are the origins of the user's own web apps, whose pages may use the way to a bank.
    """

    token: str | None
    host: str
    public_url: str
    allowed: frozenset[Origin] = frozenset()

    def check(self, request: Request) -> None:
        """Check that the request may control the sandbox. Raises Refused."""
        self.check_site(request)
        if self.token is None:
            raise Refused(
                403, "no-token", "this sandbox was started without an admin token, so its control interface is disabled"
            )
        scheme, _, token = (request.headers.get("Authorization") or "").partition(" ")
        if scheme.lower() != "bearer":
            # The log hides a word after "Bearer" and a space, so keep the backquote.
            text = "send the header Authorization with the scheme `Bearer` and the token in --confdir, file admin-token"
            raise Refused(401, "token-missing", text, ("WWW-Authenticate", _REALM))
        if not hmac.compare_digest(token.strip().encode(), self.token.encode()):
            text = "this is not the admin token of this sandbox; use the one in the file admin-token of its --confdir"
            raise Refused(401, "token-wrong", text, ("WWW-Authenticate", f'{_REALM}, error="invalid_token"'))

    def check_site(self, request: Request) -> None:
        """Reject requests from pages of other sites, or with a forged host. Raises Refused."""
        if request.door == "direct" and (name := self._find_foreign_name(request)) is not None:
            # A site can point its own host name to this address (DNS rebinding). Its pages then send that name.
            text = (
                f"{name or 'no host'} is not a name of this sandbox: use localhost, or the host given with "
                "--host or --public-url"
            )
            raise Refused(403, "host-refused", text)
        if self._is_of_another_site(request):
            raise Refused(403, "origin-refused", "web pages of other sites cannot control the sandbox")

    def check_way_out(self, request: Request, names: Collection[str] = ()) -> None:
        """Check that the request may go to a bank that is also known by `names`. Raises Refused."""
        if self.token and self._holds_token(request):
            text = "this request contains the sandbox's admin token, which must not leave the sandbox"
            raise Refused(403, "token-refused", text)
        if request.door == "direct" and request.scheme != "http":
            text = f"the scheme of its target is {request.scheme}, which this port does not serve"
            raise Refused(400, "target-refused", f"{text}, so this does not go to the bank")
        # At the proxy, requests name the bank, which is checked there.
        if (
            request.door in ("direct", "tls")
            and (name := self._find_foreign_name(request, names, self.allowed)) is not None
        ):
            here = Origin.of(request.scheme, name)
            text = (
                f"{name or 'no host'} is not a name of this sandbox, "
                "so the request does not go to the bank: use localhost"
            )
            more = (
                f"the host given with --host or --public-url, or allow this one with --allow-origin {here or 'ORIGIN'}"
            )
            raise Refused(403, "host-refused", f"{text}, {more}; add names of the bank to banks[].hosts")
        if not self._is_of_own_app(request) and self._is_of_another_site(request):
            text = (
                "web pages of other sites cannot send requests to the bank; if the site is your own, allow it "
                "with --allow-origin ORIGIN"
            )
            if request.door == "direct":
                text += "; open pages of the bank at the bank itself, or in a browser that uses the proxy port"
            raise Refused(403, "origin-refused", text)

    def _find_foreign_name(
        self, request: Request, names: Collection[str] = (), allowed: Collection[Origin] = ()
    ) -> str | None:
        """Return a host in the target or headers that is not ours, an empty string if a host is invalid, or None."""
        for origin in destinations(request):
            if origin is None:
                return ""
            if not (self.is_ours(origin.host) or origin.host in names or origin in allowed):
                return str(origin).partition("://")[2]
        return None

    def is_ours(self, host: str) -> bool:
        """Return whether this host is the sandbox itself."""
        own = {"localhost", self.host.lower(), (urlsplit(self.public_url).hostname or "").lower()} - {""}
        if host in own:
            return True
        try:
            address, listens = ip_address(host), self.host
        except ValueError:
            return False
        # If the sandbox listens on all addresses, any IP address may be its own. DNS cannot redirect an IP address.
        return address.is_loopback or listens in ("", "0.0.0.0", "::")

    def _is_of_another_site(self, request: Request) -> bool:
        ours = {
            Origin.of(request.scheme, request.headers.get("Host") or request.host),
            Origin.parse(self.public_url),
        } - {None}
        return any(Origin.parse(origin) not in ours for origin in request.headers.all("Origin")) or any(
            site not in ("same-origin", "none") for site in request.headers.all("Sec-Fetch-Site")
        )

    def _is_of_own_app(self, request: Request) -> bool:
        """Return whether a page of an allowed origin has sent the request, or links here (then it is the `Referer`)."""
        pages = request.headers.all("Origin") or request.headers.all("Referer")
        return bool(pages) and all(Origin.parse(page) in self.allowed for page in pages)

    def _holds_token(self, request: Request) -> bool:
        token = self.token or ""
        sent = (request.target, *(value for _, value in request.headers))
        return any(token in text for text in sent) or token.encode() in request.body
