import asyncio
import gzip
from collections.abc import AsyncGenerator

import pytest

from xs2a_sandbox.compare import loaded_answer
from xs2a_sandbox.http import Headers, Request, Response

REQUEST = Request("GET", "/v1/x", Headers([("A", "b")]), b"sent")


def test_an_answer_is_decompressed_and_stored_as_recorded() -> None:
    packed = Response(200, (("Content-Encoding", "gzip"),), gzip.compress(b'{"a":1}'))

    async def ask(request: Request) -> Response:
        return packed

    answer = asyncio.run(loaded_answer.ask(ask, REQUEST, "https://bank.example"))
    assert answer.content == ("json", {"a": 1})
    entry = answer.exchange
    assert (entry.bank, entry.method, entry.target, entry.body) == ("https://bank.example", "GET", "/v1/x", b"sent")
    assert (entry.status, entry.answer_body, entry.milliseconds >= 0) == (200, b'{"a":1}', True)


@pytest.mark.parametrize("pieces", [1, 30])
def test_the_rest_of_an_answer_is_read_and_the_connection_closed(pieces: int) -> None:
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
