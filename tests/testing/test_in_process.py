"""The parts of an answer that would be sent over the network."""

import asyncio

import pytest

from xs2a_sandbox.features.pytest.in_process import ask
from xs2a_sandbox.http import Request, Response


def test_an_answer_that_breaks_off_is_closed_nevertheless() -> None:
    closed = []

    async def rest():  # type: ignore[no-untyped-def]
        try:
            yield b"two"
            raise ConnectionError("the bank is gone")
        finally:
            closed.append(True)

    async def answer(request: Request) -> Response:
        return Response(200, (), b"one", rest=rest())

    with pytest.raises(ConnectionError):
        asyncio.run(ask(answer, Request("GET", "/")))
    assert closed == [True]
