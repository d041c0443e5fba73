"""The journal itself: limited, complete, and never shown unredacted."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.journal.journal import KEPT_BODY, Journal
from xs2a_sandbox.journal.log_line import LogEntry


def exchange(status: int = 200, session: str = "default", milliseconds: float = 1.0) -> LogEntry:
    return LogEntry(session, "GET", "/v1/accounts", status, milliseconds, "handler", "account-list", ("odd",))


def filled(journal: Journal, *targets: str, session: str = "default") -> Journal:
    for target in targets:
        journal.add(Request("GET", target), Response(), exchange(session=session))
    return journal


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\n"), max_size=3)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_header_fields_are_returned_unchanged(pairs: list[tuple[str, str]]) -> None:
    journal = Journal()
    journal.add(Request("GET", "/", Headers(pairs)), Response(), exchange())
    (entry,) = journal
    assert (entry.headers.pairs, entry.answer_headers.pairs) == (tuple(pairs), ())


def test_headers_with_null_characters_count_like_others() -> None:
    journal = Journal(bytes=10_000)
    for _ in range(10):
        journal.add(Request("GET", "/", Headers([("X", "\0" * 4000)])), Response(), exchange())
    assert len(journal) == 1


def test_an_invalid_json_body_is_none() -> None:
    journal = Journal()
    journal.add(Request("POST", "/", body=b"\xff{"), Response(body=b"[" * 100_000), exchange())
    (entry,) = journal
    assert (entry.json, entry.answer_json) == (None, None)


def test_the_path_has_no_query_and_no_session_prefix() -> None:
    journal = filled(Journal(), "/s/me/v1/accounts?x=y", session="me")
    filled(journal, "/s/me/v1/accounts", session="other")
    assert [entry.path for entry in journal] == ["/v1/accounts", "/s/me/v1/accounts"]


def test_the_oldest_exchanges_are_dropped_first() -> None:
    journal = filled(Journal(count=3), "/1", "/2", "/3", "/4", "/5")
    assert [(entry.number, entry.target) for entry in journal] == [(3, "/3"), (4, "/4"), (5, "/5")]


@given(st.lists(st.integers(0, 3 * KEPT_BODY), max_size=20), st.integers(2_000, 300_000))
def test_the_journal_never_exceeds_its_limit_in_bytes(sizes: list[int], limit: int) -> None:
    journal = Journal(bytes=limit)
    for size in sizes:
        journal.add(Request("POST", "/", body=b"x" * size), Response(body=b"y" * size), exchange())
    held = sum(len(entry.body) + len(entry.answer_body) for entry in journal)
    assert held <= limit
    assert held == 0 or journal.entries()[-1].number == len(sizes)


def test_long_bodies_are_cut_and_marked() -> None:
    journal = Journal()
    journal.add(Request("POST", "/", body=b"x" * KEPT_BODY), Response(body=b"y" * (KEPT_BODY + 1)), exchange())
    journal.add(Request("POST", "/", body=b"x" * KEPT_BODY), Response(body=b"y" * KEPT_BODY), exchange())
    first, second = journal
    assert (len(first.answer_body), first.cut) == (KEPT_BODY, True)
    assert second.cut is False


def test_an_answer_with_a_rest_is_cut() -> None:
    async def rest():  # type: ignore[no-untyped-def]
        yield b"more"

    journal = Journal()
    journal.add(Request("GET", "/"), Response(body=b"begin", rest=rest()), exchange())
    assert journal.entries()[0].cut


def test_clearing_one_session_or_all_keeps_counting_the_numbers() -> None:
    journal = filled(filled(Journal(), "/1", "/2"), "/3", session="other")
    assert journal.clear("other") == 1
    assert [entry.target for entry in journal] == ["/1", "/2"]
    assert journal.clear() == 2
    assert len(journal) == 0
    assert filled(journal, "/4").entries()[0].number == 4


def test_cleared_exchanges_no_longer_count_towards_the_limit() -> None:
    journal = filled(Journal(bytes=2_500), "/1", "/2")
    journal.clear()
    assert len(filled(journal, "/3", "/4")) == 2


def test_an_exchange_is_found_by_its_number() -> None:
    journal = filled(Journal(count=1), "/1", "/2")
    entry = journal.get(2)
    assert entry is not None
    assert entry.target == "/2"
    assert journal.get(1) is None


def test_without_a_redactor_no_possible_secret_is_shown() -> None:
    journal = Journal()
    headers = Headers([("Authorization", "Bearer SECRET"), ("Content-Type", "application/json")])
    request = Request("POST", "/v1/x?SECRET=SECRET", headers, b"SECRET")
    journal.add(request, Response(200, (("Set-Cookie", "SECRET"),), b"SECRET"), exchange())
    displayed = journal.displayed(journal.entries()[0])
    assert "SECRET" not in repr(displayed)
    assert displayed.headers.get("content-type") == "application/json"
    assert "SECRET" in repr(journal.entries()[0])


def test_the_redactor_decides_what_is_shown() -> None:
    seen: list[Exchange] = []

    def show[E: Exchange](exchange: E, personal: bool) -> E:
        assert personal
        seen.append(exchange)
        return replace(exchange, method="", bank="", target="/shown", body=b"in", answer_body=b"out")

    journal = filled(Journal(show=show), "/v1/accounts")
    (entry,) = journal.entries()
    displayed = journal.displayed(entry)
    assert (displayed.target, displayed.body, displayed.answer_body) == ("/shown", b"in", b"out")
    assert (displayed.number, displayed.status, displayed.method, displayed.bank) == (1, 200, "GET", entry.bank)
    assert [(one.method, one.target, one.status) for one in seen] == [("GET", "/v1/accounts", 200)]


def test_threads_can_share_the_journal() -> None:
    journal = Journal(count=10_000, bytes=100_000_000)
    threads = [threading.Thread(target=filled, args=(journal, *["/x"] * 500)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry.number for entry in journal) == list(range(1, 2001))


def test_the_engine_records_every_exchange_with_the_bank() -> None:
    engine = an_engine()
    client = Client(engine, "me")
    client.get("/v1/accounts?withBalance=true")
    client.get("/nowhere")
    assert [(e.method, e.target, e.session, e.source) for e in engine.journal] == [
        ("GET", "/v1/accounts?withBalance=true", "me", "sandbox"),
        ("GET", "/nowhere", "me", "sandbox"),
    ]


def test_requests_for_control_and_pages_are_not_recorded() -> None:
    engine = an_engine()
    client = Client(engine)
    for target in ("/_sandbox/health", "/_sandbox/state", "/_sandbox/none", "/sca/consents?consent_id=x", "/s/a/sca/b"):
        client.get(target)
    assert list(engine.journal) == []


def test_a_request_with_an_invalid_session_is_recorded_too() -> None:
    engine = an_engine()
    Client(engine, "no such name!").get("/v1/accounts")
    assert [entry.status for entry in engine.journal] == [400]


class Together:
    """Two journals, as in two processes."""

    def __init__(self) -> None:
        self.parts = [Part(self, number) for number in (1, 2)]
        self.journals = [Journal(count=3), Journal(count=3)]
        for journal, part in zip(self.journals, self.parts, strict=True):
            journal.share(part)


class Part:
    workers = 2

    def __init__(self, together: Together, number: int) -> None:
        self.together, self.number = together, number
        self.answers: dict[str, Any] = {}

    async def gather(self, question: str, argument: Any = None) -> list[Any]:
        return [part.answers[question](argument) for part in self.together.parts]


def test_a_verdict_is_noted_in_the_process_that_stores_the_exchange() -> None:
    first, second = Together().journals
    filled(first, "/here")
    filled(second, "/there")
    there = next(entry for entry in asyncio.run(first.read_whole()) if entry.target == "/there")
    asyncio.run(first.note_verdict(there, "differs"))
    found = {entry.target: entry.verdict for entry in asyncio.run(second.read_whole())}
    assert found == {"/here": None, "/there": "differs"}


def test_several_processes_have_one_journal() -> None:
    together = Together()
    first, second = together.journals
    for journal in (first, second, first, second):
        filled(journal, "/")

    seen = [[entry.number for entry in asyncio.run(journal.read_whole())] for journal in together.journals]

    assert seen[0] == seen[1] == sorted(seen[0])
    assert len(set(seen[0])) == 3  # the last three of both, not of each
    # The remainder shows which process stores the exchange.
    assert [number % 2 for number in seen[0]] == [0, 1, 0]


def test_clearing_the_complete_journal_clears_it_in_every_process() -> None:
    together = Together()
    for journal in together.journals:
        filled(journal, "/")

    async def clear() -> None:
        whole = await together.journals[0].read_whole()
        assert whole.clear() == 2
        await together.journals[0].settle(whole)

    asyncio.run(clear())

    assert [len(journal) for journal in together.journals] == [0, 0]
