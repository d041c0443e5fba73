"""httpcore, used directly: all of its requests are intercepted."""

import asyncio
from pathlib import Path

import httpcore
import httpx
import pytest

from tests.testing.intercept.counting_bank import FROM_BANK, FROM_SANDBOX, HOST, CountingBank
from xs2a_sandbox.features.pytest.sandbox import Sandbox


def answered(response: httpcore.Response) -> object:
    return httpx.Response(200, content=response.content).json()


def test_a_pool_is_answered_even_if_it_has_open_connections(bank: CountingBank, xs2a: Sandbox) -> None:
    url = f"http://{HOST}:{bank.port}/mine"
    with httpcore.ConnectionPool() as pool:
        assert answered(pool.request("GET", url)) == FROM_BANK
        with xs2a.intercept():
            assert answered(pool.request("GET", url)) == FROM_SANDBOX
            assert answered(httpcore.request("GET", f"https://{HOST}:9443/mine")) == FROM_SANDBOX
        assert bank.connections == 1
        assert answered(pool.request("GET", url)) == FROM_BANK
        assert bank.connections == 1


def test_an_asynchronous_pool_is_answered(bank: CountingBank, xs2a: Sandbox) -> None:
    async def ask() -> object:
        async with httpcore.AsyncConnectionPool() as pool:
            return answered(await pool.request("POST", f"http://{HOST}:{bank.port}/mine", content=b"a=1"))

    with xs2a.intercept():
        assert asyncio.run(ask()) == FROM_SANDBOX
    assert (bank.connections, xs2a.journal.last.method, xs2a.journal.last.body) == (0, "POST", b"a=1")


def test_requests_through_a_proxy_are_answered(bank: CountingBank, xs2a: Sandbox) -> None:
    with xs2a.intercept(), httpcore.HTTPProxy(f"http://127.0.0.1:{bank.port}") as proxy:
        assert answered(proxy.request("GET", f"https://{HOST}/mine")) == FROM_SANDBOX
    assert bank.connections == 0


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("reset", httpcore.ReadError),
        ("drop", httpcore.RemoteProtocolError),
        ("malformed", httpcore.RemoteProtocolError),
        ("truncate", httpcore.RemoteProtocolError),
    ],
)
def test_faults_are_errors_of_httpcore(fault: str, error: type[Exception], xs2a: Sandbox) -> None:
    xs2a.add_rule({"match": {"path": "/broken"}, "respond": {"body": {"a": 1}, "fault": fault}})
    with xs2a.intercept(), pytest.raises(error):
        httpcore.request("GET", f"https://{HOST}/broken")


def test_unix_sockets_are_not_intercepted(xs2a: Sandbox, tmp_path: Path) -> None:
    pool = httpcore.ConnectionPool(uds=str(tmp_path / "none"))
    with xs2a.intercept(), pytest.raises(httpcore.ConnectError):
        pool.request("GET", f"http://{HOST}/mine")
    assert len(xs2a.journal) == 0
