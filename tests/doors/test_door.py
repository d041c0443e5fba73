import asyncio
import http.client
import json
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

import pytest

from tests.support.doors import DEADLINE, basic, is_refusal, limits, read_all, trusting
from tests.support.roads import HOST, ROADS, Roads, body, open_roads, status, target, tell_nobody
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors import door
from xs2a_sandbox.doors.wrong_protocol import HTTP2, SOCKS4, SOCKS5, TLS
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.origin import hostname

pytestmark = pytest.mark.by_turns("proxy_engine")

REQUEST = Request("GET", "/v1/accounts")


def ask(answer: Callable[[Request], Awaitable[Response]], seconds: float = 5.0) -> Response:
    return asyncio.run(door.ask(answer, REQUEST, seconds, tell_nobody, set()))


def raising(error: BaseException) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        raise error

    return answer


def test_the_engines_answer_is_returned() -> None:
    expected = Response(204)

    async def answer(request: Request) -> Response:
        assert request is REQUEST
        return expected

    assert ask(answer) is expected


@pytest.mark.parametrize(
    "error", [RuntimeError(), AssertionError(), TimeoutError(), asyncio.CancelledError()], ids=repr
)
def test_a_failure_causes_status_500(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    response = ask(raising(error))
    assert response.status == 500
    assert is_refusal(response.body)
    assert ("X-Sandbox-Source", "sandbox") in response.headers
    assert "failed on GET /v1/accounts" in caplog.text


def test_an_invalid_answer_causes_status_500(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(_: Request) -> Response:
        return "hello"  # type: ignore[return-value]

    assert ask(answer).status == 500
    assert "answered with str" in caplog.text


def test_silence_causes_status_504() -> None:
    async def answer(_: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    response = ask(answer, 0.01)
    assert response.status == 504
    assert is_refusal(response.body)


def in_pieces(*pieces: bytes | Exception) -> Response:
    async def rest() -> AsyncGenerator[bytes]:
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    return Response(200, (), b"begin ", rest=rest())


@pytest.mark.parametrize(
    ("rest", "status", "told"),
    [
        ([b"end"], 200, []),
        ([b"x", BankError("bank-garbled", bank="b", reason="too short")], 502, [(502, "XS2A981E")]),
        ([b"x" * 500] * 3, 502, [(502, "XS2A988E")]),
    ],
    ids=["whole", "broken", "endless"],
)
def test_an_incomplete_answer_is_reported(
    rest: list[bytes | Exception], status: int, told: list[tuple[int, str]]
) -> None:
    heard: list[tuple[int, str]] = []

    def tell(request: Request, response: Response, seconds: float, failure: BaseException | None) -> Response:
        assert request is REQUEST
        heard.append((response.status, response.body.decode().partition("XS2A")[2][:4]))
        return response

    async def main() -> Response:
        return await door.gather(REQUEST, in_pieces(*rest), asyncio.Semaphore(1), limits(swallowed=1000), tell)

    assert asyncio.run(main()).status == status
    assert heard == [(status, number.removeprefix("XS2A")) for status, number in told]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_exceptions_that_end_the_process_are_not_caught(error: type[BaseException]) -> None:
    with pytest.raises(error):
        ask(raising(error()))


def test_a_cancelled_request_remains_cancelled() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def answer(_: Request) -> Response:
            begun.set()
            await asyncio.Event().wait()
            return Response()

        task = asyncio.create_task(door.ask(answer, REQUEST, 5, tell_nobody, set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.parametrize(
    ("response", "method", "expected"),
    [
        (Response(200, (("A", "1"),), b"abc"), "GET", [("A", "1"), ("Content-Length", "3")]),
        (
            Response(200, (("content-length", "9"), ("Keep-Alive", "x")), b"abc"),
            "GET",
            [("Content-Length", "3")],
        ),
        (Response(200, (("Connection", "close"),)), "GET", [("Content-Length", "0")]),
        (Response(200, (), b"abc"), "HEAD", [("Content-Length", "3")]),
        (Response(200, (("Content-Length", "7"),)), "HEAD", [("Content-Length", "7")]),
        (Response(200, (("A", "1"),)), "HEAD", [("A", "1")]),
        (Response(204, (("Content-Length", "0"), ("A", "1"))), "GET", [("A", "1")]),
        (Response(304), "GET", []),
    ],
)
def test_framing_of_requests(response: Response, method: str, expected: list[tuple[str, str]]) -> None:
    assert door.frame_headers(response, method) == expected


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("Bank.Example:443", "bank.example"),
        ("bank", "bank"),
        ("[::1]:81", "::1"),
        ("127.0.0.1:1", "127.0.0.1"),
        ("", ""),
    ],
)
def test_hostnames_are_parsed(authority: str, expected: str) -> None:
    assert hostname(authority) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (basic("ci-42", "x:y"), b"ci-42:x:y"),
        ("basic  YTpi ", b"a:b"),
        ("", b""),
        ("Bearer YTpi", b""),
        ("Basic !!!", b""),
        ("Basic \xe4", b""),
        ("Basic", b""),
    ],
)
def test_credentials_are_parsed(header: str, expected: bytes) -> None:
    assert door.credentials(header) == expected


@pytest.fixture(scope="module")
def roads(tmp_path_factory: pytest.TempPathFactory, proxy_engine: str) -> Iterator[Roads]:
    with (
        pytest.MonkeyPatch.context() as patch,
        open_roads(tmp_path_factory.mktemp("conf"), swallowed=4 * USUAL.body) as roads,
    ):
        # Every refusal waits the same time for data in transit, which arrives soon on this machine.
        patch.setattr(door, "LINGER", 0.2)
        yield roads


def request(road: str, method: str = "GET", path: str = "/v1", *headers: str, then: str = "close") -> bytes:
    lines = [b"%s %s HTTP/1.1" % (method.encode(), target(road, path)), f"Host: {HOST}".encode()]
    lines += [line.encode("latin-1") for line in (*headers, f"Connection: {then}")]
    return b"\r\n".join([*lines, b"", b""])


@pytest.mark.parametrize("road", ROADS)
def test_trailers_are_dropped_and_the_request_is_answered(roads: Roads, road: str) -> None:
    head = request(
        road, "POST", "/v1/x", "Transfer-Encoding: chunked", "Trailer: X-Late", "X-Soon: 1", then="keep-alive"
    )
    chunks = b"3;name=value\r\n{\r\n\r\n1\r\n}\r\n0\r\nX-Late: 1\r\nX-Soon: 2\r\n\r\n"
    with roads.taken(road) as way:
        client = http.client.HTTPConnection(HOST)
        client.sock = way
        for _ in range(2):
            way.sendall(head + chunks)
            answer = http.client.HTTPResponse(way, method="POST")
            answer.begin()
            body = json.loads(answer.read())
            assert (answer.status, body["body"]) == (200, "{\r\n}")
            assert [value for name, value in body["headers"] if name.lower() in ("x-soon", "x-late")] == ["1"]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("body", ["", "{}"])
def test_a_request_in_absolute_form_is_answered(roads: Roads, road: str, body: str) -> None:
    """For https URLs axios sends it to a proxy where other clients open a tunnel."""
    lines = ["POST" if body else "GET", " https://bank.example/v1/x?y HTTP/1.1\r\nHost: bank.example\r\n"]
    answer = roads.sent(
        road, f"{''.join(lines)}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
    )
    if road == "tunnel":
        assert status(answer) == 400  # Requests in the tunnel would have to use TLS.
        return
    content = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (content["target"], content["host"], content["body"]) == ("/v1/x?y", "bank.example", body)
    assert content["scheme"] == "https"


HELLO = bytes.fromhex("1603010005010000010300")
SPOKEN = {
    "SOCKS5": (b"\5\1\0", SOCKS5.answer),
    "SOCKS4": (b"\4\1\1\xbb\x7f\0\0\1\0", SOCKS4.answer),
    "HTTP/2 without TLS": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", HTTP2.answer),
    "TLS": (HELLO, TLS.answer),
}


@pytest.mark.parametrize("protocol", SPOKEN)
@pytest.mark.parametrize("road", ["direct", "proxy", "tunnel", "tls-tunnel", "tls without TLS"])
def test_a_wrong_protocol_is_answered_in_the_same_protocol(
    roads: Roads, road: str, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    greeting, answer = SPOKEN[protocol]
    if protocol == "TLS" and road in ("proxy", "tunnel", "tls without TLS"):
        return  # HTTP/2 is supported there.
    if road == "tls without TLS":
        with socket.create_connection(("127.0.0.1", roads.proxy.tls_port or 0), timeout=DEADLINE) as way:
            way.sendall(greeting)
            assert read_all(way) == answer
    else:
        assert roads.sent(road, greeting) == answer
    (line,) = (message for message in caplog.messages if " speaks " in message)
    assert f"speaks {protocol} to " in line
    assert any(
        advice in line
        for advice in ("use http://", "use https://", "configure it as an HTTP proxy", "a tunnel of the proxy port")
    )


def test_plain_http_at_the_tls_port_gets_a_hint_to_use_tls(roads: Roads, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_connection(("127.0.0.1", roads.proxy.tls_port or 0), timeout=DEADLINE) as way:
        way.sendall(request("tls"))
        answer = read_all(way)
    assert status(answer) == 400
    assert is_refusal(answer.partition(b"\r\n\r\n")[2])
    assert b"use https://" in answer
    (line,) = caplog.messages
    assert "speaks plain HTTP to the port given with --tls-port" in line


def test_a_tls_client_at_the_plain_port_fails_cleanly(roads: Roads) -> None:
    with (
        socket.create_connection(("127.0.0.1", roads.direct.port), timeout=DEADLINE) as way,
        pytest.raises(ssl.SSLError, match="HANDSHAKE_FAILURE"),
    ):
        trusting(roads.ca_file).wrap_socket(way, server_hostname=HOST)


@pytest.mark.parametrize("road", ROADS)
def test_connect_belongs_to_the_proxy(roads: Roads, road: str) -> None:
    answer = roads.sent(
        road, b"CONNECT bank.example:443 HTTP/1.1\r\nHost: bank.example:443\r\nConnection: close\r\n\r\n", b"x\r\n\r\n"
    )
    if road in ("proxy", "tls-proxy"):
        assert answer.startswith(b"HTTP/1.1 200 ")
    else:
        assert status(answer) == 400
        assert b"--proxy-port" in answer


@pytest.mark.parametrize(
    ("wish", "warned"), [("websocket", True), ("h2c", False), ("TLS/1.2", False), ("morse; code=1", True)]
)
@pytest.mark.parametrize("road", ROADS)
def test_an_unknown_upgrade_is_answered_and_logged(
    roads: Roads, road: str, wish: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    answer = roads.sent(
        road, request(road, "POST", "/v1/x", f"Upgrade: {wish}", "Content-Length: 2", then="Upgrade, close"), b"{}"
    )
    assert status(answer) == 200
    assert body(answer)["body"] == "{}"
    assert len([message for message in caplog.messages if f"upgrade to {wish}" in message]) == warned


@pytest.mark.parametrize("raw", [b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"\0\1\2\r\n\r\n"])
@pytest.mark.parametrize("road", ROADS)
def test_invalid_http_gets_an_error_of_the_sandbox(roads: Roads, road: str, raw: bytes) -> None:
    answer = roads.sent(road, raw)
    assert status(answer) == 400
    assert is_refusal(answer.partition(b"\r\n\r\n")[2])
    assert b"Connection: close" in answer


@pytest.mark.parametrize(
    "framing",
    [
        ("Content-Length: 2", "Transfer-Encoding: chunked"),
        ("Content-Length: 2", "Content-Length: 3"),
        ("Content-Length: x",),
        ("Transfer-Encoding: bogus",),
    ],
)
@pytest.mark.parametrize("road", ROADS)
def test_ambiguous_requests_get_an_error_of_the_sandbox(roads: Roads, road: str, framing: tuple[str, ...]) -> None:
    answer = roads.sent(road, request(road, "POST", "/v1", *framing), b"0\r\n\r\n")
    assert status(answer) == 400
    assert is_refusal(answer.partition(b"\r\n\r\n")[2])
    assert b"mitmproxy" not in answer


@pytest.mark.parametrize(
    ("version", "headers", "words"),
    [
        ("HTTP/1.1", "Host: a\r\nHost: b", b"more than one Host"),
        ("HTTP/1.1", "Host: a\r\nHost: a", b"more than one Host"),
        ("HTTP/1.1", "X-Other: a", b"Host header is missing"),
        ("HTTP/1.1", "Host:", b"must be a host"),
        ("HTTP/1.1", "Host: h/path", b"must be a host"),
        ("HTTP/1.1", "Host: user@h", b"must be a host"),
        ("HTTP/1.1", "Host: h:99999", b"must be a host"),
        ("HTTP/1.0", "Host: h, i", b""),
        ("HTTP/1.1", "Host: a\r\nTransfer-Encoding: cow, chunked", b""),
        ("HTTP/1.1", "Host: a\r\nTransfer-Encoding: gzip, chunked", b"must be chunked"),
        ("HTTP/1.1", "Host: a\r\nTransfer_Encoding: chunked", b"looks like"),
        ("HTTP/2.0", "Host: a", b""),
        ("HTTP/1.2", "Host: a", b""),
        ("HTTP/0.9", "Host: a", b""),
    ],
)
@pytest.mark.parametrize("road", ROADS)
def test_a_head_that_is_not_valid_http_is_refused(
    roads: Roads, road: str, version: str, headers: str, words: bytes
) -> None:
    head = b"POST %s %s\r\n%s\r\n\r\n" % (target(road, "/v1"), version.encode(), headers.encode())
    answer = roads.sent(road, head + b"0\r\n\r\n" + request(road))
    assert status(answer) == 400
    assert answer.count(b"HTTP/1.1 400 ") == 1
    assert b"HTTP/1.1 200 " not in answer
    assert is_refusal(answer.partition(b"\r\n\r\n")[2])
    assert words in answer


@pytest.mark.parametrize("road", ROADS)
def test_a_long_chunk_extension_is_refused_even_before_its_data(roads: Roads, road: str) -> None:
    head = request(road, "POST", "/v1", "Transfer-Encoding: chunked")
    for length, expected in ((10_000, 200), (200_000, 400)):
        answer = roads.sent(road, head + b"2;x=%s\r\n{}\r\n0\r\n\r\n" % (b"a" * length))
        assert status(answer) == expected, length


MEGABYTE = b"a" * 1024 * 1024


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    ("begin", "more", "expected"),
    [
        ("GET /", MEGABYTE, 414),
        ("GET / HTTP/1.1\r\nHost: b\r\nX-Large: ", MEGABYTE, 431),
        ("GET / HTTP/1.1\r\nHost: b\r\n", b"X-Many: 1\r\n" * 100_000, 431),
        ("POST / HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n1;", MEGABYTE, 400),
        ("POST / HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: ", MEGABYTE, 431),
        ("POST / HTTP/1.1\r\nHost: b\r\nContent-Length: 99999999999\r\n\r\n", b"", 413),
    ],
    ids=["line", "one header", "headers", "chunk line", "trailer", "announced"],
)
def test_endless_input_is_refused_before_its_end(
    roads: Roads, road: str, begin: str, more: bytes, expected: int
) -> None:
    if road in ("proxy", "tls-proxy"):
        begin = begin.replace(" /", f" http://{HOST}/", 1)
    answer = roads.sent(road, begin.encode(), *([more] * 5))
    assert status(answer) == expected
    assert is_refusal(answer.partition(b"\r\n\r\n")[2])
    assert b"Connection: close" in answer


@pytest.mark.parametrize("road", ROADS)
def test_requests_within_the_limits_are_accepted(roads: Roads, road: str) -> None:
    path = "/" + "p" * (USUAL.target - 1)
    head = request(road, "POST", path, "X-Large: " + "h" * (USUAL.headers - 200), f"Content-Length: {USUAL.body}")
    content = body(roads.sent(road, head, b"b" * USUAL.body))
    assert (content["target"], len(content["body"])) == (path, USUAL.body)


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("road", ROADS)
def test_a_body_above_the_limit_gets_status_413(roads: Roads, road: str, announced: bool) -> None:
    """This also works if the client reads nothing before it has sent everything."""
    framing = f"Content-Length: {8 * USUAL.body}" if announced else "Transfer-Encoding: chunked"
    pieces = [b"a" * USUAL.body if announced else b"100000\r\n" + b"a" * USUAL.body + b"\r\n"] * 8
    with roads.taken(road) as way:
        way.sendall(request(road, "POST", "/v1", framing))
        for piece in pieces:
            way.sendall(piece)
        answer = read_all(way)
    assert status(answer) == 413
    assert is_refusal(answer.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("road", ROADS)
def test_the_rest_of_a_large_body_is_discarded(roads: Roads, road: str) -> None:
    """The engine notices that the body is too large, and the connection can be used again."""
    large = request(road, "POST", "/v1", f"Content-Length: {3 * USUAL.body}", then="keep-alive")
    answer = roads.sent(road, large, *([b"a" * USUAL.body] * 3), request(road, "GET", "/v1/next"))
    first, second = answer.split(b"HTTP/1.1 200 ")[1:]
    assert len(json.loads(first.partition(b"\r\n\r\n")[2])["body"]) == USUAL.body + 1
    assert b'"target":"/v1/next"' in second
