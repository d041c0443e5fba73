"""Cases of RFC 9113 (HTTP/2) and RFC 7541 (HPACK), run against the TLS port and a tunnel.

The usual test suite h2spec is neither in Debian nor on PyPI or npm. These cases cover the same sections. They found
these bugs, which are fixed: a connection error was sent as two GOAWAYs, the second always with PROTOCOL_ERROR; errors
of HPACK were sent as PROTOCOL_ERROR; a frame with an excessive length was read and stored; a request that announced a
body but had none was answered; TLS ended without close_notify. EXCEPTED lists the remaining cases with reasons.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from h2.errors import ErrorCodes as E
from hpack import Decoder, Encoder

from tests.support.doors import DEADLINE, echo, trusting
from tests.support.roads import HOST, Roads, open_roads
from xs2a_sandbox.http import Request, Response

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
BOTH = END_STREAM | END_HEADERS

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PROBE = b"are you?"


@dataclass(frozen=True, slots=True)
class Expected:
    """Possible results of a case: a GOAWAY or, if `stream` is given, a RST_STREAM with one of the codes; or a status.

    A stream error may be treated as a connection error (section 5.4.2), and a connection may just be closed where the
    error cannot be sent.
    """

    codes: frozenset[int] = frozenset()
    stream: int = 0
    status: int = 0


def connection_error(*codes: E) -> Expected:
    return Expected(frozenset(codes))


def stream_error(*codes: E, stream: int = 1) -> Expected:
    return Expected(frozenset(codes), stream)


def status(code: int, stream: int = 1) -> Expected:
    return Expected(stream=stream, status=code)


GOES_ON = Expected()
ANSWERED = object()
"""Marks the place in the bytes of a case at which stream 1 must be answered first."""

Sent = tuple[bytes | object, ...]


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"", length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return size.to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def encoded(*fields: tuple[str, str]) -> bytes:
    return Encoder().encode(fields)


def head(method: str = "GET", path: str = "/v1") -> list[tuple[str, str]]:
    return [(":method", method), (":scheme", "https"), (":authority", HOST), (":path", path)]


def request(
    stream: int = 1, flags: int = BOTH, fields: list[tuple[str, str]] | None = None, more: bytes = b""
) -> bytes:
    return frame(HEADERS, flags, stream, encoded(*(head() if fields is None else fields)) + more)


def get(*more: tuple[str, str]) -> bytes:
    return request(fields=[*head(), *more])


def post(*more: tuple[str, str], flags: int = END_HEADERS) -> bytes:
    return request(flags=flags, fields=[*head("POST"), *more])


def without(name: str, *more: tuple[str, str]) -> bytes:
    return request(fields=[field for field in head() if field[0] != name] + list(more))


def setting(number: int, value: int) -> bytes:
    return frame(SETTINGS, 0, 0, number.to_bytes(2) + value.to_bytes(4))


def number(value: int) -> bytes:
    return value.to_bytes(4)


OPEN = post()
WAITS = request(fields=head(path="/wait"))
"""Its stream is half closed, so the answer does not arrive."""
RESET = frame(RST, 0, 1, number(E.CANCEL))
AFTER_RESET = (OPEN, RESET)
AFTER_ANSWER = (get(), ANSWERED)
HALF = frame(HEADERS, END_STREAM, 1, encoded(*head()))
"""A block of headers that continues."""
REST = frame(CONTINUATION, END_HEADERS, 1)

ANY_COMPRESSION = connection_error(E.COMPRESSION_ERROR)
ANY_PROTOCOL = connection_error(E.PROTOCOL_ERROR)
SIZE = connection_error(E.FRAME_SIZE_ERROR)
BAD_REQUEST = stream_error(E.PROTOCOL_ERROR)
REFUSED = Expected(BAD_REQUEST.codes, 1, 400)
"""A malformed request may be answered before its stream ends (section 8.1.1)."""
NOT_OPEN = connection_error(E.PROTOCOL_ERROR, E.STREAM_CLOSED)

CASES: dict[str, tuple[Sent, Expected]] = {
    # 4.1, 4.2: frames
    "4.1 a frame of unknown type": ((frame(0x42, 0, 0, b"x"),), GOES_ON),
    "4.1 a frame of unknown type on an idle stream": ((frame(0x42, 0xFF, 9, b"x"),), GOES_ON),
    "4.1 undefined flags": ((frame(PING, 0x16, 0, b"12345678"),), GOES_ON),
    "4.1 the reserved bit": ((frame(PING, 0, 0x80000000, b"12345678"),), GOES_ON),
    "4.2 DATA of 16 KiB": ((OPEN, frame(DATA, END_STREAM, 1, b"a" * 2**14)), status(200)),
    "4.2 a DATA frame that is too large": ((OPEN, frame(DATA, END_STREAM, 1, length=2**17 + 1)), SIZE),
    "4.2 a HEADERS frame that is too large": ((frame(HEADERS, BOTH, 1, length=2**17 + 1),), SIZE),
    "4.2 a frame of unknown type that is too large": ((frame(0x42, 0, 0, length=2**24 - 1),), SIZE),
    # 4.3, RFC 7541: blocks of headers
    "4.3 an index that does not exist": ((request(more=b"\xff\x80\x01"),), ANY_COMPRESSION),
    "4.3 the index 0": ((request(more=b"\x80"),), ANY_COMPRESSION),
    "4.3 a block that is cut": ((request(more=b"\x00\x05ab"),), ANY_COMPRESSION),
    "4.3 an integer without an end": ((request(more=b"\xff" * 20),), ANY_COMPRESSION),
    "4.3 Huffman padding of eight bits": (
        (request(more=b"\x00\x01x\x82\x1f\xff"),),
        ANY_COMPRESSION,
    ),
    "4.3 Huffman padding of zeros": ((request(more=b"\x00\x01x\x81\x18"),), ANY_COMPRESSION),
    "4.3 Huffman with its end in it": (
        (request(more=b"\x00\x01x\x84\xff\xff\xff\xff"),),
        ANY_COMPRESSION,
    ),
    "4.3 a table larger than allowed": (
        (frame(HEADERS, BOTH, 1, b"\x3f\xe2\x1f" + encoded(*head())),),
        ANY_COMPRESSION,
    ),
    "4.3 a change of the table at the end of a block": (
        (request(more=b"\x20"),),
        ANY_COMPRESSION,
    ),
    "4.3 a change of the table at the beginning": ((frame(HEADERS, BOTH, 1, b"\x20" + encoded(*head())),), status(200)),
    "4.3 a field that is never indexed": ((request(more=b"\x10\x01x\x01y"),), status(200)),
    # 5.1: states of streams
    "5.1 DATA on an idle stream": ((frame(DATA, END_STREAM, 1, b"x"),), ANY_PROTOCOL),
    "5.1 RST_STREAM on an idle stream": ((frame(RST, 0, 1, number(E.CANCEL)),), ANY_PROTOCOL),
    "5.1 WINDOW_UPDATE on an idle stream": ((frame(WINDOW, 0, 1, number(1)),), ANY_PROTOCOL),
    "5.1 CONTINUATION on an idle stream": ((REST,), ANY_PROTOCOL),
    "5.1 PRIORITY on an idle stream": ((frame(PRIORITY, 0, 1, number(0) + b"\x10"),), GOES_ON),
    "5.1 DATA on a half closed stream": ((WAITS, frame(DATA, END_STREAM, 1, b"x")), stream_error(E.STREAM_CLOSED)),
    "5.1 HEADERS on a half closed stream": ((WAITS, get()), stream_error(E.STREAM_CLOSED)),
    "5.1 CONTINUATION on a half closed stream": ((WAITS, REST), NOT_OPEN),
    "5.1 WINDOW_UPDATE on a half closed stream": ((WAITS, frame(WINDOW, 0, 1, number(1))), GOES_ON),
    "5.1 PRIORITY on a half closed stream": ((WAITS, frame(PRIORITY, 0, 1, number(0) + b"\x10")), GOES_ON),
    "5.1 RST_STREAM on a half closed stream": ((WAITS, RESET), GOES_ON),
    "5.1 DATA after RST_STREAM": ((*AFTER_RESET, frame(DATA, END_STREAM, 1, b"x")), stream_error(E.STREAM_CLOSED)),
    "5.1 HEADERS after RST_STREAM": ((*AFTER_RESET, get()), stream_error(E.STREAM_CLOSED)),
    "5.1 CONTINUATION after RST_STREAM": ((*AFTER_RESET, REST), NOT_OPEN),
    "5.1 PRIORITY after RST_STREAM": ((*AFTER_RESET, frame(PRIORITY, 0, 1, number(0) + b"\x10")), GOES_ON),
    "5.1 WINDOW_UPDATE after RST_STREAM": ((*AFTER_RESET, frame(WINDOW, 0, 1, number(1))), GOES_ON),
    "5.1 RST_STREAM twice": ((*AFTER_RESET, RESET), GOES_ON),
    "5.1 DATA after the answer": ((*AFTER_ANSWER, frame(DATA, END_STREAM, 1, b"x")), stream_error(E.STREAM_CLOSED)),
    "5.1 HEADERS after the answer": ((*AFTER_ANSWER, get()), stream_error(E.STREAM_CLOSED)),
    "5.1 CONTINUATION after the answer": ((*AFTER_ANSWER, REST), NOT_OPEN),
    "5.1 PRIORITY after the answer": ((*AFTER_ANSWER, frame(PRIORITY, 0, 1, number(0) + b"\x10")), GOES_ON),
    "5.1 WINDOW_UPDATE after the answer": ((*AFTER_ANSWER, frame(WINDOW, 0, 1, number(1))), GOES_ON),
    "5.1 RST_STREAM after the answer": ((*AFTER_ANSWER, RESET), GOES_ON),
    "5.1.1 an even stream": ((request(2),), ANY_PROTOCOL),
    "5.1.1 a stream below the last one": ((request(5), request(3)), NOT_OPEN),
    "5.1.1 streams that are left out": ((request(7), request(101)), status(200, 101)),
    "5.1.2 more streams than allowed": (
        tuple(request(stream, fields=head(path="/wait")) for stream in range(1, 204, 2)),
        stream_error(E.PROTOCOL_ERROR, E.REFUSED_STREAM, stream=201),
    ),
    "5.1.2 as many streams as allowed": (
        (*(request(stream, fields=head(path="/wait")) for stream in range(3, 200, 2)), request(201)),
        status(200, 201),
    ),
    "5.5 an unknown frame in a block of headers": ((HALF, frame(0x42), REST), ANY_PROTOCOL),
    # 6.1: DATA
    "6.1 DATA on stream 0": ((frame(DATA, 0, 0, b"x"),), ANY_PROTOCOL),
    "6.1 padding": ((OPEN, frame(DATA, END_STREAM | PADDED, 1, b"\x02ab\0\0")), status(200)),
    "6.1 nothing but padding": ((OPEN, frame(DATA, END_STREAM | PADDED, 1, b"\x02\0\0")), status(200)),
    "6.1 more padding than frame": ((OPEN, frame(DATA, END_STREAM | PADDED, 1, b"\x05ab")), ANY_PROTOCOL),
    "6.1 padding without a length": (
        (OPEN, frame(DATA, END_STREAM | PADDED, 1)),
        connection_error(E.FRAME_SIZE_ERROR, E.PROTOCOL_ERROR),
    ),
    "6.1 an empty DATA at the end": ((OPEN, frame(DATA, 0, 1, b"x"), frame(DATA, END_STREAM, 1)), status(200)),
    # 6.2: HEADERS
    "6.2 HEADERS on stream 0": ((request(0),), ANY_PROTOCOL),
    "6.2 HEADERS with padding": (
        (frame(HEADERS, BOTH | PADDED, 1, b"\x03" + encoded(*head()) + b"\0\0\0"),),
        status(200),
    ),
    "6.2 more padding than HEADERS": ((frame(HEADERS, BOTH | PADDED, 1, b"\xff" + encoded(*head())),), ANY_PROTOCOL),
    "6.2 HEADERS with priority": (
        (frame(HEADERS, BOTH | WITH_PRIORITY, 1, number(0) + b"\xff" + encoded(*head())),),
        status(200),
    ),
    "6.2 HEADERS that depend on themselves": (
        (frame(HEADERS, BOTH | WITH_PRIORITY, 1, number(1) + b"\xff" + encoded(*head())),),
        Expected(frozenset({E.PROTOCOL_ERROR}), 1, 200),
    ),
    "6.2 HEADERS of another stream in a block": ((HALF, request(3)), ANY_PROTOCOL),
    "6.2 DATA in a block": ((HALF, frame(DATA, 0, 1, b"x")), ANY_PROTOCOL),
    "6.2 PING in a block": ((HALF, frame(PING, 0, 0, b"12345678")), ANY_PROTOCOL),
    "6.2 PRIORITY in a block": ((HALF, frame(PRIORITY, 0, 1, number(0) + b"\x10")), ANY_PROTOCOL),
    "6.2 SETTINGS in a block": ((HALF, frame(SETTINGS)), ANY_PROTOCOL),
    # 6.3: PRIORITY
    "6.3 PRIORITY on stream 0": ((frame(PRIORITY, 0, 0, number(1) + b"\x10"),), ANY_PROTOCOL),
    "6.3 PRIORITY of four bytes": ((frame(PRIORITY, 0, 1, number(0)),), stream_error(E.FRAME_SIZE_ERROR)),
    "6.3 PRIORITY on itself": (
        (frame(PRIORITY, 0, 1, number(1) + b"\x10"),),
        Expected(frozenset({E.PROTOCOL_ERROR}), 1),
    ),
    # 6.4: RST_STREAM
    "6.4 RST_STREAM on stream 0": ((frame(RST, 0, 0, number(E.CANCEL)),), ANY_PROTOCOL),
    "6.4 RST_STREAM of three bytes": ((OPEN, frame(RST, 0, 1, b"\0\0\0")), SIZE),
    "6.4 RST_STREAM of five bytes": ((OPEN, frame(RST, 0, 1, b"\0" * 5)), SIZE),
    "6.4 an unknown code": ((OPEN, frame(RST, 0, 1, number(0xABCD))), GOES_ON),
    # 6.5: SETTINGS
    "6.5 SETTINGS on a stream": ((frame(SETTINGS, 0, 1),), ANY_PROTOCOL),
    "6.5 SETTINGS of five bytes": ((frame(SETTINGS, 0, 0, b"\0" * 5),), SIZE),
    "6.5 an acknowledgement with settings": ((frame(SETTINGS, ACK, 0, b"\0" * 6),), SIZE),
    "6.5 a push setting of 2": ((setting(2, 2),), ANY_PROTOCOL),
    "6.5 a push setting of 0": ((setting(2, 0),), GOES_ON),
    "6.5 a window that is too large": ((setting(4, 2**31),), connection_error(E.FLOW_CONTROL_ERROR)),
    "6.5 a frame size that is too small": ((setting(5, 2**14 - 1),), ANY_PROTOCOL),
    "6.5 a frame size that is too large": ((setting(5, 2**24),), ANY_PROTOCOL),
    "6.5 the largest frame size": ((setting(5, 2**24 - 1), get()), status(200)),
    "6.5 no table": ((setting(1, 0), get()), status(200)),
    "6.5 no streams": ((setting(3, 0), get()), status(200)),
    "6.5 an unknown setting": ((setting(0x1A2A, 7),), GOES_ON),
    "6.5 a setting twice": ((setting(4, 1), setting(4, 65_535), get()), status(200)),
    # 6.6: PUSH_PROMISE
    "6.6 PUSH_PROMISE of a client": ((OPEN, frame(PUSH, END_HEADERS, 1, number(2) + encoded(*head()))), ANY_PROTOCOL),
    "6.6 PUSH_PROMISE on stream 0": ((frame(PUSH, END_HEADERS, 0, number(2) + encoded(*head())),), ANY_PROTOCOL),
    # 6.7: PING
    "6.7 PING on a stream": ((frame(PING, 0, 1, b"12345678"),), ANY_PROTOCOL),
    "6.7 PING of seven bytes": ((frame(PING, 0, 0, b"1234567"),), SIZE),
    "6.7 PING of nine bytes": ((frame(PING, 0, 0, b"123456789"),), SIZE),
    "6.7 an acknowledgement of nothing": ((frame(PING, ACK, 0, b"12345678"),), GOES_ON),
    # 6.8: GOAWAY
    "6.8 GOAWAY on a stream": ((frame(GOAWAY, 0, 1, number(0) + number(0)),), ANY_PROTOCOL),
    "6.8 a request before GOAWAY": ((get(), frame(GOAWAY, 0, 0, number(0) + number(0))), status(200)),
    # 6.9: WINDOW_UPDATE
    "6.9 an increment of 0": ((frame(WINDOW, 0, 0, number(0)),), ANY_PROTOCOL),
    "6.9 an increment of 0 on a stream": ((OPEN, frame(WINDOW, 0, 1, number(0))), BAD_REQUEST),
    "6.9 WINDOW_UPDATE of three bytes": ((frame(WINDOW, 0, 0, b"\0\0\1"),), SIZE),
    "6.9 a connection's window that is too large": (
        (frame(WINDOW, 0, 0, number(2**31 - 1)),),
        connection_error(E.FLOW_CONTROL_ERROR),
    ),
    "6.9 a stream's window that is too large": (
        (OPEN, frame(WINDOW, 0, 1, number(2**31 - 1))),
        stream_error(E.FLOW_CONTROL_ERROR),
    ),
    "6.9 a stream's window that a setting makes too large": (
        (OPEN, frame(WINDOW, 0, 1, number(2**31 - 1 - 65_535)), setting(4, 65_536)),
        connection_error(E.FLOW_CONTROL_ERROR),
    ),
    "6.9 a window of one byte, and more": (
        (setting(4, 1), get(), frame(WINDOW, 0, 1, number(1)), frame(WINDOW, 0, 1, number(65_000))),
        status(200),
    ),
    "6.9 a window that is less than nothing": (
        (setting(4, 100), get(), setting(4, 0), frame(WINDOW, 0, 1, number(65_000))),
        status(200),
    ),
    # 6.10: CONTINUATION
    "6.10 CONTINUATION": ((HALF, REST), status(200)),
    "6.10 several": ((HALF, frame(CONTINUATION, 0, 1, encoded(("x-a", "b"))), REST), status(200)),
    "6.10 CONTINUATION after the end of a block": ((OPEN, REST), ANY_PROTOCOL),
    "6.10 CONTINUATION of another stream": ((HALF, frame(CONTINUATION, END_HEADERS, 3)), ANY_PROTOCOL),
    "6.10 CONTINUATION on stream 0": ((HALF, frame(CONTINUATION, END_HEADERS, 0)), ANY_PROTOCOL),
    # 8: requests
    "8.1 a request": ((get(),), status(200)),
    "8.1 trailers": ((OPEN, frame(DATA, 0, 1, b"x"), request(fields=[("x-sum", "1")])), status(200)),
    "8.1 trailers that do not end the stream": (
        (OPEN, request(flags=END_HEADERS, fields=[("x-sum", "1")])),
        BAD_REQUEST,
    ),
    "8.1 trailers with a pseudo-header": ((OPEN, request(fields=[(":method", "GET")])), BAD_REQUEST),
    "8.1.1 a length that is too small": (
        (post(("content-length", "1")), frame(DATA, END_STREAM, 1, b"ab")),
        BAD_REQUEST,
    ),
    "8.1.1 a length that is too large": (
        (post(("content-length", "3")), frame(DATA, END_STREAM, 1, b"ab")),
        BAD_REQUEST,
    ),
    "8.1.1 a length without a body": ((post(("content-length", "3"), flags=BOTH),), BAD_REQUEST),
    "8.1.1 the length 0 without a body": ((post(("content-length", "0"), flags=BOTH),), status(200)),
    "8.1.1 the right length in two frames": (
        (post(("content-length", "2")), frame(DATA, 0, 1, b"a"), frame(DATA, END_STREAM, 1, b"b")),
        status(200),
    ),
    "8.1.1 two lengths": (
        (post(("content-length", "1"), ("content-length", "2")), frame(DATA, END_STREAM, 1, b"a")),
        REFUSED,
    ),
    "8.2.1 a name with a capital": ((get(("X-Capital", "1")),), BAD_REQUEST),
    "8.2.1 a name with a space": ((get(("x capital", "1")),), BAD_REQUEST),
    "8.2.1 a name with a control character": ((get(("x\x01", "1")),), BAD_REQUEST),
    "8.2.1 an empty name": ((get(("", "1")),), BAD_REQUEST),
    "8.2.1 a value with NUL": ((get(("x", "a\0b")),), BAD_REQUEST),
    "8.2.1 a value with CR": ((get(("x", "a\rb")),), BAD_REQUEST),
    "8.2.1 a value with LF": ((get(("x", "a\nb")),), BAD_REQUEST),
    "8.2.1 a value that begins with a space": ((get(("x", " a")),), BAD_REQUEST),
    "8.2.1 a value that ends with a tab": ((get(("x", "a\t")),), BAD_REQUEST),
    "8.2.2 Connection": ((get(("connection", "keep-alive")),), BAD_REQUEST),
    "8.2.2 Keep-Alive": ((get(("keep-alive", "timeout=5")),), BAD_REQUEST),
    "8.2.2 Proxy-Connection": ((get(("proxy-connection", "keep-alive")),), BAD_REQUEST),
    "8.2.2 Transfer-Encoding": ((get(("transfer-encoding", "chunked")),), BAD_REQUEST),
    "8.2.2 Upgrade": ((get(("upgrade", "h2c")),), BAD_REQUEST),
    "8.2.2 TE other than trailers": ((get(("te", "trailers, deflate")),), BAD_REQUEST),
    "8.2.2 TE: trailers": ((get(("te", "trailers")),), status(200)),
    "8.2.3 cookies in parts": ((get(("cookie", "a=b"), ("cookie", "c=d")),), status(200)),
    "8.3 an unknown pseudo-header": ((get((":test", "1")),), BAD_REQUEST),
    "8.3 a pseudo-header of answers": ((get((":status", "200")),), BAD_REQUEST),
    "8.3 a pseudo-header after others": ((without(":path", ("x", "1"), (":path", "/v1")),), BAD_REQUEST),
    "8.3.1 no :method": ((without(":method"),), BAD_REQUEST),
    "8.3.1 no :scheme": ((without(":scheme"),), BAD_REQUEST),
    "8.3.1 no :path": ((without(":path"),), BAD_REQUEST),
    "8.3.1 an empty :path": ((without(":path", (":path", "")),), BAD_REQUEST),
    "8.3.1 :method twice": ((request(fields=[(":method", "GET"), *head()]),), BAD_REQUEST),
    "8.3.1 :scheme twice": ((request(fields=[(":scheme", "https"), *head()]),), BAD_REQUEST),
    "8.3.1 :path twice": ((request(fields=[(":path", "/v1"), *head()]),), BAD_REQUEST),
    "8.3.1 Host in place of :authority": ((without(":authority", ("host", HOST)),), status(200)),
    "8.3.1 another Host than :authority": ((get(("host", "other.example")),), BAD_REQUEST),
    "8.3.1 OPTIONS *": ((request(fields=head("OPTIONS", "*")),), status(200)),
    "8.5 CONNECT": (
        (request(fields=[(":method", "CONNECT"), (":authority", "b:443")]),),
        Expected(BAD_REQUEST.codes, 1, 400),
    ),
}

BEGINNINGS: dict[str, tuple[bytes, Expected]] = {
    "3.4 something else than the preface": (b"GET / HTTP/1.1\r\nHost: b\r\n\r\n", ANY_PROTOCOL),
    "3.4 half of the preface": (PREFACE[:18] + b"XX\r\n\r\n" + frame(SETTINGS), ANY_PROTOCOL),
    "3.4 no SETTINGS after the preface": (PREFACE + frame(PING, 0, 0, b"12345678"), ANY_PROTOCOL),
}

EXCEPTED: dict[str, str] = {
    "6.5 an acknowledgement with settings": "hyperframe does not tell its size from other errors: PROTOCOL_ERROR",
    "6.8 a request before GOAWAY": "h2 sends nothing more on a connection whose client has said GOAWAY",
}
"""The cases that do not pass, each with its reason."""


async def answer(request: Request) -> Response:
    if request.target == "/wait":
        await asyncio.sleep(2 * DEADLINE)
    return await echo(request)


@pytest.fixture(scope="module")
def roads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roads]:
    with open_roads(tmp_path_factory.mktemp("conf"), answer) as roads:
        yield roads


class Talk:
    """Read the results from a connection."""

    def __init__(self, way: socket.socket) -> None:
        self._way, self._buffer = way, bytearray()
        self.goaways: list[int] = []
        self.resets: list[tuple[int, int]] = []
        self.statuses: dict[int, int] = {}
        self.ended: set[int] = set()
        self.has_echoed = self.was_closed = False
        self._decoder = Decoder()

    def read(self) -> None:
        """Read once, and record complete frames."""
        try:
            data = self._way.recv(65536)
        except (ConnectionError, TimeoutError):
            data = b""
        self.was_closed = not data
        self._buffer += data
        while len(self._buffer) >= 9 and len(self._buffer) >= 9 + (length := int.from_bytes(self._buffer[:3])):
            kind, flags, stream = self._buffer[3], self._buffer[4], int.from_bytes(self._buffer[5:9])
            payload = bytes(self._buffer[9 : 9 + length])
            del self._buffer[: 9 + length]
            if kind == GOAWAY:
                self.goaways.append(int.from_bytes(payload[4:8]))
            elif kind == RST:
                self.resets.append((stream, int.from_bytes(payload)))
            elif kind == PING and payload == PROBE:
                self.has_echoed = True
            elif kind == HEADERS:
                self.statuses[stream] = int(dict(self._decoder.decode(payload))[":status"])
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                self.ended.add(stream)

    @property
    def is_over(self) -> bool:
        return bool(self.was_closed or self.goaways)


def talk(roads: Roads, road: str, sent: Sent, expected: Expected) -> Talk:
    """Send a case, and read until its result is known."""
    with ExitStack() as stack:
        port = roads.proxy.tls_port if road == "tls" else roads.proxy.proxy_port
        way = stack.enter_context(socket.create_connection(("127.0.0.1", port or 0), timeout=2.0))
        if road == "tunnel":
            way.sendall(b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n")
            assert b" 200 " in way.recv(1000)
        context = trusting(roads.ca_file)
        context.set_alpn_protocols(["h2"])
        way = stack.enter_context(context.wrap_socket(way, server_hostname=HOST))
        talk = Talk(way)
        pending = b""
        for part in sent:
            if part is ANSWERED:
                way.sendall(pending)
                pending = b""
                while 1 not in talk.ended and not talk.is_over:
                    talk.read()
            elif isinstance(part, bytes):
                pending += part
        way.sendall(pending)
        while not talk.is_over and not (talk.has_echoed and (not expected.stream or expected.stream in talk.ended)):
            if expected.stream in {stream for stream, _ in talk.resets}:
                break
            talk.read()
        return talk


def holds(came: Talk, expected: Expected) -> bool:
    if expected.status and came.statuses.get(expected.stream) == expected.status and not came.resets:
        return not came.goaways
    if not expected.codes:
        return not expected.status and came.has_echoed and not (came.goaways or came.resets)
    if came.goaways:
        return len(came.goaways) == 1 and came.goaways[0] in expected.codes
    return any(stream == expected.stream and code in expected.codes for stream, code in came.resets)


@pytest.mark.parametrize("road", ["tls", "tunnel"])
@pytest.mark.parametrize("case", CASES)
def test_the_case_has_an_allowed_result(roads: Roads, case: str, road: str) -> None:
    sent, expected = CASES[case]
    probe = frame(PING, 0, 0, PROBE)
    came = talk(roads, road, (PREFACE, frame(SETTINGS), *sent, probe), expected)
    said = f"GOAWAY {came.goaways}, RST_STREAM {came.resets}, statuses {came.statuses}, closed {came.was_closed}"
    assert holds(came, expected) == (case not in EXCEPTED), said


@pytest.mark.parametrize("road", ["tls", "tunnel"])
@pytest.mark.parametrize("case", BEGINNINGS)
def test_an_invalid_preface_ends_the_connection(roads: Roads, case: str, road: str) -> None:
    sent, expected = BEGINNINGS[case]
    came = talk(roads, road, (sent,), expected)
    assert came.was_closed or holds(came, expected)


def test_every_exception_is_a_case() -> None:
    assert EXCEPTED.keys() <= CASES.keys()
