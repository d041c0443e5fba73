"""The connections to the doors: how many there may be, and how long each may keep the sandbox waiting."""

import asyncio
import contextlib
import logging
from time import monotonic

MOST = 1000
"""Connections at a time, all doors together."""

CROWD = 100
"""More that are told that there are too many. The next are closed as they come."""

HEAD = 30.0
"""Seconds from the beginning of a connection, or of a tunnel, to the end of the first request's head, TLS included."""

REQUEST = 300.0
"""Seconds from the end of a head to the end of its body."""

IDLE = 75.0
"""Seconds from an answer to the end of the next head; and without a byte taken of an answer."""

TICK = 1.0
"""Seconds between two looks at all connections."""

_FILES_FOR_OTHERS = 100

logger = logging.getLogger(__name__)


class Connection:
    """Holds one client's place and time. `answering` counts requests that are whole and not yet answered.

    While there are any it is the sandbox's turn. `crowded` says that its requests are to be refused, as too many others
    are there.
    """

    __slots__ = ("_looked", "_unsent", "answering", "crowded", "deadline", "transport")

    def __init__(self, transport: asyncio.Transport | None = None, *, crowded: bool = False) -> None:
        self.transport = transport
        self.crowded = crowded
        self.answering = 0
        self.deadline = monotonic() + HEAD
        self._unsent, self._looked = 0, 0.0

    def begins(self) -> None:
        """Notes that its client may begin to speak, as in a new tunnel."""
        self.deadline = monotonic() + HEAD

    def reads(self) -> None:
        """Notes that a head is complete."""
        self.deadline = monotonic() + REQUEST

    def __enter__(self) -> "Connection":
        self.answering += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.answering -= 1
        self.deadline = monotonic() + IDLE

    def is_overdue(self, now: float) -> bool:
        unsent = self.transport.get_write_buffer_size() if self.transport else 0
        if unsent:
            if unsent != self._unsent:
                self._unsent, self._looked = unsent, now
            return now > self._looked + IDLE
        self._unsent = 0
        return not self.answering and now > self.deadline


class Connections:
    """Keeps the connections of all doors that share it within their number and their time."""

    def __init__(self) -> None:
        self._open: set[Connection] = set()
        self._most = _possible(MOST)
        self._full = False
        self._tick: asyncio.TimerHandle | None = None

    def open(self, transport: asyncio.Transport) -> Connection | None:
        """Enters a connection; None when it is to be closed at once."""
        crowded = len(self._open) >= self._most
        if crowded and not self._full:
            logger.warning("%d connections are open: more are refused until some are closed", len(self._open))
        self._full = crowded
        if len(self._open) >= self._most + CROWD:
            return None
        connection = Connection(transport, crowded=crowded)
        self._open.add(connection)
        if self._tick is None:
            self._tick = asyncio.get_running_loop().call_later(TICK, self._look)
        return connection

    def close(self, connection: Connection) -> None:
        self._open.discard(connection)

    def _look(self) -> None:
        now = monotonic()
        for connection in [connection for connection in self._open if connection.is_overdue(now)]:
            if connection.transport:
                connection.transport.abort()
        self._tick = asyncio.get_running_loop().call_later(TICK, self._look) if self._open else None


def _possible(most: int) -> int:
    """`most`, or fewer where the process may not open as many files."""
    with contextlib.suppress(ImportError):
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            return max(min(most, files - CROWD - _FILES_FOR_OTHERS), 1)
    return most
