"""What a process remembers of its SQLite file always matches the file, whichever process writes."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from xs2a_sandbox.state.sqlite import SqliteStore
from xs2a_sandbox.state.sqlite_view import SqliteView
from xs2a_sandbox.state.store import Document, Key

KEY = ("consents", "c1")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "state.db")) as store:
        yield store


@pytest.fixture
def other(tmp_path: Path, store: SqliteStore) -> Iterator[SqliteStore]:
    """Return the store of another process in the same file."""
    with closing(SqliteStore(tmp_path / "state.db")) as other:
        yield other


def put(store: SqliteStore, document: Document | None, id: str = "c1") -> None:
    """Write regardless of the current content."""
    assert store.commit("s", {}, {}, {("consents", id): document})


def commit(view: SqliteView, store: SqliteStore, reads: Mapping[Key, int], status: str) -> bool:
    """Commit as a loop does, and wait until it is in the file."""

    async def work() -> bool:
        committed = view.commit("s", reads, {}, {KEY: {"status": status}})
        if settled := store.settle():
            await settled
        return committed

    return asyncio.run(work())


def test_writes_of_another_process_are_read(store: SqliteStore, other: SqliteStore) -> None:
    for status in ("received", "valid", "expired"):
        put(other, {"status": status})
        view = store.view()
        assert view.read("s", *KEY)[1] == {"status": status}
        assert view.list("s", "consents")[1] == {"c1": {"status": status}}
    put(other, None)
    assert store.view().read("s", *KEY)[1] is None


def test_documents_are_not_read_again_without_a_write(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, {"status": "valid"})
    view = store.view()
    first = view.read("s", *KEY), view.list("s", "consents"), view.read("s", "consents", "c2")
    for name in ("find", "find_all"):
        monkeypatch.setattr(store, name, lambda *place: pytest.fail(f"{place} was looked up again"))
    again = store.view()
    assert (again.read("s", *KEY), again.list("s", "consents"), again.read("s", "consents", "c2")) == first


def test_own_writes_are_remembered(store: SqliteStore) -> None:
    view = store.view()
    assert view.read("s", *KEY)[1] is None
    assert view.list("s", "consents")[1] == {}
    version, _ = view.read("s", *KEY)
    assert commit(view, store, {KEY: version}, "valid")
    assert store.view().read("s", *KEY)[1] == {"status": "valid"}
    assert store.view().list("s", "consents")[1] == {"c1": {"status": "valid"}}


def test_an_outdated_version_commits_nothing(store: SqliteStore, other: SqliteStore) -> None:
    put(store, {"status": "received"})
    version, _ = store.view().read("s", *KEY)
    put(other, {"status": "valid"})
    view = store.view()
    assert not view.is_unchanged("s", {KEY: version}, {})
    assert not commit(view, store, {KEY: version}, "rejected")
    assert store.view().read("s", *KEY)[1] == {"status": "valid"}


def test_more_documents_than_are_remembered_can_be_read(store: SqliteStore) -> None:
    for number in range(1100):
        put(store, {"number": number}, f"c{number}")
    view = store.view()
    assert [view.read("s", "consents", f"c{number}")[1] for number in range(1100)] == [
        {"number": number} for number in range(1100)
    ]
    assert len(view.list("s", "consents")[1]) == 1100
    put(store, {"number": -1}, "c7")
    assert store.view().list("s", "consents")[1]["c7"] == {"number": -1}


def test_a_reset_clears_the_remembered_documents(store: SqliteStore) -> None:
    put(store, {"status": "valid"})
    view = store.view()
    assert view.read("s", *KEY)[1]
    view.reset("s")
    assert store.view().read("s", *KEY)[1] is None
    assert store.view().counts("s") == {}
