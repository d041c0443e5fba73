import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.far_bank import Authority, FarBank, hang, hang_up, ok, repeated, reset
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.upstream.connections import HELD, BankSession, is_public

HOST = [("Host", "bank.example")]


def talk[T](far: FarBank, work: Callable[[Callable[..., Awaitable[Response]]], Awaitable[T]], **settings: Any) -> T:
    """Return the result of `work`, which gets a function that sends requests."""

    async def run() -> T:
        session = BankSession(RealBank(far.url, **settings))

        async def send(method: str = "GET", body: bytes = b"") -> Response:
            headers = [*HOST, ("Content-Length", str(len(body)))]
            return await session.exchange("the-bank", far.url, method, "/v1", headers, body)

        try:
            return await work(send)
        finally:
            await session.close()

    return asyncio.run(run())


async def drained(response: Response) -> bytes:
    rest = b"".join([chunk async for chunk in response.rest]) if response.rest else b""
    return response.body + rest


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"])
@pytest.mark.parametrize("end", [hang_up(), reset()], ids=["closed", "reset"])
def test_no_request_is_sent_twice(method: str, end: Any) -> None:
    """Not even on a reused connection, where aiohttp would retry."""

    async def work(send: Any) -> None:
        await send("GET")
        with pytest.raises(BankError):
            await send(method, b"" if method == "HEAD" else b"{}")

    with FarBank(ok(), end, ok()) as far:
        talk(far, work)

    assert (len(far.seen), far.connections) == (2, 1)


def test_a_connection_closed_by_the_bank_is_not_reused() -> None:
    closed = threading.Event()

    def once(connection: socket.socket) -> None:
        connection.sendall(ok())
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    async def work(send: Any) -> Response:
        await send()
        await asyncio.to_thread(closed.wait)
        return await send("POST", b"{}")

    with FarBank(once, ok(b"second")) as far:
        assert talk(far, work).body == b"second"


def test_an_answer_without_a_request_is_discarded() -> None:
    """Otherwise a client would see the answer for another one."""
    idle = threading.Event()
    sent = threading.Event()

    def twice(connection: socket.socket) -> None:
        connection.sendall(ok(b"first"))
        idle.wait()
        connection.sendall(ok(b"planted"))
        sent.set()

    async def work(send: Any) -> list[bytes]:
        bodies = [(await send()).body]
        idle.set()
        await asyncio.to_thread(sent.wait)
        for _ in range(2):
            with suppress(BankError):
                bodies.append((await send()).body)
        return bodies

    with FarBank(twice, ok(b"second")) as far:
        bodies = talk(far, work)

    assert b"planted" not in bodies
    assert bodies[-1] == b"second"


@pytest.mark.parametrize("first", [ok(b"first"), b"HTTP/1.1 204 No Content\r\n\r\n", ok(b"x" * 2 * HELD)])
@pytest.mark.parametrize("tls", [False, True])
def test_bytes_after_an_answer_are_discarded(first: bytes, tls: bool, tmp_path: Path) -> None:
    """Otherwise the next request on the connection would get them."""
    authority = Authority(tmp_path)

    async def work(send: Any) -> bytes:
        await drained(await send())
        with suppress(BankError):
            assert (await send()).body == b"second"
        return (await send()).body

    with FarBank(first + ok(b"planted"), ok(b"second"), tls=authority.server("127.0.0.1") if tls else None) as far:
        assert talk(far, work, ca=authority.file) == b"second"


@pytest.mark.parametrize(("size", "streamed"), [(0, False), (HELD - 1, False), (HELD, False), (HELD + 1, True)])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_larger_than_the_buffer_arrives_in_pieces(size: int, streamed: bool, chunked: bool) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    frames = b"%x\r\n" % size + body + b"\r\n0\r\n\r\n" if size else b"0\r\n\r\n"

    async def work(send: Any) -> tuple[Response, bytes]:
        response = await send()
        return response, await drained(response)

    with FarBank(head + frames if chunked else ok(body)) as far:
        response, whole = talk(far, work)

    assert whole == body
    assert len(response.body) == min(size, HELD)
    assert (response.rest is not None) == streamed


