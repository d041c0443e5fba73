"""What a process adds to a stream and what another one reads, whatever happens to the stream in the meantime."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.played_stream import PlayedStream
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state.stream import Inbox, Item, Outbox


def run(work: Callable[[PlayedStream, Outbox, Inbox], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        stream = PlayedStream()
        await work(stream, Outbox(stream), Inbox(stream))

    asyncio.run(main())


def item(text: str, session: str = "") -> Item:
    return Item(session, len(text), text.encode())


async def read(inbox: Inbox) -> list[str]:
    tail, _ = await inbox.read()
    return [content.decode() for _, content in tail.items]


def test_all_items_are_sent_once_in_order_and_read_once() -> None:
    async def work(stream: PlayedStream, outbox: Outbox, inbox: Inbox) -> None:
        outbox.put(item("a"), item("b"))
        assert len(outbox) == 2
        await outbox.send()
        outbox.put(item("c"))
        assert await read(inbox) == ["a", "b"]
        await outbox.send()
        assert (await read(inbox), await read(inbox), len(outbox)) == (["c"], [], 0)

    run(work)


def test_items_that_cannot_be_sent_wait() -> None:
    async def work(stream: PlayedStream, outbox: Outbox, inbox: Inbox) -> None:
        stream.is_away = True
        for text in ("a", "b"):
            outbox.put(item(text))
            with pytest.raises(StoreUnavailable):
                await outbox.send()
        assert len(outbox) == 2
        stream.is_away = False
        await outbox.send()
        assert (await read(inbox), len(outbox)) == (["a", "b"], 0)

    run(work)


def test_items_are_not_added_twice_if_the_answer_is_lost() -> None:
    async def work(stream: PlayedStream, outbox: Outbox, inbox: Inbox) -> None:
        stream.loses = 1
        outbox.put(item("a"))
        with pytest.raises(StoreUnavailable):
            await outbox.send()
        outbox.put(item("b"))
        await outbox.send()
        assert await read(inbox) == ["a", "b"]

    run(work)


def test_two_concurrent_sends_send_nothing_twice() -> None:
    async def work(stream: PlayedStream, outbox: Outbox, inbox: Inbox) -> None:
        outbox.put(item("a"))
        await asyncio.gather(outbox.send(), outbox.send())
        assert (await read(inbox), len(stream.batches)) == (["a"], 1)

    run(work)


def test_an_item_can_be_withdrawn_until_it_is_sent() -> None:
    async def work(stream: PlayedStream, outbox: Outbox, inbox: Inbox) -> None:
        early, late = item("early"), item("late")
        stream.is_away = True
        outbox.put(late)
        with pytest.raises(StoreUnavailable):
            await outbox.send()
        outbox.put(early)
        assert (outbox.withdraw(late), outbox.withdraw(early), outbox.withdraw(early)) == (False, True, False)
        stream.is_away = False
        await outbox.send()
        assert await read(inbox) == ["late"]

    run(work)


def test_a_restarted_stream_is_read_from_its_start() -> None:
    async def work(stream: PlayedStream, outbox: Outbox, inbox: Inbox) -> None:
        outbox.put(item("mine", "me"), item("yours", "you"))
        await outbox.send()
        assert (await inbox.read())[1]
        assert not (await inbox.read())[1]
        await stream.remove("me", 0)
        tail, is_new = await inbox.read()
        assert (is_new, [content for _, content in tail.items]) == (True, [b"yours"])
        assert await read(inbox) == []

    run(work)


@given(st.lists(st.sampled_from(["put", "send", "away", "there", "lose", "read"]), max_size=30))
def test_all_items_arrive_whatever_happens(moves: list[str]) -> None:
    async def work(stream: PlayedStream, outbox: Outbox, inbox: Inbox) -> None:
        put, came = 0, []
        for move in [*moves, "there"]:
            try:
                match move:
                    case "put":
                        outbox.put(item(str(put)))
                        put += 1
                    case "send":
                        await outbox.send()
                    case "lose":
                        stream.loses = 1
                    case "read":
                        came += await read(inbox)
                    case _:
                        stream.is_away = move == "away"
            except StoreUnavailable:
                assert stream.is_away or len(outbox)
        stream.loses = 0
        await outbox.send()
        came += await read(inbox)
        assert came == [str(number) for number in range(put)]

    run(work)
