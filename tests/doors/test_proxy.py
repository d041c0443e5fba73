import asyncio
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest
import requests
from cryptography import x509
from h2.exceptions import ProtocolError
from mitmproxy.http import HTTPFlow

from tests.support.doors import DEADLINE, Loop, basic, echo, is_refusal, opened, read_all, talk, trusting, wait_until
from tests.support.roads import master_of, proxy_doors
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.doors.tls import Tls
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Request, Response

pytestmark = [pytest.mark.usefixtures("proxy_engine"), pytest.mark.by_turns("proxy_engine")]


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_ca(tmp_path_factory.mktemp("conf")).parent


@pytest.fixture(scope="module")
def ca_file(confdir: Path) -> Path:
    return confdir / "mitmproxy-ca-cert.pem"


def make(confdir: Path, answer: Any = echo, **options: Any) -> ProxyDoors:
    return proxy_doors(answer, confdir, **options)


@pytest.fixture
def doors(confdir: Path) -> Iterator[ProxyDoors]:
    with opened(lambda: make(confdir)) as (doors, _):
        yield doors


def client(doors: ProxyDoors, *alpn: str, user: str = "") -> httpx.Client:
    context = trusting(doors.confdir / "mitmproxy-ca-cert.pem", *alpn)
    proxy = f"http://{user and user + ':x@'}127.0.0.1:{doors.proxy_port}"
    return httpx.Client(proxy=proxy, verify=context, http2=bool(alpn), trust_env=False, timeout=DEADLINE)


def test_plain_http_through_the_proxy(doors: ProxyDoors) -> None:
    with client(doors, user="ci-42") as http:
        response = http.post("http://No.Such.Bank.example:81/x/v1/a%2Fb?q=1&q=%20", content=b"{}", headers={"X-A": "b"})
    body = response.json()
    assert response.headers.get_list("X-Two") == ["a", "b"]
    assert (body["method"], body["target"], body["body"]) == ("POST", "/x/v1/a%2Fb?q=1&q=%20", "{}")
    assert (body["host"], body["scheme"], body["door"], body["user"]) == (
        "no.such.bank.example",
        "http",
        "proxy",
        "ci-42",
    )
    names = [name.lower() for name, _ in body["headers"]]
    assert "x-a" in names
    assert "proxy-authorization" not in names


def test_the_absolute_form_takes_precedence_over_the_host_header(doors: ProxyDoors) -> None:
    answer = talk(
        doors.proxy_port, b"GET http://bank.example/v1 HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n"
    )
    assert b'"host":"bank.example"' in answer


@pytest.mark.parametrize(("alpn", "version"), [((), "HTTP/1.1"), (("h2",), "HTTP/2")])
def test_https_to_a_name_that_cannot_be_resolved(doors: ProxyDoors, alpn: tuple[str, ...], version: str) -> None:
    with client(doors, *alpn, user="ci-42") as http:
        responses = [http.get("https://no.such.bank.example/v1/accounts?withBalance=true") for _ in range(2)]
    for response in responses:
        body = response.json()
        assert response.http_version == version
        assert body["target"] == "/v1/accounts?withBalance=true"
        assert (body["host"], body["scheme"]) == ("no.such.bank.example", "https")
        assert (body["door"], body["user"]) == ("proxy", "ci-42")


def test_the_tls_door_is_a_base_url(doors: ProxyDoors, ca_file: Path) -> None:
    response = requests.get(f"https://localhost:{doors.tls_port}/v1/consents", verify=ca_file, timeout=DEADLINE)
    body = response.json()
    assert (body["host"], body["scheme"], body["door"], body["user"]) == ("localhost", "https", "tls", None)


@pytest.mark.parametrize("offer", [("h2", "http/1.1"), ("http/1.1", "h2")], ids=" ".join)
@pytest.mark.parametrize("road", ["tls", "tunnel"])
def test_http_2_is_used_if_the_client_offers_it_in_any_order(
    doors: ProxyDoors, ca_file: Path, road: str, offer: tuple[str, ...]
) -> None:
    proxy = f"http://127.0.0.1:{doors.proxy_port}" if road == "tunnel" else None
    port = f":{doors.tls_port}" if road == "tls" else ""
    with httpx.Client(verify=trusting(ca_file, *offer), proxy=proxy, http2=True, trust_env=False) as http:
        assert http.get(f"https://localhost{port}/v1/x").http_version == "HTTP/2"


