"""Clients of a process, answered by a bank in the process. A bank on real sockets counts requests that leave it."""

import asyncio
import http.client
import socket
import urllib.request
from collections.abc import Callable
from typing import Any

import aiohttp
import httpcore
import httpx
import pytest
import requests
import urllib3

from tests.testing.intercept.counting_bank import FROM_BANK, FROM_SANDBOX, HOST, RULE, CountingBank
from tests.testing.sandboxes import LOOP, a_sandbox, blueprint
from xs2a_sandbox.features.pytest.sandbox import Sandbox


async def _aiohttp(url: str) -> Any:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.json()


async def _httpx_async(url: str) -> Any:
    async with httpx.AsyncClient() as client:
        return (await client.get(url)).json()


def _urllib3(url: str) -> Any:
    with urllib3.PoolManager() as pool:
        return pool.request("GET", url, retries=False).json()


def _urllib(url: str) -> Any:
    with urllib.request.urlopen(url) as response:
        return requests.compat.json.loads(response.read())


CLIENTS: dict[str, Callable[[str], Any]] = {
    "requests": lambda url: requests.get(url, timeout=60).json(),
    "httpx": lambda url: httpx.get(url).json(),
    "httpx async": lambda url: asyncio.run(_httpx_async(url)),
    "urllib3": _urllib3,
    "urllib": _urllib,
    "aiohttp": lambda url: asyncio.run(_aiohttp(url)),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_answered_and_nothing_leaves_the_process(
    client: str, bank: CountingBank, xs2a: Sandbox
) -> None:
    ask = CLIENTS[client]
    url = f"http://{HOST}:{bank.port}/mine"
    assert ask(url) == FROM_BANK
    outside = bank.connections
    with xs2a.intercept() as interception:
        assert ask(url) == FROM_SANDBOX
        assert ask(f"https://{HOST}/mine") == FROM_SANDBOX
        assert ask(f"https://other.example:{bank.port}/mine") == FROM_SANDBOX
        assert bank.connections == outside
        assert ask(f"http://127.0.0.1:{bank.port}/mine") == FROM_BANK
        assert ask(f"http://localhost:{bank.port}/mine") == FROM_BANK
    assert interception.refused == []
    assert [call.origin for call in xs2a.journal.calls] == [
        f"http://{HOST}",
        f"https://{HOST}",
        "https://other.example",
    ]
    outside = bank.connections
    assert ask(url) == FROM_BANK
    assert bank.connections == outside + 1


def test_requests_through_a_proxy_are_answered(bank: CountingBank, xs2a: Sandbox) -> None:
    proxy = f"http://127.0.0.1:{bank.port}"
    proxies = {"http": proxy, "https": proxy}
    with xs2a.intercept():
        for scheme in proxies:
            url = f"{scheme}://{HOST}/mine"
            assert requests.get(url, proxies=proxies, timeout=60).json() == FROM_SANDBOX
            assert httpx.get(url, proxy=proxy).json() == FROM_SANDBOX
    assert bank.connections == 0


def test_an_existing_session_is_answered_by_the_current_interception(bank: CountingBank, xs2a: Sandbox) -> None:
    url = f"http://{HOST}:{bank.port}/mine"
    with requests.Session() as session, httpx.Client() as client:
        for ask in (session.get, client.get):
            assert ask(url).json() == FROM_BANK
            for _ in range(2):
                with xs2a.intercept():
                    assert ask(url).json() == FROM_SANDBOX
                    assert ask(url).json() == FROM_SANDBOX
            assert ask(url).json() == FROM_BANK


def test_the_innermost_interception_answers(xs2a: Sandbox) -> None:
    other = a_sandbox()
    with xs2a.intercept():
        with other.intercept():
            assert requests.get(f"https://{HOST}/mine", timeout=60).status_code == 404
        assert requests.get(f"https://{HOST}/mine", timeout=60).json() == FROM_SANDBOX
    assert (len(other.journal), len(xs2a.journal)) == (1, 1)


def test_other_clients_are_refused_only_on_web_ports(xs2a: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[tuple[str, int]] = []

    def record(_: socket.socket, address: tuple[str, int]) -> int:
        reached.append(address)
        return 0

    monkeypatch.setattr(socket.socket, "connect", record)
    monkeypatch.setattr(socket.socket, "connect_ex", record)
    with xs2a.intercept() as interception, socket.socket() as connection:
        for port in (80, 443):
            for connect in (connection.connect, connection.connect_ex):
                with pytest.raises(
                    ConnectionRefusedError, match=r"blocked the connection to 192\.0\.2\.1:\d+, because"
                ):
                    connect(("192.0.2.1", port))
        assert reached == []
        connection.connect(("192.0.2.1", 5432))
        connection.connect(("127.0.0.1", 443))
    assert reached == [("192.0.2.1", 5432), ("127.0.0.1", 443)]
    assert interception.refused == ["192.0.2.1:80"] * 2 + ["192.0.2.1:443"] * 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("reset", (requests.ConnectionError, aiohttp.ClientOSError, httpx.ReadError)),
        ("drop", (requests.ConnectionError, aiohttp.ServerDisconnectedError, httpx.RemoteProtocolError)),
    ],
)
def test_faults_break_the_connection(fault: str, error: tuple[type[Exception], ...], xs2a: Sandbox) -> None:
    xs2a.add_rule({"match": {"path": "/broken"}, "respond": {"fault": fault}})
    with xs2a.intercept():
        for ask in (CLIENTS["requests"], CLIENTS["httpx"], CLIENTS["aiohttp"], CLIENTS["urllib"]):
            with pytest.raises((*error, ConnectionResetError, http.client.RemoteDisconnected, urllib.error.URLError)):
                ask(f"https://{HOST}/broken")


