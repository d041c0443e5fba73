"""What other clients connect to: ports of the web are closed, also for loops that use no socket of Python's."""

import asyncio
import socket
from collections.abc import Callable

import pytest
import uvloop

from tests.testing.intercept.counting_bank import HOST, CountingBank
from xs2a_sandbox.features.pytest.intercept import way_out
from xs2a_sandbox.features.pytest.sandbox import Sandbox


def refuse(host: str, port: int) -> None:
    raise ConnectionRefusedError(f"{host}:{port}")


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_no_loop_reaches_a_port_of_the_web(run: Callable[..., None]) -> None:
    async def connect() -> None:
        await asyncio.open_connection("192.0.2.1", 443)

    with way_out.hook(refuse), pytest.raises(ConnectionRefusedError, match=r"192\.0\.2\.1:443"):
        run(connect())


def test_uvloop_is_refused_by_name_and_told(xs2a: Sandbox) -> None:
    async def connect() -> None:
        await asyncio.open_connection(HOST, 443)

    with xs2a.intercept() as interception, pytest.raises(ConnectionRefusedError):
        uvloop.run(connect())
    assert interception.refused == [f"{HOST}:443"]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_other_ports_and_this_machine_stay_open(run: Callable[..., None], bank: CountingBank, xs2a: Sandbox) -> None:
    async def connect() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", bank.port)
        writer.close()

    with xs2a.intercept() as interception:
        run(connect())
    assert interception.refused == []


def test_a_way_that_is_closed_lets_nothing_out_but_what_is_told_otherwise(bank: CountingBank) -> None:
    address = ("127.0.0.1", bank.port)
    with way_out.hook(refuse), way_out.closed():
        with pytest.raises(way_out.Closed):
            socket.create_connection(address)
        with way_out.closed(but=True), socket.create_connection(address):
            pass
    with way_out.hook(refuse), socket.create_connection(address):
        pass
