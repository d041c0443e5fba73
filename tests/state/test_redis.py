"""State in Redis: requests while it is unavailable, and databases of other applications."""

import asyncio
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest

from tests.contract import bodies, facts
from tests.support.cutting import Cutting
from tests.support.engine_client import Client, an_engine
from tests.support.redis_server import RedisServer, a_redis, free_port, needs_redis, the_redis
from xs2a_sandbox.errors import StoreUnavailable, UserMistake
from xs2a_sandbox.state import redis_scripts as scripts
from xs2a_sandbox.state.redis import WENT_BACK, RedisStore
from xs2a_sandbox.state.snapshot import Wanted

pytestmark = needs_redis

KEY = ("payments", "p1")
DIALECT = "xs2a-1.84"
BUSY_SECOND = 5.0
"""Seconds in which an answer of about one second arrives even on a busy machine."""
LASTING = ("--appendonly", "yes", "--appendfsync", "always")


def run[R](work: Callable[[], Coroutine[Any, Any, R]]) -> R:
    return asyncio.run(work())


def soon(seconds: float = 20) -> float:
    return asyncio.get_running_loop().time() + seconds


@asynccontextmanager
async def opened(url: str, ttl: timedelta | None = None, dialect: str = DIALECT) -> Any:
    # In a thread, because a proxy in between may run in this loop.
    store = await asyncio.to_thread(RedisStore, url, dialect, ttl)
    try:
        yield store
    finally:
        await store.close()


def fresh() -> str:
    return f"{the_redis().url}?prefix={uuid4()}"


async def read(store: RedisStore, key: tuple[str, str] = KEY, session: str = "a") -> Any:
    return (await store.fetch({session: Wanted({key: -1}, {})}, soon()))[session].documents[key]


async def put(store: RedisStore, number: int, session: str = "a", key: tuple[str, str] = KEY) -> bool:
    return await store.commit(session, {}, {}, {key: {"n": number}}, soon())


# -- a commit is made only once


def test_a_commit_with_a_lost_answer_is_made_once_without_a_conflict() -> None:
    async def work() -> None:
        commits = 0

        def cuts(request: bytes) -> bool:
            nonlocal commits
            commits += scripts.COMMIT.digest.encode() in request
            return scripts.COMMIT.digest.encode() in request and commits == 1

        async with (
            Cutting(the_redis().port, cuts) as between,
            opened(f"redis://127.0.0.1:{between.port}/0?prefix={uuid4()}") as store,
        ):
            version, _ = await read(store)
            assert await store.commit("a", {KEY: version}, {}, {KEY: {"n": 1}}, soon())
            assert (between.lost, commits) == (1, 2)
            version, document = await read(store)
            assert document == {"n": 1}
            assert not await store.commit("a", {KEY: 0}, {}, {KEY: {"n": 2}}, soon())
            assert await read(store) == (version, {"n": 1})

    run(work)


def test_a_reset_with_a_lost_answer_does_not_delete_later_documents() -> None:
    async def work() -> None:
        url, resets = fresh(), 0
        async with opened(url) as other, Cutting(the_redis().port) as between:
            await put(other, 1)
            async with opened(url.replace(str(the_redis().port), str(between.port))) as store:
                await read(store)

                def cuts(request: bytes) -> bool:
                    nonlocal resets
                    is_reset = scripts.RESET.digest.encode() in request
                    resets += is_reset
                    return is_reset and resets == 1

                between.cuts = cuts
                await store.reset("a", soon())
                assert resets == 2
                assert await read(store) == (0, None)

    run(work)


def test_scripts_that_redis_has_forgotten_are_loaded_again() -> None:
    async def work() -> None:
        async with opened(fresh()) as store:
            assert await put(store, 1)
            the_redis().client.script_flush()
            assert await put(store, 2)
            the_redis().client.script_flush()
            assert (await read(store))[1] == {"n": 2}

    run(work)


