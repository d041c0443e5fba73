"""Code shared by the tests of doors: an event loop in a thread, an echoing engine, and a bank that must get no
requests.
"""

import asyncio
import base64
import json
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Protocol

from xs2a_sandbox.config.limits import USUAL, Limits
from xs2a_sandbox.doors.serving import new_loop
from xs2a_sandbox.http import Request, Response, to_json

DEADLINE = 10.0
"""Maximum seconds that a test waits for anything."""

START = 40.0
"""Maximum seconds for the start of a process on a busy machine."""


def limits(**other: Any) -> Limits:
    """Return the default limits with some changes."""
    return replace(USUAL, **other)


class Door(Protocol):
    async def start(self) -> None: ...

    async def drain(self, grace: float = 10.0) -> None: ...


class Loop:
    """An event loop like that of `serve`, in a thread, so that a test can use blocking clients."""

    def __enter__(self) -> "Loop":
        self.loop = new_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        return self

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(2 * DEADLINE)

    def start(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def __exit__(self, *_: object) -> None:
        self.run(_settled())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(DEADLINE)
        self.loop.close()


async def _settled() -> None:
    """Cancel remaining tasks, and let closing transports finish."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    for _ in range(5):
        await asyncio.sleep(0)


@contextmanager
def opened[D: Door](make: Callable[[], D]) -> Iterator[tuple[D, Loop]]:
    """Create a door inside the loop with `make`, and yield it when it is listening."""
    with Loop() as loop:

        async def start() -> D:
            door = make()
            await door.start()
            return door

        door = loop.run(start())
        try:
            yield door, loop
        finally:
            loop.run(door.drain(1))


async def echo(request: Request) -> Response:
    """Answer with the request."""
    seen = {
        "method": request.method,
        "target": request.target,
        "headers": [list(pair) for pair in request.headers],
        "body": request.body.decode("latin-1"),
        "host": request.host,
        "scheme": request.scheme,
        "door": request.door,
        "user": request.user,
    }
    return Response(200, (("Content-Type", "application/json"), ("X-Two", "a"), ("X-Two", "b")), to_json(seen))


class CountingBank:
    """A bank that answers every request, and counts connections."""

    def __init__(self) -> None:
        self.connections = 0

    def __enter__(self) -> "CountingBank":
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                connection.settimeout(DEADLINE)
                if connection.recv(65536) == b"enough":
                    return
                self.connections += 1
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nREAL BANK")

    def __exit__(self, *_: object) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"enough")
        self._thread.join(DEADLINE)
        self._socket.close()


def talk(port: int, *pieces: bytes, patience: float = DEADLINE) -> bytes:
    """Send `pieces` and read until the other side closes. Fails if this takes longer than `patience` seconds."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        connection.sendall(b"".join(pieces))
        return read_all(connection)


def read_all(connection: socket.socket | ssl.SSLSocket) -> bytes:
    received = b""
    while True:
        try:
            chunk = connection.recv(65536)
        except ConnectionResetError:
            return received
        if not chunk:
            return received
        received += chunk


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def is_refusal(body: bytes | str) -> bool:
    """Return whether `body` has the format of section 7 with one message of the sandbox."""
    value = json.loads(body)
    (message,) = value["tppMessages"]
    return (
        set(value) == {"tppMessages", "_links"}
        and value["_links"] is None
        and set(message) == {"category", "code", "path", "text"}
        and message["category"] == "ERROR"
        and message["path"] is None
        and message["text"].startswith("{sensitive} XS2A9")
    )


def trusting(ca_file: Path, *alpn: str) -> ssl.SSLContext:
    """Return a TLS context for clients. With `alpn` it offers exactly these protocols."""

    class Context(ssl.SSLContext):
        def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
            super().set_alpn_protocols(alpn or alpn_protocols)

    context = Context(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca_file)
    return context


def wait_until(happened: Callable[[], bool], seconds: float = DEADLINE) -> None:
    end = monotonic() + seconds
    while not happened():
        if monotonic() > end:
            raise TimeoutError
        sleep(0.005)
