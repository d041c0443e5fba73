"""State in one SQLite file. Acknowledged writes survive `kill -9`."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import uniform
from time import monotonic
from typing import Any, NamedTuple

from xs2a_sandbox.errors import StoreBusy, StoreUnavailable, UserMistake
from xs2a_sandbox.http import to_json
from xs2a_sandbox.state.sqlite_checkpoints import SqliteCheckpoints
from xs2a_sandbox.state.sqlite_index import SqliteIndex
from xs2a_sandbox.state.sqlite_turnstile import SqliteTurnstile
from xs2a_sandbox.state.sqlite_view import Place, SqliteView
from xs2a_sandbox.state.store import Document, Key, read_stored

_TABLES = """
create table if not exists documents (
    session text not null, collection text not null, id text not null, version integer not null, json text,
    position integer not null default 0, primary key (session, collection, id)
);
create table if not exists lists (
    session text not null, collection text not null, version integer not null, primary key (session, collection)
) without rowid;
create table if not exists versions (last integer not null);
insert into versions select 0 where not exists (select 1 from versions);
"""
"""Documents are in the order of their writing: a table in the order of random ids writes twice as many pages."""
_PROBE = """
select documents.session, collection, id, documents.version, json, lists.session, lists.version, last
from documents join lists using (collection), versions limit 0
"""
"""Fails if tables of the same names have another structure."""
_PUT = """
insert into documents (session, collection, id, version, json, position) values (?, ?, ?, ?, ?, ?)
on conflict do update set version = excluded.version, json = excluded.json
"""
"""A rewritten document keeps its position."""

_APPLICATION = int.from_bytes(b"XS2A")
"""The application id, which marks the file as ours."""

_FORMAT = 4
"""The version of the tables and documents, stored in the file. Files with another version are not touched."""

_BUSY_SECONDS = 5.0
"""Seconds to wait for another process at the start.

Later SQLite must not wait, because all requests would wait, too.
"""

_PATIENCE = 2.0
"""Seconds for which a write waits for other processes to finish theirs."""

_LOOKS = (0.0005, 0.002)
"""Seconds between attempts, chosen at random in this range so that processes do not try at the same moments."""

_ROOM = 1024 * 1024
"""Bytes that must be free. A few hundred requests write a log file of this size."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_ELSE = "choose another one with --state sqlite:FILE, or keep the state in memory with --state memory:"


class _Unwritten(NamedTuple):
    version: int
    document: Document | None
    position: int

    def row(self, place: Place) -> tuple[str, str, str, int, str | None, int]:
        text = None if self.document is None else to_json(self.document).decode()
        return (*place, self.version, text, self.position)


