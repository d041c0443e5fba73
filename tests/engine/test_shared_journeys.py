"""Several sandboxes in mode compare on one Redis: each knows what the others have learned, and they take turns."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.compare.test_comparison import journey
from tests.engine.test_live_comparison import CONSENTS, a_bank, comparing, confdir  # noqa: F401
from tests.support.doors import DEADLINE
from tests.support.redis_server import a_redis, needs_redis, the_redis
from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.engine.destinations import shared_journeys
from xs2a_sandbox.engine.destinations.journeys import Journey
from xs2a_sandbox.engine.destinations.shared_journeys import SharedJourneys
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.state.redis import RedisStore

pytestmark = needs_redis
BANK, OURS = "https://bank.example", "http://127.0.0.1:8081"


def fresh() -> str:
    return f"{the_redis().url}?prefix={uuid4()}"


def names(session: str = "default") -> Any:
    """Return the parts of a request that journeys use."""
    bank = SimpleNamespace(interface=SimpleNamespace(things=default_things()))
    return SimpleNamespace(real=SimpleNamespace(url=BANK), bank=bank, session=session, sandbox_url=OURS)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[SharedJourneys]:
    store = await asyncio.to_thread(RedisStore, url, "xs2a-1.84")
    journeys = SharedJourneys(store)
    try:
        yield journeys
    finally:
        await journeys.close()
        await store.close()


def among(count: int, work: Callable[..., Awaitable[None]], url: str = "") -> None:
    async def main() -> None:
        url_of_all = url or fresh()
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(60):
                await work(*[await stack.enter_async_context(opened(url_of_all)) for _ in range(count)])

    asyncio.run(main())


async def eventually(check: Callable[[], Awaitable[Any]]) -> None:
    while not await check():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


# As an app sees it


@pytest.mark.parametrize("source", ["sandbox", "bank"])
def test_a_journey_through_several_sandboxes_has_no_differences(source: str, confdir: Path) -> None:  # noqa: F811
    options = {"state": fresh(), "answer_from": source, "allow_writes": True}
    with (
        a_bank() as bank,
        comparing(bank.url, confdir, **options) as one,
        comparing(bank.url, confdir, **options) as other,
    ):
        # The sandboxes of a team share one address.
        for sandbox in (one, other):
            sandbox.engine.use(public_url="http://127.0.0.1:1")
        turns = itertools.cycle([one.direct.port, other.direct.port])

        async def app() -> list[tuple[Request, Response]]:
            async with httpx.AsyncClient(timeout=DEADLINE) as client:

                async def ask(request: Request) -> Response:
                    target = request.target.removeprefix("http://127.0.0.1:1")
                    headers = [pair for pair in request.headers if request.body or pair[0] != "Content-Type"]
                    url = f"http://127.0.0.1:{next(turns)}{target}"
                    answer = await client.request(request.method, url, headers=headers, content=request.body)
                    return Response(answer.status_code, tuple(answer.headers.items()), answer.content)

                return await journey(ask)

        done = asyncio.run(app())
        # Running comparisons in one sandbox wait for the other.
        lines = [line for sandbox in (one, other) for line in sandbox.ends()]

    assert {response.status for _, response in done} >= {200, 201}
    assert not [line for line in lines if line.startswith("differs")], lines
    compared = [line.split(": ")[1] for line in lines if line.startswith("compared with")]
    assert compared == [
        f"{-(-len(done) // 2)} same, 0 differ; differences",
        f"{len(done) // 2} same, 0 differ; differences",
    ]
    assert len([one for one in bank.asked if one.method == "POST"]) == sum(one.method == "POST" for one, _ in done)


def test_a_request_that_one_sandbox_did_not_send_is_not_compared_by_another(confdir: Path) -> None:  # noqa: F811
    state = fresh()
    with (
        a_bank() as bank,
        comparing(bank.url, confdir, state=state) as one,
        comparing(bank.url, confdir, state=state) as other,
    ):
        consent = json.loads(one.sends("POST", "/v1/consents", CONSENTS).body)["consentId"]
        assert other.gets(f"/v1/consents/{consent}").status == 200
        lines = other.ends()
        assert not bank.asked

    assert "  skipped 1: about a resource that only one side has" in lines


# In detail


def test_the_next_request_of_other_sandboxes_uses_the_lessons_of_one() -> None:
    async def work(one: SharedJourneys, other: SharedJourneys, third: SharedJourneys) -> None:
        mine = await one.of(names())
        await other.of(names())
        place = await one.queue(mine)
        async with one.turn(mine, place):
            mine.counterparts.learn("b-1", "s-1")
        for journeys in (other, third):
            theirs = await journeys.of(names())
            assert theirs.counterparts.twin("b-1") == "s-1"
            assert (await journeys.of(names("another"))).counterparts.twin("b-1") == "b-1"
        assert (await one.of(names())) is mine

    among(3, work)


def test_comparisons_run_in_the_order_in_which_they_started() -> None:
    async def work(*sandboxes: SharedJourneys) -> None:
        done: list[int] = []
        begun: list[tuple[SharedJourneys, Journey, Any]] = []
        for number in range(9):
            journeys = sandboxes[number % 3]
            of = await journeys.of(names())
            begun.append((journeys, of, await journeys.queue(of)))

        async def compare(number: int) -> None:
            journeys, of, place = begun[number]
            async with journeys.turn(of, place):
                known = [of.counterparts.twin(f"b-{earlier}") for earlier in range(number)]
                assert known == [f"s-{earlier}" for earlier in range(number)]
                of.counterparts.learn(f"b-{number}", f"s-{number}")
                await asyncio.sleep(0)
                done.append(number)

        await asyncio.gather(*map(compare, reversed(range(9))))
        assert done == list(range(9))

    among(3, work)


def test_a_sandbox_that_is_gone_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_journeys, "GONE", 0.3)

    async def work(one: SharedJourneys, gone: SharedJourneys) -> None:
        await gone.queue(await gone.of(names()))
        assert gone._living
        gone._living.cancel()
        mine = await one.of(names())
        place = await one.queue(mine)
        assert one._is_behind(mine, place)
        async with one.turn(mine, place):
            assert mine.queue == [place]
        assert not mine.queue

    among(2, work)


def test_a_sandbox_with_a_long_comparison_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_journeys, "GONE", 2.0)
    monkeypatch.setattr(shared_journeys, "_SIGNS", 0.05)

    async def work(one: SharedJourneys, slow: SharedJourneys) -> None:
        theirs = await slow.of(names())
        first = await slow.queue(theirs)
        mine = await one.of(names())
        second = await one.queue(mine)
        signs = one._inbox._number + 50

        async def compare() -> None:
            async with one.turn(mine, second):
                assert mine.counterparts.twin("b") == "s"

        waiting = asyncio.create_task(compare())
        async with slow.turn(theirs, first):

            async def has_seen_many() -> bool:
                return one._inbox._number > signs

            await eventually(has_seen_many)  # longer than GONE
            assert not waiting.done()
            theirs.counterparts.learn("b", "s")
        await waiting

    among(2, work)


def test_comparisons_pause_without_the_stream_and_then_resume() -> None:
    with a_redis() as server:

        async def work(one: SharedJourneys, other: SharedJourneys) -> None:
            mine = await one.of(names())
            place = await one.queue(mine)
            await asyncio.to_thread(server.kill)
            async with one.turn(mine, place):
                mine.counterparts.learn("b", "s")
            for _ in range(5):
                again = await one.of(names())
                assert again is mine
                with pytest.raises(StoreUnavailable):
                    await one.queue(again)
            assert len(one._outbox) <= 3
            assert not one._places

            await asyncio.to_thread(server.start)

            async def is_known() -> bool:
                return (await other.of(names())).counterparts.twin("b") == "s"

            await eventually(is_known)

            async def can_compare() -> bool:
                try:
                    place = await one.queue(await one.of(names()))
                except StoreUnavailable:
                    return False
                async with one.turn(mine, place):
                    return True

            await eventually(can_compare)

        among(2, work, server.url)


def test_a_lost_stream_does_not_block_comparisons() -> None:
    with a_redis() as server:

        async def work(one: SharedJourneys, other: SharedJourneys) -> None:
            await other.queue(await other.of(names()))
            mine = await one.of(names())
            mine.counterparts.learn("b", "s")
            place = await one.queue(mine)
            server.client.flushall()
            async with one.turn(mine, place):
                assert mine.counterparts.twin("b") == "s"

        among(2, work, server.url)
