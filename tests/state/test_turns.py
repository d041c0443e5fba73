"""Turns for the writes of a session."""

import asyncio

import pytest

from xs2a_sandbox.state import turns
from xs2a_sandbox.state.turns import Turns


def test_requests_of_one_session_have_their_turn_in_order_and_other_sessions_do_not_wait() -> None:
    async def main() -> list[str]:
        log, several, may_end = list[str](), Turns(), asyncio.Event()

        async def request(session: str, name: str) -> None:
            async with several.turn(session):
                log.append(f"{name} begins")
                if session == "one":
                    await may_end.wait()
                log.append(f"{name} ends")

        of_one = [asyncio.create_task(request("one", name)) for name in "ab"]
        await asyncio.create_task(request("other", "c"))
        may_end.set()
        await asyncio.gather(*of_one)
        return log

    assert asyncio.run(main()) == ["a begins", "c begins", "c ends", "a ends", "b begins", "b ends"]


def test_a_request_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0.01)

    async def main() -> None:
        several = Turns()
        async with several.turn("one"), several.turn("one"):
            pass
        async with several.turn("one"):
            pass

    asyncio.run(asyncio.wait_for(main(), 60))