def test_a_large_answer_keeps_its_length_and_its_connection() -> None:
    async def work(send: Any) -> Response:
        response: Response = await send()
        await drained(response)
        await send()
        return response

    with FarBank(ok(b"x" * (3 * HELD)), ok()) as far:
        response = talk(far, work)

    assert response.headers == (("Content-Length", str(3 * HELD)),)
    assert far.connections == 1


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_closing_a_large_answer_early_closes_its_connection(pieces: int) -> None:
    gone = threading.Event()

    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"x" * 65536)
        except OSError:
            gone.set()
            raise

    async def work(send: Any) -> bool:
        response = await send()
        rest: AsyncGenerator[bytes] = response.rest
        for _ in range(pieces):
            await anext(rest)
        await rest.aclose()
        return await asyncio.to_thread(gone.wait, 5)

    with FarBank(endless) as far:
        assert talk(far, work)


@pytest.mark.parametrize(
    ("head", "end", "name"),
    [
        (b"Content-Length: 9999999", hang_up, "bank-garbled"),
        (b"Content-Length: 9999999", reset, "bank-unreachable"),
        (b"Transfer-Encoding: chunked", hang_up, "bank-garbled"),
        (b"X-No: length", reset, "bank-unreachable"),
        (b"Content-Length: 9999999", hang, "bank-late"),
    ],
)
def test_a_large_incomplete_answer_is_an_error(head: bytes, end: Any, name: str) -> None:
    size = 4 * HELD
    frame = b"%x\r\n" % (size + 1) if head.endswith(b"chunked") else b""
    first = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + frame + b"x" * size
    received = threading.Event()
    answer = reset(first, after=received) if end is reset else end(first)

    async def work(send: Any) -> str:
        response: Response = await send()

        async def read() -> None:
            seen = len(response.body)
            async for chunk in response.rest or ():  # type: ignore[union-attr]
                seen += len(chunk)
                if seen >= size:
                    received.set()

        with pytest.raises(BankError) as caught:
            await read()
        return caught.value.name

    with FarBank(answer) as far:
        assert talk(far, work, read_timeout=0.5) == name


def test_an_answer_can_end_with_its_connection() -> None:
    async def work(send: Any) -> bytes:
        return await drained(await send())

    with FarBank(hang_up(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")) as far:
        assert talk(far, work) == b"until the end"


def test_a_client_that_stops_waiting_leaves_no_open_connection() -> None:
    gone = threading.Event()

    def silent(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        if not connection.recv(1):
            gone.set()

    async def work(send: Any) -> bool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await send()
        return await asyncio.to_thread(gone.wait, 5)

    with FarBank(silent) as far:
        assert talk(far, work)


def test_fifty_megabytes_are_not_held_in_memory() -> None:
    """Measures what has been read but not passed on when the client stops reading."""
    chunk, times = b"x" * 65536, 800
    sent = 0

    def counting(connection: socket.socket) -> None:
        nonlocal sent
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(chunk) * times))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        for _ in range(times):
            connection.sendall(chunk)
            sent += len(chunk)

    async def work(send: Any) -> tuple[int, int]:
        response: Response = await send()
        while True:
            before = sent
            await asyncio.sleep(0.1)
            if sent == before:
                break
        return before, len(await drained(response))

    with FarBank(counting) as far:
        stalled, whole = talk(far, work)

    assert stalled < 16 * HELD
    assert whole == len(chunk) * times


def test_an_answer_is_read_while_the_request_is_sent() -> None:
    first = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (65536 * 40)

    async def work(send: Any) -> list[int]:
        response: Response = await send()
        return [len(chunk) async for chunk in response.rest or ()]  # type: ignore[union-attr]

    with FarBank(repeated(b"x" * 65536, 40, first)) as far:
        pieces = talk(far, work)

    assert sum(pieces) == 65536 * 40 - HELD
    assert max(pieces) <= 65536
    assert min(pieces) > 0


@pytest.mark.parametrize(
    "address",
    """0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.168.1.1 224.0.0.1 240.0.0.1 255.255.255.255
    :: ::1 fc00::1 fe80::1 fe80::1%eth0 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1
    2002:7f00:1:: 2001:db8::1""".split(),
)
def test_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)
