"""The log of a SQLite file is copied into the file while the store is in use, and does not grow without limit."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Thread
from threading import enumerate as threads

from xs2a_sandbox.state.sqlite import SqliteStore
from xs2a_sandbox.state.sqlite_index import SqliteIndex

TEXT = "x" * 3000


def write(store: SqliteStore, number: int) -> None:
    assert store.commit("s", {}, {}, {("notes", f"n{number}"): {"text": TEXT}})


def copying() -> Thread | None:
    return next((thread for thread in threads() if thread.name == "sqlite-checkpoint"), None)


def write_until_the_log_begins_again(store: SqliteStore, index: SqliteIndex, numbers: Iterator[int]) -> int:
    """Return the length of the log before it restarted."""
    while True:
        before = index.frames()
        write(store, next(numbers))
        if index.frames() < before:
            return before
        if thread := copying():
            thread.join(30)


def test_the_log_is_copied_and_restarted(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    numbers = count()
    with closing(SqliteStore(file)) as store:
        index = SqliteIndex(file)
        for _ in range(2):
            assert 1000 <= write_until_the_log_begins_again(store, index, numbers) < 2000
        written = next(numbers)
        assert len(store.list("s", "notes")[1]) == written
        store.close()
        index.close()
    with closing(SqliteStore(file)) as store:
        assert len(store.list("s", "notes")[1]) == written
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_a_short_log_is_not_copied(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "state.db")) as store:
        for number in range(20):
            write(store, number)
            assert not copying()