def test_a_request_arrives_completely(xs2a: Sandbox) -> None:
    body = {"text": "x" * 20_000}
    with xs2a.intercept():
        requests.post(f"https://{HOST}/mine", json=body, timeout=60)
        httpx.post(f"https://{HOST}/mine", json=body)
    assert [call.json for call in xs2a.journal.calls] == [body, body]


def test_everything_is_restored_afterwards(xs2a: Sandbox) -> None:
    places = (
        (socket.socket, "connect"),
        (http.client.HTTPConnection, "connect"),
        (http.client.HTTPConnection, "putrequest"),
        (urllib3.connection.HTTPSConnection, "connect"),
        (httpcore.ConnectionPool, "handle_request"),
        (aiohttp.TCPConnector, "_create_connection"),
    )
    before = [getattr(*place) for place in places]
    with xs2a.intercept():
        assert all(getattr(*place) is not one for place, one in zip(places, before, strict=True))
    assert [getattr(*place) for place in places] == before


async def _late(url: str) -> None:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(sock_read=60)) as session:
        with pytest.raises(aiohttp.SocketTimeoutError):
            await session.get(url)
        async with session.get(url, timeout=aiohttp.ClientTimeout()) as response:
            assert await response.json() == FROM_SANDBOX


def test_delays_of_aiohttp_take_virtual_time() -> None:
    sandbox = Sandbox(blueprint(), LOOP, virtual_time=True)
    sandbox.add_rule({**RULE, "respond": {**RULE["respond"], "delay": "300s"}})
    with sandbox.intercept():
        asyncio.run(_late(f"https://{HOST}/mine"))


async def _limited(sandbox: Sandbox) -> None:
    url = f"https://{HOST}/mine"
    async with aiohttp.ClientSession() as session, httpx.AsyncClient(timeout=None) as client:
        # The loop uses real time, in which the answer arrives at once, so the limit is never reached.
        before = sandbox.clock.now
        assert (await asyncio.wait_for(client.get(url), 60)).json() == FROM_SANDBOX
        async with asyncio.timeout(60), session.get(url, timeout=aiohttp.ClientTimeout()) as response:
            assert await response.json() == FROM_SANDBOX
        assert (sandbox.clock.now - before).total_seconds() >= 600
        # A time limit of the client uses the bank's time.
        with pytest.raises(httpx.ReadTimeout):
            await asyncio.wait_for(client.get(url, timeout=60), 3600)


def test_limits_of_the_loop_use_real_time() -> None:
    sandbox = Sandbox(blueprint(), LOOP, virtual_time=True)
    sandbox.add_rule({**RULE, "respond": {**RULE["respond"], "delay": "300s"}})
    with sandbox.intercept():
        asyncio.run(_limited(sandbox))
