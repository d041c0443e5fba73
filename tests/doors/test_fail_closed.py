"""No failure inside the sandbox forwards a request to the bank."""

import asyncio
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from mitmproxy.exceptions import AddonHalt, OptionsError

from tests.support.doors import DEADLINE, START, CountingBank, is_refusal, limits, opened, read_all, wait_until
from tests.support.roads import master_of, proxy_doors
from tests.support.turns import few
from xs2a_sandbox.doors import mitmproxy_addon as addon
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.mitmproxy_master import SandboxMaster
from xs2a_sandbox.doors.proxy import ProxyDoors, ensure_ca
from xs2a_sandbox.http import Request, Response

FAILURES: dict[str, Callable[[], BaseException]] = {
    "RuntimeError": RuntimeError,
    "AssertionError": AssertionError,
    "TimeoutError": TimeoutError,
    "CancelledError": asyncio.CancelledError,
    "AddonHalt": AddonHalt,
    "OptionsError": lambda: OptionsError("x"),
    "ExceptionGroup": lambda: ExceptionGroup("x", [ValueError()]),
    "BaseException": BaseException,
}
WRONG = {"none": None, "text": "hello", "pair": (200, b""), "class": Response}
ROADS = ["plain", "tunnel", "tls"]
TO_MITMPROXY = [*(("mitmproxy", road) for road in ROADS), ("auto", "tls-proxy"), ("auto", "tls-tunnel")]
"""Engines, and the roads for which they need mitmproxy."""


async def fail(request: Request) -> Response:
    """Fail in the way that the last segment of the path names."""
    how = request.target.rpartition("/")[2]
    if how in FAILURES:
        raise FAILURES[how]()
    if how in WRONG:
        return WRONG[how]  # type: ignore[return-value]
    if how == "silent":
        await asyncio.Event().wait()
    return Response(200, (("X-Sandbox-Source", "rule"),), b"the sandbox")


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_ca(tmp_path_factory.mktemp("conf")).parent


@pytest.fixture(scope="module")
def doors(confdir: Path, proxy_engine: str) -> Iterator[ProxyDoors]:
    connections = Connections(limits(answer_time=0.2))
    with opened(lambda: proxy_doors(fail, confdir, connections=connections)) as (doors, _):
        yield doors


@pytest.fixture
def bank() -> Iterator[CountingBank]:
    with CountingBank() as bank:
        yield bank
        assert bank.connections == 0


@contextmanager
def connection(doors: ProxyDoors, bank: CountingBank, road: str, confdir: Path) -> Iterator[tuple[Any, str]]:
    """Open a connection for requests to the bank. Yield it with the prefix of their paths."""
    port = doors.tls_port if road == "tls" else doors.proxy_port
    with ExitStack() as stack:
        raw: Any = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE))
        if road in ("tunnel", "tls-tunnel"):
            tunnel(raw, bank)
        if road != "plain":
            context = ssl.create_default_context(cafile=str(confdir / "mitmproxy-ca-cert.pem"))
            if road == "tls-tunnel":
                # A client that offers HTTP/2 and then sends something else is handled by mitmproxy.
                context.set_alpn_protocols(["h2"])
            raw = stack.enter_context(context.wrap_socket(raw, server_hostname="127.0.0.1"))
        yield raw, f"http://127.0.0.1:{bank.port}" if road in ("plain", "tls-proxy") else ""


def tunnel(raw: socket.socket, bank: CountingBank) -> None:
    raw.sendall(f"CONNECT 127.0.0.1:{bank.port} HTTP/1.1\r\nHost: 127.0.0.1:{bank.port}\r\n\r\n".encode())
    assert b" 200 " in raw.recv(1000)


def exchange(
    doors: ProxyDoors, bank: CountingBank, road: str, confdir: Path, path: str, *headers: str, body: bytes = b""
) -> bytes:
    """Return the whole answer. Fails if the connection is neither answered nor closed in time."""
    with connection(doors, bank, road, confdir) as (client, prefix):
        lines = [f"POST {prefix}{path} HTTP/1.1", f"Host: 127.0.0.1:{bank.port}", *headers, "", ""]
        client.sendall("\r\n".join(lines).encode() + body)
        return read_all(client)