def test_a_request_needs_one_round_trip_to_read_and_one_to_commit() -> None:
    """This applies when the habits of such requests are known."""

    async def work() -> None:
        async with opened(fresh()) as store:
            client = Client(an_engine(store))
            made = await client.send("POST", "/v1/consents", json=bodies.consent())
            path = f"/v1/consents/{made.json()['consentId']}"
            for _ in range(3):
                await client.send("GET", path)
            await client.send("POST", "/v1/consents", json=bodies.consent())
            counted = the_redis().client

            async def round_trips(method: str, target: str, **more: Any) -> int:
                before = counted.info("commandstats")["cmdstat_evalsha"]["calls"]
                assert (await client.send(method, target, **more)).status < 300
                return int(counted.info("commandstats")["cmdstat_evalsha"]["calls"] - before)

            assert await round_trips("GET", path) == 1
            assert await round_trips("POST", "/v1/consents", json=bodies.consent()) == 2
            await client.send("DELETE", f"/v1/consents/{facts.consent()}")
            await client.send("DELETE", f"/v1/consents/{facts.consent('expired')}")
            assert await round_trips("DELETE", path) == 2

    run(work)


def test_a_slow_redis_does_not_block_the_loop() -> None:
    async def work() -> None:
        with a_redis() as server:
            async with opened(server.url) as store:
                engine = an_engine(store)
                client = Client(engine)
                path = f"/v1/consents/{facts.consent()}/status"
                assert (await client.send("GET", path)).status == 200
                server.signal(signal.SIGSTOP)
                started, longest, last = monotonic(), 0.0, monotonic()
                task = asyncio.ensure_future(client.send("GET", path))
                while not task.done():
                    await asyncio.sleep(0.01)
                    longest, last = max(longest, monotonic() - last), monotonic()
                server.signal(signal.SIGCONT)
                assert (await task).status == 503
                assert monotonic() - started < BUSY_SECOND
                assert longest < 0.5

    run(work)


# -- down, full, read-only, empty, and back


class Outage:
    """`begin` stops the server or restricts it; `end` restores it. `text` is a pattern of the message."""

    def __init__(self, begin: Callable[[RedisServer], Any], end: Callable[[RedisServer], Any], text: str) -> None:
        self.begin, self.end, self.text = begin, end, text


OUTAGES = {
    # On a busy machine the time for an answer may end before the connection is refused.
    "gone": Outage(RedisServer.kill, RedisServer.start, "cannot be reached|does not answer"),
    "read-only": Outage(
        lambda server: server.client.replicaof("127.0.0.1", 1),
        lambda server: server.client.replicaof("NO", "ONE"),
        "refuses",
    ),
    "full": Outage(
        lambda server: server.client.config_set("maxmemory", "1"),
        lambda server: server.client.config_set("maxmemory", "0"),
        "refuses",
    ),
    "slow": Outage(
        lambda server: server.signal(signal.SIGSTOP),
        lambda server: server.signal(signal.SIGCONT),
        "does not answer",
    ),
    "restarted without replicas": Outage(
        lambda server: server.client.config_set("min-replicas-to-write", "1"),
        lambda server: server.client.config_set("min-replicas-to-write", "0"),
        "refuses",
    ),
}


@pytest.fixture(scope="module")
def lasting() -> Iterator[RedisServer]:
    with a_redis(*LASTING) as server:
        yield server


