"""The load generator, a process of its own: keep-alive connections that ask the same again and again.

`python bench/load.py '{"port": 8080, "requests": 1000, …}'` prints a line when it is connected, begins when it is given
one, and prints how many seconds the answers took.
"""

import asyncio
import json
import ssl
import sys
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True, slots=True)
class Load:
    """`connect` names what to open a tunnel to, first; `ca_file` whom to trust, where TLS is spoken."""

    port: int
    request: str
    requests: int
    connections: int = 16
    connect: str | None = None
    ca_file: str | None = None


class _Connection(asyncio.Protocol):
    """Sends the next request when the answer to the last one is complete."""

    def __init__(self, request: bytes, share: int, done: asyncio.Future[None]) -> None:
        self.request = request
        self.left = share
        self.done = done
        self.received = b""

    def start(self, transport: asyncio.WriteTransport) -> None:
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.received[:end].lower()
        start = head.find(b"content-length:")
        if not head.startswith(b"http/1.1 200 ") or start < 0:
            self._failed(f"not the answer that was expected: {self.received[:300].decode('latin-1')}")
            return
        length = int(head[start + 15 :].partition(b"\r\n")[0])
        if len(self.received) < end + 4 + length:
            return
        self.received = b""
        self.left -= 1
        if self.left:
            self.transport.write(self.request)
        elif not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        self._failed(f"the server closed a connection: {error}")

    def _failed(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError(why))


class _Tunnel(asyncio.Protocol):
    """Waits for the answer to CONNECT."""

    def __init__(self) -> None:
        self.open = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        if not self.open.done():
            self.open.set_result(data)


async def run(load: Load) -> None:
    """Measures from the first request to the last answer; connections and handshakes are made before."""
    loop = asyncio.get_running_loop()
    context = ssl.create_default_context(cafile=load.ca_file) if load.ca_file else None
    request = load.request.encode()
    connections: list[tuple[_Connection, asyncio.WriteTransport]] = []
    for number in range(load.connections):
        share = load.requests // load.connections + (number < load.requests % load.connections)
        if not share:
            continue
        connection = _Connection(request, share, loop.create_future())
        if load.connect and context:
            bare, tunnel = await loop.create_connection(_Tunnel, "127.0.0.1", load.port)
            bare.write(f"CONNECT {load.connect}:443 HTTP/1.1\r\nHost: {load.connect}:443\r\n\r\n".encode())
            if b" 200 " not in await tunnel.open:
                raise ConnectionError("the proxy refused the tunnel")
            transport = await loop.start_tls(bare, connection, context, server_hostname=load.connect)
            if transport is None:
                raise ConnectionError("the tunnel was closed during the handshake")
        else:
            transport, _ = await loop.create_connection(
                lambda connection=connection: connection,
                "127.0.0.1",
                load.port,
                ssl=context,
                server_hostname="localhost" if context else None,
            )
        connections.append((connection, transport))
    print("connected", flush=True)
    sys.stdin.readline()
    started = perf_counter()
    for connection, transport in connections:
        connection.start(transport)
    await asyncio.gather(*(connection.done for connection, _ in connections))
    seconds = perf_counter() - started
    # Whoever measures the server asks it now, before the connections are closed.
    print(seconds, flush=True)
    sys.stdin.readline()
    for _, transport in connections:
        transport.close()


if __name__ == "__main__":
    asyncio.run(run(Load(**json.loads(sys.argv[1]))))
