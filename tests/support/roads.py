"""All ways to an engine through sockets: each door, with and without TLS, and through a tunnel of the proxy."""

import asyncio
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.doors import DEADLINE, Loop, echo, limits, read_all, trusting
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.doors.mitmproxy_master import SandboxMaster
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.http import Request, Response

ROADS = ("direct", "proxy", "tls-proxy", "tunnel", "tls-tunnel", "tls")

OVER_TLS = ("tls-proxy", "tls-tunnel", "tls")

ENGINES = ("auto", "mitmproxy")
"""The engines that can handle connections to the proxy and the TLS door."""

engine = "auto"
"""The default engine."""

HOST = "localhost"
"""The path of the request on every road."""


def direct_door(answer: Any, **options: Any) -> DirectDoor:
    usual = {"host": "127.0.0.1", "port": 0, "tell": tell_nobody, "connections": Connections(limits())}
    return DirectDoor(answer, **usual | options)


def proxy_doors(answer: Any, confdir: Path, **options: Any) -> ProxyDoors:
    usual: dict[str, Any] = {"host": "127.0.0.1", "proxy_port": 0, "tls_port": 0, "proxy_auth": None, "engine": engine}
    usual |= {"tell": tell_nobody, "connections": Connections(limits())}
    return ProxyDoors(answer, confdir=confdir, **usual | options)


def master_of(doors: ProxyDoors) -> SandboxMaster:
    """Return the mitmproxy behind doors that are listening in another thread's loop."""
    loop = doors._listening[0].get_loop()
    return asyncio.run_coroutine_threadsafe(doors.master(), loop).result(DEADLINE)


def tell_nobody(request: Request, response: Response, seconds: float, failure: BaseException | None) -> Response:
    """Return the response unchanged: no log, and no bank with its own wording."""
    return response


@dataclass(frozen=True, slots=True)
class Roads:
    """Both kinds of doors with the same engine."""

    direct: DirectDoor
    proxy: ProxyDoors
    ca_file: Path
    loop: Loop
    connections: Connections

    @contextmanager
    def taken(self, road: str, *, patience: float = DEADLINE) -> Iterator[Any]:
        """Open a connection for HTTP on this road."""
        port = {"direct": self.direct.port, "tls": self.proxy.tls_port}.get(road, self.proxy.proxy_port)
        with ExitStack() as stack:
            way: Any = stack.enter_context(socket.create_connection(("127.0.0.1", port or 0), timeout=patience))
            if road in ("tunnel", "tls-tunnel"):
                way.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
                assert b" 200 " in way.recv(1000)
            if road in OVER_TLS:
                way = stack.enter_context(trusting(self.ca_file).wrap_socket(way, server_hostname=HOST))
            yield way

    def sent(self, road: str, *pieces: bytes) -> bytes:
        """Send data, and return what arrives until the door closes the connection."""
        with self.taken(road) as way:
            try:
                for piece in pieces:
                    way.sendall(piece)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                pass  # The door has stopped reading, but its answer can still be read.
            return read_all(way)


@contextmanager
def open_roads(confdir: Path, answer: Any = echo, **other: Any) -> Iterator[Roads]:
    """Open all doors with the default limits and some changes."""
    ca_file = ensure_ca(confdir)
    with Loop() as loop:

        async def start() -> Roads:
            all = Connections(limits(**other))
            direct = direct_door(answer, connections=all)
            proxy = proxy_doors(answer, confdir, connections=all)
            await direct.start()
            await proxy.start()
            # Tests of time limits must not wait for these.
            await proxy.master()
            proxy.certificates.context(HOST)
            return Roads(direct, proxy, ca_file, loop, all)

        roads = loop.run(start())
        try:
            yield roads
        finally:
            loop.run(roads.direct.drain(1))
            loop.run(roads.proxy.drain(1))


def target(road: str, path: str) -> bytes:
    """Return the target of the request line: an absolute URL for a proxy."""
    return (f"http://{HOST}{path}" if road in ("proxy", "tls-proxy") else path).encode()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def body(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])
