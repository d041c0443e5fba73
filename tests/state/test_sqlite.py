"""State in a file, and requests while the file is unavailable."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Answer, Client, an_engine
from tests.support.small_disk import small_disk
from xs2a_sandbox.errors import StoreUnavailable, UserMistake
from xs2a_sandbox.state import attempts, sqlite
from xs2a_sandbox.state.sqlite import SqliteStore

KEY = ("payments", "p1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(file)) as store:
        yield store


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Lock the file as another writing process."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('begin immediate'); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            other.communicate(timeout=10)


# -- the file


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "new" / "state.db"
    before = os.umask(0)
    try:
        with closing(SqliteStore(file)) as store:
            store.commit("a", {}, {}, {KEY: {}})
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
            directory = stat.S_IMODE(file.parent.stat().st_mode)
    finally:
        os.umask(before)

    assert modes["state.db"] == 0o600
    assert set(modes.values()) == {0o600}
    assert directory == 0o700


def test_the_file_uses_a_write_ahead_log(store: SqliteStore, file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("pragma journal_mode").fetchone() == ("wal",)


def test_documents_are_kept_after_a_restart(file: Path) -> None:
    with closing(SqliteStore(file)) as store:
        store.commit("a", {}, {}, {KEY: {"n": 1}})
        version = store.read("a", *KEY)[0]
    with closing(SqliteStore(file)) as store:
        assert store.read("a", *KEY) == (version, {"n": 1})
        assert store.commit("a", {KEY: version}, {}, {KEY: {"n": 2}})
        assert store.read("a", *KEY)[0] > version


def test_versions_continue_after_a_reset_and_a_restart(file: Path) -> None:
    with closing(SqliteStore(file)) as store:
        store.commit("a", {}, {}, {KEY: {"n": 1}})
        version = store.read("a", *KEY)[0]
        store.reset()
    with closing(SqliteStore(file)) as store:
        store.commit("a", {}, {}, {KEY: {"n": 2}})
        assert store.read("a", *KEY)[0] > version


def test_two_processes_see_each_others_writes(file: Path, store: SqliteStore) -> None:
    with closing(SqliteStore(file)) as other:
        other.commit("a", {}, {}, {KEY: {"n": 1}})

        assert store.read("a", *KEY)[1] == {"n": 1}
        assert not store.commit("a", {KEY: 0}, {}, {KEY: {"n": 2}})


def is_explained(mistake: pytest.ExceptionInfo[UserMistake], file: Path) -> bool:
    text = str(mistake.value)
    return str(file) in text and "--state memory:" in text and "\n" not in text


def test_a_file_other_than_a_database_is_a_mistake(file: Path) -> None:
    file.write_text("Dear diary, " * 1000)

    with pytest.raises(UserMistake) as mistake:
        SqliteStore(file)

    assert is_explained(mistake, file)
    assert file.read_text() == "Dear diary, " * 1000


@pytest.mark.parametrize("size", [50, 4096, 6000])
def test_a_file_that_was_cut_off_is_a_mistake_and_is_kept(file: Path, size: int) -> None:
    SqliteStore(file).close()
    file.write_bytes(file.read_bytes()[:size])

    with pytest.raises(UserMistake, match="is damaged") as mistake:
        SqliteStore(file)

    assert is_explained(mistake, file)
    assert file.stat().st_size == size


def test_a_database_of_another_application_is_a_mistake(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute("create table documents (title text)")

    with pytest.raises(UserMistake) as mistake:
        SqliteStore(file)

    assert is_explained(mistake, file)


@pytest.mark.parametrize("place", ["is a directory", "has a file for a directory"])
def test_a_path_where_no_file_is_possible_is_a_mistake(file: Path, place: str) -> None:
    if place == "is a directory":
        file.mkdir()
    else:
        file.write_text("")
        file = file / "state.db"

    with pytest.raises(UserMistake) as mistake:
        SqliteStore(file)

    assert is_explained(mistake, file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_a_mistake(file: Path) -> None:
    file.parent.chmod(0o500)
    try:
        with pytest.raises(UserMistake) as mistake:
            SqliteStore(file)
    finally:
        file.parent.chmod(0o700)

    assert is_explained(mistake, file)


@pytest.mark.parametrize("statement", ["create table books (title text)", "pragma application_id = 7"])
def test_the_database_of_another_program_is_not_changed(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute("create table documents (title text)")
        other.execute(statement)
    before = file.read_bytes()

    with pytest.raises(UserMistake, match="is the database of another program") as mistake:
        SqliteStore(file)

    assert is_explained(mistake, file)
    assert file.read_bytes() == before


@pytest.mark.parametrize(("format", "age"), [(3, "an older"), (5, "a newer")])
def test_a_file_of_another_version_is_not_changed(file: Path, format: int, age: str) -> None:
    SqliteStore(file).close()
    with closing(sqlite3.connect(file)) as other:
        other.execute(f"pragma user_version = {format}")
    before = file.read_bytes()

    with pytest.raises(
        UserMistake, match=f"has the format {format} of {age} version of xs2a-sandbox, but this version needs 4"
    ) as mistake:
        SqliteStore(file)

    assert is_explained(mistake, file)
    assert file.read_bytes() == before


def test_a_file_identifies_its_application_and_format(file: Path) -> None:
    SqliteStore(file).close()

    with closing(sqlite3.connect(file)) as opened:
        assert opened.execute("pragma application_id").fetchone() == (int.from_bytes(b"XS2A"),)
        assert opened.execute("pragma user_version").fetchone() == (4,)


# -- unavailable files


@pytest.mark.parametrize("name", ["state.db", "state.db-wal"])
def test_no_write_to_a_deleted_file_is_acknowledged(store: SqliteStore, file: Path, name: str) -> None:
    client = Client(an_engine(store))
    assert create(client).status == 200
    kept, gone = file.with_name(name), file.with_name("elsewhere")
    kept.rename(gone)

    refused = create(client)

    assert is_unavailable(refused)
    assert not_ready(client).startswith(f"the state file {name} was deleted while the sandbox is running")
    with pytest.raises(StoreUnavailable, match="was deleted"):
        store.reset()
    # Existing documents can still be read.
    assert client.get(f"/v1/consents/{facts.consent()}/status").status == 200
    gone.rename(kept)
    assert create(client).status == 200
    assert client.get("/_sandbox/ready").status == 200


def test_no_write_to_a_replaced_file_is_acknowledged(store: SqliteStore, file: Path) -> None:
    client = Client(an_engine(store))
    file.rename(file.with_name("elsewhere"))
    SqliteStore(file).close()

    assert is_unavailable(create(client))
    assert "was replaced while the sandbox is running" in not_ready(client)


def test_a_relative_path_stays_valid_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with closing(SqliteStore(Path("state.db"))) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.check()


def test_acknowledged_writes_remain_when_another_process_closes_the_file(store: SqliteStore, file: Path) -> None:
    """Another process that ends does not affect this process."""
    with closing(SqliteStore(file)) as other:
        other.commit("a", {}, {}, {KEY: {"n": 1}})
    store.check()
    assert store.commit("a", {}, {}, {("payments", "p2"): {"n": 2}})


def test_a_full_disk_is_unavailable(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        f_bavail, f_frsize = 3, 4096

    monkeypatch.setattr(os, "statvfs", lambda place: Full)

    assert not_ready(Client(an_engine(store))) == "the disk is full: 12288 bytes are free, but 1048576 are needed"


def test_a_limit_on_the_size_of_files_is_unavailable(file: Path) -> None:
    """Uses a real limit: the process can write no more."""
    code = """
