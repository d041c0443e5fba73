"""Turns for the writes of a session in this process, which would otherwise conflict and have to be repeated."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

_PATIENCE = 0.2
"""Seconds to wait for a turn. After that the request tries without one: a conflict with another is noticed anyway."""


class Turns:
    """The turns of all sessions."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, session: str) -> AsyncIterator[None]:
        """Wait until the earlier requests of the session have ended, and keep the turn until the context ends."""
        lock = self._locks.setdefault(session, asyncio.Lock())
        try:
            async with asyncio.timeout(_PATIENCE):
                await lock.acquire()
        except TimeoutError:
            yield
            return
        try:
            yield
        finally:
            lock.release()
