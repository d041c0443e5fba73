import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from tests.support.doors import DEADLINE, Loop, echo, is_refusal, limits, opened, read_all, talk, wait_until
from tests.support.engine_client import an_engine, bundled_engine
from tests.support.roads import direct_door
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors import door as doors
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.direct import DirectDoor
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Request, Response


def make(answer: Any = echo) -> DirectDoor:
    return direct_door(answer)


@pytest.fixture(scope="module")
def door() -> Iterator[DirectDoor]:
    with opened(make) as (door, _):
        yield door


def url(door: DirectDoor, path: str = "/v1") -> str:
    return f"http://127.0.0.1:{door.port}{path}"


def test_a_request_arrives_unchanged(door: DirectDoor) -> None:
    head = (
        b"POST /s/a/v1/a%2Fb?q=1&q=%20+ HTTP/1.1\r\nHost: Bank.example:81\r\nX-A: 1\r\nX-A: \xe4\r\n"
        b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"
    )
    answer = talk(door.port, head).partition(b"\r\n\r\n")
    body = httpx.Response(200, content=answer[2]).json()
    assert (body["method"], body["target"], body["body"]) == ("POST", "/s/a/v1/a%2Fb?q=1&q=%20+", "{}")
    assert (body["host"], body["scheme"], body["door"], body["user"]) == ("bank.example", "http", "direct", None)
    assert [value for name, value in body["headers"] if name == "X-A"] == ["1", "\xe4"]
    assert answer[0].lower().count(b"\r\nx-two: ") == 2


@pytest.mark.parametrize(
    ("method", "status", "length"), [("HEAD", 200, "5"), ("GET", 204, None), ("GET", 304, None), ("GET", 200, "5")]
)
def test_framing_of_answers(method: str, status: int, length: str | None) -> None:
    async def answer(_: Request) -> Response:
        return Response(status, (), b"hello" if status == 200 else b"")

    with opened(lambda: make(answer)) as (door, _), httpx.Client(trust_env=False) as http:
        for _ in range(2):
            response = http.request(method, url(door))
            assert response.status_code == status
            assert response.headers.get("Content-Length") == length
            assert "Transfer-Encoding" not in response.headers
            assert response.content == (b"hello" if (method, status) == ("GET", 200) else b"")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_reaches_the_engine_truncated(door: DirectDoor, chunked: bool) -> None:
    body = b"a" * (3 * USUAL.body)
    with httpx.Client(trust_env=False, timeout=DEADLINE) as http:
        response = http.post(url(door), content=iter([body]) if chunked else body)
        assert len(response.json()["body"]) == USUAL.body + 1
        assert http.post(url(door), content=b"{}").json()["body"] == "{}"


def test_large_header_blocks_are_accepted(door: DirectDoor) -> None:
    with httpx.Client(trust_env=False, timeout=DEADLINE) as http:
        body = http.get(url(door), headers={"X-Large": "a" * 60_000}).json()
    assert max(len(value) for _, value in body["headers"]) == 60_000


def test_expect_100_continue(door: DirectDoor) -> None:
    with socket.create_connection(("127.0.0.1", door.port), timeout=DEADLINE) as connection:
        connection.sendall(b"POST /v1 HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{}")
        assert b"HTTP/1.1 200 " in connection.recv(1000)


