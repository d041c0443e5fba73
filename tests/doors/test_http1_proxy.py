"""The sandbox's own HTTP/1.1 proxy: which connections it answers, and which it passes to mitmproxy."""

import asyncio
import gc
import socket
import ssl
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from OpenSSL import SSL

from tests.support.doors import (
    DEADLINE,
    CountingBank,
    basic,
    echo,
    is_refusal,
    limits,
    opened,
    read_all,
    talk,
    trusting,
    wait_until,
)
from tests.support.roads import body, proxy_doors, status
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.http1_proxy import ESTABLISHED
from xs2a_sandbox.doors.mitmproxy_master import SandboxMaster
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.doors.tls import Tls

HOST = "bank.example"
CONNECT = f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n"


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_ca(tmp_path_factory.mktemp("conf")).parent


@pytest.fixture
def connections() -> Connections:
    return Connections(limits())


@pytest.fixture
def doors(confdir: Path, connections: Connections) -> Iterator[ProxyDoors]:
    with opened(lambda: proxy_doors(echo, confdir, proxy_auth="ci:x", connections=connections)) as (doors, _):
        yield doors


LOGIN = f"Proxy-Authorization: {basic('ci', 'x')}\r\n"


def answer_to(doors: ProxyDoors, line: str, *headers: str) -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return talk(doors.proxy_port, f"{line}\r\n{LOGIN}{lines}Connection: close\r\n\r\n".encode("latin-1"))


@pytest.fixture
def passed_on(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the modes of mitmproxy for which connections are passed on."""
    modes: list[str] = []
    pass_on = ProxyDoors._pass_on

    def noted(doors: ProxyDoors, mode: str, *arguments: Any) -> None:
        modes.append(mode)
        pass_on(doors, mode, *arguments)

    monkeypatch.setattr(ProxyDoors, "_pass_on", noted)
    return modes


def tunnelled(doors: ProxyDoors, host: str = HOST) -> socket.socket:
    way = socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE)
    way.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n{LOGIN}\r\n".encode())
    assert way.recv(1000) == ESTABLISHED
    return way


@pytest.mark.parametrize(
    ("alpn", "modes", "version"),
    [
        (("http/1.1",), [], "HTTP/1.1"),
        (("h2",), ["regular"], "HTTP/2"),
        (("h2", "http/1.1"), ["regular"], "HTTP/2"),
        (("http/1.1", "h2"), ["regular"], "HTTP/2"),
    ],
)
def test_http_2_is_passed_on_with_its_tunnel(
    passed_on: list[str], doors: ProxyDoors, confdir: Path, alpn: tuple[str, ...], modes: list[str], version: str
) -> None:
    trust = trusting(confdir / "mitmproxy-ca-cert.pem", *alpn)
    protocol_factory = f"http://ci:x@127.0.0.1:{doors.proxy_port}"
    with httpx.Client(proxy=protocol_factory, verify=trust, http2=True, trust_env=False, timeout=DEADLINE) as http:
        answers = [http.get(f"https://{HOST}/v1/{number}") for number in range(3)]
    assert [answer.http_version for answer in answers] == [version] * 3
    assert [answer.json()["target"] for answer in answers] == ["/v1/0", "/v1/1", "/v1/2"]
    assert {(answer.json()["host"], answer.json()["user"]) for answer in answers} == {(HOST, "ci")}
    assert passed_on == modes


def test_a_client_hello_in_small_pieces_is_passed_on_whole(
    passed_on: list[str], doors: ProxyDoors, confdir: Path
) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = trusting(confdir / "mitmproxy-ca-cert.pem")
    context.set_alpn_protocols(["h2"])
    tls = context.wrap_bio(incoming, outgoing, server_hostname=HOST)
    with tunnelled(doors) as way:
        way.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    way.sendall(bytes([byte]))
                incoming.write(way.recv(65536))
        assert tls.selected_alpn_protocol() == "h2"
    assert passed_on == ["regular"]


def test_tls_to_the_proxy_itself_is_passed_on(passed_on: list[str], doors: ProxyDoors, confdir: Path) -> None:
    with (
        socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE) as raw,
        trusting(confdir / "mitmproxy-ca-cert.pem").wrap_socket(raw, server_hostname="localhost") as way,
    ):
        way.sendall(f"GET http://{HOST}/v1 HTTP/1.1\r\nHost: {HOST}\r\n{LOGIN}Connection: close\r\n\r\n".encode())
        assert status(read_all(way)) == 200
    assert passed_on == ["regular"]


def test_a_connection_that_is_passed_on_counts_once_and_is_released(
    doors: ProxyDoors, confdir: Path, connections: Connections
) -> None:
    context = trusting(confdir / "mitmproxy-ca-cert.pem")
    context.set_alpn_protocols(["h2"])
    with tunnelled(doors) as raw, context.wrap_socket(raw, server_hostname=HOST) as way:
        assert way.selected_alpn_protocol() == "h2"
        assert len(connections._open) == 1
    wait_until(lambda: not connections._open)


def test_a_connection_that_cannot_be_passed_on_is_released(
    doors: ProxyDoors, confdir: Path, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(master: SandboxMaster) -> None:
        raise RuntimeError("mitmproxy is unavailable")

    monkeypatch.setattr(SandboxMaster, "start", broken)
    context = trusting(confdir / "mitmproxy-ca-cert.pem")
    context.set_alpn_protocols(["h2"])
    with tunnelled(doors) as raw, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(raw, server_hostname=HOST)
    wait_until(lambda: not connections._open)


def test_a_tunnel_that_mitmproxy_refuses_is_closed(
    doors: ProxyDoors, confdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sends its error as HTTP, which would arrive in the middle of the client's TLS."""
    serve: Callable[..., Any] = SandboxMaster.serve

    async def strict(master: SandboxMaster, *arguments: Any) -> None:
        master.sandbox._secret = b"another:one"
        await serve(master, *arguments)

    monkeypatch.setattr(SandboxMaster, "serve", strict)
    context = trusting(confdir / "mitmproxy-ca-cert.pem")
    context.set_alpn_protocols(["h2"])
    with tunnelled(doors) as raw, pytest.raises((ssl.SSLEOFError, ConnectionError)):
        context.wrap_socket(raw, server_hostname=HOST)


def test_credentials_can_be_sent_on_the_same_connection_after_a_407(doors: ProxyDoors) -> None:
    with socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE) as way:
        way.sendall(f"{CONNECT}\r\n".encode())
        answer = way.recv(65536)
        assert status(answer) == 407
        assert is_refusal(answer.partition(b"\r\n\r\n")[2])
        way.sendall(f"{CONNECT}{LOGIN}\r\n".encode())
        assert way.recv(65536) == ESTABLISHED


