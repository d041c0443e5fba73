"""A stream in Redis: one order for all, each batch once, with a limit, and never mixed with items from before a
loss.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest

from tests.support.cutting import Cutting
from tests.support.redis_server import a_redis, needs_redis, the_redis
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state import redis_scripts as scripts
from xs2a_sandbox.state.redis import RedisStore
from xs2a_sandbox.state.stream import Item, Tail

pytestmark = needs_redis


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def soon() -> float:
    return asyncio.get_running_loop().time() + 20


@asynccontextmanager
async def opened(url: str) -> Any:
    store = await asyncio.to_thread(RedisStore, url, "xs2a-1.84")
    try:
        yield store
    finally:
        await store.close()


def fresh() -> str:
    return f"{the_redis().url}?prefix={uuid4()}"


def items(*contents: str, session: str = "default", size: int = 10) -> list[Item]:
    return [Item(session, size, content.encode()) for content in contents]


def texts(tail: Tail) -> list[str]:
    return [content.decode() for _, content in tail.items]


def test_all_readers_see_all_items_in_the_same_order() -> None:
    async def work() -> None:
        url = fresh()
        async with opened(url) as one, opened(url) as other:
            mine, theirs = (store.stream("log", 100, 10_000) for store in (one, other))
            assert await mine.after("", 0, soon()) == Tail("", 0, [])
            await mine.append("a", items("1", "2"), soon())
            await theirs.append("b", items("3"), soon())
            tail = await mine.after("", 0, soon())
            assert tail.items == [(1, b"1"), (2, b"2"), (3, b"3")]
            assert await theirs.after("", 0, soon()) == tail
            await theirs.append("c", items("4"), soon())
            assert await mine.after(tail.life, 3, soon()) == Tail(tail.life, 1, [(4, b"4")])

    run(work)


def test_a_batch_with_a_lost_answer_is_added_once() -> None:
    async def work() -> None:
        lost = 0

        def cuts(request: bytes) -> bool:
            nonlocal lost
            is_first = scripts.APPEND.digest.encode() in request and lost == 0
            lost += is_first
            return is_first

        async with (
            Cutting(the_redis().port, cuts) as between,
            opened(f"redis://127.0.0.1:{between.port}/0?prefix={uuid4()}") as store,
        ):
            stream = store.stream("log", 100, 10_000)
            await stream.append("a", items("1"), soon())
            await stream.append("a", items("1"), soon())
            assert (texts(await stream.after("", 0, soon())), lost) == (["1"], 1)

    run(work)


@pytest.mark.parametrize(("count", "bytes", "kept"), [(2, 10_000, ["3", "4"]), (100, 35, ["2", "3", "4"]), (9, 5, [])])
def test_the_oldest_items_are_dropped_first(count: int, bytes: int, kept: list[str]) -> None:
    async def work() -> None:
        async with opened(fresh()) as store:
            stream = store.stream("log", count, bytes)
            await stream.append("a", items("1", "2"), soon())
            await stream.append("b", items("3", "4"), soon())
            tail = await stream.after("", 0, soon())
            assert texts(tail) == kept
            assert tail.first == (int(kept[0]) if kept else 0)

    run(work)


def test_removed_items_are_gone_for_all_and_the_numbers_continue() -> None:
    async def work() -> None:
        async with opened(fresh()) as store:
            stream = store.stream("log", 4, 10_000)
            await stream.remove(None, soon())
            await stream.append("a", items("1", session="mine"), soon())
            await stream.append("b", items("2"), soon())
            life = (await stream.after("", 0, soon())).life
            await stream.remove("mine", soon())
            tail = await stream.after(life, 2, soon())
            assert tail.life != life
            assert tail.items == [(2, b"2")]
            await stream.remove(None, soon())
            await stream.append("c", items("3"), soon())
            assert (await stream.after(tail.life, 2, soon())).items == [(3, b"3")]

    run(work)


def test_a_lost_stream_starts_again() -> None:
    async def work() -> None:
        with a_redis() as server:
            async with opened(server.url) as store:
                stream = store.stream("log", 4, 10_000)
                await stream.append("a", items("1", "2"), soon())
                life = (await stream.after("", 0, soon())).life
                server.client.flushall()
                await stream.append("b", items("3"), soon())
                assert (await stream.after(life, 2, soon())).items == [(1, b"3")]
                server.kill()
                with pytest.raises(StoreUnavailable):
                    await stream.append("c", items("4"), asyncio.get_running_loop().time() + 0.2)

    run(work)


def test_a_reset_of_the_state_keeps_the_stream() -> None:
    async def work() -> None:
        async with opened(fresh()) as store:
            stream = store.stream("log", 4, 10_000)
            await stream.append("a", items("1"), soon())
            await store.reset(None, soon())
            assert texts(await stream.after("", 0, soon())) == ["1"]
            assert await store.sessions(soon()) == {}

    run(work)


@pytest.mark.parametrize("id", ["*", "1-5", "18446744073709551615-7"])
def test_foreign_items_are_skipped(id: str, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        url = fresh()
        key = f"xs2a-sandbox:{url.partition('=')[2]}:log"
        async with opened(url) as store:
            stream = store.stream("log", 3, 10_000)
            await stream.append("a", items("1"), soon())
            number = the_redis().client.xadd(key, {"foreign": "item"}, id=id).decode()
            for _ in range(2):
                assert texts(await stream.after("", 0, soon())) == ["1"]
            assert [record.getMessage().count(number) for record in caplog.records if key in record.getMessage()] == [1]
            await stream.append("b", items("2", "3", "4"), soon())
            assert texts(await stream.after("", 0, soon())) == ["2", "3", "4"]
            await stream.remove("default", soon())
            assert texts(await stream.after("", 0, soon())) == []

    run(work)