@pytest.mark.parametrize(
    ("version", "connection", "closes"),
    [
        ("1.1", b"close", True),
        ("1.1", b"TE, Close", True),
        ("1.1", b"keep-alive", False),
        ("1.0", b"TE", True),
        ("1.0", b"keep-alive", False),
    ],
)
@pytest.mark.parametrize("road", ["tls", "tunnel", "plain"])
def test_the_end_of_a_connection_is_announced(
    doors: ProxyDoors,
    ca_file: Path,
    road: str,
    version: str,
    connection: bytes,
    closes: bool,
    proxy_engine: str,
) -> None:
    """RFC 9112, 9.6. Otherwise the client keeps the connection, and its next request is lost."""
    closes = closes or (proxy_engine == "auto" and version == "1.0")  # our own proxy closes all HTTP/1.0 connections
    port = doors.tls_port if road == "tls" else doors.proxy_port
    with socket.create_connection(("127.0.0.1", port or 0), timeout=DEADLINE) as raw:
        wire: socket.socket = raw
        if road == "tunnel":
            raw.sendall(b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n")
            assert b" 200 " in raw.recv(1000)
        if road != "plain":
            wire = trusting(ca_file).wrap_socket(raw, server_hostname="localhost")
        target = b"http://localhost/v1" if road == "plain" else b"/v1"
        head = b"GET %b HTTP/%b\r\nHost: localhost\r\nConnection: %b\r\n\r\n"
        wire.sendall(head % (target, version.encode(), connection))
        reader = wire.makefile("rb")
        fields = [line.strip().lower() for line in iter(reader.readline, b"\r\n")]
        assert (b"connection: close" in fields) is closes
        length = next(int(field.partition(b":")[2]) for field in fields if field.startswith(b"content-length:"))
        assert json.loads(reader.read(length))["target"] == "/v1"
        if closes:
            assert reader.read() == b""


def test_the_tls_door_supports_http_2_with_the_same_semantics(doors: ProxyDoors, ca_file: Path) -> None:
    with httpx.Client(verify=trusting(ca_file, "h2"), http2=True, trust_env=False) as http:
        response = http.post(f"https://localhost:{doors.tls_port}/v1/x", content=b"abc")
    assert response.http_version == "HTTP/2"
    assert (response.json()["host"], response.json()["body"]) == ("localhost", "abc")


def test_a_client_certificate_is_accepted(doors: ProxyDoors, ca_file: Path, tmp_path: Path) -> None:
    context = trusting(ca_file)
    # Any certificate with its key works; the CA's own is available.
    context.load_cert_chain(doors.confdir / "mitmproxy-ca.pem")
    with httpx.Client(verify=context, trust_env=False) as http:
        assert http.get(f"https://localhost:{doors.tls_port}/v1/x").status_code == 200


class Certificates:
    """Record how many certificates the client of each connection sent, as an addon of mitmproxy and in our own
    proxy.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: list[int] = []
        patch.setattr(Tls, "_shake_hands", lambda tls: self.shake_hands(tls))

    def request(self, flow: HTTPFlow) -> None:
        self.seen.append(len(flow.client_conn.certificate_list))

    def shake_hands(self, tls: Tls) -> bool:
        is_done = SHAKE_HANDS(tls)
        if is_done:
            self.seen.append(int(tls._tls.get_peer_certificate(as_cryptography=True) is not None))
        return is_done


SHAKE_HANDS = Tls._shake_hands


@pytest.mark.parametrize("certified", [False, True], ids=["anonymous", "certified"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("road", ["tls", "tunnel", "tls-proxy"])
def test_tls_sessions_are_resumed(
    doors: ProxyDoors,
    ca_file: Path,
    road: str,
    version: ssl.TLSVersion,
    certified: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = Certificates(monkeypatch)
    master_of(doors)._master.addons.add(watch)
    context = trusting(ca_file)
    context.minimum_version = context.maximum_version = version
    if certified:
        context.load_cert_chain(doors.confdir / "mitmproxy-ca.pem")
    session, resumed = None, []
    for _ in range(3):
        port = doors.tls_port if road == "tls" else doors.proxy_port
        with socket.create_connection(("127.0.0.1", port or 0), timeout=DEADLINE) as raw:
            if road == "tunnel":
                raw.sendall(b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n")
                assert b" 200 " in raw.recv(1000)
            with context.wrap_socket(raw, server_hostname="localhost", session=session) as connection:
                target = b"http://localhost/v1" if road == "tls-proxy" else b"/v1"
                connection.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert b"HTTP/1.1 200 " in read_all(connection)
                session = connection.session
                resumed.append(connection.session_reused)
    assert resumed == [False, True, True]
    assert [shown > 0 for shown in watch.seen] == [certified] * 3


@pytest.mark.parametrize("url", ["http://bank.example/v1", "https://bank.example/v1"])
def test_the_proxy_requires_a_password(confdir: Path, url: str) -> None:
    with opened(lambda: make(confdir, proxy_auth="ci-42:x")) as (doors, _):
        with client(doors, user="ci-42") as http:
            assert http.get(url).json()["user"] == "ci-42"
        for user in ("", "ci-43"):
            plain = [b"GET http://bank.example/v1 HTTP/1.1\r\nHost: bank.example\r\n"]
            tunnel = [b"CONNECT bank.example:443 HTTP/1.1\r\nHost: bank.example:443\r\n"]
            login = f"Proxy-Authorization: {basic(user, 'x')}\r\n".encode() if user else b""
            answer = talk(doors.proxy_port, *(tunnel if "https" in url else plain), login, b"Connection: close\r\n\r\n")
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 407 ")
            assert b'\r\nProxy-Authenticate: Basic realm="xs2a-sandbox"' in head
            assert is_refusal(body)


def test_the_tls_door_never_requires_a_proxy_password(confdir: Path, ca_file: Path) -> None:
    with opened(lambda: make(confdir, proxy_auth="ci-42:x")) as (doors, _):
        headers = {"Authorization": "Bearer token"}
        response = requests.get(
            f"https://localhost:{doors.tls_port}/v1", verify=ca_file, headers=headers, timeout=DEADLINE
        )
    assert ["Authorization", "Bearer token"] in response.json()["headers"]


def test_a_tunnel_is_forgotten_with_its_connection(doors: ProxyDoors) -> None:
    with client(doors, "h2", user="ci-42") as http:
        http.get("https://bank.example/v1")
        assert master_of(doors).sandbox._tunnels
    wait_until(lambda: not master_of(doors).sandbox._tunnels)


@pytest.mark.parametrize("alpn", [(), ("h2",)], ids=["h1", "h2"])
@pytest.mark.parametrize(
    ("method", "status", "length"), [("HEAD", 200, "5"), ("GET", 204, None), ("GET", 304, None), ("GET", 200, "5")]
)
def test_framing_of_answers(
    confdir: Path, ca_file: Path, alpn: tuple[str, ...], method: str, status: int, length: str | None
) -> None:
    async def answer(_: Request) -> Response:
        return Response(status, (), b"hello" if status == 200 else b"")

    with (
        opened(lambda: make(confdir, answer)) as (doors, _),
        httpx.Client(verify=trusting(ca_file, *alpn), http2=bool(alpn), trust_env=False) as http,
    ):
        for _ in range(2):
            response = http.request(method, f"https://localhost:{doors.tls_port}/v1")
            assert response.status_code == status
            assert response.headers.get("Content-Length") == length
            assert response.content == (b"hello" if (method, status) == ("GET", 200) else b"")


def test_a_body_that_is_too_large_reaches_the_engine_truncated(doors: ProxyDoors) -> None:
    with client(doors) as http:
        body = http.post("http://bank.example/v1", content=b"a" * (USUAL.body + 5000)).json()
    assert len(body["body"]) == USUAL.body + 1


def test_expect_100_continue(doors: ProxyDoors) -> None:
    head = b"POST http://bank.example/v1 HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE) as connection:
        connection.sendall(head)
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{}")
        assert b"HTTP/1.1 200 " in connection.recv(1000)


def test_20_slow_requests_are_answered_at_the_same_time(confdir: Path) -> None:
    gate: asyncio.Event
    waiting = 0

    async def answer(_: Request) -> Response:
        nonlocal waiting
        waiting += 1
        if waiting == 20:
            gate.set()
        await gate.wait()
        return Response(200, (), b"all of them")

    with opened(lambda: make(confdir, answer)) as (doors, loop), ThreadPoolExecutor(20) as pool:

        async def new_gate() -> asyncio.Event:
            return asyncio.Event()

        gate = loop.run(new_gate())
        with client(doors) as http:
            bodies = list(pool.map(lambda _: http.get("http://bank.example/v1").text, range(20)))
    assert bodies == ["all of them"] * 20


@pytest.mark.parametrize("door", ["proxy", "tls"])
@pytest.mark.parametrize("alpn", ["", "h2"])
def test_faults_of_connections(confdir: Path, ca_file: Path, door: str, alpn: str) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, (), b"hello world", fault=request.target.strip("/") or None)

    with opened(lambda: make(confdir, answer)) as (doors, _):

        def get(fault: str) -> httpx.Response:
            context = trusting(ca_file, *([alpn] if alpn else []))
            proxy = f"http://127.0.0.1:{doors.proxy_port}" if door == "proxy" else None
            with httpx.Client(proxy=proxy, verify=context, http2=bool(alpn), trust_env=False) as http:
                return http.get(f"https://localhost:{doors.tls_port}/{fault}")

        for fault in ("reset", "drop", "truncate", "malformed"):
            with pytest.raises((httpx.RemoteProtocolError, httpx.NetworkError, ProtocolError)):
                get(fault)
        assert get("").text == "hello world"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("drop", rb""),
        ("truncate", rb"HTTP/1\.1 200 .*Content-Length: 11\r\n(.*\r\n)?\r\nhello"),
        ("malformed", rb"(?!HTTP).+"),
    ],
)
def test_faults_on_the_wire(confdir: Path, fault: str, expected: bytes) -> None:
    async def answer(_: Request) -> Response:
        return Response(200, (), b"hello world", fault=fault)

    with opened(lambda: make(confdir, answer)) as (doors, _):
        received = talk(doors.proxy_port, b"GET http://bank.example/ HTTP/1.1\r\nHost: bank.example\r\n\r\n")
    assert re.fullmatch(expected, received, re.DOTALL)


def test_fault_reset_resets_the_connection(confdir: Path) -> None:
    async def answer(_: Request) -> Response:
        return Response(fault="reset")

    with (
        opened(lambda: make(confdir, answer)) as (doors, _),
        socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE) as connection,
    ):
        connection.sendall(b"GET http://bank.example/ HTTP/1.1\r\nHost: bank.example\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            connection.recv(100)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_drain_lets_a_request_finish(confdir: Path, scheme: str) -> None:
    with Loop() as loop, ThreadPoolExecutor(1) as pool:
        begun, go = loop.run(_event()), loop.run(_event())

        async def answer(_: Request) -> Response:
            begun.set()
            await go.wait()
            return Response(200, (), b"x" * 500_000)

        async def start() -> ProxyDoors:
            doors = make(confdir, answer)
            await doors.start()
            return doors

        doors = loop.run(start())
        with client(doors) as http, socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE) as idle:
            pending = pool.submit(http.get, f"{scheme}://bank.example/v1")
            loop.run(begun.wait())
            draining = loop.start(doors.drain())
            wait_until(lambda: not doors._listening)
            assert _refuses(doors.proxy_port)
            assert not draining.done()
            loop.loop.call_soon_threadsafe(go.set)
            assert len(pending.result(DEADLINE).content) == 500_000
            draining.result(DEADLINE)
            assert idle.recv(10) == b""


def test_drain_waits_no_longer_than_its_grace(confdir: Path) -> None:
    with Loop() as loop, ThreadPoolExecutor(1) as pool:
        begun = loop.run(_event())

        async def answer(_: Request) -> Response:
            begun.set()
            await asyncio.Event().wait()
            return Response()

        async def start() -> ProxyDoors:
            doors = make(confdir, answer)
            await doors.start()
            return doors

        doors = loop.run(start())
        with client(doors) as http:
            pending = pool.submit(http.get, "http://bank.example/v1")
            loop.run(begun.wait())
            before = monotonic()
            loop.run(doors.drain(0.2))
            assert monotonic() - before < DEADLINE / 2
            answer = pending.result(DEADLINE)
            assert (answer.status_code, answer.headers["Connection"]) == (503, "close")
            assert is_refusal(answer.content)


async def _event() -> asyncio.Event:
    return asyncio.Event()


def _refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


@pytest.mark.parametrize(("busy", "flag"), [("proxy_port", "--proxy-port"), ("tls_port", "--tls-port")])
def test_a_busy_port_is_reported(confdir: Path, busy: str, flag: str, caplog: pytest.LogCaptureFixture) -> None:
    with Loop() as loop, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        async def start() -> ProxyDoors:
            doors = make(confdir, **{busy: port})
            with pytest.raises(ConfigError, match=f"port {port} .* in use .* {flag} PORT"):
                await doors.start()
            return doors

        doors = loop.run(start())
        assert not doors._listening
        if busy == "tls_port":
            assert _refuses(doors.proxy_port)
    assert not caplog.records


def test_the_tls_door_can_be_disabled(confdir: Path) -> None:
    with opened(lambda: make(confdir, tls_port=None)) as (doors, _):
        assert doors.tls_port is None
        assert len(doors._listening) == 1


def test_the_ca_belongs_to_the_sandbox_and_is_kept(tmp_path: Path) -> None:
    confdir = tmp_path / "a" / "b"
    ca_file = ensure_ca(confdir)
    certificate = x509.load_pem_x509_certificate(ca_file.read_bytes())
    assert "xs2a-sandbox" in certificate.subject.rfc4514_string()
    assert stat.S_IMODE(confdir.stat().st_mode) == 0o700
    assert stat.S_IMODE((confdir / "mitmproxy-ca.pem").stat().st_mode) == 0o600
    assert ensure_ca(confdir).read_bytes() == ca_file.read_bytes()
    assert b"PRIVATE" not in ca_file.read_bytes()


@pytest.mark.slow
def test_processes_that_start_at_the_same_time_share_one_ca(tmp_path: Path) -> None:
    code = f"""
import pathlib
from xs2a_sandbox.doors.proxy import ensure_ca
print(ensure_ca(pathlib.Path({str(tmp_path / "conf")!r})).read_text())
"""
    command = [sys.executable, "-c", code]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    (certificate,) = {process.communicate(timeout=30)[0] for process in started}
    assert "BEGIN CERTIFICATE" in certificate


@pytest.mark.parametrize("mode", [0o644, 0o666])
def test_a_key_that_others_can_read_is_made_private(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = ensure_ca(tmp_path).read_bytes(), tmp_path / "mitmproxy-ca.pem"
    key.chmod(mode)

    assert ensure_ca(tmp_path).read_bytes() == certificate
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "could be read by others" in caplog.text


def test_the_ca_file_never_contains_the_private_key(tmp_path: Path) -> None:
    """In a file from the user the certificate may come before the key."""
    certificate, key = ensure_ca(tmp_path), tmp_path / "mitmproxy-ca.pem"
    key.write_bytes(certificate.read_bytes() + key.read_bytes().partition(b"-----BEGIN CERTIFICATE-----")[0])

    assert ensure_ca(tmp_path).read_bytes() == certificate.read_bytes()
    assert b"PRIVATE" not in certificate.read_bytes()


def test_permissions_of_a_linked_confdir_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs").chmod(0o755)
    (tmp_path / "conf").symlink_to(tmp_path / "theirs")

    with pytest.raises(ConfigError, match=r"is a link to a folder that other users can read .*--confdir DIR"):
        ensure_ca(tmp_path / "conf")

    assert stat.S_IMODE((tmp_path / "theirs").stat().st_mode) == 0o755
    assert not list((tmp_path / "theirs").iterdir())


def test_a_broken_ca_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mitmproxy-ca.pem").write_text("what?")
    with pytest.raises(ConfigError, match=r"mitmproxy-ca\.pem does not contain a CA"):
        ensure_ca(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_confdir_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="--confdir"):
        ensure_ca(tmp_path / "conf")


def test_a_confdir_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("")
    with pytest.raises(ConfigError, match="--confdir"):
        ensure_ca(tmp_path / "conf")


def test_connections_to_servers_verify_certificates(doors: ProxyDoors) -> None:
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(f"https://localhost:{doors.tls_port}/v1", timeout=DEADLINE)
    assert ssl.HAS_ALPN
