"""HTTP/1.1 without a socket: the same requests are read and answered in order, no matter how their bytes arrive."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.doors import limits
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.http1 import HttpConnection, ParsedRequest, RequestTarget, Service
from xs2a_sandbox.doors.wrong_protocol import DIRECT
from xs2a_sandbox.http import Headers, Request, Response

GET = b"GET /v1/accounts?withBalance=true HTTP/1.1\r\nHost: bank\r\nX-Request-ID: 1\r\n\r\n"
POST = b'POST /v1/consents HTTP/1.1\r\nHost: bank\r\nContent-Length: 12\r\n\r\n{"access":{}}'[:-1]
CHUNKS = (
    b"PUT /v1/x HTTP/1.1\r\nHost: bank\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: trailer\r\n\r\n"
)
UPGRADE = b"GET /v1/up HTTP/1.1\r\nHost: bank\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
LAST = b"DELETE /v1/consents/1 HTTP/1.1\r\nHost: bank\r\nConnection: close\r\n\r\n"
NONSENSE = b"no request\r\n\r\n"


class Wire:
    """A transport that records all calls."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.is_closed = False
        self.reads = True

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.written += data

    def write_eof(self) -> None:
        self.is_closed = True

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Conversation(HttpConnection):
    endpoint = DIRECT

    def place(self, url: bytes, headers: Headers) -> RequestTarget:
        return RequestTarget(httptools.parse_url(url).path.decode(), "bank", None, "http")

    def request(self, turn: ParsedRequest) -> tuple[Request, Response | None]:
        return Request(turn.method, turn.place.target, turn.headers, turn.body), None


async def turned(is_so: Callable[[], bool]) -> None:
    """Run the event loop until the condition is true."""
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("the loop makes no progress")


def held(pieces: Sequence[bytes], waits: bool) -> tuple[list[tuple[str, str, bytes]], list[int], bool]:
    """Return the requests read from these pieces, the statuses answered, and whether the end was reported."""
    requests: list[tuple[str, str, bytes]] = []

    async def answer(request: Request) -> Response:
        if waits:
            await asyncio.sleep(0)
        requests.append((request.method, request.target, request.body))
        return Response(240 + len(requests), (), b"x")

    async def hold() -> Wire:
        service = Service(answer, tell=lambda _, refusal, *__: refusal, connections=Connections(limits()))
        wire, conversation = Wire(), Conversation(service)
        conversation.connection_made(wire)  # type: ignore[arg-type]
        for piece in pieces:
            await turned(lambda: wire.reads)  # nothing is passed on earlier
            if not wire.is_closed:
                conversation.data_received(piece)
        await turned(lambda: wire.is_closed or not conversation.is_busy)
        return wire

    wire = asyncio.run(hold())
    statuses = [int(head[:3]) for head in bytes(wire.written).split(b"HTTP/1.1 ")[1:]]
    return requests, statuses, wire.is_closed


def test_nothing_is_sent_to_a_disconnected_client(caplog: pytest.LogCaptureFixture) -> None:
    """uvloop raises an error here, unlike asyncio, and the log would contain a traceback."""

    async def hold() -> Wire:
        wire = Wire()

        async def answer(request: Request) -> Response:
            wire.close()
            return Response(200, (), b"x")

        service = Service(answer, tell=lambda _, refusal, *__: refusal, connections=Connections(limits()))
        conversation = Conversation(service)
        conversation.connection_made(wire)  # type: ignore[arg-type]
        conversation.data_received(GET)
        await turned(lambda: not conversation.is_busy)
        return wire

    assert not asyncio.run(hold()).written
    assert not caplog.messages


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % len(data) for place in places), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges) if begin < end]


@given(
    st.lists(st.sampled_from([GET, POST, CHUNKS, UPGRADE]), min_size=1, max_size=5),
    st.sampled_from([b"", LAST, NONSENSE]),
    st.lists(st.integers(0, 10_000), max_size=12),
    st.booleans(),
)
def test_requests_are_read_regardless_of_how_their_bytes_are_split(
    requests: list[bytes], end: bytes, places: list[int], waits: bool
) -> None:
    data = b"".join(requests) + end
    whole = held([data], waits)
    assert held(cut(data, places), waits) == whole
    read, statuses, is_closed = whole
    assert len(read) == len(requests) + (end == LAST)
    assert statuses == [240 + number for number in range(1, len(read) + 1)] + [400] * (end == NONSENSE)
    assert is_closed == bool(end)


def test_a_chunked_body_is_joined_without_its_trailer() -> None:
    assert held([CHUNKS], waits=False)[0] == [("PUT", "/v1/x", b"abcde")]


def test_requests_are_read_byte_by_byte() -> None:
    data = POST + UPGRADE + LAST
    assert held([bytes([byte]) for byte in data], waits=True) == held([data], waits=False)
