"""Copies the write-ahead log of a SQLite file into the file in a thread, because that waits for the disk."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Thread

_FRAMES = 1000
"""Pages in the log after which they are copied."""

_MOST_FRAMES = 10 * _FRAMES
"""Pages in the log after which a commit waits until they are copied.

A log restarts only when all of it is copied. If requests write all the time, the thread never gets that far.
"""


class SqliteCheckpoints:
    """Copies for the connection that writes. Raises sqlite3.Error if the file cannot be opened."""

    def __init__(self, file: Path, writer: sqlite3.Connection) -> None:
        writer.execute(f"pragma wal_autocheckpoint = {_MOST_FRAMES}")
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        # SQLite opens the file only now, and later another file could have its name.
        self._connection.execute("select 1 from sqlite_master").fetchall()
        self._thread: Thread | None = None
        self._copied = 0

    def follow(self, frames: int) -> None:
        """Start to copy if the log has enough new `frames`."""
        if frames < self._copied:  # the log has restarted
            self._copied = 0
        if frames - self._copied >= _FRAMES and not (self._thread and self._thread.is_alive()):
            self._copied = frames
            self._thread = Thread(target=self._copy, name="sqlite-checkpoint", daemon=True)
            self._thread.start()

    def _copy(self) -> None:
        # Another process may be copying. A full disk is reported by the next write.
        with suppress(sqlite3.Error):
            # The second checkpoint is short, so nothing is written at the same time and the log can restart.
            for _ in range(2):
                self._connection.execute("pragma wal_checkpoint(passive)").fetchall()

    def close(self) -> None:
        if self._thread:
            self._thread.join()
        self._connection.close()
