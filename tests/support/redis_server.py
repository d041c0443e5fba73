"""Debian's redis-server on a free port. Tests that need it are skipped if it is not installed."""

import atexit
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

import pytest
import redis

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
WHY_SKIPPED = "there is no redis-server here: apt-get install redis-server, or make redis"
needs_redis = pytest.mark.skipif(PROGRAM is None, reason=WHY_SKIPPED)


def free_port() -> int:
    """Return a port that the system does not assign itself, so that it stays free while the server is restarted."""
    while True:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as probe, socket.socket() as bus, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            bus.bind(("127.0.0.1", port + 10_000))  # a cluster also uses the port with this offset
            return port


class RedisServer:
    def __init__(self, directory: Path, *options: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.directory = directory
        self.options = options
        self.scheme = "redis"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> Any:
        return redis.Redis(port=self.port, socket_timeout=5)

    def start(self) -> None:
        assert PROGRAM
        fixed = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory), "--save", ""]
        with (self.directory / "redis.log").open("ab") as log:
            self._process = subprocess.Popen([PROGRAM, *fixed, *self.options], stdout=log, stderr=log)
        self._wait()

    def kill(self) -> None:
        """Kill the server like `kill -9`."""
        assert self._process
        self._process.kill()
        self._process.wait()

    def signal(self, number: int) -> None:
        assert self._process
        self._process.send_signal(number)

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self.kill()

    def _wait(self) -> None:
        until = monotonic() + 20
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(100)[:5] in (b"+PONG", b"-NOAU"):
                        return
            except OSError:
                pass
            assert monotonic() < until, (self.directory / "redis.log").read_text()
            sleep(0.02)


@contextmanager
def a_redis(*options: str) -> Iterator[RedisServer]:
    with TemporaryDirectory(prefix="redis-") as directory:
        server = RedisServer(Path(directory), *options)
        try:
            yield server
        finally:
            server.stop()


@cache
def the_redis() -> RedisServer:
    """Return one server for all tests of this process, with a new prefix for each test."""
    directory = TemporaryDirectory(prefix="redis-")
    server = RedisServer(Path(directory.name))
    atexit.register(directory.cleanup)
    atexit.register(server.stop)
    return server