import resource, signal, sys
from pathlib import Path
from tests.support.engine_client import Client, an_engine
from xs2a_sandbox.state.sqlite import SqliteStore

client = Client(an_engine(SqliteStore(Path(sys.argv[1]))))
print(client.get("/_sandbox/ready").status)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))
print(max(client.get("/_sandbox/ready").status for _ in range(20)))
"""
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])},
        check=False,
    )
    assert done.stdout.split() == ["200", "503"], done.stderr


def test_the_reason_is_logged_once(store: SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    """Regardless of the number of attempts."""
    client = Client(an_engine(store))
    store.close()

    assert is_unavailable(create(client))

    assert caplog.messages == ["the state cannot be used: Cannot operate on a closed database."]
    (exchange,) = client.engine.journal.entries()
    assert (exchange.reason or "").endswith(": Cannot operate on a closed database.")


def test_a_write_fails_while_another_process_writes(store: SqliteStore, file: Path) -> None:
    store.commit("a", {}, {}, {KEY: {"n": 1}})

    with locked(file):
        with pytest.raises(StoreUnavailable, match="locked"):
            store.commit("a", {}, {}, {KEY: {"n": 2}})
        with pytest.raises(StoreUnavailable, match="locked"):
            store.reset()
        assert store.read("a", *KEY)[1] == {"n": 1}

    assert store.commit("a", {}, {}, {KEY: {"n": 3}})


@pytest.mark.parametrize("method", ["read", "list", "commit", "counts"])
def test_a_closed_store_is_unavailable(store: SqliteStore, method: str) -> None:
    store.close()
    arguments = {"read": ("a", *KEY), "list": ("a", "payments"), "commit": ("a", {}, {}, {KEY: {}})}

    with pytest.raises(StoreUnavailable):
        getattr(store, method)(*arguments.get(method, ()))


def create(client: Client) -> Answer:
    return client.post("/v1/consents", json=bodies.consent())


def is_unavailable(answer: Answer) -> bool:
    return (
        (answer.status, answer.source, answer.error["code"]) == (503, "sandbox", "SERVICE_UNAVAILABLE")
        and answer.error["text"].startswith("{sensitive} XS2A9")
        and "state" in answer.error["text"]
        and "x-request-id" in answer.headers
    )


def test_requests_fail_while_another_process_writes(
    store: SqliteStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
    client = Client(an_engine(store))

    with locked(file):
        assert is_unavailable(create(client))
        assert client.get(f"/v1/consents/{facts.consent()}/status").status == 200

    assert create(client).status == 200


def test_the_store_never_blocks(store: SqliteStore, file: Path) -> None:
    """It would block all other requests. Instead, the engine waits, and answers other requests in the meantime."""
    with locked(file):
        before = monotonic()
        for _ in range(20):
            with pytest.raises(StoreUnavailable, match="locked"):
                store.commit("default", {}, {}, {("payments", "a"): {"x": 1}})
        assert monotonic() - before < 0.5


def test_health_is_answered_while_a_write_waits(
    store: SqliteStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For as long as another process holds the lock: the writing request waits outside of the store."""
    monkeypatch.setattr(sqlite, "_PATIENCE", 3600.0)
    client, tried, commit = Client(an_engine(store)), asyncio.Event(), store.commit_together

    def watched(*arguments: Any) -> bool:
        tried.set()
        return commit(*arguments)

    monkeypatch.setattr(store, "commit_together", watched)

    async def both() -> Answer:
        writing = asyncio.create_task(client.send("POST", "/v1/consents", json=bodies.consent()))
        await tried.wait()
        health = await client.send("GET", "/_sandbox/health")
        assert not writing.done()
        writing.cancel()
        return health

    with locked(file):
        assert asyncio.run(both()).status == 200
    # SQLite itself would block everything.
    assert store._connection.execute("pragma busy_timeout").fetchone() == (0,)


