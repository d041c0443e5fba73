"""A stream in memory that can be unavailable, and can lose its answers."""

import asyncio
from collections.abc import Sequence

from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state.stream import Item, Stream, Tail


class PlayedStream(Stream):
    """A stream in memory. While `is_away` nothing is added. Afterwards it loses `loses` answers."""

    def __init__(self, count: int = 100) -> None:
        self.items: list[tuple[int, Item]] = []
        self.batches: dict[str, int] = {}
        self.count = count
        self.number = self.loses = self.lives = 0
        self.is_away = False

    async def append(self, batch: str, items: Sequence[Item], deadline: float) -> None:
        await self._ask()
        self.batches[batch] = self.batches.get(batch, 0) + 1
        if self.batches[batch] == 1:
            for item in items:
                self.number += 1
                self.items = [*self.items, (self.number, item)][-self.count :]
        if self.loses:
            self.loses -= 1
            raise StoreUnavailable("the answer is lost")

    async def after(self, life: str, number: int, deadline: float) -> Tail:
        await self._ask()
        since = number if life == str(self.lives) else 0
        later = [(number, item.content) for number, item in self.items if number > since]
        return Tail(str(self.lives), self.items[0][0] if self.items else 0, later)

    async def remove(self, session: str | None, deadline: float) -> None:
        await self._ask()
        self.lives += 1
        self.items = [one for one in self.items if session not in (None, one[1].session)]

    async def _ask(self) -> None:
        await asyncio.sleep(0)
        if self.is_away:
            raise StoreUnavailable("away")
