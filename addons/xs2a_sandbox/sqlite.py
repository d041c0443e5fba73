"""State in one SQLite file: what was acknowledged is there after `kill -9`."""

import json
import os
import sqlite3
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from xs2a_sandbox.errors import StoreUnavailable, UserMistake
from xs2a_sandbox.messages import to_json
from xs2a_sandbox.store import Document, Key

_TABLES = """
create table if not exists documents (
    session text not null, collection text not null, id text not null, version integer not null, json text,
    primary key (session, collection, id)
) without rowid;
create table if not exists lists (
    session text not null, collection text not null, version integer not null, primary key (session, collection)
) without rowid;
create table if not exists versions (last integer not null);
insert into versions select 0 where not exists (select 1 from versions);
"""
_PROBE = """
select documents.session, collection, id, documents.version, json, lists.session, lists.version, last
from documents join lists using (collection), versions limit 0
"""
"""Fails on tables of the same names that are somebody else's."""
_BUSY_SECONDS = 0.05


class SqliteStore:
    """`sqlite:FILE`; 0600, write-ahead log. The engine tries again when another process holds the file.

    Raises:
        UserMistake: the file cannot be opened or is something else.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            self._connection.executescript(_TABLES)
            self._connection.execute(_PROBE)
        except (OSError, sqlite3.Error) as error:
            raise UserMistake(
                f"the state file {file} cannot be used: {error}. "
                "Name another one with --state sqlite:FILE, or keep no state with --state memory:"
            ) from None

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        row = self._one(
            "select version, json from documents where session = ? and collection = ? and id = ?",
            (session, collection, id),
        )
        return (row[0], _document(row[1])) if row else (0, None)

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        # The version first: a write in between is then noticed at the commit, never missed.
        row = self._one("select version from lists where session = ? and collection = ?", (session, collection))
        try:
            rows = self._connection.execute(
                "select id, json from documents where session = ? and collection = ?", (session, collection)
            ).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
        return (row[0] if row else 0), {id: _document(text) for id, text in rows}

    def commit(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        try:
            self._connection.execute("begin immediate")
            try:
                done = self._write(session, reads, lists, writes)
                self._connection.execute("commit" if done else "rollback")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
        return done

    def _write(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        execute = self._connection.execute
        for (collection, id), version in reads.items():
            row = execute(
                "select version from documents where session = ? and collection = ? and id = ?",
                (session, collection, id),
            ).fetchone()
            if (row[0] if row else 0) != version:
                return False
        for collection, version in lists.items():
            row = execute(
                "select version from lists where session = ? and collection = ?", (session, collection)
            ).fetchone()
            if (row[0] if row else 0) != version:
                return False
        # One counter for the whole file, never set back: a version read before a reset cannot come again after it.
        (version,) = execute("update versions set last = last + 1 returning last").fetchone()
        for (collection, id), document in writes.items():
            text = None if document is None else to_json(document).decode()
            execute("replace into documents values (?, ?, ?, ?, ?)", (session, collection, id, version, text))
            execute("replace into lists values (?, ?, ?)", (session, collection, version))
        return True

    def reset(self, session: str | None = None) -> None:
        where, values = ("", ()) if session is None else (" where session = ?", (session,))
        try:
            self._connection.execute("begin immediate")
            self._connection.execute(f"delete from documents{where}", values)
            self._connection.execute(f"delete from lists{where}", values)
            self._connection.execute("commit")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise StoreUnavailable(str(error)) from error

    def counts(self, session: str | None = None) -> dict[str, int]:
        where, values = ("", ()) if session is None else (" where session = ?", (session,))
        try:
            rows = self._connection.execute(
                f"select collection, count(*) from documents{where} group by collection", values
            ).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
        return dict(rows)

    def sessions(self) -> dict[str, dict[str, int]]:
        sessions: dict[str, dict[str, int]] = {}
        try:
            rows = self._connection.execute(
                "select session, collection, count(*) from documents group by session, collection order by session"
            ).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
        for session, collection, count in rows:
            sessions.setdefault(session, {})[collection] = count
        return sessions

    def close(self) -> None:
        self._connection.close()

    def _one(self, query: str, values: tuple[str, ...]) -> tuple[int, str | None] | None:
        try:
            row: tuple[int, str | None] | None = self._connection.execute(query, values).fetchone()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
        return row


def _document(text: str | None) -> Document | None:
    return None if text is None else json.loads(text, parse_float=Decimal)
