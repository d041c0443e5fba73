"""Breakpoints of two real `serve` processes on one Redis: each sets, lists and releases what the other one holds."""

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.admin import STATUS
from tests.support.doors import DEADLINE, wait_until
from tests.support.engine_client import Client, an_engine
from tests.support.redis_server import a_redis, needs_redis, the_redis
from tests.support.serving import Serving, served
from xs2a_sandbox.engine.shared_holds import SharedHolds
from xs2a_sandbox.state.redis import RedisStore

pytestmark = needs_redis

BUSY_SECOND = 5.0
"""Seconds in which an answer of about one second arrives even on a busy machine."""

HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}


@pytest.fixture(scope="module")
def state() -> str:
    return f"{the_redis().url}?prefix={uuid4()}"


@pytest.fixture(scope="module")
def replicas(state: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Serving]]:
    directory = tmp_path_factory.mktemp("replicas")
    for name in ("one", "other"):
        (directory / name).mkdir()
    with (
        served(directory / "one", "--state", state) as one,
        served(directory / "other", "--state", state, "--workers", "2") as other,
    ):
        yield one, other


def ask(serving: Serving, method: str, path: str, **options: Any) -> httpx.Response:
    with httpx.Client(base_url=serving.direct, trust_env=False, timeout=DEADLINE) as http:
        return http.request(method, path, **options)


@pytest.fixture
def session() -> str:
    return f"s{uuid4().hex[:8]}"


class Control:
    """The control interface of a sandbox, in one session."""

    def __init__(self, serving: Serving, session: str) -> None:
        self.serving = serving
        self.headers = {"Authorization": f"Bearer {serving.token}", "X-Sandbox-Session": session}

    def ask(self, method: str, path: str, json: Any = None) -> httpx.Response:
        return ask(self.serving, method, f"/_sandbox/{path}", headers=self.headers, json=json)

    def held(self) -> list[dict[str, Any]]:
        return list(self.ask("GET", "held").json()["held"])

    def wait_held(self) -> dict[str, Any]:
        wait_until(lambda: bool(self.held()))
        (one,) = self.held()
        return one


@pytest.fixture(params=["one sets", "the other sets"])
def pair(request: pytest.FixtureRequest, replicas: tuple[Serving, Serving], session: str) -> tuple[Control, Control]:
    """The sandbox that gets the request, and the one from which it is controlled."""
    one, other = (Control(serving, session) for serving in replicas)
    return (other, one) if request.param == "one sets" else (one, other)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def start(pool: ThreadPoolExecutor, at: Control) -> "Future[httpx.Response]":
    headers = {**HEADERS, "X-Sandbox-Session": at.headers["X-Sandbox-Session"]}
    return pool.submit(ask, at.serving, "GET", STATUS, headers=headers)


def test_a_response_is_held_in_one_sandbox_and_edited_from_the_other(
    pair: tuple[Control, Control], pool: ThreadPoolExecutor
) -> None:
    here, there = pair
    assert start(pool, here).result(DEADLINE).status_code == 200
    assert there.ask("POST", "breaks", {"on": "response", "timeout": "30s"}).status_code == 201
    answer = start(pool, here)
    held = there.wait_held()
    assert held["response"]["status"] == 200
    assert here.held() == [held]
    released = there.ask("POST", f"held/{held['id']}", {"status": 503, "headers": {"X-New": "1"}, "body": "full"})
    assert (released.status_code, released.json()["id"]) == (200, held["id"])
    edited = answer.result(DEADLINE)
    assert (edited.status_code, edited.headers["X-New"], edited.text) == (503, "1", "full")
    wait_until(lambda: there.held() == [] == here.held())
    assert there.ask("GET", "breaks").json()["breaks"][0]["hits"] == 1
    assert start(pool, here).result(DEADLINE).status_code == 200, "the breakpoint is used up"
    gone = there.ask("POST", f"held/{held['id']}", {"continue": True})
    assert (gone.status_code, gone.json()["error"]) == (404, "held-unknown")


