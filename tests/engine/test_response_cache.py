"""Cached answers: a repeated request gets the same answer, but never an outdated one."""

from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import bodies, facts
from tests.support.engine_client import Answer, Client, an_engine, cassette
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.state import MemoryStore, Transaction
from xs2a_sandbox.state.attempts import commit

CONSENT = facts.consent()
STATUS = f"/v1/consents/{CONSENT}/status"
ACCOUNT = facts.covered(CONSENT)
READS = (
    STATUS,
    f"/v1/consents/{CONSENT}",
    "/v1/accounts?withBalance=true",
    f"/v1/accounts/{ACCOUNT}/balances",
    f"/v1/accounts/{ACCOUNT}/transactions?bookingStatus=booked",
)


def is_cached(client: Client, target: str, **options: Any) -> bool:
    """Send the request three times and return whether the last answer came from the cache."""
    for _ in range(2):
        client.get(target, **options)
    made: list[object] = []
    transactions = client.engine._stack.transactions
    begin = transactions.begin
    transactions.begin = lambda *parts, **more: (made.append(parts), begin(*parts, **more))[1]  # type: ignore
    try:
        client.get(target, **options)
    finally:
        transactions.begin = begin  # type: ignore[method-assign]
    return not made


def uncached(client: Client, target: str, **options: Any) -> Answer:
    client.engine.use()
    return client.get(target, **options)


def compared_parts(answer: Answer) -> tuple[object, ...]:
    return answer.status, {name: value for name, value in answer.headers.items() if name != "x-request-id"}, answer.body


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


@pytest.fixture
def cases(tmp_path: Path) -> Callable[[str], Client]:
    return lambda text: Client(an_engine(layers=cassette(tmp_path, text)))