def test_an_upgrade_is_answered_like_any_other_request(door: DirectDoor) -> None:
    answer = talk(
        door.port,
        b"GET /v1/ws HTTP/1.1\r\nHost: b\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    )
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"target":"/v1/ws"' in answer


@pytest.mark.parametrize("framing", ["length", "chunks"])
@pytest.mark.parametrize("pieces", ["at once", "head first", "byte by byte"])
def test_the_body_of_a_request_with_an_upgrade_arrives(door: DirectDoor, framing: str, pieces: str) -> None:
    """Java's HttpClient and curl --http2 send such requests over plain HTTP."""
    head = (
        b"POST /v1/a%20b?q=1 HTTP/1.1\r\nHost: b\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAEAAEAAAAIAAAAA\r\n"
    )
    if framing == "length":
        head, body = head + b"Content-Length: 13\r\n\r\n", b'{"two": "\r\n"}'
    else:
        head, body = head + b"Transfer-Encoding: chunked\r\n\r\n", b'8\r\n{"two": \r\n5\r\n"\r\n"}\r\n0\r\n\r\n'
    whole = head + body + b"GET /v1/next HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", door.port), timeout=DEADLINE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in {"at once": [whole], "head first": [head, body + whole[len(head + body) :]]}.get(
            pieces, [whole[index : index + 1] for index in range(len(whole))]
        ):
            connection.sendall(piece)
        answer = read_all(connection)
    decode = json.JSONDecoder().raw_decode
    first, second = (decode(answer[start.start() :].decode())[0] for start in re.finditer(rb'{"method"', answer))
    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert (first["method"], first["target"], first["body"]) == ("POST", "/v1/a%20b?q=1", '{"two": "\r\n"}')
    assert ["Upgrade", "h2c"] in first["headers"]
    assert (second["method"], second["target"], second["body"]) == ("GET", "/v1/next", "")


def test_repeated_requests_are_answered_in_order_without_the_engine() -> None:
    async def answer(request: Request) -> Response:
        await asyncio.sleep(0)
        return Response(200, (("X-From", "the engine"),), request.target.encode())

    def repeat(request: Request) -> Response | None:
        if request.target.startswith("/kept"):
            return Response(200, (("X-From", "what is kept"), ("X-100%", "%s")), request.target.encode())
        return None

    head = b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /kept/last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with opened(lambda: direct_door(answer, repeat=repeat)) as (door, _):
        answers = talk(door.port, b"".join(head % name for name in (b"kept/1", b"new", b"kept/2")) + last)
    assert re.findall(rb"X-From: ([^\r]*)|\r\n\r\n(/[a-z0-9/]*)", answers) == [
        (source, b"") if source else (b"", target)
        for name in (b"/kept/1", b"/new", b"/kept/2", b"/kept/last")
        for source, target in ((b"the engine" if name == b"/new" else b"what is kept", b""), (b"", name))
    ]
    assert answers.count(b"\r\nX-100%: %s\r\n") == 3
    assert answers.count(b"\r\nConnection: close\r\n") == 1


def test_cached_answers_are_sent_no_faster_than_the_client_reads() -> None:
    large = Response(200, (), b"a" * 1_000_000)
    times = []

    def repeat(_: Request) -> Response:
        times.append(monotonic())
        return large

    count = 40
    with (
        opened(lambda: direct_door(echo, repeat=repeat)) as (door, _),
        socket.create_connection(("127.0.0.1", door.port), timeout=DEADLINE) as client,
    ):
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * count)
        wait_until(lambda: bool(times))
        received = len(client.recv(1))
        assert len(times) < count
        while received < count * len(large.body):
            received += len(client.recv(1 << 20))
    assert len(times) == count


