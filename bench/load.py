"""The load generator, a process of its own: connections that ask the same again and again.

`python bench/load.py '{"port": 8080, "requests": 1000, …}'` prints a line when it is connected, begins when it is given
one, and prints as JSON how it went. It is a loop over epoll without asyncio, as it has to be quicker than what it asks.
"""

import json
import re
import resource
import select
import socket
import ssl
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from random import Random
from time import perf_counter, process_time

PATIENCE = 10.0
"""Seconds without any answer after which a server is given up."""

_PIECE = 1 << 15
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Load:
    """So many `requests`, or as many as `seconds` allow.

    Without `rate` each connection asks again once it is answered. With it, requests arrive at random moments, so many
    in a second, whatever becomes of those before; what one waits for a connection is part of its time.
    """

    port: int
    request: str
    requests: int = 0
    seconds: float = 0.0
    connections: int = 16
    connect: str | None = None
    """The host to open a tunnel to first."""
    ca_file: str | None = None
    """The CA to trust, where TLS is spoken."""
    then: str | None = None
    """A second request after each; `{id}` in it is what the group of `id_pattern` finds in the answer to the first."""
    id_pattern: str = ""
    anew: bool = False
    """Every request has a connection of its own."""
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The times are in ms; `busy` is the share of a core that the generator has used."""

    answers: int
    seconds: float
    p50: float
    p99: float
    busy: float

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


class _Generator:
    def __init__(self, load: Load) -> None:
        self.load = load
        self.times: list[float] = []
        self.idle: deque[_Connection] = deque()
        self.epoll = select.epoll()
        self.by_number: dict[int, _Connection] = {}
        self.request, self.then = load.request.encode("latin-1"), (load.then or "").encode("latin-1")
        self.id_pattern = re.compile(load.id_pattern.encode())
        self.context = _trusting(load.ca_file) if load.ca_file else None
        self._arrived: deque[float] = deque()
        self._left = 0

    def connect(self) -> None:
        count = min(self.load.connections, self.load.requests or sys.maxsize)
        for number in range(count):
            _Connection(self).go_on()
            self._turn_until(lambda number=number: len(self.idle) > number)

    def run(self) -> Outcome:
        used, started = process_time(), perf_counter()
        if self.load.rate:
            self._arrive(started)
        else:
            self._left = self.load.requests or sys.maxsize
            for _ in range(len(self.idle)):
                self.idle.popleft().go_on()
            end = started + (self.load.seconds or float("inf"))
            answers = (2 if self.then else 1) * (self.load.requests or sys.maxsize)
            self._turn_until(lambda: len(self.times) >= answers or bool(self.times and perf_counter() >= end))
        seconds = perf_counter() - started
        times = sorted(self.times)
        if not times:
            raise ConnectionError("nothing was answered")
        p50, p99 = (times[len(times) * percent // 100] * 1000 for percent in (50, 99))
        return Outcome(len(times), seconds, p50, p99, (process_time() - used) / seconds)

    def next_due(self) -> float | None:
        """When the request was due that a connection is to send; None where there is none to send."""
        if self._arrived:
            return self._arrived.popleft()
        if self._left:
            self._left -= 1
            return perf_counter()
        return None

    def _arrive(self, started: float) -> None:
        moments = Random(1)
        due = started
        while (now := perf_counter()) < started + self.load.seconds:
            while due <= now:
                self._arrived.append(due)
                due += moments.expovariate(self.load.rate)
            while self._arrived and self.idle:
                self.idle.popleft().go_on()
            self._turn(0)
        # What has not been answered has taken so long already.
        self.times += [now - moment for moment in self._arrived]

    def _turn_until(self, is_over: Callable[[], bool]) -> None:
        answered, last = len(self.times), perf_counter()
        while not is_over():
            if self._turn(0.05) and len(self.times) > answered:
                answered, last = len(self.times), perf_counter()
            elif perf_counter() > last + PATIENCE:
                raise ConnectionError(f"no answer for {PATIENCE:.0f} s")

    def _turn(self, seconds: float) -> int:
        events = self.epoll.poll(seconds)
        for number, _ in events:
            self.by_number[number].go_on()
        return len(events)


class _Connection:
    """`go_on` takes it as far as it comes without waiting."""

    def __init__(self, generator: _Generator) -> None:
        self._all = generator
        self._socket: socket.socket
        steps = self._steps()
        self.go_on = lambda: next(steps)

    def _steps(self) -> Iterator[None]:
        load, times = self._all.load, self._all.times
        if not load.anew:
            yield from self._open()
        while True:
            while (due := self._all.next_due()) is None:
                self._all.idle.append(self)
                yield
            if load.anew:
                yield from self._open()
            answer = yield from self._ask(self._all.request)
            times.append(perf_counter() - due)
            if self._all.then:
                due, match = perf_counter(), self._all.id_pattern.search(answer)
                if match is None:
                    raise ConnectionError(f"there is no id in {answer[:300]!r}")
                yield from self._ask(self._all.then.replace(b"{id}", match[1]))
                times.append(perf_counter() - due)
            if load.anew:
                self._close()

    def _ask(self, request: bytes) -> Iterator[None]:
        self._socket.sendall(request)
        answer = b""
        while True:
            yield
            answer += self._received()
            end = answer.find(b"\r\n\r\n")
            if end < 0:
                continue
            if not answer.startswith(b"HTTP/1.1 20"):
                raise ConnectionError(f"not the answer that was expected: {answer[:500].decode('latin-1')}")
            if match := _LENGTH.search(answer, 0, end + 2):
                if len(answer) >= end + 4 + int(match[1]):
                    return answer
            elif not _CHUNKED.search(answer, 0, end + 2):
                raise ConnectionError(f"an answer of no length: {answer[:300].decode('latin-1')}")
            elif answer.endswith(b"\r\n0\r\n\r\n"):
                return answer

    def _received(self) -> bytes:
        try:
            piece = self._socket.recv(_PIECE)
        except ssl.SSLWantReadError:
            return b""
        if not piece:
            raise ConnectionError("the server closed a connection")
        return piece

    def _open(self) -> Iterator[None]:
        load = self._all.load
        # Loopback connects at once.
        self._socket = socket.create_connection(("127.0.0.1", load.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._all.epoll.register(self._socket, select.EPOLLIN)
        self._all.by_number[self._socket.fileno()] = self
        if load.connect:
            self._socket.send(f"CONNECT {load.connect}:443 HTTP/1.1\r\nHost: {load.connect}:443\r\n\r\n".encode())
            yield
            if b" 200 " not in self._received():
                raise ConnectionError("the proxy refused the tunnel")
        if self._all.context:
            self._socket = self._all.context.wrap_socket(
                self._socket, server_hostname=load.connect or "localhost", do_handshake_on_connect=False
            )
            while True:
                try:
                    self._socket.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    yield

    def _close(self) -> None:
        del self._all.by_number[self._socket.fileno()]
        # Without lingering: thousands of connections in a second would use up the ports.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._socket.close()


def _trusting(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    # WireMock's certificates lack what RFC 5280 asks of them beside being signed.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def main(load: Load) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    generator = _Generator(load)
    generator.connect()
    print("connected", flush=True)
    sys.stdin.readline()
    # Whoever measures the server asks it now, before the connections are closed.
    print(json.dumps(asdict(generator.run())), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(Load(**json.loads(sys.argv[1])))