def test_a_tunnel_without_tls(doors: ProxyDoors) -> None:
    with tunnelled(doors) as way:
        way.sendall(f"GET /v1 HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
        content = body(read_all(way))
    assert (content["host"], content["scheme"], content["user"]) == (HOST, "http", "ci")


def test_data_sent_with_the_connect_is_read_in_the_tunnel(doors: ProxyDoors) -> None:
    answer = talk(
        doors.proxy_port,
        f"{CONNECT}{LOGIN}\r\n".encode(),
        f"GET /v1 HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode(),
    )
    assert answer.startswith(ESTABLISHED)
    assert body(answer.removeprefix(ESTABLISHED))["target"] == "/v1"


@pytest.mark.parametrize("authority", [HOST, "/v1", f"{HOST}:0", f"{HOST}:65536", f"a@{HOST}:443", "[::1"])
def test_a_tunnel_needs_a_host_and_a_port(doors: ProxyDoors, authority: str) -> None:
    assert status(answer_to(doors, f"CONNECT {authority} HTTP/1.1", f"Host: {HOST}")) == 400


def test_a_tunnel_is_not_opened_after_a_pending_request(confdir: Path) -> None:
    async def answer(_: Any) -> Any:
        await asyncio.sleep(0.05)
        return await echo(_)

    with opened(lambda: proxy_doors(answer, confdir)) as (doors, _):
        answer_1, answer_2 = talk(
            doors.proxy_port,
            f"GET http://{HOST}/v1 HTTP/1.1\r\nHost: {HOST}\r\n\r\n{CONNECT}\r\n".encode(),
        ).split(b"HTTP/1.1 ")[1:]
    assert answer_1.startswith(b"200 ")
    assert answer_2.startswith(b"400 ")


@pytest.mark.parametrize(
    ("url", "host", "expected"),
    [
        (f"http://{HOST}", "other.example", (HOST, 80, "http", "/")),
        (f"https://{HOST.upper()}/?a=b", "other.example", (HOST, 443, "https", "/?a=b")),
        (f"http://{HOST}:8080/v1?a#b", "other.example", (HOST, 8080, "http", "/v1?a#b")),
        ("http://[::1]:81/v1", "other.example", ("::1", 81, "http", "/v1")),
        ("/v1", HOST, (HOST, 80, "http", "/v1")),
        ("/v1", f"{HOST}:8443", (HOST, 8443, "http", "/v1")),
    ],
)
def test_destination_of_a_request(confdir: Path, url: str, host: str, expected: tuple[str, int, str, str]) -> None:
    seen: list[Any] = []

    async def answer(request: Any) -> Any:
        seen.append((request.host, request.port, request.scheme, request.target))
        return await echo(request)

    for engine in ("auto", "mitmproxy"):
        with opened(lambda engine=engine: proxy_doors(answer, confdir, engine=engine)) as (doors, _):  # type: ignore[misc]
            assert status(answer_to(doors, f"GET {url} HTTP/1.1", f"Host: {host}")) == 200
    assert seen == [expected] * 2


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (f"http://evil.example@{HOST}/", HOST),
        (f"http://{HOST}:0/", HOST),
        (f"http://{HOST}:99999/", HOST),
        ("http:///v1", HOST),
        (f"http://{HOST}?a=b", HOST),
        (f"ftp://{HOST}/", HOST),
        (f"//{HOST}@evil.example", "a b"),
        ("v1", HOST),
        ("/v1", ""),
        ("/v1", f"evil.example@{HOST}"),
    ],
)
def test_targets_without_a_destination_are_refused(doors: ProxyDoors, url: str, host: str) -> None:
    answer = answer_to(doors, f"GET {url} HTTP/1.1", f"Host: {host}")
    assert status(answer) == 400
    assert is_refusal(answer.partition(b"\r\n\r\n")[2])