def test_connect_belongs_to_the_proxy(door: DirectDoor) -> None:
    answer = talk(door.port, b"CONNECT bank.example:443 HTTP/1.1\r\nHost: bank.example:443\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"--proxy-port" in answer


def test_a_failing_engine_causes_status_500() -> None:
    async def answer(_: Request) -> Response:
        raise RuntimeError

    with opened(lambda: make(answer)) as (door, _), httpx.Client(trust_env=False) as http:
        response = http.get(url(door))
    assert response.status_code == 500
    assert response.headers["X-Sandbox-Source"] == "sandbox"
    assert is_refusal(response.content)


def test_a_silent_engine_causes_status_504() -> None:
    async def answer(_: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    with (
        opened(lambda: direct_door(answer, connections=Connections(limits(answer_time=0.05)))) as (door, _),
        httpx.Client(trust_env=False) as http,
    ):
        response = http.get(url(door))
    assert response.status_code == 504
    assert is_refusal(response.content)


def test_answers_are_not_delayed_by_nagles_algorithm(door: DirectDoor) -> None:
    with httpx.Client(trust_env=False) as http:
        http.get(url(door))
        before = monotonic()
        for _ in range(25):
            http.get(url(door))
    assert monotonic() - before < 25 * 0.035


def test_invalid_data_after_requests_is_refused_after_their_answers() -> None:
    """The answer to the first request takes time, so the other answers must wait too."""

    async def answer(request: Request) -> Response:
        if request.target == "/v1/0":
            await asyncio.sleep(0)
        return Response(200, (), request.target.encode())

    requests = b"".join(b"GET /v1/%d HTTP/1.1\r\nHost: b\r\n\r\n" % number for number in range(3))
    with opened(lambda: make(answer)) as (door, _):
        received = talk(door.port, requests + b"no HTTP\r\n\r\n").split(b"HTTP/1.1 ")
    assert [part[:3] for part in received[1:]] == [b"200", b"200", b"200", b"400"]
    assert [part[-5:] for part in received[1:4]] == [b"/v1/0", b"/v1/1", b"/v1/2"]


def test_requests_after_one_that_closes_the_connection_are_not_answered(door: DirectDoor) -> None:
    first, second = b"GET /v1/1 HTTP/1.0\r\nHost: b\r\n\r\n", b"GET /v1/2 HTTP/1.1\r\nHost: b\r\n\r\n"
    received = talk(door.port, first + second)
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"/v1/1" in received
    assert b"Connection: close\r\n" in received


@pytest.mark.parametrize(
    ("version", "method", "headers", "expected"),
    [
        ("1.1", "GET", (), b"5\r\nbegin\r\n4\r\nmore\r\n0\r\n\r\n"),
        ("1.0", "GET", (), b"beginmore"),
        ("1.1", "GET", (("Content-Length", "9"),), b"beginmore"),
        ("1.1", "HEAD", (("Content-Length", "9"),), b""),
    ],
)
def test_an_answer_in_several_parts(
    version: str, method: str, headers: tuple[tuple[str, str], ...], expected: bytes
) -> None:
    async def rest() -> AsyncGenerator[bytes]:
        yield b""
        yield b"more"

    async def answer(_: Request) -> Response:
        return Response(200, headers, b"begin", rest=rest())

    with opened(lambda: make(answer)) as (door, _):
        line = f"{method} /v1 HTTP/{version}\r\nHost: b\r\nConnection: close\r\n\r\n"
        head, _, body = talk(door.port, line.encode()).partition(b"\r\n\r\n")
    assert body == expected
    assert (b"Transfer-Encoding: chunked" in head) == body.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("drop", rb""),
        ("truncate", rb"HTTP/1\.1 200 .*Content-Length: 11\r\n(.*\r\n)?\r\nhello"),
        ("malformed", rb"(?!HTTP).+"),
    ],
)
def test_faults_of_connections(fault: str, expected: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def answer(_: Request) -> Response:
        return Response(200, (), b"hello world", fault=fault)

    with opened(lambda: make(answer)) as (door, _):
        received = talk(door.port, b"GET /v1 HTTP/1.1\r\nHost: b\r\n\r\n")
    assert re.fullmatch(expected, received, re.DOTALL)
    assert not caplog.records


def test_fault_reset_resets_the_connection() -> None:
    async def answer(_: Request) -> Response:
        return Response(fault="reset")

    with (
        opened(lambda: make(answer)) as (door, _),
        socket.create_connection(("127.0.0.1", door.port), timeout=DEADLINE) as connection,
    ):
        connection.sendall(b"GET /v1 HTTP/1.1\r\nHost: b\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            connection.recv(100)


async def _event() -> asyncio.Event:
    return asyncio.Event()


def test_drain_lets_a_request_finish() -> None:
    with Loop() as loop, ThreadPoolExecutor(1) as pool:
        begun, go = loop.run(_event()), loop.run(_event())

        async def answer(_: Request) -> Response:
            begun.set()
            await go.wait()
            return Response(200, (), b"x" * 500_000)

        async def start() -> DirectDoor:
            door = make(answer)
            await door.start()
            return door

        door = loop.run(start())
        with httpx.Client(trust_env=False, timeout=DEADLINE) as http:
            pending = pool.submit(http.get, url(door))
            loop.run(begun.wait())
            draining = loop.start(door.drain())
            wait_until(lambda: not any(one.is_serving() for one in door._servers))
            assert _refuses(door.port)
            assert not draining.done()
            loop.loop.call_soon_threadsafe(go.set)
            assert len(pending.result(DEADLINE).content) == 500_000
            draining.result(DEADLINE)


def test_drain_waits_no_longer_than_its_grace() -> None:
    with Loop() as loop, ThreadPoolExecutor(1) as pool:
        begun = loop.run(_event())

        async def answer(_: Request) -> Response:
            begun.set()
            await asyncio.Event().wait()
            return Response()

        async def start() -> DirectDoor:
            door = make(answer)
            await door.start()
            return door

        door = loop.run(start())
        with httpx.Client(trust_env=False, timeout=DEADLINE) as http:
            pending = pool.submit(http.get, url(door))
            loop.run(begun.wait())
            before = monotonic()
            loop.run(door.drain(0.2))
            assert monotonic() - before < DEADLINE / 2
            answer = pending.result(DEADLINE)
            assert (answer.status_code, answer.headers["Connection"]) == (503, "close")
            assert is_refusal(answer.content)


def _refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


def test_a_busy_port_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} on 127.0.0.1 is in use .* --port PORT"):
            asyncio.run(direct_door(echo, port=port).start())


@pytest.mark.parametrize("host", ["192.0.2.1", "999.1.1.1"])
def test_a_host_of_another_machine_is_reported(host: str) -> None:
    with pytest.raises(ConfigError, match=f"^--host {host} is not an address of this machine: .* --host 127.0.0.1"):
        asyncio.run(direct_door(echo, host=host).start())


@pytest.mark.parametrize("length", [USUAL.body + 1, USUAL.swallowed + 1], ids=["read on", "refused at once"])
def test_the_error_for_a_large_body_has_the_format_of_the_dialect(length: int, tmp_path: Path) -> None:
    words = "errors: {body-too-large: {status: 413, code: TOO_MUCH, number: X1, text: 'no more than {{ limit }}'}}"
    (tmp_path / "words.yaml").write_text(f"cassette: 1\n{words}\n")
    engine = an_engine(layers=[[tmp_path]])
    head = f"POST /v1/consents HTTP/1.1\r\nHost: b\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n".encode()
    with opened(lambda: direct_door(engine.answer, tell=engine.report_refusal, connections=Connections(USUAL))) as (
        door,
        _,
    ):
        answer = talk(door.port, head, b"a" * min(length, 2 * USUAL.body))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"TOO_MUCH"' in answer
    assert b"X1: no more than 1048576" in answer
    assert answer.count(b"X-Sandbox-Source: sandbox") == 1


def test_errors_of_doors_match_the_bundled_error_table() -> None:
    errors = bundled_engine().interface.errors
    late, failed, head, line, body = (
        doors.LATE,
        doors.FAILED,
        doors.head_too_large(USUAL, line_is_open=False),
        doors.head_too_large(USUAL, line_is_open=True),
        doors.body_too_large(USUAL),
    )
    for refusal in (late, failed, head, line, body):
        assert refusal.error
        entry = errors[refusal.error.name]
        assert (refusal.status, refusal.code, refusal.number) == (entry.status(), entry.code(), entry.number())
