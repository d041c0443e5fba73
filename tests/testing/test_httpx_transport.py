"""The httpx specifics: streams in both directions. The rest is in test_transports."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.support.doors import DEADLINE, echo
from xs2a_sandbox.features.pytest.httpx_transport import HttpxTransport
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.http import Request, Response


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.close()


async def truncated(request: Request) -> Response:
    return Response(200, (), b"0123456789", "truncate")


def test_a_streamed_body_is_read_completely(loop: LoopThread) -> None:
    with httpx.Client(transport=HttpxTransport(echo, loop)) as client:
        assert client.post("https://bank.example/", content=iter([b"a", b"b"])).json()["body"] == "ab"


def test_an_async_streamed_body_is_read_completely(loop: LoopThread) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    async def uploaded() -> str:
        async with httpx.AsyncClient(transport=HttpxTransport(echo, loop)) as client:
            return str((await client.post("https://bank.example/", content=pieces())).json()["body"])

    assert asyncio.run(uploaded()) == "ab"


def test_the_start_of_a_truncated_answer_arrives(loop: LoopThread) -> None:
    client = httpx.Client(transport=HttpxTransport(truncated, loop))
    with client, client.stream("GET", "https://bank.example/") as answer:
        assert (answer.status_code, answer.headers["content-length"]) == (200, "10")
        pieces = answer.iter_bytes()
        assert next(pieces) == b"01234"
        with pytest.raises(httpx.RemoteProtocolError, match="received 5 bytes, expected 10"):
            next(pieces)


def test_cancelling_the_request_cancels_the_answer(loop: LoopThread) -> None:
    ended = []

    async def broken_off() -> None:
        begun = asyncio.Event()
        here = asyncio.get_running_loop()

        async def answer(request: Request) -> Response:
            here.call_soon_threadsafe(begun.set)
            try:
                await asyncio.sleep(DEADLINE * 10)
            finally:
                ended.append(True)
            return Response()

        async with httpx.AsyncClient(transport=HttpxTransport(answer, loop), timeout=None) as client:
            task = asyncio.create_task(client.get("https://bank.example/"))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(broken_off())
    loop.close()
    assert ended == [True]
