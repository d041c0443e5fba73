"""The load generator, a separate process whose connections repeat the same requests.

`python bench/load.py '{"port": 8080, "requests": 1000, …}'` prints a line when it is connected, starts when it reads a
line, and prints the outcome as JSON. It uses epoll without asyncio, because it must be faster than the server.
"""

import json
import re
import resource
import select
import socket
import ssl
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from random import Random
from time import perf_counter, process_time
from uuid import uuid4

PATIENCE = 10.0
"""Seconds without any answer after which the server is considered dead."""

_PIECE = 1 << 15
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_NAME = re.compile(rb"\{(\w+)\}")
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Load:
    """The load: a number of `requests`, or as many as possible in `seconds`.

    Without `rate`, each connection sends the next request after an answer. With `rate`, this number of requests per
    second arrives at random moments, regardless of earlier ones. Waiting for a free connection counts as part of the
    time.
    """

    port: int
    request: str
    requests: int = 0
    seconds: float = 0.0
    connections: int = 16
    connect: str | None = None
    """Host for a tunnel to open first."""
    ca_file: str | None = None
    """CA to trust, for TLS."""
    then: Sequence[str] = ()
    """Requests that follow each request. In all of them `{request}` is a new id, `{journey}` an id that is new for each
    first request, and `{name}` the match of the pattern with this name in `ids`.
    """
    ids: Mapping[str, str] = field(default_factory=dict)
    """Patterns by name. Their group is an id in an answer to a POST."""
    anew: bool = False
    """Every request opens a new connection."""
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Times are in ms. `busy` is the share of a core that the generator used."""

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
        self.requests = [_Template(text.encode("latin-1")) for text in (load.request, *load.then)]
        self.ids = {name.encode(): re.compile(pattern.encode()) for name, pattern in load.ids.items()}
        fresh = str(uuid4()).rpartition("-")[0]
        self.fresh_ids = (f"{fresh}-{number:012x}".encode() for number in count())
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
            answers = len(self.requests) * (self.load.requests or sys.maxsize)
            self._turn_until(lambda: len(self.times) >= answers or bool(self.times and perf_counter() >= end))
        seconds = perf_counter() - started
        times = sorted(self.times)
        if not times:
            raise ConnectionError("nothing was answered")
        p50, p99 = (times[len(times) * percent // 100] * 1000 for percent in (50, 99))
        return Outcome(len(times), seconds, p50, p99, (process_time() - used) / seconds)

    def next_due(self) -> float | None:
        """Return the due time of a connection's next request, or None if there is nothing to send."""
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
        # Unanswered requests have already taken this long.
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
            connection = self.by_number[number]
            if connection.is_idle:
                # Servers send session tickets after the handshake.
                connection.receive()
            else:
                connection.go_on()
        return len(events)


class _Template:
    def __init__(self, text: bytes) -> None:
        self.creates = text.startswith(b"POST ")
        self._text = text
        # Texts and names alternate.
        self._parts = _NAME.split(text)

    def fill(self, values: dict[bytes, bytes], fresh_ids: Iterator[bytes]) -> bytes:
        """Fill in ids. Raises ConnectionError if earlier answers had no id with that name."""
        if len(self._parts) == 1:
            return self._text
        if b"journey" not in values:
            values[b"journey"] = next(fresh_ids)
        values[b"request"] = next(fresh_ids)
        parts = self._parts.copy()
        try:
            parts[1::2] = [values[name] for name in parts[1::2]]
        except KeyError as missing:
            raise ConnectionError(f"no answer contained an id for {missing.args[0].decode()}") from None
        return b"".join(parts)


class _Connection:
    """Continue with `go_on` until it would have to wait."""

    def __init__(self, generator: _Generator) -> None:
        self._all = generator
        self._socket: socket.socket
        self.is_idle = False
        """Waiting for a request to send."""
        steps = self._steps()
        self.go_on = lambda: next(steps)

    def _steps(self) -> Iterator[None]:
        load, times = self._all.load, self._all.times
        if not load.anew:
            yield from self._open()
        while True:
            while (due := self._all.next_due()) is None:
                self._all.idle.append(self)
                self.is_idle = True
                yield
                self.is_idle = False
            if load.anew:
                yield from self._open()
            values: dict[bytes, bytes] = {}
            for request in self._all.requests:
                answer = yield from self._ask(request.fill(values, self._all.fresh_ids))
                times.append(perf_counter() - due)
                due = perf_counter()
                if load.then and request.creates:
                    for name, pattern in self._all.ids.items():
                        if match := pattern.search(answer):
                            values[name] = match[1]
            if load.anew:
                self._close()

    def _ask(self, request: bytes) -> Iterator[None]:
        self._socket.sendall(request)
        answer = b""
        while True:
            yield
            answer += self.receive()
            end = answer.find(b"\r\n\r\n")
            if end < 0:
                continue
            if not answer.startswith(b"HTTP/1.1 20"):
                raise ConnectionError(f"unexpected answer: {answer[:500].decode('latin-1')}")
            if answer.startswith(b"HTTP/1.1 204"):
                return answer
            if match := _LENGTH.search(answer, 0, end + 2):
                if len(answer) >= end + 4 + int(match[1]):
                    return answer
            elif not _CHUNKED.search(answer, 0, end + 2):
                raise ConnectionError(f"an answer without a length: {answer[:300].decode('latin-1')}")
            elif answer.endswith(b"\r\n0\r\n\r\n"):
                return answer

    def receive(self) -> bytes:
        try:
            piece = self._socket.recv(_PIECE)
        except ssl.SSLWantReadError:
            return b""
        if not piece:
            raise ConnectionError("the server closed a connection")
        return piece

    def _open(self) -> Iterator[None]:
        load = self._all.load
        # On the loopback interface connect() returns at once.
        self._socket = socket.create_connection(("127.0.0.1", load.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._all.epoll.register(self._socket, select.EPOLLIN)
        self._all.by_number[self._socket.fileno()] = self
        if load.connect:
            self._socket.send(f"CONNECT {load.connect}:443 HTTP/1.1\r\nHost: {load.connect}:443\r\n\r\n".encode())
            yield
            if b" 200 " not in self.receive():
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
        # No lingering, because thousands of connections in a second would exhaust the ports.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._socket.close()


def _trusting(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    # WireMock's certificates are signed, but do not follow RFC 5280 otherwise.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def main(load: Load) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    generator = _Generator(load)
    generator.connect()
    print("connected", flush=True)
    sys.stdin.readline()
    # The server can be measured now, before the connections are closed.
    print(json.dumps(asdict(generator.run())), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(Load(**json.loads(sys.argv[1])))