def test_a_write_to_a_closed_connection_is_unavailable_not_busy(store: SqliteStore) -> None:
    store._connection.close()
    store._files = []
    with pytest.raises(StoreUnavailable, match="closed database") as caught:
        store._begin()
    assert type(caught.value) is StoreUnavailable


def test_a_process_that_writes_all_the_time_leaves_turns_for_others(store: SqliteStore, file: Path) -> None:
    """Another loop releases the lock only for moments, which occasional attempts would all miss."""
    ends = threading.Event()

    def write_always() -> None:
        with closing(sqlite3.connect(file, isolation_level=None, timeout=10)) as other:
            while not ends.is_set():
                other.execute("begin immediate")
                ends.wait(0.03)
                other.execute("commit")
                ends.wait(0.003)

    busy = threading.Thread(target=write_always)
    busy.start()
    try:
        client = Client(an_engine(store))
        assert [create(client).status for _ in range(10)] == [200] * 10
    finally:
        ends.set()
        busy.join()


def test_a_turn_allows_writing_before_others(store: SqliteStore, file: Path) -> None:
    async def main() -> bool:
        await store.turn()
        with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("begin immediate")
            kept = store.commit_together("a", {}, {}, {KEY: {"n": 1}})
            await asyncio.sleep(0)
            other.execute("begin immediate")
            other.execute("rollback")
        return kept

    assert asyncio.run(main())
    assert store.read("a", *KEY)[1] == {"n": 1}


