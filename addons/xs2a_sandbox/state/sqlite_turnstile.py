"""Lets processes write to a SQLite file in turn. SQLite itself gives the file to whichever process asks next."""

import fcntl
import os
from pathlib import Path


class SqliteTurnstile:
    """A process enters before it begins a transaction, and leaves when the transaction has begun.

    So a process that waits for the file keeps out the one that has just written. The system lets go of it if the
    process ends.
    """

    def __init__(self, file: Path) -> None:
        """Raises OSError."""
        # A file of its own, because on some systems this kind of lock conflicts with SQLite's locks.
        self._file = os.fdopen(os.open(file.with_name(f"{file.name}-turn"), os.O_CREAT | os.O_RDWR, 0o600))

    def enter(self) -> bool:
        """Return whether no other process is inside. Entering twice is entering once."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # the file system has no such locks
        return True

    def leave(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        self._file.close()
