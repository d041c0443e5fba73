"""Who may control the sandbox: whoever holds the admin token, and no web page of another site."""

import hmac
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from xs2a_sandbox.errors import Refused
from xs2a_sandbox.messages import Request

_REALM = 'Bearer realm="xs2a-sandbox"'


@dataclass(frozen=True, slots=True)
class Guard:
    """`host` is what the sandbox listens on, `public_url` where browsers reach it; without `token` nobody may."""

    token: str | None
    host: str
    public_url: str

    def check(self, request: Request) -> None:
        """Raises Refused."""
        if request.door == "direct" and not self.is_ours(request.host):
            # A page of another site whose name was made to point here sends that name.
            name = request.host or "no host"
            text = f"{name} is not this sandbox: use localhost, or the host of --host or --public-url"
            raise Refused(403, "host-refused", text)
        foreign = [origin for origin in request.headers.all("Origin") if origin not in self._origins(request)]
        sites = request.headers.all("Sec-Fetch-Site")
        if foreign or any(site not in ("same-origin", "none") for site in sites):
            raise Refused(403, "origin-refused", "web pages of other sites cannot control the sandbox")
        if self.token is None:
            raise Refused(403, "no-token", "this sandbox was started without an admin token, so nobody controls it")
        scheme, _, given = (request.headers.get("Authorization") or "").partition(" ")
        if scheme.lower() != "bearer":
            text = "send the header `Authorization: Bearer TOKEN`; the token is in the file admin-token of --confdir"
            raise Refused(401, "token-missing", text, ("WWW-Authenticate", _REALM))
        if not hmac.compare_digest(given.strip().encode(), self.token.encode()):
            text = "the token is not this sandbox's; that is in the file admin-token of its --confdir"
            raise Refused(401, "token-wrong", text, ("WWW-Authenticate", f'{_REALM}, error="invalid_token"'))

    def is_ours(self, host: str) -> bool:
        """Whether this names the sandbox itself."""
        known = {"localhost", self.host.lower(), (urlsplit(self.public_url).hostname or "").lower()} - {""}
        if host in known:
            return True
        try:
            address, listens = ip_address(host), self.host
        except ValueError:
            return False
        # Who listens everywhere is reached by any address; a number cannot be made to point elsewhere.
        return address.is_loopback or listens in ("", "0.0.0.0", "::")

    def _origins(self, request: Request) -> set[str]:
        public = urlsplit(self.public_url)
        return {
            f"{request.scheme}://{request.headers.get('Host') or request.host}",
            f"{public.scheme}://{public.netloc}".lower(),
        }