def test_edits_that_do_not_fit_are_refused_by_the_sandbox_that_holds(
    pair: tuple[Control, Control], pool: ThreadPoolExecutor
) -> None:
    here, there = pair
    there.ask("POST", "breaks", {"timeout": "30s"})
    answer = start(pool, here)
    held = there.wait_held()
    refused = there.ask("POST", f"held/{held['id']}", {"status": 503})
    assert refused.status_code == 400
    assert "a request has no status" in refused.json()["message"]
    assert there.ask("POST", f"held/{held['id']}", {"continue": True}).status_code == 200
    assert answer.result(DEADLINE).status_code == 200


def test_a_reset_elsewhere_lets_go_of_what_is_held_and_later_holds_stay(
    pair: tuple[Control, Control], pool: ThreadPoolExecutor
) -> None:
    here, there = pair
    there.ask("POST", "breaks", {"timeout": "30s"})
    answer = start(pool, here)
    there.wait_held()
    there.ask("POST", "reset")
    assert answer.result(DEADLINE).status_code == 200
    wait_until(lambda: here.held() == [])
    there.ask("POST", "breaks", {"timeout": "30s"})
    later = start(pool, here)
    held = there.wait_held()
    assert not later.done()
    there.ask("POST", f"held/{held['id']}", {"continue": True})
    assert later.result(DEADLINE).status_code == 200


def test_another_session_is_not_held(pair: tuple[Control, Control], pool: ThreadPoolExecutor) -> None:
    here, there = pair
    there.ask("POST", "breaks", {"timeout": "30s", "next": 5})
    assert start(pool, Control(here.serving, "bystander")).result(DEADLINE).status_code == 200
    assert Control(there.serving, "bystander").held() == []


def test_a_sandbox_that_asks_a_real_bank_sets_no_breakpoint_and_holds_nothing(
    replicas: tuple[Serving, Serving], state: str, session: str, tmp_path: Path
) -> None:
    assert Control(replicas[0], session).ask("POST", "breaks", {"timeout": "60s"}).status_code == 201
    nowhere = "http://127.0.0.1:1"
    with served(tmp_path, "--state", state, "--mode", "spy", "--bank", nowhere) as spying:
        control = Control(spying, session)
        refused = control.ask("POST", "breaks", {})
        assert (refused.status_code, refused.json()["error"]) == (409, "breaks-not-shared")
        answer = ask(spying, "GET", STATUS, headers={**HEADERS, "X-Sandbox-Session": session})
        assert answer.status_code == 200
        assert control.held() == []


def test_a_state_that_does_not_answer_delays_the_answer_by_less_than_a_second() -> None:
    async def work() -> None:
        with a_redis() as server:
            store = await asyncio.to_thread(RedisStore, server.url, "xs2a-1.84")
            engine = an_engine(store, holds=SharedHolds(store))
            client = Client(engine)
            assert (await client.send("GET", STATUS)).status == 200
            await asyncio.sleep(0.6)  # longer than a process trusts what it has read
            server.signal(signal.SIGSTOP)
            started = monotonic()
            answer = await client.send("GET", STATUS)
            server.signal(signal.SIGCONT)
            assert answer.status == 503
            assert monotonic() - started < BUSY_SECOND
            await engine.close()

    asyncio.run(work())


async def round_trips(client: Client, counted: Any) -> int:
    before = counted.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert (await client.send("GET", STATUS)).status == 200
    return int(counted.info("commandstats")["cmdstat_evalsha"]["calls"] - before)


def test_a_session_without_breakpoints_costs_no_round_trip_of_its_own() -> None:
    async def work() -> None:
        with a_redis() as server:
            store = await asyncio.to_thread(RedisStore, server.url, "xs2a-1.84")
            plain, holding = an_engine(store), an_engine(store, holds=SharedHolds(store))
            for engine in (plain, holding, plain, holding):
                await Client(engine).send("GET", STATUS)
            without = await round_trips(Client(plain), server.client)
            counts = [await round_trips(Client(holding), server.client) for _ in range(5)]
            assert min(counts) == without
            await holding.close()

    asyncio.run(work())