class SqliteStore:
    """A store in `sqlite:FILE`; mode 0600, write-ahead log. A write waits while another process holds the file.

    If the file is deleted or replaced while it is open, writes into it are not acknowledged.

    Raises:
        UserMistake: the file cannot be opened or is not a sandbox's state.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._recognise()
                self._connection.execute("pragma journal_mode = wal")
                self._connection.execute("pragma synchronous = normal")
                self._connection.executescript(_TABLES)
                self._connection.execute(_PROBE)
                self._connection.execute(f"pragma application_id = {_APPLICATION}")
                self._index = self._find_index()
                self._checkpoints = SqliteCheckpoints(file, self._connection) if self._index else None
                self._files = list(_identities(file))
                self._connection.execute("pragma busy_timeout = 0")
                self._view = SqliteView(self)
                self._unwritten: dict[Place, _Unwritten] = {}
                """The pending writes of the open transaction, written at its end or before the next query."""
                self._last = 0
                """The last version, as of the open transaction."""
                self._loop: asyncio.AbstractEventLoop | None = None
                """The loop whose current iteration has an open common transaction."""
                self._waiting: list[asyncio.Future[None]] = []
                self._is_polling = False
                """Whether a request tries to begin a transaction, in which all requests in `_queue` take part."""
                self._queue: list[asyncio.Future[None]] = []
                self._turnstile = SqliteTurnstile(file)
            except BaseException:
                self._connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise unusable(file, error) from None

    def _find_index(self) -> SqliteIndex | None:
        """Write the version of the tables, and return the index if that commit is seen in it."""
        try:
            index = SqliteIndex(self.file)
        except (OSError, ValueError):
            index = None
        before = index.header() if index else b""
        self._connection.execute(f"pragma user_version = {_FORMAT}")
        return index if index and index.header() != before else None

    def _recognise(self) -> None:
        """Check that the file is ours before anything in it is changed. Raises UserMistake."""
        ((application,),) = self._connection.execute("pragma application_id")
        ((written,),) = self._connection.execute("pragma user_version")
        names = {name for (name,) in self._connection.execute("select name from sqlite_master where type = 'table'")}
        if application == _APPLICATION and written != _FORMAT:
            age = "a newer" if written > _FORMAT else "an older"
            text = f"has the format {written} of {age} version of xs2a-sandbox, but this version needs {_FORMAT}"
            raise UserMistake(f"the state file {self.file} {text}: use that version, delete the file, or {_ELSE}")
        if application != _APPLICATION and (application or written or names):
            raise UserMistake(f"the state file {self.file} is the database of another program; {_ELSE}")

    def view(self) -> SqliteView:
        """Return the current documents, for work that does not yield to other work.

        Raises StoreUnavailable.
        """
        return self._view.refresh()

    def read(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        return self.view().read(session, collection, id)

    expect = read

    def announce(self, session: str, keys: Sequence[Key], lists: Sequence[str] = ()) -> None:
        """Nothing has to be fetched."""

    def list(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        return self.view().list(session, collection)

    def is_unchanged(self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int]) -> bool:
        return self.view().is_unchanged(session, reads, lists)

    def commit(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        with self._writing():
            if not self.is_unchanged(session, reads, lists):
                return False
            self._put(session, writes)
        self._must_be_there()
        return True

    def commit_together(
        self, session: str, reads: Mapping[Key, int], lists: Mapping[str, int], writes: Mapping[Key, Document | None]
    ) -> bool:
        """Commit together with all other commits in this iteration of the loop. It is durable only after `settle`.

        The transaction itself takes longer than the writes in it.
        """
        self._begin_together()
        if not self.is_unchanged(session, reads, lists):
            return False
        self._put(session, writes)
        return True

    @property
    def has_other_writers(self) -> bool:
        return self._view.has_other_writers

    async def turn(self) -> None:
        # Workers that write constantly leave each other only moments, so do the work of all waiting requests in one.
        loop, end = asyncio.get_running_loop(), monotonic() + _PATIENCE
        while self._is_polling:
            waiting = loop.create_future()
            self._queue.append(waiting)
            await waiting
            if self._loop is loop:
                return None
        self._is_polling = True
        try:
            while True:
                is_late = monotonic() > end
                if self._turnstile.enter() or is_late:
                    try:
                        return self._begin_together()
                    except StoreBusy:
                        if is_late:
                            raise
                await asyncio.sleep(uniform(*_LOOKS))
        finally:
            self._turnstile.leave()
            self._is_polling = False
            self._wake_queue()

    def _wake_queue(self) -> None:
        queue, self._queue = self._queue, []
        for waiting in queue:
            if not waiting.done():
                waiting.set_result(None)

    def settle(self) -> asyncio.Future[None] | None:
        """Return a future for the end of the common transaction, or None if there is none. Raises StoreUnavailable."""
        if self._loop is None:
            return None
        waiting = self._loop.create_future()
        self._waiting.append(waiting)
        return waiting

    def _settle(self, failure: sqlite3.Error | None = None) -> None:
        """End the common transaction, if there is one. With a `failure` nothing in it has been written."""
        if self._loop is None:
            return
        waiting, self._waiting, self._loop = self._waiting, [], None
        error: Exception | None = failure
        if error is None:
            try:
                self._write_out()
                self._commit()
                self._must_be_there()
            except (sqlite3.Error, StoreUnavailable) as trouble:
                error = trouble
        if error:
            self._roll_back()
        for commit in waiting:
            if commit.done():  # the caller has given up
                continue
            if error:
                commit.set_exception(StoreUnavailable(str(error)))
            else:
                commit.set_result(None)

    def _put(self, session: str, writes: Mapping[Key, Document | None]) -> None:
        # One counter for the whole file, never reset: a version read before a reset cannot occur again after it.
        written: dict[Key, tuple[int, Document | None]] = {}
        for version, (key, document) in enumerate(writes.items(), self._last + 1):
            place = session, *key
            earlier = self._unwritten.get(place)
            self._unwritten[place] = _Unwritten(version, document, earlier.position if earlier else version)
            written[key] = version, document
        self._last += len(writes)
        self._view.note_written(session, written)

    def _write_out(self) -> None:
        """Write what the open transaction has kept back, which takes less time at once. Raises sqlite3.Error."""
        unwritten, self._unwritten = self._unwritten, {}
        if not unwritten:
            return
        lists: dict[tuple[str, str], int] = {}
        for (session, collection, _), write in unwritten.items():
            lists[session, collection] = max(write.version, lists.get((session, collection), 0))
        self._connection.execute("update versions set last = ?", (self._last,))
        self._connection.executemany(_PUT, (write.row(place) for place, write in unwritten.items()))
        self._connection.executemany("replace into lists values (?, ?, ?)", ((*at, lists[at]) for at in lists))

    def header(self) -> bytes | None:
        """Return bytes that differ after each commit, or None if SQLite must be asked."""
        return self._index.header() if self._index else None

    def read_version(self) -> int:
        """Return a number that changes when another connection writes to the file."""
        return int(self._rows_written("pragma data_version")[0][0])

    def find(self, session: str, collection: str, id: str) -> tuple[int, Document | None]:
        """Return the document in the file, with its version."""
        if unwritten := self._unwritten.get((session, collection, id)):
            return unwritten.version, unwritten.document
        query = "select version, json from documents where session = ? and collection = ? and id = ?"
        rows = self._rows_written(query, session, collection, id)
        return (rows[0][0], self._document(session, collection, id, rows[0][1])) if rows else (0, None)

    def find_all(self, session: str, collection: str) -> tuple[int, dict[str, Document | None]]:
        """Return the documents in the file, with the version of the collection."""
        # Read the version first: then the commit notices a write in between.
        query = "select version from lists where session = ? and collection = ?"
        rows = self._rows(query, session, collection)
        version = int(rows[0][0]) if rows else 0
        query = "select id, json from documents where session = ? and collection = ? order by position, id"
        rows = self._rows(query, session, collection)
        return version, {id: self._document(session, collection, id, text) for id, text in rows}

    def _document(self, session: str, collection: str, id: str, text: str | None) -> Document | None:
        if text is None:
            return None
        return read_stored(text, f"the document {id} of {collection}, session {session}, in {self.file},")

    def reset(self, session: str | None = None) -> None:
        where, values = ("", ()) if session is None else (" where session = ?", (session,))
        with self._writing() as execute:
            execute(f"delete from documents{where}", values)
            execute(f"delete from lists{where}", values)
        self._view.forget()

    def counts(self, session: str | None = None) -> dict[str, int]:
        where, values = ("", ()) if session is None else (" where session = ?", (session,))
        return dict(self._rows(f"select collection, count(*) from documents{where} group by collection", *values))

    def sessions(self) -> dict[str, dict[str, int]]:
        sessions: dict[str, dict[str, int]] = {}
        query = "select session, collection, count(*) from documents group by session, collection order by session"
        for session, collection, count in self._rows(query):
            sessions.setdefault(session, {})[collection] = count
        return sessions

    def check(self) -> None:
        self._must_be_there()
        try:
            disk = os.statvfs(self.file.parent)
            if (free := disk.f_bavail * disk.f_frsize) < _ROOM:
                raise StoreUnavailable(f"the disk is full: {free} bytes are free, but {_ROOM} are needed")
            # Limits on file size or on disk quota show only when something is written.
            self._settle()
            self._connection.execute("update versions set last = last + 1")
        except (OSError, sqlite3.Error) as error:
            raise StoreUnavailable(str(error)) from error

    def _must_be_there(self) -> None:
        """Check that the file and its log still exist under their names. Raises StoreUnavailable."""
        for path, identity in self._files:
            try:
                status = os.stat(path)
            except OSError:
                status = None
            if status is None or (status.st_dev, status.st_ino) != identity:
                what = "deleted" if status is None else "replaced"
                raise StoreUnavailable(
                    f"the state file {path.name} was {what} while the sandbox is running, so nothing can be "
                    "written: restart the sandbox, or restore the file"
                )

    def close(self) -> None:
        self._settle()
        if self._checkpoints:
            self._checkpoints.close()
        self._connection.close()
        self._turnstile.close()
        if self._index:
            self._index.close()
            self._index = None

    def _rows(self, query: str, *values: str) -> Sequence[tuple[Any, ...]]:
        try:
            self._write_out()
        except sqlite3.Error as error:
            self._settle(error)
            raise StoreUnavailable(str(error)) from error
        return self._rows_written(query, *values)

    def _rows_written(self, query: str, *values: str) -> Sequence[tuple[Any, ...]]:
        """Return the rows without those that the open transaction has kept back."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """Return a context whose statements are executed all or none, if the file still exists.

        Raises StoreUnavailable.
        """
        self._settle()
        self._begin()
        try:
            yield self._connection.execute
            self._write_out()
            self._commit()
        except BaseException as error:
            self._roll_back()
            if isinstance(error, sqlite3.Error):
                raise StoreUnavailable(str(error)) from error
            raise

    def _begin_together(self) -> None:
        """Begin the common transaction of this iteration of the loop, if needed. Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._settle()
            self._begin()
            self._loop = loop
            # First, so that the waiting requests go on before the transaction ends.
            self._wake_queue()
            loop.call_soon(self._settle)

    def _begin(self) -> None:
        self._must_be_there()
        try:
            self._connection.execute("begin immediate")
            ((self._last,),) = self._connection.execute("select last from versions")
        except sqlite3.Error as error:
            # Errors raised by the Python module have no SQLite code.
            is_busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            raise (StoreBusy if is_busy else StoreUnavailable)(str(error)) from error

    def _commit(self) -> None:
        self._connection.execute("commit")
        if self._index and self._checkpoints:
            self._checkpoints.follow(self._index.frames())

    def _roll_back(self) -> None:
        self._view.forget()
        self._unwritten.clear()
        if self._connection.in_transaction:
            self._connection.execute("rollback")


def is_damage(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorcode", None) in _DAMAGED


def unusable(file: Path, error: BaseException) -> UserMistake:
    """Return the error for a state file that cannot be opened or read, with what to do."""
    if not is_damage(error):
        return UserMistake(f"the state file {file} cannot be used: {error}; {_ELSE}")
    way = f"to begin with a new state, move it away, together with {file.name}-wal if there is one, or {_ELSE}"
    return UserMistake(f"the state file {file} is damaged ({error}), and nothing in it was deleted: {way}")


def _identities(file: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Yield the file and its write-ahead log, each with an identity that a replacement would not have."""
    for path in (file.absolute(), file.absolute().with_name(f"{file.name}-wal")):
        with suppress(FileNotFoundError):
            status = os.stat(path)
            yield path, (status.st_dev, status.st_ino)
