"""The direct door: HTTP/1.1 on the base URL, in the running loop."""

import asyncio

from xs2a_sandbox.doors import ports
from xs2a_sandbox.doors.client_header import ClientHeader
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.door import Application, RefusalHandler, Repeat, unkept
from xs2a_sandbox.doors.http1 import HttpConnection, ParsedRequest, RequestTarget, Service, split_url
from xs2a_sandbox.doors.wrong_protocol import DIRECT
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.origin import host_and_port


class DirectDoor:
    """Listens from `start` to `drain`. After the start, `port` is the real port."""

    def __init__(
        self,
        answer: Application,
        *,
        host: str,
        port: int,
        tell: RefusalHandler,
        connections: Connections,
        repeat: Repeat = unkept,
        client_header: ClientHeader | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._client_header = client_header
        self._service = Service(answer, tell=tell, connections=connections, repeat=repeat)
        self._servers: list[asyncio.Server] = []

    async def start(self) -> None:
        """Start to listen. Raises ConfigError if the port is not available."""
        listening = ports.listen(self.host, self.port, "--port")
        self.port = ports.number(listening)
        self._servers = await ports.serve(self.protocol_factory, listening)

    def protocol_factory(self) -> asyncio.Protocol:
        """Return the protocol for a connection."""
        return _Client(self._service, client_header=self._client_header)

    async def drain(self, grace: float = 10.0) -> None:
        """Stop listening, let running requests finish for `grace` seconds, and close all connections."""
        for server in self._servers:
            server.close()
        await self._service.drain(grace)


class _Client(HttpConnection):
    endpoint = DIRECT

    def __init__(self, service: Service, *, client_header: ClientHeader | None) -> None:
        super().__init__(service)
        self._client_header = client_header

    def place(self, url: bytes, headers: Headers) -> RequestTarget:
        scheme, authority, target = split_url(url)
        return RequestTarget(target, *host_and_port(authority, headers), scheme or "http")

    def request(self, turn: ParsedRequest) -> tuple[Request, Response | None]:
        place, headers, chain = turn.place, turn.headers, None
        if self._client_header:
            headers, chain = self._client_header.take(headers, self.transport.get_extra_info("peername"))
        way = place.host, place.scheme, DIRECT.door, None, place.port, None, chain
        return Request(turn.method, place.target, headers, turn.body, *way), None
