"""Notices commits to a SQLite file in write-ahead mode without asking SQLite, which takes several system calls."""

import os
import sys
from mmap import ACCESS_READ, mmap
from pathlib import Path
from threading import Lock
from typing import ClassVar

_HEADERS = 2 * 48
"""The bytes of both copies of the header in FILE-shm. Every commit changes them (sqlite.org/walformat.html, 2.2)."""

_FRAMES = slice(16, 20)
"""The place of the last valid frame in a header."""


class SqliteIndex:
    """The index that SQLite shares between processes, for one open connection.

    Create it after the connection has used the file, and close it after the connection.
    """

    def __init__(self, file: Path) -> None:
        """Raises OSError if there is no index."""
        self._mapped = _Mapped.of(file.with_name(f"{file.name}-shm"))

    def header(self) -> bytes:
        """Return bytes that differ after each commit of any process."""
        return self._mapped.bytes[:]

    def frames(self) -> int:
        """Return the number of pages in the write-ahead log."""
        return int.from_bytes(self._mapped.bytes[_FRAMES], sys.byteorder)

    def close(self) -> None:
        self._mapped.leave()


class _Mapped:
    """A file in memory, once for all of this process.

    Closing a file drops all locks that the process has on it, those of other connections of SQLite as well.
    """

    _all: ClassVar[dict[tuple[int, int], "_Mapped"]] = {}
    _lock: ClassVar = Lock()

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.bytes = mmap(self._file.fileno(), _HEADERS, access=ACCESS_READ)
        self._users = 0

    @classmethod
    def of(cls, path: Path) -> "_Mapped":
        with cls._lock:
            status = os.stat(path)
            identity = status.st_dev, status.st_ino
            mapped = cls._all.get(identity) or cls._all.setdefault(identity, cls(path))
            mapped._users += 1
            return mapped

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for identity in [identity for identity, mapped in self._all.items() if mapped is self]:
                del self._all[identity]
            self.bytes.close()
            self._file.close()
