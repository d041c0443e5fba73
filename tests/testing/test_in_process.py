"""What of an answer goes over the wire."""

import asyncio

import pytest

from xs2a_sandbox.doors.door import framed_headers
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.testing.in_process import ask, sent


@pytest.mark.parametrize(("body", "promised", "begun"), [(b"", "1", b""), (b"x", "1", b""), (b"0123456", "7", b"012")])
def test_a_truncated_answer_promises_more_than_it_sends(body: bytes, promised: str, begun: bytes) -> None:
    response = Response(200, (("content-length", "99"),), body, "truncate")
    assert framed_headers(response, "GET") == [("Content-Length", promised)]
    assert sent(response) == begun


def test_an_unbroken_answer_is_sent_whole() -> None:
    assert framed_headers(Response(200, (), b"abc"), "GET") == [("Content-Length", "3")]
    assert sent(Response(200, (), b"abc")) == b"abc"


def test_an_answer_that_breaks_off_is_closed_all_the_same() -> None:
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
