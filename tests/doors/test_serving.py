import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.support.doors import DEADLINE, Loop, echo, limits, trusting
from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors import serving
from xs2a_sandbox.doors.proxy import ensure_ca
from xs2a_sandbox.doors.serving import Addresses, serve
from xs2a_sandbox.errors import ConfigError, UserMistake
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.state import MemoryStore


class FakeEngine:
    public_url = "unset"
    journal = Journal()
    store = MemoryStore()
    banks: Any = SimpleNamespace(all=())

    def __init__(self, answer: Any = echo) -> None:
        self.answer = answer
        self.parts = SimpleNamespace(limits=limits())

    def use(self, **parts: Any) -> None:
        vars(self.parts).update(parts)

    async def answer_anew(self, request: Request) -> Response:
        response: Response = await self.answer(request)
        return response

    def repeat(self, request: Request) -> None:
        """Return None, because no answer is cached."""

    def report_refusal(self, _: Any, response: Response, *__: Any) -> Response:
        """Return the response without reporting it."""
        return response

    def let_go(self) -> None:
        pass

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine()
    monkeypatch.setattr(serving, "build", lambda settings, redact: engine)
    return engine


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conf")


def settings(confdir: Path, **values: Any) -> Settings:
    return Settings(**{"port": 0, "proxy_port": 0, "tls_port": 0, "confdir": confdir, "state": "memory:"} | values)


@contextmanager
def served(configured: Settings) -> Iterator[Addresses]:
    with Loop() as loop:
        serving: list[Addresses] = []

        async def main() -> tuple[asyncio.Event, "asyncio.Task[None]"]:
            stop, ready = asyncio.Event(), asyncio.Event()

            def opened(addresses: Addresses) -> None:
                serving.append(addresses)
                ready.set()

            serving_task = asyncio.create_task(serve(configured, ready=opened, stop=stop))
            await asyncio.wait(
                [serving_task, waiting := asyncio.create_task(ready.wait())], return_when="FIRST_COMPLETED"
            )
            waiting.cancel()
            if serving_task.done():
                await serving_task
            return stop, serving_task

        stop, serving_task = loop.run(main())

        async def end() -> None:
            stop.set()
            await serving_task

        try:
            yield serving[0]
        finally:
            loop.run(end())


def refuses(url: str) -> bool:
    address = httpx.URL(url)
    try:
        socket.create_connection((address.host, address.port), timeout=DEADLINE).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


OF_FEATURES = {
    *(
        "aiohttp",
        "asn1crypto",
        "brotli",
        "greenlet",
        "hiredis",
        "holidays",
        "joserfc",
        "jsonschema",
        "lxml",
        "markdown_it",
    ),
    *("OpenSSL", "cryptography", "opentelemetry", "prometheus_client", "redis", "referencing", "rich", "sqlite3"),
    *("pycountry", "schwifty", "zstandard"),
    *("jsonpatch", "jsonschema_rs", "xs2a_sandbox.control.api", "xs2a_sandbox.recording.har_log"),
}
"""Modules needed only by one feature, for bodies or for TLS clients. They are imported when they are used."""


def test_mitmproxy_is_loaded_for_the_first_client_that_needs_it(confdir: Path) -> None:
    ensure_ca(confdir)  # this imports a part of mitmproxy
    code = f"""
import asyncio, socket, ssl, sys
from pathlib import Path
from urllib.parse import urlsplit
from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors.serving import serve

def ask(url, target, *alpn):
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout={DEADLINE}) as connection:
        if alpn:
            context = ssl.create_default_context(cafile={str(confdir / "mitmproxy-ca-cert.pem")!r})
            context.set_alpn_protocols(alpn)
            connection = context.wrap_socket(connection, server_hostname="localhost")
        connection.sendall(f"GET {{target}} HTTP/1.1\\r\\nHost: a.example\\r\\nConnection: close\\r\\n\\r\\n".encode())
        return connection.recv(9)[:9], "mitmproxy" in sys.modules, "mitmproxy.master" in sys.modules

async def main():
    stop, addresses = asyncio.Event(), asyncio.Future()
    ports = {{"port": 0, "proxy_port": 0, "tls_port": 0}}
    settings = Settings(**ports, state="memory:", confdir=Path({str(confdir)!r}))
    serving = asyncio.create_task(serve(settings, ready=addresses.set_result, stop=stop))
    served = await addresses
    print(*await asyncio.to_thread(ask, served.direct, "/"))
    print(*await asyncio.to_thread(ask, served.proxy, "http://a.example/v1"))
    print("of features", *{OF_FEATURES!r} & set(sys.modules))
    print(*await asyncio.to_thread(ask, served.tls, "/v1", "http/1.1"))
    print(*(await asyncio.to_thread(ask, served.tls, "/v1", "h2"))[1:])
    stop.set()
    await serving

asyncio.run(main())
"""
    # In a checkout the bundled files would count as the user's own and would be checked.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=confdir)

    answered = "b'HTTP/1.1 '"
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{answered} False False",
        f"{answered} False False",
        "of features",
        f"{answered} True False",
        "True True",
    ]