def test_a_request_waits_shortly_for_another_process(store: SqliteStore, file: Path) -> None:
    client = Client(an_engine(store))
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    tried = threading.Event()
    commit = store.commit_together

    def watched(*arguments: object) -> bool:
        try:
            return commit(*arguments)  # type: ignore[arg-type]
        finally:
            tried.set()

    store.commit_together = watched  # type: ignore[method-assign]
    release = threading.Thread(target=lambda: (tried.wait(10), other.execute("rollback")))
    release.start()

    assert create(client).status == 200
    release.join(10)
    other.close()


def test_a_request_on_a_full_disk_fails(store: SqliteStore) -> None:
    client = Client(an_engine(store))
    made = create(client).json()["consentId"]
    (pages,) = store._connection.execute("pragma page_count").fetchone()
    store._connection.execute(f"pragma max_page_count = {pages}")

    refused = next(answer for answer in (create(client) for _ in range(100)) if answer.status != 200)

    assert is_unavailable(refused)
    assert client.get(f"/v1/consents/{made}/status").status == 200
    store._connection.execute(f"pragma max_page_count = {pages + 1000}")
    assert create(client).status == 200
    assert client.get(f"/v1/consents/{made}/status").json() == {"consentStatus": "valid"}


def sent_together(client: Client, count: int) -> list[Answer]:
    async def all_of_them() -> list[Answer]:
        sent = [client.send("POST", "/v1/consents", json=bodies.consent()) for _ in range(count)]
        return await asyncio.gather(*sent)

    return asyncio.run(all_of_them())


def test_writes_that_wait_together_are_committed_together(store: SqliteStore, file: Path) -> None:
    client, statements = Client(an_engine(store)), list[str]()
    create(client)
    store._connection.set_trace_callback(statements.append)
    answers = sent_together(client, 5)
    store._connection.set_trace_callback(None)

    assert [answer.status for answer in answers] == [200] * 5
    assert [statement for statement in statements if statement.startswith(("begin", "commit"))] == [
        "begin immediate",
        "commit",
    ]
    with closing(SqliteStore(file)) as other:
        kept = other.list("default", "consents")[1]
    assert {answer.json()["consentId"] for answer in answers} <= kept.keys()


