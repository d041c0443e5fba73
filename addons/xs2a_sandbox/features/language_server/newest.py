"""Runs slow work in a thread, of which only the newest result counts."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Newest[Key]:
    """Runs one piece of work at a time. Newer work with the same key replaces older work, whose result is then None."""

    _numbers: Counter[Key] = field(default_factory=Counter)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run[Result](self, key: Key, work: Callable[[], Result]) -> Result | None:
        self._numbers[key] += 1
        number = self._numbers[key]
        async with self._lock:
            if self._numbers[key] != number:
                return None
            result = await asyncio.to_thread(work)
        return result if self._numbers[key] == number else None
