"""The wait of a client for one answer, which its door shares with the engine through `PATIENCE`."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PATIENCE: "ContextVar[Patience | None]" = ContextVar("PATIENCE", default=None)
"""The patience of the client whose request the current task answers. None if the request used no door."""


class Patience:
    """Tells the engine when the client disconnects, and pauses the time limit of its answer at a breakpoint."""

    __slots__ = ("_is_held", "_is_limited", "_limit", "_seconds", "_when_gone", "is_gone")

    def __init__(self) -> None:
        self.is_gone = False
        self._limit: asyncio.Timeout | None = None
        self._seconds = 0.0
        self._is_limited = self._is_held = False
        self._when_gone: Callable[[], None] | None = None

    def begin(self, limit: asyncio.Timeout, seconds: float) -> None:
        """Begin the wait for the next answer, which may take at most `seconds`."""
        self._limit, self._seconds, self._is_limited = limit, seconds, False
        PATIENCE.set(self)

    def start_limit(self) -> None:
        """Note that the limit has been entered, because only then can it be changed."""
        self._is_limited = True
        if self._is_held:
            self._move_limit(None)

    def leave(self) -> None:
        """Note that the client has disconnected."""
        self.is_gone = True
        if self._when_gone:
            self._when_gone()

    @contextmanager
    def held(self, when_gone: Callable[[], None]) -> Iterator[None]:
        """Pause the time limit. Calls `when_gone` if the client disconnects in the meantime, or has already done so."""
        self._is_held, self._when_gone = True, when_gone
        self._move_limit(None)
        if self.is_gone:
            when_gone()
        try:
            yield
        finally:
            self._is_held, self._when_gone = False, None
            self._move_limit(asyncio.get_running_loop().time() + self._seconds)

    def _move_limit(self, when: float | None) -> None:
        # Do not change a limit that has expired, or was stopped because the sandbox stops.
        if self._limit and self._is_limited and not self._limit.expired():
            self._limit.reschedule(when)