def test_if_a_joint_commit_fails_none_of_its_writes_is_acknowledged(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "_SECONDS", 0.0)
    client = Client(an_engine(store))
    made = create(client).json()["consentId"]
    before = store.counts("default")
    store._connection.execute("pragma max_page_count = 1")  # as many as there are now

    # Some writes of a round may still fit into existing pages.
    answers = [answer for _ in range(30) for answer in sent_together(client, 5)]
    refused = [answer for answer in answers if answer.status != 200]
    assert refused
    assert all(map(is_unavailable, refused))
    made_since = len(answers) - len(refused)
    assert store.counts("default")["consents"] == before["consents"] + made_since

    store._connection.execute("pragma max_page_count = 100000")
    assert [answer.status for answer in sent_together(client, 2)] == [200, 200]
    assert client.get(f"/v1/consents/{made}/status").status == 200


def test_an_abandoned_round_blocks_nobody(store: SqliteStore) -> None:
    """As if a loop was closed during the round."""
    client = Client(an_engine(store))

    async def given_up() -> None:
        writing = asyncio.Task(
            client.send("POST", "/v1/consents", json=bodies.consent()),
            loop=asyncio.get_running_loop(),
            eager_start=True,
        )
        assert not writing.done()
        writing.cancel()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(given_up())
    loop.close()
    assert create(client).status == 200
    assert sent_together(client, 2)[1].status == 200


def test_a_read_only_file_is_unavailable(store: SqliteStore) -> None:
    client = Client(an_engine(store))
    made = create(client).json()["consentId"]
    store._connection.execute("pragma query_only = on")

    assert is_unavailable(create(client))
    assert is_unavailable(client.delete(f"/v1/consents/{made}"))
    assert client.get(f"/v1/consents/{made}/status").status == 200

    store._connection.execute("pragma query_only = off")
    assert client.delete(f"/v1/consents/{made}").status == 204