@pytest.mark.parametrize("name", OUTAGES)
def test_requests_fail_during_an_outage_and_succeed_afterwards(name: str, lasting: RedisServer) -> None:
    outage = OUTAGES[name]

    async def work() -> None:
        async with opened(f"{lasting.url}?prefix={uuid4()}") as store:
            client = Client(an_engine(store))
            made = (await client.send("POST", "/v1/consents", json=bodies.consent())).json()["consentId"]
            path = f"/v1/consents/{made}"
            assert (await client.send("GET", "/_sandbox/ready")).status == 200
            outage.begin(lasting)
            try:
                started = monotonic()
                refused = await client.send("DELETE", path)
                assert monotonic() - started < BUSY_SECOND
                assert (refused.status, refused.error["code"]) == (503, "SERVICE_UNAVAILABLE")
                assert (await client.send("POST", "/v1/consents", json=bodies.consent())).status == 503
                ready = await client.send("GET", "/_sandbox/ready")
                assert ready.status == 503
                assert ready.json()["error"] == "state-unusable"
                assert re.search(outage.text, ready.json()["message"])
                assert (await client.send("GET", "/_sandbox/health")).status == 200
            finally:
                outage.end(lasting)
            until = monotonic() + 20
            while (await client.send("GET", "/_sandbox/ready")).status != 200:
                assert monotonic() < until
                await asyncio.sleep(0.02)
            assert (await client.send("GET", path)).status == 200
            assert (await store.counts(None, soon()))["consents"] == 1
            assert (await client.send("DELETE", path)).status in (200, 204)

    run(work)


def test_a_commit_that_timed_out_is_not_made_later(lasting: RedisServer) -> None:
    async def work() -> None:
        async with opened(f"{lasting.url}?prefix={uuid4()}") as store:
            await read(store)
            lasting.signal(signal.SIGSTOP)
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await store.commit("a", {}, {}, {KEY: {"n": 1}}, soon(0.5))
            await asyncio.sleep(0.2)
            lasting.signal(signal.SIGCONT)
            await asyncio.sleep(0.1)
            assert await read(store) == (0, None)
            assert await put(store, 2)

    run(work)