def test_all_doors_use_the_engine(engine: FakeEngine, confdir: Path) -> None:
    with served(settings(confdir)) as addresses:
        assert addresses.tls
        assert addresses.ca_file == confdir / "mitmproxy-ca-cert.pem"
        assert engine.parts.public_url == addresses.direct
        context = trusting(addresses.ca_file)
        with httpx.Client(verify=context, trust_env=False) as http:
            assert http.get(f"{addresses.direct}/v1").json()["door"] == "direct"
            assert http.get(f"{addresses.tls}/v1").json()["door"] == "tls"
        with httpx.Client(proxy=addresses.proxy, verify=context, trust_env=False) as http:
            assert http.get("http://bank.example/v1").json()["door"] == "proxy"
            assert http.get("https://bank.example/v1").json()["door"] == "proxy"
    assert refuses(addresses.direct)
    assert refuses(addresses.proxy)
    assert refuses(addresses.tls)


def test_settings_reach_the_doors(engine: FakeEngine, confdir: Path) -> None:
    configured = settings(confdir, tls_port=None, public_url="https://sandbox.example/x", proxy_auth="ci:x")
    with served(configured) as addresses:
        assert addresses.tls is None
        assert engine.parts.public_url == "https://sandbox.example/x"
        with httpx.Client(proxy=addresses.proxy, trust_env=False) as http:
            assert http.get("http://bank.example/v1").status_code == 407


@pytest.mark.parametrize("busy", ["port", "proxy_port", "tls_port"])
def test_a_busy_port_leaves_no_door_open(
    engine: FakeEngine, confdir: Path, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening: list[int] = []
    drain = serving.DirectDoor.drain

    async def noted(door: serving.DirectDoor, grace: float = 10.0) -> None:
        listening.append(door.port)
        await drain(door, grace)

    monkeypatch.setattr(serving.DirectDoor, "drain", noted)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} .* --{busy.replace('_', '-')} PORT"):
            asyncio.run(serve(settings(confdir, **{busy: port})))
    assert len(listening) == (0 if busy == "port" else 1)
    assert all(refuses(f"http://127.0.0.1:{port}") for port in listening)


def test_a_failed_build_of_the_engine_is_reported(monkeypatch: pytest.MonkeyPatch, confdir: Path) -> None:
    def build(_: Settings, redact: bool) -> None:
        raise UserMistake("three problems in your cassettes")

    monkeypatch.setattr(serving, "build", build)
    with pytest.raises(UserMistake, match="three problems"):
        asyncio.run(serve(settings(confdir)))


@pytest.fixture
def _no_nohup() -> Iterator[None]:
    """The tests may have been started with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("_no_nohup")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_finishes_open_requests_before_the_end(
    engine: FakeEngine, confdir: Path, number: signal.Signals
) -> None:
    results: list[str] = []
    threads: list[threading.Thread] = []
    go: asyncio.Event

    async def answer(request: Request) -> Response:
        if len(results) == 0 and request.door != "process":
            arrived.append(request.door)
            if len(arrived) == 2:
                os.kill(os.getpid(), number)
                loop = asyncio.get_running_loop()
                if number != signal.SIGINT:  # like `timeout`, which sends it to the process and to its group
                    loop.call_later(0.1, os.kill, os.getpid(), number)
                loop.call_later(0.2, go.set)
            await go.wait()
        return Response(200, (), b"in time")

    arrived: list[str] = []
    engine.answer = answer

    def get(**client: Any) -> None:
        with httpx.Client(trust_env=False, timeout=DEADLINE, **client) as http:
            results.append(http.get(urls["proxy" if client else "direct"]).text)

    urls: dict[str, str] = {"proxy": "http://bank.example/v1"}

    def ready(addresses: Addresses) -> None:
        urls["direct"] = addresses.direct
        threads.extend([threading.Thread(target=get), threading.Thread(target=get, kwargs={"proxy": addresses.proxy})])
        for thread in threads:
            thread.start()

    async def main() -> None:
        nonlocal go
        go = asyncio.Event()
        # Otherwise a request that does not arrive would keep it running for ever.
        await asyncio.wait_for(serve(settings(confdir), ready=ready), 2 * DEADLINE)

    asyncio.run(main())
    for thread in threads:
        thread.join(DEADLINE)
    assert results == ["in time", "in time"]
    assert signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def test_with_nohup_a_hangup_is_ignored(engine: FakeEngine, confdir: Path) -> None:
    async def main() -> None:
        stop = asyncio.Event()

        def ready(_: Addresses) -> None:
            os.kill(os.getpid(), signal.SIGHUP)
            asyncio.get_running_loop().call_later(0.05, lambda: (seen.append(stop.is_set()), stop.set()))

        await serve(settings(confdir), ready=ready, stop=stop)

    seen: list[bool] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asyncio.run(main())
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [False]


def test_without_uvloop_the_name_of_the_loop_contains_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert serving.loop_name() == "uvloop"
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = serving.new_loop()
    loop.close()
    assert type(loop).__module__.startswith("asyncio")
    assert serving.loop_name().startswith("asyncio's event loop, ")
    assert "uvloop" in serving.loop_name()