def test_a_file_that_cannot_grow_is_unavailable(file: Path) -> None:
    """As with a full disk: the kernel refuses to write, in a process with a limited file size."""
    code = """
import resource, signal, sys
from pathlib import Path
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, hard))
kept = 0
try:
    while kept < 10000:
        store.commit("a", {}, {}, {("payments", str(kept)): {"text": "x" * 1000}})
        kept += 1
except StoreUnavailable:
    pass
else:
    sys.exit("the limit did not work")
assert len(store.list("a", "payments")[1]) == kept
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert store.commit("a", {}, {}, {("payments", "after"): {}})
print(kept + 1)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    with closing(SqliteStore(file)) as store:
        assert store.counts() == {"payments": int(done.stdout)}


def not_ready(client: Client) -> str:
    """Return the reason why the sandbox is not ready."""
    answer = client.get("/_sandbox/ready")
    assert answer.status == 503
    body = answer.json()
    assert (body["status"], body["error"]) == ("not ready", "state-unusable")
    return str(body["message"])


def test_ready_reports_whether_the_store_can_be_used(store: SqliteStore) -> None:
    client = Client(an_engine(store))
    assert client.get("/_sandbox/ready").status == 200

    store.close()

    assert not_ready(client)
    assert client.get("/_sandbox/health").status == 200
    assert is_unavailable(client.get(f"/v1/consents/{facts.consent()}/status"))


def test_documents_are_listed_in_the_order_of_their_creation(store: SqliteStore) -> None:
    for id in ("b", "c", "a"):
        store.commit("s", {}, {}, {("things", id): {"id": id}})
    store.commit("s", {}, {}, {("things", "c"): {"id": "c", "again": True}, ("things", "0"): {}})
    assert list(store.list("s", "things")[1]) == ["b", "c", "a", "0"]


def test_a_damaged_document_is_skipped_and_named_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = SqliteStore(tmp_path / "state.db")
    store.commit("a", {}, {}, {("payments", "p1"): {"n": 1}, ("payments", "p2"): {"n": 2}})
    with closing(sqlite3.connect(store.file)) as other, other:
        other.execute("update documents set json = '{broken' where id = 'p1'")
    view = store.view()
    assert view.list("a", "payments")[1] == {"p1": None, "p2": {"n": 2}}
    assert view.read("a", "payments", "p1")[1] is None
    assert [record.message.count("p1 of payments, session a, in ") for record in caplog.records] == [1]
    store.close()


def test_writing_works_again_when_a_full_disk_has_space(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4096) as disk:
        store = SqliteStore(disk / "state.db")
        try:
            client, ballast = Client(an_engine(store)), disk / "ballast"
            before = client.post("/v1/consents", json=bodies.consent()).json()["consentId"]
            with ballast.open("wb", buffering=0) as opened, suppress(OSError):
                while True:
                    opened.write(bytes(4096))
            statuses = []
            while not statuses or (statuses[-1] in (200, 201) and len(statuses) < 2000):
                statuses.append(client.post("/v1/consents", json=bodies.consent(recurring=False)).status)
            assert statuses[-1] == 503
            assert "full" in not_ready(client)
            assert client.get(f"/v1/consents/{before}").status == 200
            ballast.unlink()
            assert client.get("/_sandbox/ready").status == 200
            after = client.post("/v1/consents", json=bodies.consent()).json()["consentId"]
        finally:
            store.close()
        with closing(SqliteStore(disk / "state.db")) as again:
            kept = again.list("default", "consents")[1]
            assert {before, after} <= kept.keys()
            with closing(sqlite3.connect(again.file)) as connection:
                assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_requests_that_wait_for_another_process_write_in_one_transaction(store: SqliteStore, file: Path) -> None:
    begun, begin = [], store._begin

    def watched() -> None:
        begin()
        begun.append(True)

    store._begin = watched  # type: ignore[method-assign]

    async def write(name: str) -> bool:
        await store.turn()
        kept = store.commit_together("a", {}, {}, {("payments", name): {"n": 1}})
        if waiting := store.settle():
            await waiting
        return kept

    async def main() -> list[bool]:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("begin immediate")
            writing = [asyncio.ensure_future(write(str(number))) for number in range(5)]
            gone = writing.pop(0)
            for _ in range(3):
                await asyncio.sleep(0)
            # The client of the request that tries for all has gone.
            gone.cancel()
            await asyncio.sleep(0)
            other.execute("rollback")
            return await asyncio.gather(*writing)

    assert asyncio.run(main()) == [True] * 4
    assert begun == [True]
    assert store.counts("a") == {"payments": 4}


def test_a_process_that_waits_keeps_out_the_one_that_has_just_written(store: SqliteStore, file: Path) -> None:
    with closing(SqliteStore(file)) as other:

        async def main() -> list[str]:
            order = []

            async def write(writer: SqliteStore, name: str) -> None:
                await writer.turn()
                order.append(name)
                writer.commit_together("a", {}, {}, {("payments", name): {"n": 1}})
                if waiting := writer.settle():
                    await waiting

            with closing(sqlite3.connect(file, isolation_level=None)) as third:
                third.execute("begin immediate")
                first = asyncio.ensure_future(write(other, "who waits"))
                await asyncio.sleep(0)
                second = asyncio.ensure_future(write(store, "who asks later"))
                await asyncio.sleep(0)
                third.execute("rollback")
                store_asks_at_once = store._turnstile.enter()
                await asyncio.gather(first, second)
            assert not store_asks_at_once
            return order

        assert asyncio.run(main()) == ["who waits", "who asks later"]


def test_a_request_that_writes_waits_for_its_turn_before_it_is_worked_on(store: SqliteStore, file: Path) -> None:
    client = Client(an_engine(store))
    create(client)
    with closing(SqliteStore(file)) as other:
        other.commit("b", {}, {}, {KEY: {"n": 1}})
    assert not store.has_other_writers
    create(client)
    assert store.has_other_writers
    turns, turn = [], store.turn

    async def watched() -> None:
        turns.append(True)
        await turn()

    store.turn = watched  # type: ignore[method-assign]
    assert create(client).status == 200
    assert turns == [True]
