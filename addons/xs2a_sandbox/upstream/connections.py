"""The connections to a bank: aiohttp, prevented from changing, repeating or redirecting anything.

httpcore 1.0 would need as many restrictions: h11 moves `Host` to the front, rejects a target in Latin-1, accepts
control characters, heads of 100 kB and answers with two lengths, and passes data received with an answer on to the next
request. It also takes four times the CPU: mode spy would answer half as many requests.
"""

import socket
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, cast

from aiohttp import (
    ClientError,
    ClientHandlerType,
    ClientOSError,
    ClientRequest,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    ServerDisconnectedError,
    TCPConnector,
    ThreadedResolver,
)
from aiohttp.abc import ResolveResult
from aiohttp.connector import Connection
from yarl import URL

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError, InvalidResponse
from xs2a_sandbox.http import Response
from xs2a_sandbox.upstream import tls
from xs2a_sandbox.upstream.failures import PrivateAddress, Strange, failure

HELD = 1024 * 1024
"""The most bytes of an answer that are kept in memory. Larger answers are streamed."""

_CHUNK = 64 * 1024
_LINE = 64 * 1024
_STALE = 4
"""The most unusable connections that are tried one after the other. aiohttp keeps some whose timeout has occurred after
a large answer, and a bank may have sent unrequested data on others.
"""

_NAT64 = IPv6Network("64:ff9b::/96")


type Check = Callable[[str, int, Iterable[str]], None]
"""Checks the addresses to which a host resolves, for a port. Raises BankError."""


