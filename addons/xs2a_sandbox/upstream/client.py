"""The only way out: sends requests to real banks, and to hosts that are configured for forwarding."""

import secrets
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import structs

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.header_fields import FRAMING, HOP_BY_HOP, OURS
from xs2a_sandbox.http.origin import Origin, split_authority
from xs2a_sandbox.http.own_credentials import without_own_credentials
from xs2a_sandbox.upstream import tls

if TYPE_CHECKING:
    from xs2a_sandbox.upstream.connections import BankSession

_OURS = f"xs2a-sandbox-{secrets.token_hex(8)}"
"""Identifies this process in `Via`: a request that contains it has been here before."""

_ELSEWHERE = RealBank(keep_host=True)
"""The configuration for hosts that are not banks."""

_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})


def check(bank: RealBank) -> None:
    """Check the certificate, key and CA for the bank. Raises ConfigError."""
    if bank.url is not None:
        tls.context(bank)


class Upstream:
    """Sends requests to real banks, and to hosts configured for forwarding; nothing else opens a connection.

    `send` and `forward` raise BankError with one of these names: `bank-unreachable`, `bank-late`, `bank-garbled` (each
    with `bank` and `reason`), `bank-private` (`bank`, `address`), `bank-loop` (`bank`). A request is never sent twice,
    redirects are not followed, and certificates are always checked. The connections belong to the loop of the first
    request.
    """

    def __init__(self, forward_hosts: Collection[str] = ()) -> None:
        self._forward_hosts = frozenset(host.lower() for host in forward_hosts)
        self._sessions: dict[RealBank, BankSession] = {}

    async def send(self, bank: RealBank, request: Request, target: str) -> Response:
        """Return the bank's answer. ``target` is the path and query, sent unchanged to the host of the bank's URL."""
        if bank.url is None:
            raise ValueError("a bank without a URL is only simulated")
        return await self._send(bank, bank.url, request, target)

    async def forward(self, request: Request) -> Response:
        """Return the answer of the host in the request. Raises ValueError if it is not configured for forwarding."""
        authority = request.headers.get("Host") or request.host
        if _host(authority) not in self._forward_hosts:
            raise ValueError("requests to this host are not forwarded")
        return await self._send(_ELSEWHERE, f"{request.scheme}://{authority}", request, request.target)

    async def close(self) -> None:
        while self._sessions:
            await self._sessions.popitem()[1].close()

    async def _send(self, bank: RealBank, url: str, request: Request, target: str) -> Response:
        authority = urlsplit(url).netloc.rpartition("@")[2]
        if any(_OURS in via for via in request.headers.all("Via")):
            raise BankError("bank-loop", bank=authority)
        host_header = request.headers.get("Host")
        host = host_header if host_header and (bank.keep_host or _is_at(host_header, url)) else authority
        headers = _build_headers(request, host)
        answer = await self._session(bank).exchange(authority, url, request.method, target, headers, request.body)
        return structs.replace(answer, headers=tuple(_end_to_end(answer.headers)))

    def _session(self, bank: RealBank) -> "BankSession":
        if bank not in self._sessions:
            from xs2a_sandbox.upstream.connections import BankSession

            self._sessions[bank] = BankSession(bank)
        return self._sessions[bank]


def _is_at(host: str, url: str) -> bool:
    """Return whether `host` is the URL's host and port. A sandbox on the same machine has another port."""
    scheme, netloc = urlsplit(url)[:2]
    origin, authority = Origin.of(scheme, netloc.rpartition("@")[2]), split_authority(host)
    return origin is not None and authority is not None and authority in ((origin.host, None), origin[1:])


def _build_headers(request: Request, host: str) -> list[tuple[str, str]]:
    """Return the request's own headers in their order, with `Host` and `Content-Length` at their places."""
    request = without_own_credentials(request)
    own = {"host": host}
    if request.body or request.method in _WITH_LENGTH:
        own["content-length"] = str(len(request.body))
    headers = []
    for name, value in _end_to_end(request.headers):
        low = name.lower()
        if low in own:
            headers.append((name, own.pop(low)))
        elif low not in FRAMING and not low.startswith(OURS):
            headers.append((name, value))
    if "host" in own:
        headers.insert(0, ("Host", host))
    if "content-length" in own:
        headers.append(("Content-Length", own["content-length"]))
    return [*headers, ("Via", f"1.1 {_OURS}")]


def _end_to_end(headers: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Return the headers that are not only for this connection."""
    pairs = list(headers)
    names = {word.strip().lower() for name, value in pairs if name.lower() == "connection" for word in value.split(",")}
    for name, value in pairs:
        low = name.lower()
        if low not in HOP_BY_HOP and low not in names and not low.startswith("proxy-"):
            yield name, value


def _host(authority: str) -> str:
    """Return the host of an authority in lower case without its port, or an empty string if it is invalid."""
    return (split_authority(authority) or ("", None))[0]
