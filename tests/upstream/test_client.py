import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.far_bank import Authority, FarBank, ok
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import BankError, ConfigError
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.upstream.client import Upstream, check


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve every name under .example to this machine."""
    known: Callable[..., Any] = socket.getaddrinfo

    def resolve(host: str, *rest: Any, **options: Any) -> Any:
        return known("127.0.0.1" if str(host).endswith(".example") else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def a_request(*headers: tuple[str, str], method: str = "GET", body: bytes = b"", **options: Any) -> Request:
    return Request(method, "/v1", Headers([("Host", "bank.example"), *headers]), body, **options)


def send(bank: RealBank, request: Request, target: str = "/v1") -> Response:
    async def work() -> Response:
        upstream = Upstream()
        try:
            return await upstream.send(bank, request, target)
        finally:
            await upstream.close()

    return asyncio.run(work())


def forward(request: Request, *hosts: str) -> Response:
    async def work() -> Response:
        upstream = Upstream(hosts)
        try:
            return await upstream.forward(request)
        finally:
            await upstream.close()

    return asyncio.run(work())


def test_a_signed_request_arrives_byte_for_byte() -> None:
    headers = [
        ("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"),
        ("digest", "SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE="),
        ("Signature", 'keyId="SN=1,CA=x",algorithm="rsa-sha256",headers="digest x-request-id",signature="q=="'),
        ("TPP-Signature-Certificate", "TXk" * 4000),
        ("PSU-ID", "m\xfcller"),
        ("X-A", "1"),
        ("x-a", "2  3"),
    ]
    body = b'{"a" :\t1.10}\r\n\xff'
    with FarBank() as far:
        send(RealBank(far.url, keep_host=True), a_request(*headers, method="POST", body=body))

    assert far.body == body
    assert far.head[0] == b"POST /v1 HTTP/1.1"
    assert far.head[1] == b"Host: bank.example"
    assert far.head[2:9] == [f"{name}: {value}".encode("latin-1") for name, value in headers]
    assert far.sent("Content-Length") == [b"%d" % len(body)]
    assert len(far.head) == 11


def test_only_via_is_added_to_a_request() -> None:
    with FarBank() as far:
        send(RealBank(far.url), Request("GET", "/v1"))

    assert [line.partition(b":")[0] for line in far.head[1:]] == [b"Host", b"Via"]


@pytest.mark.parametrize(
    "name", ["Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"]
)
def test_headers_for_the_connection_are_not_sent_to_the_bank(name: str) -> None:
    with FarBank() as far:
        send(RealBank(far.url), a_request((name, "100-continue"), ("X-Stays", "1"), method="POST", body=b"{}"))

    assert not far.sent(name)
    assert far.sent("X-Stays") == [b"1"]


def test_headers_for_the_sandbox_or_a_proxy_are_not_sent_to_the_bank() -> None:
    mine = ("X-Sandbox-Session", "x-sandbox-anything", "Proxy-Authorization", "Proxy-Connection", "X-Named", "x-too")
    request = a_request(*((name, "1") for name in mine), ("connection", "keep-alive, X-Named"), ("Connection", "X-TOO"))
    with FarBank() as far:
        send(RealBank(far.url), request)

    assert [line.partition(b":")[0] for line in far.head[1:]] == [b"Host", b"Via"]


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [("GET", b"", []), ("DELETE", b"", []), ("POST", b"", [b"0"]), ("GET", b"{}", [b"2"]), ("DELETE", b"{}", [b"2"])],
)
def test_the_content_length_is_corrected(method: str, body: bytes, length: list[bytes]) -> None:
    with FarBank() as far:
        send(RealBank(far.url), a_request(("content-length", "77"), method=method, body=body))

    assert far.sent("Content-Length") == length
    assert far.body == body


@pytest.mark.parametrize("given", ["127.0.0.1", "127.0.0.1:PORT"])
def test_a_host_header_of_the_bank_is_sent_unchanged(given: str) -> None:
    with FarBank() as far:
        given = given.replace("PORT", str(far.port))
        send(RealBank(far.url), Request("GET", "/v1", Headers([("Accept", "*/*"), ("hOST", given)])))

    assert far.head[1:3] == [b"Accept: */*", f"hOST: {given}".encode()]


def test_the_banks_name_is_case_insensitive() -> None:
    with FarBank() as far:
        send(RealBank(far.named("Bank.example"), private=True), a_request(("A", "1")))

    assert far.sent("Host") == [b"bank.example"]


@pytest.mark.parametrize(
    "request_",
    [Request("GET", "/v1"), a_request(), Request("GET", "/v1", Headers([("Host", "127.0.0.1:1")]))],
    ids=["none", "an alias", "another port of its machine"],
)
def test_another_host_header_is_replaced(request_: Request) -> None:
    with FarBank() as far:
        send(RealBank(far.url), request_)

    assert far.sent("Host") == [f"127.0.0.1:{far.port}".encode()]


@pytest.mark.parametrize(
    "target",
    [
        "/v1/a?",
        "/v1//x/../y",
        "/v1/%7Ea%2fb%zz",
        "/v1?a=%2f+%20&a&=&b=[1]|",
        "//evil.example/x",
        "/v1/a#b",
        "/v1/\xe4?\xfc",
    ],
)
def test_targets_arrive_untouched(target: str) -> None:
    with FarBank() as far:
        send(RealBank(far.url + "/psd2%2Fa"), a_request(), target)

    assert far.head[0] == b"GET " + target.encode("latin-1") + b" HTTP/1.1"


def test_answers_are_returned_unchanged() -> None:
    lines = (b"X-A: \xfc", b"x-a: 2", b"Content-Encoding: gzip", b"Set-Cookie: a=1", b"Set-Cookie: a=2")
    with FarBank(ok(b"no gzip", *lines, status=b"403 Nope")) as far:
        answer = send(RealBank(far.url), a_request())

    assert (answer.status, answer.body) == (403, b"no gzip")
    assert answer.headers == (
        ("X-A", "\xfc"),
        ("x-a", "2"),
        ("Content-Encoding", "gzip"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "a=2"),
        ("Content-Length", "7"),
    )


def test_headers_of_the_bank_for_the_connection_are_removed() -> None:
    lines = (b"Connection: close, X-Named", b"X-Named: 1", b"Keep-Alive: 5", b"Proxy-Authenticate: Basic", b"X-B: 1")
    with FarBank(ok(b"{}", *lines)) as far:
        answer = send(RealBank(far.url), a_request())

    assert answer.headers == (("X-B", "1"), ("Content-Length", "2"))


def test_redirects_are_passed_on() -> None:
    with FarBank(ok(b"", b"Location: /elsewhere", status=b"302 Found")) as far:
        answer = send(RealBank(far.url), a_request())

    assert (answer.status, answer.headers[0]) == (302, ("Location", "/elsewhere"))
    assert len(far.seen) == 1


@pytest.mark.parametrize(("method", "status"), [("HEAD", b"200 OK"), ("GET", b"304 Not Modified")])
def test_an_answer_without_a_body_keeps_its_length(method: str, status: bytes) -> None:
    with FarBank(b"HTTP/1.1 " + status + b"\r\nContent-Length: 99\r\n\r\n") as far:
        answer = send(RealBank(far.url), a_request(method=method))

    assert (answer.body, answer.headers) == (b"", (("Content-Length", "99"),))


def test_interim_answers_are_skipped() -> None:
    with FarBank(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok(b"done")) as far:
        assert send(RealBank(far.url), a_request()).body == b"done"


def test_cookies_and_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    async def work(url: str) -> None:
        upstream = Upstream()
        for _ in range(2):
            await upstream.send(RealBank(url), a_request(), "/v1")
        await upstream.close()

    with FarBank(ok(b"{}", b"Set-Cookie: a=1; Path=/")) as far:
        asyncio.run(work(far.named("localhost")))

    assert len(far.seen) == 2
    assert not far.sent("Cookie")


def test_connections_are_reused() -> None:
    async def work(url: str) -> None:
        upstream = Upstream()
        for _ in range(5):
            await upstream.send(RealBank(url), a_request(), "/v1")
        await upstream.close()

    with FarBank() as far:
        asyncio.run(work(far.url))

    assert (len(far.seen), far.connections) == (5, 1)


def test_a_loop_is_refused_before_connecting() -> None:
    with FarBank() as far:
        send(RealBank(far.url), a_request(("Via", "1.0 fred")))
        assert far.sent("Via")[0] == b"1.0 fred"
        again = f"1.0 fred, {far.sent('Via')[1].decode()} (comment), 1.1 other"
        with pytest.raises(BankError) as caught:
            send(RealBank(far.url), a_request(("via", again)))

    assert (caught.value.name, caught.value.values) == ("bank-loop", {"bank": f"127.0.0.1:{far.port}"})
    assert far.connections == 1


def test_the_via_of_another_sandbox_is_not_a_loop() -> None:
    with FarBank() as far:
        send(RealBank(far.url), a_request(("Via", "1.1 xs2a-sandbox-0123456789abcdef")))

    assert len(far.sent("Via")) == 2


def test_names_that_resolve_to_private_addresses_are_refused() -> None:
    with FarBank() as far, pytest.raises(BankError) as caught:
        send(RealBank(far.named("bank.example")), a_request())

    assert caught.value.name == "bank-private"
    assert caught.value.values == {"bank": f"bank.example:{far.port}", "address": "127.0.0.1"}
    assert far.connections == 0


@pytest.mark.parametrize(("host", "private"), [("bank.example", True), ("localhost", False), ("127.0.0.1", False)])
def test_private_addresses_are_allowed_if_configured(host: str, private: bool) -> None:
    with FarBank() as far:
        assert send(RealBank(far.named(host), private=private), a_request()).status == 200


def test_tls_is_verified_for_the_banks_name_and_not_the_clients(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with FarBank(tls=authority.server("bank.example")) as far:
        bank = RealBank(far.named("bank.example"), private=True, keep_host=True, ca=authority.file)
        send(bank, Request("GET", "/v1", Headers([("Host", "other.example")])))

    assert far.sent("Host") == [b"other.example"]


def test_a_bank_without_a_url_is_an_error() -> None:
    with pytest.raises(ValueError, match="URL"):
        send(RealBank(), a_request())


def test_a_request_is_forwarded_to_its_host() -> None:
    with FarBank(ok(b"elsewhere")) as far:
        host = f"LocalHost:{far.port}"
        request = Request("GET", "/a?b#c", Headers([("Host", host), ("X-Sandbox-Session", "a")]), host="other")
        answer = forward(request, "localhost")

    assert answer.body == b"elsewhere"
    assert far.head[:2] == [b"GET /a?b#c HTTP/1.1", f"Host: {host}".encode()]
    assert not far.sent("X-Sandbox-Session")


def test_without_a_host_header_a_request_is_forwarded_to_the_requested_name() -> None:
    with pytest.raises(BankError) as caught:
        forward(Request("GET", "/", host="nowhere.invalid"), "nowhere.invalid")

    assert (caught.value.name, caught.value.values["bank"]) == ("bank-unreachable", "nowhere.invalid")


@pytest.mark.parametrize(
    "host", ["other.example", "a.named.example", "named.example@other.example", "named.example:80/x", "", "[::1"]
)
def test_only_configured_hosts_get_forwarded_requests(host: str) -> None:
    with pytest.raises(ValueError, match="forward"):
        forward(Request("GET", "/", Headers([("Host", host)])), "named.example")


def test_a_configured_host_with_a_private_address_is_refused() -> None:
    with pytest.raises(BankError) as caught:
        forward(a_request(), "bank.example")

    assert caught.value.name == "bank-private"


def test_files_are_checked_before_the_first_request(tmp_path: Path) -> None:
    check(RealBank())
    check(RealBank("https://bank.example"))
    with pytest.raises(ConfigError, match="no-such-file"):
        check(RealBank("https://bank.example", ca=tmp_path / "no-such-file"))


def test_a_stale_connection_does_not_lose_a_request() -> None:
    """aiohttp's read timeout still runs after a large answer, and may end an idle connection."""

    async def work() -> int:
        upstream = Upstream()
        try:
            await upstream.send(bank, a_request(), "/v1")
            (idle,) = idle_connections(upstream)
            idle.force_close()
            return (await upstream.send(bank, a_request(), "/v1")).status
        finally:
            await upstream.close()

    with FarBank() as far:
        bank = RealBank(far.url)
        assert asyncio.run(work()) == 200
    assert len(far.seen) == 2
    assert far.connections == 2


def idle_connections(upstream: Upstream) -> list[Any]:
    pools: list[Any] = [session._session.connector for session in upstream._sessions.values()]
    return [protocol for pool in pools for kept in pool._conns.values() for protocol, _ in kept]