class BankSession:
    """A session belongs to the running loop, which must also close it.

    `resolve` checks the addresses of a host and port, in addition to the configuration of the bank.
    """

    def __init__(self, bank: RealBank, *, resolve: "Check | None" = None) -> None:
        self._bank = bank
        self._session = ClientSession(
            connector=TCPConnector(
                ssl=tls.context(bank), resolver=_Resolver(bank.private, resolve), use_dns_cache=False
            ),
            request_class=_Request,
            response_class=_Answer,
            cookie_jar=DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            skip_auto_headers=("Content-Type",),
            # Above the threshold aiohttp rounds to whole seconds, to save timers that are not needed here.
            timeout=ClientTimeout(
                total=bank.total_timeout, connect=bank.connect_timeout, sock_read=bank.read_timeout, ceil_threshold=3600
            ),
            read_bufsize=_CHUNK,
            max_line_size=_LINE,
            max_field_size=_LINE,
        )

    async def close(self) -> None:
        await self._session.close()

    async def exchange(
        self, name: str, base: str, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> Response:
        """Send exactly this request, once.

        There are no other `headers`; `target` is the whole path at the host of `base`.

        Raises:
            BankError: for every failure, with `name` as the name of the bank.
        """
        # With `encoded` aiohttp leaves everything as it is: `//`, `..`, `?` without a query, invalid escapes.
        whole = URL(base).with_path(target, encoded=True)
        pairs = tuple(headers)
        try:
            answer = await self._session.request(
                method, whole, data=body or None, allow_redirects=False, middlewares=(partial(self._send, name, pairs),)
            )
        except (ClientError, PrivateAddress, Strange, OSError, ValueError) as error:
            raise failure(error, name, self._bank) from error
        try:
            return await self._read(cast(_Answer, answer), name)
        except BaseException:
            answer.close()
            raise

    async def _send(
        self, name: str, headers: Iterable[tuple[str, str]], request: ClientRequest, handler: ClientHandlerType
    ) -> ClientResponse:
        """Send the request with only these headers, and not a second time."""
        request.headers.clear()
        request.headers.extend(headers)
        try:
            for _ in range(_STALE):
                with suppress(Strange):
                    return await handler(request)
            return await handler(request)
        except (ClientOSError, ServerDisconnectedError) as error:
            # After these errors aiohttp would repeat a GET, PUT or DELETE, but the bank may already have carried it
            # out.
            raise failure(error, name, self._bank) from error

    async def _read(self, answer: "_Answer", name: str) -> Response:
        body, more = bytearray(), b"?"
        while more and len(body) < HELD:
            more = await self._chunk(answer, name, min(_CHUNK, HELD - len(body)))
            body += more
        more = await self._chunk(answer, name, _CHUNK) if more else b""
        pairs = tuple((field.decode("latin-1"), value.decode("latin-1")) for field, value in answer.raw_headers)
        try:
            response = Response(answer.status, pairs, bytes(body))
        except InvalidResponse as error:
            reason = "its status or one of its headers is not valid HTTP"
            raise BankError("bank-garbled", bank=name, reason=reason) from error
        if not more:
            answer.release()
            return response
        rest = self._rest(answer, name, more)
        # Only a started generator runs its `finally` when it is closed.
        await anext(rest)
        return Response(answer.status, pairs, bytes(body), rest=rest)

    async def _rest(self, answer: "_Answer", name: str, chunk: bytes) -> AsyncGenerator[bytes]:
        try:
            yield b""
            while chunk:
                yield chunk
                chunk = await self._chunk(answer, name, _CHUNK)
        finally:
            answer.close()

    async def _chunk(self, answer: "_Answer", name: str, size: int) -> bytes:
        """Read the next piece of the body, which is empty at the end."""
        try:
            chunk = await answer.content.read(size)
            if not chunk and answer.ends_with_connection and answer.lost is not None:
                raise answer.lost
        except (ClientError, OSError) as error:
            raise failure(answer.lost or error, name, self._bank) from error
        return chunk


class _Request(ClientRequest):
    async def send(self, conn: Connection) -> ClientResponse:
        """Send the request. Raises Strange, without sending anything, if the connection is unusable."""
        protocol = conn.protocol
        if protocol is None or protocol.transport is None or protocol.should_close:
            raise Strange
        text = "".join((self.url.raw_path_qs, *self.headers.values()))
        if text.isascii():
            return await super().send(conn)
        text.encode("latin-1")
        transport = protocol.transport
        protocol.transport = cast(Any, _Latin1(protocol, transport))
        try:
            return await super().send(conn)
        finally:
            if isinstance(protocol.transport, _Latin1):
                protocol.transport = transport


class _Latin1:
    """Replaces the transport until the head is written, to encode it as Latin-1 like HTTP. aiohttp uses UTF-8."""

    def __init__(self, protocol: Any, transport: Any) -> None:
        self._protocol = protocol
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._protocol.transport = self._transport
        head, end, body = bytes(data).partition(b"\r\n\r\n")
        self._transport.write(head.decode().encode("latin-1") + end + body)

    def writelines(self, chunks: Iterable[bytes]) -> None:
        self.write(b"".join(chunks))


class _Answer(ClientResponse):
    async def start(self, connection: Connection) -> ClientResponse:
        self._wire = connection.protocol
        return await super().start(connection)

    @property
    def lost(self) -> ClientOSError | None:
        """The error that broke the connection. aiohttp interprets a reset as the end of an answer without a length."""
        error = self._wire.exception() if self._wire is not None else None
        return error if isinstance(error, ClientOSError) else None

    @property
    def ends_with_connection(self) -> bool:
        return "Content-Length" not in self.headers and "Transfer-Encoding" not in self.headers


class _Resolver(ThreadedResolver):
    """Resolves names only to public addresses. aiohttp connects to the result, so the name cannot change in between."""

    def __init__(self, private: bool, check: Check | None) -> None:
        super().__init__()
        self._private = private
        self._check = check

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        results = await super().resolve(host, port, family)
        if self._check:
            self._check(host, port, [result["host"] for result in results])
        if not self._private and host.lower().rstrip(".") != "localhost":
            for result in results:
                if not is_public(result["host"]):
                    raise PrivateAddress(result["host"])
        return results


def is_public(address: str) -> bool:
    """Return whether the address, or the IPv4 address embedded in it, is a public one."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or (IPv4Address(ip.packed[-4:]) if ip in _NAT64 else ip)
    return ip.is_global and not ip.is_multicast
