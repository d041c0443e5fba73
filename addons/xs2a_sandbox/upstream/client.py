"""The only way out: requests to real banks, and to hosts that are named for forwarding."""

import secrets
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

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
"""This process in `Via`: whoever sees it again has been here before."""

_ELSEWHERE = RealBank(keep_host=True)
"""How hosts that are no banks are treated."""

_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})


def check(bank: RealBank) -> None:
    """Raises ConfigError for a certificate, key or CA of the bank that cannot be used."""
    if bank.url is not None:
        tls.context(bank)


class Upstream:
    """Sends requests to real banks, and to hosts named for forwarding; nothing else opens a connection.

    Both raise a BankError by name: `bank-unreachable`, `bank-late`, `bank-garbled` (each with `bank` and `reason`),
    `bank-private` (`bank`, `address`), `bank-loop` (`bank`). Nothing is ever sent a second time, no redirect followed,
    no certificate believed unseen. It belongs to the loop that it is first used in.
    """

    def __init__(self, forward_hosts: Collection[str] = ()) -> None:
        self._forward_hosts = frozenset(host.lower() for host in forward_hosts)
        self._sessions: dict[RealBank, BankSession] = {}

    async def send(self, bank: RealBank, request: Request, target: str) -> Response:
        """The bank's answer to `target`, path and query as it gets them, at the host of its URL."""
        if bank.url is None:
            raise ValueError("a bank without a URL is only simulated")
        return await self._send(bank, bank.url, request, target)

    async def forward(self, request: Request) -> Response:
        """The answer of the host that the request names. Raises ValueError for one that is not named for it."""
        authority = request.headers.get("Host") or request.host
        if _host(authority) not in self._forward_hosts:
            raise ValueError("this host is not one to forward to")
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
        return replace(answer, headers=tuple(_end_to_end(answer.headers)))

    def _session(self, bank: RealBank) -> "BankSession":
        if bank not in self._sessions:
            from xs2a_sandbox.upstream.connections import BankSession

            self._sessions[bank] = BankSession(bank)
        return self._sessions[bank]


def _is_at(host: str, url: str) -> bool:
    """True if it names the URL's host, and no other port: a sandbox on the same machine has another."""
    scheme, netloc = urlsplit(url)[:2]
    origin, authority = Origin.of(scheme, netloc.rpartition("@")[2]), split_authority(host)
    return origin is not None and authority is not None and authority in ((origin.host, None), origin[1:])


def _build_headers(request: Request, host: str) -> list[tuple[str, str]]:
    """The request's own headers, in their order; `Host` and `Content-Length` where they were."""
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
    """The headers that are not meant for this connection alone."""
    pairs = list(headers)
    names = {word.strip().lower() for name, value in pairs if name.lower() == "connection" for word in value.split(",")}
    for name, value in pairs:
        low = name.lower()
        if low not in HOP_BY_HOP and low not in names and not low.startswith("proxy-"):
            yield name, value


def _host(authority: str) -> str:
    """The host of an authority in lower case, without port; empty for what is no authority."""
    return (split_authority(authority) or ("", None))[0]