def refused(answer: bytes, status: int) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    return (
        head.startswith(f"HTTP/1.1 {status} ".encode())
        and b"\r\nX-Sandbox-Source: sandbox" in head
        and is_refusal(body)
    )


CLOSE = ("Content-Length: 0", "Connection: close")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("failure", [*FAILURES, *WRONG])
def test_a_failing_engine_forwards_nothing(
    doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str, failure: str
) -> None:
    assert refused(exchange(doors, bank, road, confdir, f"/v1/{failure}", *CLOSE), 500)


@pytest.mark.parametrize("road", ROADS)
def test_a_silent_engine_forwards_nothing(doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str) -> None:
    assert refused(exchange(doors, bank, road, confdir, "/v1/silent", *CLOSE), 504)


@pytest.mark.parametrize("road", ROADS)
def test_the_request_after_a_failure_is_answered(
    doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str
) -> None:
    exchange(doors, bank, road, confdir, "/v1/RuntimeError", *CLOSE)
    assert exchange(doors, bank, road, confdir, "/v1/well", *CLOSE).endswith(b"\r\n\r\nthe sandbox")


@pytest.mark.parametrize("road", ROADS)
def test_a_large_body_is_not_forwarded(doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str) -> None:
    body = b"a" * (5 * 1024 * 1024)
    headers = (f"Content-Length: {len(body)}", "Connection: close")
    assert refused(exchange(doors, bank, road, confdir, "/v1/RuntimeError", *headers, body=body), 500)


@pytest.mark.parametrize("road", ROADS)
def test_a_body_above_every_limit_is_not_forwarded(
    doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str
) -> None:
    answer = exchange(doors, bank, road, confdir, "/v1/well", "Content-Length: 99999999999")
    assert refused(answer, 413)


@pytest.mark.parametrize("road", ROADS)
def test_a_chunked_body_with_trailers_is_not_forwarded(
    doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str
) -> None:
    body = b"2\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n"
    headers = ("Transfer-Encoding: chunked", "Trailer: X-Trailer", "Connection: close")
    assert exchange(doors, bank, road, confdir, "/v1/well", *headers, body=body).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("road", ROADS)
def test_two_megabytes_of_headers_are_not_forwarded(
    doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str
) -> None:
    assert refused(exchange(doors, bank, road, confdir, "/v1/well", "X-Large: " + "a" * 2_000_000, *CLOSE), 431)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("path", ["well", "RuntimeError"])
def test_a_websocket_upgrade_is_not_forwarded(
    doors: ProxyDoors, bank: CountingBank, confdir: Path, road: str, path: str
) -> None:
    answer = exchange(
        doors,
        bank,
        road,
        confdir,
        f"/v1/{path}",
        "Content-Length: 0",
        "Connection: Upgrade, close",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    assert answer.startswith(b"HTTP/1.1 200 ") if path == "well" else refused(answer, 500)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\x03 not HTTP\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.0\r\n",
        b"\x05\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
@pytest.mark.parametrize("inside", [True, False], ids=["tunnel", "door"])
def test_bytes_that_are_not_http_are_not_forwarded(
    doors: ProxyDoors, bank: CountingBank, raw: bytes, inside: bool
) -> None:
    with socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE) as client:
        if inside:
            tunnel(client, bank)
        client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        assert b"REAL BANK" not in read_all(client)


