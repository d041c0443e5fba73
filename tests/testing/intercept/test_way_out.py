"""Connections of other clients: web ports are closed, even for event loops that do not use Python's sockets."""

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
def test_no_event_loop_can_connect_to_a_web_port(run: Callable[..., None]) -> None:
    async def connect() -> None:
        await asyncio.open_connection("192.0.2.1", 443)

    with way_out.hook(refuse), pytest.raises(ConnectionRefusedError, match=r"192\.0\.2\.1:443"):
        run(connect())


def test_a_refused_connection_of_uvloop_is_reported_by_host_name(xs2a: Sandbox) -> None:
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


def test_a_closed_way_out_lets_only_exceptions_out(bank: CountingBank) -> None:
    address = ("127.0.0.1", bank.port)
    with way_out.hook(refuse), way_out.closed():
        with pytest.raises(way_out.Closed):
            socket.create_connection(address)
        with way_out.closed(but=True), socket.create_connection(address):
            pass
    with way_out.hook(refuse), socket.create_connection(address):
        pass
