"""Connections to a bank in this process, over real sockets, so that faults of the connection work."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import httptools

from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.door import Application, RefusalHandler
from xs2a_sandbox.doors.http1 import HttpConnection, ParsedRequest, RequestTarget, Service
from xs2a_sandbox.doors.wrong_protocol import Endpoint
from xs2a_sandbox.features.pytest.in_process import PATIENCE, LoopThread
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.origin import Origin, host_and_port

type Find = Callable[[str | None], Lines | None]
"""Returns what answers a host, or None for a host that is not intercepted."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The client of a connection: its time limit in seconds, and the way to report that it is over."""

    patience: Callable[[], float | None]
    give_up: Callable[[], None]


class Lines:
    """Connections, each from `open` to its close. Threads may share it."""

    def __init__(self, answer: Application, tell: RefusalHandler, loop: LoopThread) -> None:
        self._answer = answer
        self._tell = tell
        self._loop = loop
        self._connections: Connections | None = None
        self._services: list[Service] = []

    @property
    def transport(self) -> Any:
        """A transport of httpx, which needs no connection."""
        from xs2a_sandbox.features.pytest.httpx_transport import HttpxTransport

        return HttpxTransport(self._answer, self._loop)

    def open(self, origin: Origin, caller: Caller) -> socket.socket:
        """Return the client's end of a new connection."""
        near, far = _pair()
        self._loop.run(self._serve(far, origin, caller))
        return near

    def close(self) -> None:
        if self._services:
            self._loop.run(self._drain())

    async def _serve(self, far: socket.socket, origin: Origin, caller: Caller) -> None:
        if self._connections is None:
            self._connections = Connections(USUAL)
        service = Service(self._limit_time(caller), tell=self._tell, connections=self._connections)
        self._services = [running for running in self._services if running.clients] + [service]
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: _BankEnd(service, origin), far)

    async def _drain(self) -> None:
        await asyncio.gather(*(service.drain(0) for service in self._services))

    def _limit_time(self, caller: Caller) -> Application:
        def answer(request: Request) -> Coroutine[Any, Any, Response]:
            return self._in_time(request, caller)

        return answer

    async def _in_time(self, request: Request, caller: Caller) -> Response:
        PATIENCE.set(caller.patience())
        try:
            return await self._answer(request)
        except TimeoutError:
            caller.give_up()
            return Response(504, fault="drop")


class _BankEnd(HttpConnection):
    endpoint = Endpoint("process", "a connection inside a test's process, which speaks HTTP/1.1")

    def __init__(self, service: Service, origin: Origin) -> None:
        super().__init__(service)
        self._origin = origin

    def place(self, url: bytes, headers: Headers) -> RequestTarget:
        parsed = httptools.parse_url(url)
        target = (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")
        host, port = host_and_port("", headers)
        # A client that uses a proxy names its bank only in the request.
        scheme = self._origin.scheme if parsed.schema is None else parsed.schema.decode("ascii")
        return RequestTarget(target.decode("ascii"), host or self._origin.host, port, scheme)

    def request(self, turn: ParsedRequest) -> tuple[Request, Response | None]:
        place = turn.place
        return Request(
            turn.method, place.target, turn.headers, turn.body, place.host, place.scheme, port=place.port
        ), None


def _pair() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a TCP connection. Other sockets cannot be reset."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far, address = listening.accept()
        while address != near.getsockname():
            far.close()  # another process was quicker
            far, address = listening.accept()
    far.setblocking(False)
    return near, far
