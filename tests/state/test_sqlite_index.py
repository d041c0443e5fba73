"""The index of SQLite's log shows every commit of any process, and nothing else."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from xs2a_sandbox.state.sqlite import SqliteStore
from xs2a_sandbox.state.sqlite_index import SqliteIndex

WRITE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
connection.execute("insert into notes values ('theirs')")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table notes (text text)")
        yield connection


def write_elsewhere(file: Path) -> str:
    """Write from another process, and return its error output."""
    return subprocess.run([sys.executable, "-c", WRITE, str(file)], capture_output=True, text=True, check=False).stderr


def test_every_commit_changes_the_header(connection: sqlite3.Connection, file: Path) -> None:
    index = SqliteIndex(file)
    seen = [index.header()]
    for _ in range(3):
        connection.execute("insert into notes values ('ours')")
        seen.append(index.header())
        assert write_elsewhere(file) == ""
        seen.append(index.header())
    assert len(set(seen)) == 7
    connection.execute("pragma wal_checkpoint(restart)")
    connection.execute("insert into notes values ('into a log that has begun again')")
    assert index.header() not in seen
    connection.close()
    index.close()


def test_uncommitted_changes_do_not_change_the_header(connection: sqlite3.Connection, file: Path) -> None:
    index = SqliteIndex(file)
    before = index.header()
    connection.execute("select * from notes").fetchall()
    connection.execute("begin immediate")
    connection.execute("insert into notes values ('ours')")
    connection.execute("rollback")
    assert index.header() == before
    connection.close()
    index.close()


def test_the_frames_of_the_log_are_counted(connection: sqlite3.Connection, file: Path) -> None:
    index = SqliteIndex(file)
    before = index.frames()
    connection.execute("insert into notes values ('ours')")
    assert index.frames() == before + 1
    connection.execute("pragma wal_checkpoint(restart)")
    connection.execute("insert into notes values ('ours')")
    assert index.frames() == 1
    connection.close()
    index.close()


def test_a_file_without_a_log_has_no_index(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"state\.db-shm"):
        SqliteIndex(tmp_path / "state.db")


def test_closing_a_store_keeps_the_locks_of_another_one(file: Path) -> None:
    """Closing any file releases all locks that a process has on it."""
    with closing(SqliteStore(file)) as store:
        SqliteStore(file).close()
        store._connection.execute("create table notes (text text)")
        store._connection.execute("begin immediate")
        assert "locked" in write_elsewhere(file)
        store._connection.execute("rollback")
        assert write_elsewhere(file) == ""
