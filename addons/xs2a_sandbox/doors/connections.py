"""Limits the number of connections to the doors, and the time that clients may take to send a request."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from time import monotonic

from xs2a_sandbox.config.limits import Limits
from xs2a_sandbox.http.patience import Patience

TICK = 1.0
"""Seconds between two checks of all connections."""

_FILES_FOR_OTHERS = 100

logger = logging.getLogger(__name__)


class Connection:
    """A client's connection and its time limit. `answering` counts complete requests that are not answered yet.

    While there are any, the client has no time limit. If `crowded`, its requests are rejected, because there are too
    many connections.
    """

    __slots__ = ("_looked", "_unsent", "answering", "crowded", "deadline", "held", "limits", "transport", "waits")

    def __init__(self, limits: Limits, transport: asyncio.Transport | None = None, *, crowded: bool = False) -> None:
        self.limits = limits
        self.transport = transport
        self.crowded = crowded
        self.answering = 0
        self.held: Callable[[], int] = int
        """Returns the bytes of answers that wait for the client's windows. HTTP/1.1 has none."""
        self.waits: dict[str, Patience] = {}
        """The waits for answers at mitmproxy's doors, by the id of the flow."""
        self.deadline = monotonic() + self.limits.head_time
        self._unsent, self._looked = (0, 0), 0.0

    def begins(self) -> None:
        """Note that the client may start to send, as in a new tunnel."""
        self.deadline = monotonic() + self.limits.head_time

    def reads(self) -> None:
        """Note that a head is complete."""
        self.deadline = monotonic() + self.limits.body_time

    def __enter__(self) -> "Connection":
        self.answering += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.answering -= 1
        self.waits_for_next()

    def waits_for_next(self) -> None:
        """Note that a request is answered."""
        self.deadline = monotonic() + self.limits.idle_time

    def is_overdue(self, now: float) -> bool:
        before, self._unsent = (
            self._unsent,
            (self.transport.get_write_buffer_size() if self.transport else 0, self.held()),
        )
        (buffered, held), (was_buffered, was_held) = self._unsent, before
        if buffered or held:
            # A client that requests more without reading its answers makes the sandbox hold more.
            if buffered != was_buffered or held < was_held or not (was_buffered or was_held):
                self._looked = now
            return now > self._looked + self.limits.idle_time
        return not self.answering and now > self.deadline


class Connections:
    """Keeps the number and the time of connections within the limits, for all doors that share it.

    The same `limits` apply to what these doors read. Up to `most` connections may be open. `counted` is called with the
    number of open connections whenever it changes.
    """

    def __init__(self, limits: Limits, counted: Callable[[int], None] = lambda count: None) -> None:
        self.limits = limits
        self._counted = counted
        self._open: dict[asyncio.Transport, Connection] = {}
        self.most = _find_limit(limits)
        self._full = False
        self._tick: asyncio.TimerHandle | None = None

    def open(self, transport: asyncio.Transport) -> Connection | None:
        """Register a connection, or find it if it is registered. Returns None if it must be closed at once."""
        if transport in self._open:
            return self._open[transport]
        crowded = len(self._open) >= self.most
        if crowded and not self._full:
            logger.warning("%d connections are open: the sandbox refuses more until some are closed", len(self._open))
        self._full = crowded
        if len(self._open) >= self.most + self.limits.crowd:
            return None
        connection = Connection(self.limits, transport, crowded=crowded)
        self._open[transport] = connection
        self._counted(len(self._open))
        if self._tick is None:
            self._tick = asyncio.get_running_loop().call_later(TICK, self._look)
        return connection

    def close(self, connection: Connection) -> None:
        if connection.transport:
            self._open.pop(connection.transport, None)
            self._counted(len(self._open))

    def _look(self) -> None:
        now = monotonic()
        for transport in [transport for transport, connection in self._open.items() if connection.is_overdue(now)]:
            transport.abort()
        self._tick = asyncio.get_running_loop().call_later(TICK, self._look) if self._open else None


def allow_files(limits: Limits) -> None:
    """Raise the limit on open files so that it suffices for all connections, at most to the hard limit."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed = limits.connections + limits.crowd + _FILES_FOR_OTHERS
        if most != resource.RLIM_INFINITY:
            needed = min(needed, most)
        if files != resource.RLIM_INFINITY and files < needed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def _find_limit(limits: Limits) -> int:
    """Return the limit of connections, which is lower if the process may not open that many files."""
    with contextlib.suppress(ImportError):
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            return max(min(limits.connections, files - limits.crowd - _FILES_FOR_OTHERS), 1)
    return limits.connections