def test_an_emptied_redis_is_used_again_and_its_sessions_are_marked(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        with a_redis() as server:
            async with opened(server.url) as store:
                assert await put(store, 1)
                assert await put(store, 1, session="quiet")
                server.client.flushall()
                assert await read(store) == (0, None)
                assert (await read(store, WENT_BACK))[1].keys() == {"noticed"}
                assert await read(store, WENT_BACK, "new") == (0, None)
                assert (await read(store, WENT_BACK, "quiet"))[0]
                assert await put(store, 2)
                assert (await read(store))[1] == {"n": 2}

    run(work)
    assert "gone back" in caplog.text


def test_documents_read_before_a_failover_are_not_committed_after_it() -> None:
    """Version numbers that only count up would repeat."""

    async def work() -> None:
        with a_redis() as server:
            async with opened(server.url) as one, opened(server.url) as other:
                assert await put(one, 1)
                kept = {key: server.client.dump(key) for key in list(server.client.scan_iter())}
                assert await put(one, 2)
                version, _ = await read(one)
                server.client.flushall()
                for key, value in kept.items():
                    server.client.restore(key, 0, value)
                assert await put(other, 3)
                assert not await one.commit("a", {KEY: version}, {}, {KEY: {"n": 4}}, soon())
                assert (await read(one))[1] == {"n": 3}

    run(work)


def test_a_session_that_lost_a_commit_is_marked() -> None:
    async def work() -> None:
        with a_redis() as server:
            async with opened(server.url) as store:
                assert await put(store, 1)
                assert await put(store, 1, session="other")
                kept = {key: server.client.dump(key) for key in list(server.client.scan_iter())}
                assert await put(store, 2)
                server.client.flushall()
                for key, value in kept.items():
                    server.client.restore(key, 0, value)
                assert (await read(store))[1] == {"n": 1}
                assert (await read(store, WENT_BACK))[0]
                assert await read(store, WENT_BACK, "other") == (0, None)

    run(work)


# -- sessions that expire


def test_an_unused_session_is_deleted_completely() -> None:
    async def work() -> None:
        url = fresh()
        async with opened(url, timedelta(milliseconds=400)) as store:
            assert await put(store, 1)
            assert await put(store, 1, "b")
            for _ in range(6):
                await asyncio.sleep(0.1)
                assert (await read(store))[1] == {"n": 1}
            assert await read(store, session="b") == (0, None)
            assert await store.sessions(soon()) == {"a": {"payments": 1}}
            await asyncio.sleep(0.5)
            assert await read(store) == (0, None)
            assert await put(store, 2, key=("consents", "c"))
            assert (await store.fetch({"a": Wanted({}, {"payments": -1})}, soon()))["a"].lists == {"payments": (0, {})}

    run(work)


def test_without_a_limit_sessions_are_kept() -> None:
    async def work() -> None:
        async with opened(url := fresh()) as store:
            assert await put(store, 1)
            prefix = f"xs2a-sandbox:{url.partition('=')[2]}:s:"
            keys = the_redis().client.keys(f"{prefix}*")
            assert [the_redis().client.ttl(key) for key in keys] == [-1, -1]

    run(work)


# -- databases that cannot be used


def mistake(url: str, dialect: str = DIALECT) -> str:
    with pytest.raises(UserMistake) as raised:
        RedisStore(url, dialect)
    text = str(raised.value)
    assert "\n" not in text
    assert "secret" not in text
    return text


def test_a_closed_port_is_a_mistake() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        assert "cannot be used" in mistake(f"redis://127.0.0.1:{one.getsockname()[1]}/0")


def test_another_server_is_a_mistake() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()

        def answer() -> None:
            connection, _ = one.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        assert "cannot be used" in mistake(f"redis://127.0.0.1:{one.getsockname()[1]}/0")
        thread.join()


def test_a_wrong_password_is_a_mistake() -> None:
    with a_redis("--requirepass", "right") as server:
        assert "rejects the user" in mistake(f"redis://:secret@127.0.0.1:{server.port}/0")
        assert "rejects the user" in mistake(f"redis://127.0.0.1:{server.port}/0")
        RedisStore(f"redis://:right@127.0.0.1:{server.port}/0", DIALECT)


def test_an_unknown_database_is_a_mistake() -> None:
    assert "cannot be used" in mistake(f"redis://127.0.0.1:{the_redis().port}/99")


def test_a_cluster_is_a_mistake() -> None:
    with a_redis("--cluster-enabled", "yes") as server:
        assert "is a cluster" in mistake(server.url)


def test_a_replica_and_a_redis_that_evicts_keys_are_mistakes() -> None:
    with a_redis() as server:
        server.client.config_set("maxmemory", "100mb")
        server.client.config_set("maxmemory-policy", "allkeys-lru")
        assert "deletes state when it is full (maxmemory-policy allkeys-lru)" in mistake(server.url)
        server.client.config_set("maxmemory", "0")
        server.client.replicaof("127.0.0.1", 1)
        assert "is a read-only replica" in mistake(server.url)


def test_data_of_another_application_are_a_mistake() -> None:
    with a_redis() as server:
        server.client.set("orders:1", "x")
        assert "'orders:1'" in mistake(server.url)
        assert server.client.keys() == [b"orders:1"]
        RedisStore(f"{server.url}?prefix=team", DIALECT)
        server.client.set("xs2a-sandbox:other:x", "y")
        assert "with this prefix that do not belong to a sandbox" in mistake(f"{server.url}?prefix=other")
        assert server.client.keys("xs2a-sandbox:other:*") == [b"xs2a-sandbox:other:x"]


def test_another_format_or_dialect_is_a_mistake() -> None:
    url = fresh()
    RedisStore(url, DIALECT)
    assert "is used by sandboxes with the dialect xs2a-1.84, but this one has the dialect berlin" in mistake(
        url, "berlin"
    )
    key = f"xs2a-sandbox:{url.partition('=')[2]}:format"
    the_redis().client.hset(key, "format", "1")
    assert "contains state in the format '1' of another version of xs2a-sandbox" in mistake(url)
    assert the_redis().client.hgetall(key) == {b"format": b"1", b"dialect": b"xs2a-1.84"}


# -- over TLS


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a CA with certificates for the server and for a client, and another CA."""
    directory = tmp_path_factory.mktemp("tls")
    (directory / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nauthorityKeyIdentifier=keyid\n")
    for name in ("ca", "other"):
        new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}")
        signs = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
        openssl(directory, *new, *signs, "-keyout", f"{name}.key", "-out", f"{name}.pem")
    for name in ("server", "client"):
        openssl(
            directory,
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        openssl(
            directory,
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-extfile", "san", "-out", f"{name}.pem"),
        )
    return directory


def test_tls_works_with_an_own_ca(certificates: Path) -> None:
    tls_port = free_port()
    options = ["--tls-port", str(tls_port)]
    for name, file in {"cert-file": "server.pem", "key-file": "server.key", "ca-cert-file": "ca.pem"}.items():
        options += [f"--tls-{name}", str(certificates / file)]
    ours = f"ca={certificates}/ca.pem&cert={certificates}/client.pem&key={certificates}/client.key"
    with a_redis(*options) as server:
        place = f"rediss://127.0.0.1:{tls_port}/0"
        assert "is not trusted here (self-signed certificate in certificate chain): set its CA with ?ca=" in mistake(
            place
        )
        assert "is not trusted here" in mistake(f"{place}?ca={certificates}/other.pem")
        assert "cannot be used" in mistake(
            f"{place}?ca={certificates}/ca.pem"
        )  # the server requires a client certificate
        assert "cannot be used" in mistake(f"{place}?ca={certificates}/none.pem")
        assert "cannot be used" in mistake(f"redis://127.0.0.1:{tls_port}/0")
        assert "cannot be used: " in (text := mistake(f"rediss://127.0.0.1:{server.port}/0?{ours}"))
        assert text.endswith("; use redis:// for connections without TLS")
        assert server.client.keys() == []

        async def work() -> None:
            for scheme in ("rediss", "valkeys"):
                async with opened(f"{scheme}://127.0.0.1:{tls_port}/0?{ours}") as store:
                    assert await put(store, 1)
                    assert (await read(store))[1] == {"n": 1}

        run(work)


@pytest.mark.parametrize("damaged", ["", "foreign", "7 7 {broken", "7 7 []", "7 seven {}", "-", b"\xff\x00"])
def test_a_damaged_document_is_skipped_logged_and_can_be_written_again(
    damaged: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        url = fresh()
        async with opened(url) as store:
            await put(store, 1)
            await put(store, 2, key=("payments", "p2"))
            (key,) = the_redis().client.scan_iter(f"xs2a-sandbox:{url.partition('=')[2]}:s:a:*:payments")
            the_redis().client.hset(key, "p1", damaged)
            for _ in range(2):
                version, document = await read(store)
                contents = (await store.fetch({"a": Wanted({}, {"payments": -1})}, soon()))["a"]
                assert (document, contents.lists["payments"][1]) == (None, {"p1": None, "p2": {"n": 2}})
            assert [record.getMessage().count(":payments:p1 ") for record in caplog.records] == [1]
            assert await store.commit("a", {KEY: version}, {}, {KEY: {"n": 3}}, soon())
            assert (await read(store))[1] == {"n": 3}

    run(work)


def test_the_state_of_a_session_with_a_damaged_document_is_still_shown() -> None:
    async def work() -> None:
        url = fresh()
        async with opened(url) as store:
            client = Client(an_engine(store))
            created = await client.send("POST", "/v1/consents", json=bodies.consent())
            assert created.status in (200, 201)
            (key,) = the_redis().client.scan_iter(f"xs2a-sandbox:{url.partition('=')[2]}:s:default:*:consents")
            the_redis().client.hset(key, created.json()["consentId"], "foreign")
            client.engine.use(admin_token="the-token-of-this-sandbox")
            headers = {"Authorization": "Bearer the-token-of-this-sandbox"}
            for path in ("state", "state/consents"):
                assert (await client.send("GET", f"/_sandbox/{path}", headers=headers)).status == 200

    run(work)