def test_a_url_with_a_user_is_refused_with_an_explanation(doors: ProxyDoors) -> None:
    answer = answer_to(doors, f"GET http://anna@{HOST}/v1/accounts HTTP/1.1", f"Host: {HOST}")
    assert b"must be a path, or an http or https URL without a user name" in answer


def test_chunked_bodies_are_refused_in_http_1_0(doors: ProxyDoors) -> None:
    head = f"POST http://{HOST}/v1 HTTP/1.0\r\nHost: {HOST}\r\n{LOGIN}Transfer-Encoding: chunked\r\n\r\n"
    assert status(talk(doors.proxy_port, head.encode(), b"0\r\n\r\n")) == 400


def test_nothing_is_read_after_the_last_request(doors: ProxyDoors) -> None:
    one = f"GET http://{HOST}/v1 HTTP/1.1\r\nHost: {HOST}\r\n{LOGIN}Connection: close\r\n\r\n".encode()
    assert talk(doors.proxy_port, one, one).count(b"HTTP/1.1 200 ") == 1


@pytest.mark.parametrize("name", ["elsewhere.example", None])
def test_the_certificate_contains_the_server_name_and_the_host_of_the_tunnel(
    doors: ProxyDoors, confdir: Path, name: str | None
) -> None:
    context = trusting(confdir / "mitmproxy-ca-cert.pem")
    context.check_hostname = name is not None
    with tunnelled(doors) as raw, context.wrap_socket(raw, server_hostname=name) as way:
        names = [value for _, value in way.getpeercert()["subjectAltName"]]  # type: ignore[index]
    assert names == ([name, HOST] if name else [HOST])


def test_an_answer_of_megabytes_arrives_whole(confdir: Path) -> None:
    async def answer(request: Any) -> Any:
        response = await echo(request)
        return type(response)(200, (), b"x" * 5_000_000)

    with opened(lambda: proxy_doors(answer, confdir)) as (doors, _):
        trust = trusting(confdir / "mitmproxy-ca-cert.pem")
        protocol_factory = f"http://127.0.0.1:{doors.proxy_port}"
        with httpx.Client(proxy=protocol_factory, verify=trust, trust_env=False, timeout=DEADLINE) as http:
            assert len(http.get(f"https://{HOST}/v1").content) == 5_000_000


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_a_closed_connection_leaves_nothing_behind(
    doors: ProxyDoors, confdir: Path, monkeypatch: pytest.MonkeyPatch, alpn: str
) -> None:
    made: list[weakref.ref[SSL.Connection]] = []
    shake_hands = Tls._shake_hands

    def noted(tls: Tls) -> bool:
        made.append(weakref.ref(tls._tls))
        return shake_hands(tls)

    monkeypatch.setattr(Tls, "_shake_hands", noted)
    context = trusting(confdir / "mitmproxy-ca-cert.pem", alpn)
    context.set_alpn_protocols([alpn])
    gc.disable()
    try:
        with tunnelled(doors) as raw, context.wrap_socket(raw, server_hostname=HOST) as way:
            assert way.selected_alpn_protocol() == alpn
            way.sendall(f"GET /v1 HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
            if alpn == "http/1.1":
                assert status(read_all(way)) == 200
        wait_until(lambda: bool(made) and all(one() is None for one in made))
    finally:
        gc.enable()


def test_the_proxy_never_connects_to_a_bank(confdir: Path) -> None:
    """This holds for any requests in any order, with any interruption."""

    async def fail(_: Any) -> Any:
        raise RuntimeError("no answer")

    with opened(lambda: proxy_doors(fail, confdir)) as (doors, _), CountingBank() as bank:
        there = f"127.0.0.1:{bank.port}"
        connect = f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n"
        request = f"GET http://{there}/ HTTP/1.1\r\nHost: {there}\r\n\r\n"
        for said in (
            request + connect,
            request + "nonsense\r\n\r\n",
            connect + connect,
            connect + request + "nonsense\r\n\r\n",
            connect + "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
            connect + "\x16nonsense",
            connect + "\0\0\0",
            "\x16nonsense" + request,
        ):
            assert b"REAL BANK" not in talk(doors.proxy_port, said.encode("latin-1"))
        assert bank.connections == 0
