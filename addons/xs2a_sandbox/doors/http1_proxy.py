"""Our own HTTP/1.1 proxy in front of mitmproxy, on the proxy port and the TLS port.

HTTP/1.1 clients, plain or over TLS, are answered here. All others are passed on to mitmproxy with the data they have
sent, before they have received anything except the answer to a CONNECT.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.connections import Connection
from xs2a_sandbox.doors.http1 import HttpConnection, NotAnswered, ParsedRequest, RequestTarget, Service, split_url
from xs2a_sandbox.doors.wrong_protocol import HANDSHAKE, PROXY, TLS_PORT, TUNNEL, Endpoint
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.origin import PORTS, address, host_and_port, split_authority

if TYPE_CHECKING:
    from xs2a_sandbox.doors.tls import Tls

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
"""The answer to a CONNECT, the same as mitmproxy's."""

_LOGIN = "proxy-authorization"
_OTHER_SCHEME = door.malformed("the scheme of its target does not match its connection")
_NO_HOST = door.malformed("it names no host")
_NO_TUNNEL = door.malformed("the target of CONNECT must be HOST:PORT")
_BEHIND_OTHERS = door.malformed("CONNECT was sent before the answer to an earlier request")


class PassOn(Protocol):
    """Passes a client on to mitmproxy with the data it has sent, preceded by the CONNECT that was answered."""

    def __call__(
        self, transport: asyncio.Transport, connection: Connection, start: bytes, connect: bytes = b""
    ) -> None: ...


type Encrypt = Callable[[str, asyncio.Protocol, Callable[[asyncio.Transport, bytes], None]], Tls]
"""Returns the TLS layer for a client of this host, with the protocol above it. Other clients are passed on."""


@dataclass(frozen=True, slots=True)
class Http1Proxy:
    """The shared state of all connections to one port."""

    service: Service
    encrypt: Encrypt
    secret: bytes | None
    """The user and password that the proxy port requires, or None."""
    pass_on: PassOn

    def proxy_port(self) -> asyncio.Protocol:
        return _Proxy(self)

    def tls_port(self) -> asyncio.Protocol:
        return _Inside(self, TLS_PORT)


@dataclass(frozen=True, slots=True)
class _Tunnel:
    """The target of a CONNECT, its proxy user, and the CONNECT itself."""

    host: str
    address: str
    user: str | None
    connect: bytes


class _Lane(HttpConnection):
    """A connection with HTTP/1.1 or another protocol, depending on the first byte."""

    def __init__(self, proxy: Http1Proxy, endpoint: Endpoint, connection: Connection | None = None) -> None:
        super().__init__(proxy.service, connection)
        self.endpoint = endpoint
        self._proxy = proxy
        self._is_decided = False

    def data_received(self, data: bytes) -> None:
        if not self._is_decided:
            self._is_decided = True
            if self.turns_off(data):
                return
        super().data_received(data)

    def answer_in_turn(self, turn: ParsedRequest, rest: bytes) -> None:
        self._turns.append(turn)
        if rest:
            self._feed(rest)

    def turns_off(self, start: bytes) -> bool:
        """Return whether data that start like this are not HTTP, and hand the connection over."""
        raise NotImplementedError


class _Proxy(_Lane):
    """Reads requests to a proxy."""

    def __init__(self, proxy: Http1Proxy) -> None:
        super().__init__(proxy, PROXY)

    def turns_off(self, start: bytes) -> bool:
        if start.startswith(HANDSHAKE):
            self._proxy.pass_on(self.transport, self.leave(), start)
            return True
        return False

    def place(self, url: bytes, headers: Headers) -> RequestTarget:
        scheme, authority, target = split_url(url)
        authority = authority or headers.first.get("host", "")
        pair = split_authority(authority)
        if pair is None:
            raise NotAnswered(_NO_HOST)
        host, port = pair
        scheme = scheme or "http"
        return RequestTarget(target, host, PORTS[scheme] if port is None else port, scheme)

    def request(self, turn: ParsedRequest) -> tuple[Request, Response | None]:
        user, is_admitted = door.login(turn.headers.first.get(_LOGIN, ""), self._proxy.secret)
        request = _request(turn, self.endpoint, user)
        return request, None if is_admitted else door.PROXY_AUTH_REQUIRED

    def connect(self, authority: str, headers: Headers, goes_on: bool, rest: bytes) -> None:
        host, port = split_authority(authority) or ("", None)
        if port is None:
            self.refuse(_NO_TUNNEL)
            return
        if self.is_busy:
            self.refuse(_BEHIND_OTHERS)
            return
        login = headers.first.get(_LOGIN)
        user, is_admitted = door.login(login or "", self._proxy.secret)
        if not is_admitted:
            place = RequestTarget(authority, host, port, "https")
            self.answer_in_turn(ParsedRequest("CONNECT", place, headers, b"", goes_on, takes_chunks=True), rest)
            return
        connect = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n"
        connect += "\r\n" if login is None else f"Proxy-Authorization: {login}\r\n\r\n"
        connection = self.leave()
        connection.begins()
        tunnel = _Tunnel(host, address(host, port), user, connect.encode("latin-1"))
        inside = _Inside(self._proxy, TUNNEL, connection, tunnel)
        self.transport.set_protocol(inside)
        inside.connection_made(self.transport)
        self.transport.write(ESTABLISHED)
        if rest:
            inside.data_received(rest)


class _Inside(_Lane):
    """Reads requests in a tunnel, or to the TLS port, which always uses TLS."""

    def __init__(
        self, proxy: Http1Proxy, endpoint: Endpoint, connection: Connection | None = None, tunnel: _Tunnel | None = None
    ) -> None:
        super().__init__(proxy, endpoint, connection)
        self._tunnel = tunnel
        self._scheme = "http"

    def turns_off(self, start: bytes) -> bool:
        if start.startswith(HANDSHAKE):
            self._scheme = "https"
            host = self._tunnel.host if self._tunnel else self.transport.get_extra_info("sockname")[0]
            tls = self._proxy.encrypt(host, self, self._pass_on)
            raw = self.transport
            raw.set_protocol(tls)
            tls.connection_made(raw)
            tls.data_received(start)
            return True
        if self._tunnel is None:
            self._pass_on(self.transport, start)
            return True
        return False

    def place(self, url: bytes, headers: Headers) -> RequestTarget:
        scheme, authority, target = split_url(url)
        if scheme and scheme != self._scheme:
            raise NotAnswered(_OTHER_SCHEME)
        return RequestTarget(target, *host_and_port(authority, headers), self._scheme)

    def request(self, turn: ParsedRequest) -> tuple[Request, Response | None]:
        certificates = self.transport.get_extra_info(door.CERTIFICATES)
        if self._tunnel:
            return _request(turn, self.endpoint, self._tunnel.user, self._tunnel.address, certificates), None
        return _request(turn, self.endpoint, certificates=certificates), None

    def _pass_on(self, transport: asyncio.Transport, start: bytes) -> None:
        self._proxy.pass_on(transport, self.leave(), start, self._tunnel.connect if self._tunnel else b"")


def _request(
    turn: ParsedRequest,
    endpoint: Endpoint,
    user: str | None = None,
    tunnel: str | None = None,
    certificates: tuple[bytes, ...] | None = None,
) -> Request:
    """Return the request without the proxy credentials."""
    place, headers = turn.place, turn.headers
    if _LOGIN in headers.first:
        headers = Headers(pair for pair in headers if pair[0].lower() != _LOGIN)
    way = place.host, place.scheme, endpoint.door, user, place.port, tunnel, certificates
    return Request(turn.method, place.target, headers, turn.body, *way)