@pytest.mark.parametrize(("engine", "road"), TO_MITMPROXY[:-1])
def test_no_request_is_answered_before_mitmproxy_is_guarded(
    bank: CountingBank, confdir: Path, engine: str, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, start = threading.Event(), SandboxMaster.start

    async def delayed(master: SandboxMaster) -> None:
        begun.set()
        await may_start.wait()
        await start(master)

    monkeypatch.setattr(SandboxMaster, "start", delayed)
    made = partial(proxy_doors, fail, confdir, engine=engine)
    with opened(made) as (doors, loop), ThreadPoolExecutor(2) as pool:
        may_start = loop.run(_event())
        asked = [pool.submit(exchange, doors, bank, road, confdir, "/v1/well", *CLOSE) for _ in range(2)]
        assert begun.wait(DEADLINE)
        with pytest.raises(TimeoutError):
            asked[0].result(0.1)
        assert bank.connections == 0
        loop.loop.call_soon_threadsafe(may_start.set)
        assert all(one.result(DEADLINE).endswith(b"\r\n\r\nthe sandbox") for one in asked)


async def _event() -> asyncio.Event:
    return asyncio.Event()


@pytest.mark.parametrize(("engine", "road"), TO_MITMPROXY)
def test_the_doors_stay_closed_if_mitmproxy_cannot_be_loaded(
    bank: CountingBank,
    confdir: Path,
    engine: str,
    road: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(master: SandboxMaster) -> None:
        raise RuntimeError("mitmproxy is unavailable")

    monkeypatch.setattr(SandboxMaster, "start", broken)
    with opened(lambda: proxy_doors(fail, confdir, engine=engine)) as (doors, _):
        ports = doors.proxy_port, doors.tls_port
        with pytest.raises((AssertionError, OSError)):  # closed, or no tunnel
            assert exchange(doors, bank, road, confdir, "/v1/well", *CLOSE)
        for port in ports:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
    assert [record.message for record in caplog.records] == [
        "mitmproxy failed to start, so the proxy port and the TLS port are closed"
    ]


@pytest.fixture
def careless(doors: ProxyDoors, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Set options of mitmproxy without the addon's checks. The guard must be sufficient."""
    master = master_of(doors)
    monkeypatch.setattr(master.sandbox, "forced", {})
    monkeypatch.setattr(addon, "REFUSED", ())
    options = master._master.options
    before: dict[str, Any] = {}

    def update(**values: Any) -> None:
        before.update({name: getattr(options, name) for name in values})
        options.update(**values)

    yield update
    options.update(**before)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("connection_strategy", "eager"),
        ("stream_large_bodies", "1k"),
        ("ignore_hosts", [".*"]),
        ("allow_hosts", ["elsewhere"]),
        ("tcp_hosts", [".*"]),
        ("rawtcp", True),
        ("websocket", True),
        ("validate_inbound_headers", False),
    ],
)
@pytest.mark.parametrize("road", ["plain", "tunnel"])
def test_dangerous_options_of_mitmproxy_forward_nothing(
    doors: ProxyDoors,
    bank: CountingBank,
    confdir: Path,
    careless: Callable[..., None],
    option: str,
    value: Any,
    road: str,
) -> None:
    careless(**{option: value})
    body = b"a" * 5000
    try:
        answer = exchange(
            doors, bank, road, confdir, "/v1/well", "Content-Length: 5000", "Connection: close", body=body
        )
    except (ssl.SSLError, ConnectionError, AssertionError):
        return  # The tunnel was refused or closed.
    assert b"REAL BANK" not in answer


@pytest.mark.parametrize("option", [{"rawtcp": True}, {"ignore_hosts": [".*"]}, {"tcp_hosts": [".*"]}])
def test_raw_data_in_a_tunnel_is_not_forwarded(
    doors: ProxyDoors, bank: CountingBank, careless: Callable[..., None], option: dict[str, Any]
) -> None:
    careless(**option)
    with socket.create_connection(("127.0.0.1", doors.proxy_port), timeout=DEADLINE) as client:
        tunnel(client, bank)
        client.sendall(b"\x00\x01 anything\r\n\r\n")
        assert b"REAL BANK" not in read_all(client)


SCRIPT = """
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.doors.connections import Connections
from xs2a_sandbox.doors.mitmproxy_addon import Script

async def fail(request):
    raise RuntimeError("no answer")

addons = [Script(fail, proxy_auth=None, tell=lambda _, response, *__: response, connections=Connections(USUAL))]
"""


@contextmanager
def tool(name: str, script: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run mitmdump or mitmweb with a script. Yield the process and its output."""
    command = [str(Path(sys.executable).with_name(name)), "-s", str(script), "--listen-host", "127.0.0.1"]
    command += ["--listen-port", "0", "--set", f"confdir={script.parent / 'mitmproxy'}"]
    if name == "mitmweb":
        with socket.create_server(("127.0.0.1", 0)) as free:
            command += ["--no-web-open-browser", "--web-port", str(free.getsockname()[1])]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    output: list[str] = []

    def listen() -> None:
        output.extend(process.stdout or ())

    # list.extend makes progress visible to other threads line by line.
    listener = Thread(target=listen)
    listener.start()
    try:
        yield process, output
    finally:
        process.terminate()
        process.wait(DEADLINE)
        listener.join(DEADLINE)


def proxy_port(output: list[str]) -> int:
    """Return the port when the tool reports that it is listening."""

    def listening() -> re.Match[str] | None:
        return re.search(r"proxy listening at 127\.0\.0\.1:(\d+)", "".join(output))

    wait_until(lambda: listening() is not None, START)
    port = listening()
    assert port
    return int(port[1])


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def ask(port: int, bank: CountingBank) -> list[bytes]:
    """Return the answers to a plain request and to one in a tunnel."""
    target = f"127.0.0.1:{bank.port}"
    answers = []
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as client:
        client.sendall(f"GET http://{target}/v1 HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n".encode())
        answers.append(read_all(client))
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as client:
        client.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        first = client.recv(1000)
        if b" 200 " in first:
            client.sendall(f"GET /v1 HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n".encode())
            first = read_all(client)
        answers.append(first)
    return answers


@pytest.mark.parametrize("name", few(["mitmdump", "mitmweb"], ["mitmdump"]))
def test_mitmdump_and_mitmweb_work(name: str, script: Path, bank: CountingBank) -> None:
    with tool(name, script) as (_, output):
        assert all(refused(answer, 500) for answer in ask(proxy_port(output), bank))


def test_dangerous_options_of_mitmdump_are_overridden(script: Path, bank: CountingBank) -> None:
    options = [
        "connection_strategy=eager",
        "rawtcp=true",
        "websocket=true",
        "upstream_cert=true",
        "keep_host_header=false",
    ]
    with tool("mitmdump", script, *(word for option in options for word in ("--set", option))) as (_, output):
        assert all(refused(answer, 500) for answer in ask(proxy_port(output), bank))


@pytest.mark.parametrize(
    ("name", "option"),
    [
        *(
            pytest.param("mitmdump", option, marks=pytest.mark.slow)
            for option in ("stream_large_bodies=1k", "allow_hosts=x", "map_local=|.*|/tmp")
        ),
        ("mitmdump", "tcp_hosts=.*"),
        pytest.param("mitmweb", "ignore_hosts=.*", marks=pytest.mark.slow),
    ],
)
def test_dangerous_options_stop_mitmproxys_tools_with_one_message(script: Path, name: str, option: str) -> None:
    with tool(name, script, "--set", option) as (process, output):
        assert process.wait(START) == 1
        words = f"xs2a-sandbox cannot work with the option {option.partition('=')[0]}="
        wait_until(lambda: words in "".join(output), START)
        assert "Traceback" not in "".join(output)
        assert "listening" not in "".join(output)


def test_a_script_that_fails_later_forwards_nothing(script: Path, bank: CountingBank) -> None:
    with tool("mitmdump", script) as (_, output):
        port = proxy_port(output)
        script.write_text("def")
        os.utime(script, (4e9, 4e9))
        wait_until(lambda: "SyntaxError" in "".join(output), START)
        assert all(b"HTTP/1.1 502 " in answer for answer in ask(port, bank))


@pytest.mark.parametrize("name", few(["mitmdump", "mitmweb"], ["mitmdump"]))
def test_a_wrong_setting_stops_mitmproxys_tools(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XS2A_SANDBOX_PORT", "silly")
    monkeypatch.setenv("XS2A_SANDBOX_CONFDIR", str(tmp_path))
    shim = tmp_path / "xs2a.py"
    shim.write_bytes((Path(addon.__file__).parents[2] / "xs2a.py").read_bytes())
    with tool(name, shim) as (process, output):
        assert process.wait(START) == 1
        wait_until(lambda: "xs2a-sandbox: " in "".join(output) and "silly" in "".join(output), START)
        assert "Traceback" not in "".join(output)
