"""The journey that `make release-check` walks with what it has installed."""

import pytest
from tools.release_check import journey

from tests.support.doors import opened
from tests.support.engine_client import an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.http import Request, Response


def test_it_is_walked_to_its_end() -> None:
    engine = an_engine()
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        steps = list(journey(f"http://127.0.0.1:{door.port}"))
    assert steps == ["consent received", "1 account", "3 pending transactions", "payment RCVD"]


def test_another_answer_ends_it() -> None:
    async def down(request: Request) -> Response:
        return Response(503, (), b"down")

    with (
        opened(lambda: direct_door(down)) as (door, _),
        pytest.raises(ValueError, match="POST /v1/consents: 503, not 200: down"),
    ):
        list(journey(f"http://127.0.0.1:{door.port}"))
