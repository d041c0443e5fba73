"""The journal that several sandboxes share: sent in the background, once, and read by each as a whole."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import fields, replace
from time import monotonic
from typing import Any

import pytest

from tests.support.certificates import der, issued
from tests.support.played_stream import PlayedStream
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.journal.journal import Journal, Journaled
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.outcome import Outcome
from xs2a_sandbox.journal.shared import SharedJournal
from xs2a_sandbox.state.stream import Item


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def exchange(session: str = "default", personal: bool = False) -> LogEntry:
    return LogEntry(
        session, "GET", "/v1/x", 200, 1.5, "handler", "a-rule", ("odd",), personal=personal, amended=("other",)
    )


def add(journal: Journal, *targets: str, **more: Any) -> None:
    for target in targets:
        journal.add(Request("GET", target), Response(), exchange(**more))


async def targets(journal: Journal) -> list[str]:
    return [entry.target for entry in await journal.read_whole()]


def values_of(entry: Journaled) -> list[Any]:
    values = (getattr(entry, one.name) for one in fields(entry))
    return [value.pairs if isinstance(value, Headers) else value for value in values]


async def until(holds: Callable[[], bool]) -> None:
    end = monotonic() + 20
    while not holds():
        assert monotonic() < end
        await asyncio.sleep(0.01)


def test_every_sandbox_sees_the_exchanges_of_all() -> None:
    async def work() -> None:
        stream = PlayedStream()
        one, other = SharedJournal(stream=stream), SharedJournal(stream=stream)
        add(one, "/a", "/b")
        assert await targets(one) == ["/a", "/b"]
        add(other, "/c")
        await until(lambda: stream.number == 3)
        assert await targets(one) == await targets(other) == ["/a", "/b", "/c"]
        assert [entry.number for entry in await one.read_whole()] == [1, 2, 3]

    run(work)


def test_an_entry_is_equal_in_all_sandboxes() -> None:
    async def work() -> None:
        stream = PlayedStream()
        alone, one, other = Journal(), SharedJournal(stream=stream), SharedJournal(stream=stream)
        odd = Headers([("X-Odd", "a\0b"), ("X-Other", "ü")])
        request = Request("POST", "/v1/x?a=b", odd, b'{"n": 1.10}\n\xff', "bank.example", "https")
        for journal in (alone, one):
            journal.add(request, Response(201, (("X-B", "2"),), b"ok\n", "truncate"), exchange("me"))
        (expected,), (mine,), (theirs,) = alone, await one.read_whole(), await other.read_whole()
        assert values_of(mine) == values_of(theirs)
        assert values_of(replace(theirs, time=expected.time)) == values_of(expected)

    run(work)


def test_exchanges_with_personal_data_are_redacted_before_they_are_sent() -> None:
    async def work() -> None:
        stream = PlayedStream()
        shown = 0

        def show[E: Exchange](entry: E, personal: bool) -> E:
            nonlocal shown
            shown += 1
            assert personal
            return replace(entry, body=entry.body.replace(b"Anna", b"Xxxx"))

        journal = SharedJournal(stream=stream, show=show)
        journal.add(Request("POST", "/v1/x", body=b"Anna"), Response(), exchange(personal=True))
        whole = await journal.read_whole()
        (entry,) = whole
        assert (entry.body, whole.displayed(entry).body, shown) == (b"Xxxx", b"Xxxx", 1)
        assert b"Anna" not in stream.items[0][1].content

        def broken[E: Exchange](entry: E, personal: bool) -> E:
            raise ValueError("Anna")

        journal.show = broken
        journal.add(Request("POST", "/v1/y?q=Anna", body=b"Anna"), Response(), exchange(personal=True))
        _, entry = await journal.read_whole()
        assert (entry.target, entry.body) == ("/v1/y", b"")

    run(work)


def test_a_late_verdict_reaches_all_sandboxes() -> None:
    async def work() -> None:
        stream = PlayedStream()
        one, other = SharedJournal(stream=stream), SharedJournal(stream=stream)
        soon, late = Outcome(), Outcome()
        for target, outcome in (("/soon", soon), ("/late", late), ("/never", Outcome())):
            one.add(Request("GET", target), Response(), exchange(), outcome)
        add(one, "/by-hand")
        soon.settle("same")
        await other.read_whole()
        await until(lambda: not one._is_unsent())

        async def verdicts(journal: Journal) -> list[str | None]:
            return [entry.verdict for entry in await journal.read_whole()]

        assert await verdicts(one) == await verdicts(other) == ["same", None, None, None]
        late.settle("differs")
        by_hand = (await other.read_whole()).entries()[-1]
        await other.note_verdict(by_hand, "differs")
        await until(lambda: not (one._is_unsent() or other._is_unsent()))
        assert await verdicts(one) == await verdicts(other) == ["same", "differs", None, "differs"]
        third = SharedJournal(stream=stream)
        assert await verdicts(third) == ["same", "differs", None, "differs"]
        assert await targets(third) == ["/soon", "/late", "/never", "/by-hand"]

    run(work)


def test_nothing_is_lost_while_the_stream_is_down() -> None:
    async def work() -> None:
        stream = PlayedStream()
        journal = SharedJournal(stream=stream)
        stream.is_away = True
        add(journal, "/a")
        with pytest.raises(StoreUnavailable):
            await journal.read_whole()
        add(journal, "/b")
        stream.is_away = False
        await until(lambda: stream.number == 2)
        assert await targets(journal) == ["/a", "/b"]

    run(work)


def test_an_unconfirmed_exchange_is_stored_only_once() -> None:
    async def work() -> None:
        stream = PlayedStream()
        journal = SharedJournal(stream=stream)
        stream.loses = 1
        add(journal, "/a")
        with pytest.raises(StoreUnavailable):
            await journal.read_whole()
        add(journal, "/b")
        assert await targets(journal) == ["/a", "/b"]
        assert max(stream.batches.values()) == 2

    run(work)


def test_cleared_exchanges_are_gone_everywhere() -> None:
    async def work() -> None:
        stream = PlayedStream()
        one, other = SharedJournal(stream=stream), SharedJournal(stream=stream)
        add(one, "/a", session="mine")
        add(one, "/b")
        whole = await one.read_whole()
        assert whole.clear("mine") == 1
        await one.settle(whole)
        assert await targets(one) == await targets(other) == ["/b"]
        (await other.read_whole()).clear()
        whole = await other.read_whole()
        whole.clear()
        await other.settle(whole)
        assert await targets(one) == []

    run(work)


def test_exchanges_dropped_by_the_stream_are_dropped() -> None:
    async def work() -> None:
        stream = PlayedStream(count=3)
        one, other = SharedJournal(stream=stream), SharedJournal(stream=stream)
        add(one, "/a", "/b")
        assert await targets(one) == ["/a", "/b"]
        add(other, "/c", "/d")
        await other.close()
        assert await targets(one) == ["/b", "/c", "/d"]

    run(work)


def test_closing_the_journal_sends_everything() -> None:
    async def work() -> None:
        stream = PlayedStream()
        journal = SharedJournal(stream=stream)
        add(journal, "/a")
        await journal.close()
        assert stream.number == 1
        stream.is_away = True
        add(journal, "/b")
        await journal.close()

    run(work)


def test_other_workers_hand_over_their_exchanges() -> None:
    async def work() -> None:
        stream = PlayedStream()
        journals = [SharedJournal(stream=stream) for _ in range(2)]

        class Played:
            workers = 2

            def __init__(self, number: int) -> None:
                self.number = number
                self.answers: dict[str, Callable[[Any], Any]] = {}

            async def gather(self, question: str, argument: Any = None) -> list[Any]:
                return [one.answers[question](argument) for one in peers]

        peers = [Played(number) for number in range(2)]
        for journal, peer in zip(journals, peers, strict=True):
            journal.share(peer)
        add(journals[0], "/a")
        await asyncio.sleep(0.002)
        add(journals[1], "/b")
        assert await targets(journals[0]) == ["/a", "/b"]

    run(work)


def test_the_owner_of_a_client_certificate_is_shared() -> None:
    async def work() -> None:
        stream = PlayedStream()
        first, second = SharedJournal(stream=stream), SharedJournal(stream=stream)
        request = Request("GET", "/a", certificates=(der(issued()),))
        first.add(request, Response(), LogEntry("default", "GET", "/a", 200, 1.0, "handler", personal=False))
        await first.read_whole()
        (entry,) = await second.read_whole()
        assert entry.client
        assert entry.client["name"] == "My TPP"

    run(work)


def test_items_of_another_version_are_ignored() -> None:
    async def work() -> None:
        stream = PlayedStream()
        journal = SharedJournal(stream=stream)
        await stream.append("x", [Item("default", 1, b'{"format": 99}\nwhatever')], 0)
        add(journal, "/a")
        assert await targets(journal) == ["/a"]

    run(work)


def test_invalid_items_are_skipped_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        stream = PlayedStream()
        journal = SharedJournal(stream=stream)
        add(journal, "/a")
        assert await targets(journal) == ["/a"]
        for content in (
            b"",
            b"\xff",
            b"[]",
            b'{"format": 4}\n',
            b'{"format": 4, "exchange": 1, "kept": {}, "body": 0}',
        ):
            await stream.append(str(content), [Item("default", 1, content)], 0.0)
        add(journal, "/b")
        for _ in range(2):
            assert await targets(journal) == ["/a", "/b"]
        assert len([record for record in caplog.records if "stream of the journal is damaged" in record.message]) == 5

    run(work)
