import asyncio
import gzip
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import pytest

from xs2a_sandbox.compare import loaded_answer
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange

REQUEST = Request("GET", "/v1/x", Headers([("A", "b")]), b"sent")


def test_an_answer_is_unpacked_and_kept_as_it_would_be_recorded() -> None:
    packed = Response(200, (("Content-Encoding", "gzip"),), gzip.compress(b'{"a":1}'))

    async def ask(request: Request) -> Response:
        return packed

    answer = asyncio.run(loaded_answer.ask(ask, REQUEST, "https://bank.example"))
    assert answer.content == ("json", {"a": 1})
    entry = answer.exchange
    assert (entry.bank, entry.method, entry.target, entry.body) == ("https://bank.example", "GET", "/v1/x", b"sent")
    assert (entry.status, entry.answer_body, entry.milliseconds >= 0) == (200, b'{"a":1}', True)


@pytest.mark.parametrize("pieces", [1, 30])
def test_the_rest_of_an_answer_is_read_and_closed(pieces: int) -> None:
    closed = []

    async def rest() -> AsyncGenerator[bytes]:
        try:
            for _ in range(pieces):
                yield bytes(1024 * 1024)
        finally:
            closed.append(True)

    async def ask(request: Request) -> Response:
        return Response(200, (), b"x", rest=rest())

    if pieces == 1:
        assert len(asyncio.run(loaded_answer.ask(ask, REQUEST, "")).exchange.answer_body) == 1024 * 1024 + 1
    else:
        with pytest.raises(ValueError, match="larger"):
            asyncio.run(loaded_answer.ask(ask, REQUEST, ""))
    assert closed == [True]


def test_a_recorded_answer_is_one_too() -> None:
    entry = Exchange(datetime(2026, 1, 1, tzinfo=UTC), 1.0, "", "GET", "/", Headers(), b"", 201, Headers(), b"[]")
    assert loaded_answer.recorded(entry).content == ("json", [])
    assert loaded_answer.recorded(entry).response.status == 201