class WaitingStore(MemoryStore):
    """Calls `meanwhile` while the answer to a request waits for the store."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def settle(self) -> Awaitable[None]:  # type: ignore[override]
        async def wait() -> None:
            self.meanwhile()

        return wait()


def test_an_answer_in_progress_during_a_reload_is_not_cached(tmp_path: Path) -> None:
    rule = "rules:\n  - {id: mine, match: {operation: consent-status}, respond: {status: 200, body: {a: %s}}}\n"
    banks = []
    for version in ("old", "new"):
        (tmp_path / version).mkdir()
        banks.append(an_engine(layers=cassette(tmp_path / version, rule % version)).banks)
    engine = an_engine(store := WaitingStore())
    engine.use(banks=banks[0])
    client = Client(engine)
    assert client.get(STATUS).json() == {"a": "old"}
    store.meanwhile = lambda: engine.use(banks=banks[1])
    client.get(STATUS)
    store.meanwhile = lambda: None
    assert client.get(STATUS).json() == {"a": "new"}


def test_an_answer_in_progress_during_a_reset_is_not_cached() -> None:
    engine = an_engine(store := WaitingStore())
    with time_machine.travel("2026-11-21T12:00:00Z", tick=False):
        client = Client(engine)
        client.get(READS[-1], consent=CONSENT)
        engine.use(started=date(2026, 11, 1))
        store.meanwhile = lambda: engine.begin_anew(None)
        client.get(READS[-1], consent=CONSENT)
        store.meanwhile = lambda: None
        answer = client.get(READS[-1], consent=CONSENT)
        assert compared_parts(answer) == compared_parts(Client(an_engine()).get(READS[-1], consent=CONSENT))


@pytest.mark.parametrize("target", READS)
def test_a_read_is_cached_from_the_second_request_on(client: Client, target: str) -> None:
    assert is_cached(client, target, consent=CONSENT)


def test_each_request_gets_its_own_id_back(client: Client) -> None:
    for id in (str(uuid4()) for _ in range(4)):
        assert client.get(STATUS, headers={"X-Request-ID": id}).headers["x-request-id"] == id


def test_an_invalid_request_id_is_refused_despite_the_cache(client: Client) -> None:
    assert is_cached(client, STATUS)
    assert client.get(STATUS, headers={"X-Request-ID": "no-uuid"}).status == 400
    assert client.get(STATUS, headers={"X-Request-ID": None}).status == 400


@pytest.mark.parametrize("header", ["PSU-IP-Address", "TPP-Redirect-URI", "Accept-Language", "X-Sandbox-Session"])
def test_the_cache_distinguishes_all_other_headers(client: Client, header: str) -> None:
    assert is_cached(client, STATUS)
    client.delete(f"/v1/consents/{CONSENT}", headers={"X-Sandbox-Session": "other"})

    answer = client.get(STATUS, headers={header: "other"})

    assert compared_parts(answer) == compared_parts(uncached(client, STATUS, headers={header: "other"}))


def test_a_write_is_visible_at_once(client: Client) -> None:
    before = client.get(STATUS)
    assert is_cached(client, STATUS)

    client.delete(f"/v1/consents/{CONSENT}")

    assert compared_parts(client.get(STATUS)) != compared_parts(before)


def test_a_reset_is_visible_at_once(client: Client) -> None:
    client.delete(f"/v1/consents/{CONSENT}")
    gone = client.get(STATUS)
    assert gone.json() != {"consentStatus": "valid"}

    client.engine.store.reset()
    client.engine.begin_anew(None)

    assert client.get(STATUS).json() == {"consentStatus": "valid"}


def test_the_cache_follows_the_clock_of_the_session(client: Client) -> None:
    created = client.post("/v1/consents", json=bodies.consent(validUntil=facts.today(30))).json()["consentId"]
    status = f"/v1/consents/{created}/status"
    assert client.get(status).json() == {"consentStatus": "valid"}
    assert is_cached(client, status)

    state = Transaction(client.engine.store, "default", lambda _: {})
    state.put("_session", "time", {"shift": 40 * 86400})
    commit(state)

    assert client.get(status).json() == {"consentStatus": "expired"}


@pytest.mark.parametrize(
    ("respond", "more"),
    [
        ('body: {id: "{{ uuid() }}"}', ""),
        ('body: {at: "{{ now() }}"}', ""),
        ('body: {at: "{{ clock.now }}"}', ""),
        ("{status: 404, body: {}}", ""),
        ("{body: {}, delay: 1ms}", ""),
        ("{body: {}}", "effects: [{set: \"state.notes['x']\", to: {seen: 1}}]"),
    ],
)
def test_an_answer_that_differs_each_time_is_not_cached(
    cases: Callable[[str], Client], respond: str, more: str
) -> None:
    respond = respond if respond.startswith("{") else "{" + respond + "}"
    client = cases(
        f"""
        rules:
          - id: mine
            match: {{method: GET, path: /mine}}
            respond: {respond}
            {more}
        """
    )

    assert not is_cached(client, "/mine")


def test_a_sequence_advances_despite_the_cache(cases: Callable[[str], Client]) -> None:
    client = cases(
        """
        rules:
          - id: mine
            match: {method: GET, path: /mine}
            sequence: [{body: 1}, {body: 2}, {body: 3}, {body: 4}]
        """
    )

    assert [client.get("/mine").json() for _ in range(4)] == [1, 2, 3, 4]


def test_request_ids_count_if_a_rule_uses_them(cases: Callable[[str], Client]) -> None:
    one = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"
    client = cases(
        f"""
        rules:
          - id: mine
            match: {{method: GET, path: /mine, headers: {{X-Request-ID: {one}}}}}
            respond: {{body: mine}}
          - id: others
            match: {{method: GET, path: /mine}}
            respond: {{body: others}}
        """
    )
    for _ in range(3):
        assert client.get("/mine").json() == "others"

    assert client.get("/mine", headers={"X-Request-ID": one}).json() == "mine"


def test_every_request_is_recorded_in_the_journal_unchanged(client: Client) -> None:
    ids = [str(uuid4()) for _ in range(4)]
    for id in ids:
        client.get(STATUS, headers={"X-Request-ID": id})

    entries = client.engine.journal.entries()

    assert [entry.headers.get("X-Request-ID") for entry in entries] == ids
    assert [entry.answer_headers.get("X-Request-ID") for entry in entries] == ids
    assert {(entry.source, entry.rule, entry.status, entry.answer_body) for entry in entries} == {
        ("handler", "consent-status", 200, b'{"consentStatus":"valid"}')
    }


def test_explain_shows_that_an_answer_is_cached(client: Client) -> None:
    request = Request("GET", STATUS, Headers([("X-Request-ID", str(uuid4())), ("PSU-IP-Address", "192.0.2.7")]))
    assert "cached" not in client.engine.explain(request).message

    assert is_cached(client, STATUS)

    assert "the answer is cached" in client.engine.explain(request).message
    client.delete(f"/v1/consents/{CONSENT}")
    assert "cached" not in client.engine.explain(request).message


def test_the_number_of_cached_answers_is_limited(client: Client) -> None:
    for number in range(600):
        for _ in range(2):
            client.get(STATUS, headers={"User-Agent": str(number)})

    assert len(client.engine._stack.cache._kept) == 512


STEPS = st.one_of(
    st.tuples(st.just("read"), st.sampled_from(READS)),
    st.tuples(st.just("pay"), st.sampled_from(["1.00", "20.50"])),
    st.tuples(st.just("consent"), st.just("")),
    st.tuples(st.just("delete"), st.just("")),
    st.tuples(st.just("reset"), st.just("")),
    st.tuples(st.just("clock"), st.sampled_from(["0", "3600", "86400", "8640000"])),
)


def step(engine: Engine, client: Client, what: str, how: str) -> None:
    match what:
        case "read":
            client.get(how, consent=CONSENT)
        case "pay":
            client.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA, debtor=ACCOUNT, amount=how))
        case "consent":
            client.post("/v1/consents", json=bodies.consent())
        case "delete":
            client.delete(f"/v1/consents/{CONSENT}")
        case "reset":
            engine.store.reset(client.session)
            engine.begin_anew(client.session)
        case "clock":
            state = Transaction(engine.store, client.session or "default", lambda _: {})
            state.put("_session", "time", {"shift": int(how)})
            commit(state)


@given(st.lists(STEPS, max_size=8))
def test_cached_and_fresh_answers_are_equal_after_any_history(history: list[tuple[str, str]]) -> None:
    engine = an_engine()
    client = Client(engine).named("mine")
    for what, how in [*history, ("read", STATUS)]:
        step(engine, client, what, how)
        answers = [client.get(target, consent=CONSENT) for target in READS]
        kept = [client.get(target, consent=CONSENT) for target in READS]
        again = [client.get(target, consent=CONSENT) for target in READS]
        fresh = [uncached(client, target, consent=CONSENT) for target in READS]
        assert (
            list(map(compared_parts, answers))
            == list(map(compared_parts, kept))
            == list(map(compared_parts, again))
            == list(map(compared_parts, fresh))
        )
