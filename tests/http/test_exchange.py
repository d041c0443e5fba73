"""One shape for exchanges of banks, recordings, the journal and comparisons."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from xs2a_sandbox.errors import InvalidResponse
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
REQUEST = Request("POST", "/v1/consents?x=1", Headers([("Accept", "*/*")]), b"{}")
RESPONSE = Response(201, (("Content-Type", "application/json"), ("X-A", "1"), ("X-A", "2")), b'{"a": 1}')


def test_it_is_the_request_and_its_answer() -> None:
    exchange = Exchange.of(REQUEST, RESPONSE, "https://api.bank.example", NOW, 12.5)

    assert (exchange.method, exchange.target, exchange.body) == ("POST", "/v1/consents?x=1", b"{}")
    assert (exchange.bank, exchange.time, exchange.milliseconds) == ("https://api.bank.example", NOW, 12.5)
    assert exchange.headers.get("accept") == "*/*"
    assert exchange.answer_headers.all("x-a") == ["1", "2"]
    assert exchange.response == RESPONSE
    assert not exchange.cut


async def _more() -> AsyncIterator[bytes]:
    yield b"more"


def test_an_answer_of_which_more_is_to_come_is_cut() -> None:
    assert Exchange.of(REQUEST, replace(RESPONSE, rest=_more()), "", NOW, 0).cut


@pytest.mark.parametrize("change", [{"status": 99}, {"answer_headers": Headers([("X-A", "1\r\nX-B: 2")])}])
def test_what_no_bank_can_have_answered_is_held_and_is_no_response(change: dict[str, object]) -> None:
    exchange = replace(Exchange.of(REQUEST, RESPONSE, "", NOW, 0), **change)  # type: ignore[arg-type]

    with pytest.raises(InvalidResponse):
        _ = exchange.response
