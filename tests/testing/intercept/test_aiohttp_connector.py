"""aiohttp, with connectors created before the interception."""

import asyncio
from collections.abc import Callable

import aiohttp
import pytest
import uvloop

from tests.testing.intercept.counting_bank import FROM_BANK, FROM_SANDBOX, HOST, CountingBank
from xs2a_sandbox.features.pytest.sandbox import Sandbox


async def read(session: aiohttp.ClientSession, url: str) -> object:
    async with session.get(url) as response:
        return await response.json()


def test_an_existing_connector_is_answered_by_the_current_interception(bank: CountingBank, xs2a: Sandbox) -> None:
    url = f"http://{HOST}:{bank.port}/mine"

    async def ask() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:
            assert await read(session, url) == FROM_BANK
            with xs2a.intercept():
                assert await read(session, url) == FROM_SANDBOX
                assert await read(session, url) == FROM_SANDBOX
                assert bank.connections == 1
            assert await read(session, url) == FROM_BANK

    asyncio.run(ask())
    assert bank.connections == 2


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_clients_in_every_loop_are_answered_on_every_port(
    run: Callable[..., None], bank: CountingBank, xs2a: Sandbox
) -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            for place in (f"http://{HOST}:{bank.port}", f"https://{HOST}", f"https://{HOST}:9443"):
                assert await read(session, f"{place}/mine") == FROM_SANDBOX

    with xs2a.intercept():
        run(ask())
    assert bank.connections == 0
