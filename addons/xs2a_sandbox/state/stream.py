"""A stream: several sandboxes append items, and each reads them in the same order."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from secrets import token_hex
from typing import NamedTuple

PATIENCE = 0.7
"""Seconds in which a stream has to answer."""


class Item(NamedTuple):
    """An item. `size` counts against the limit of the stream; items can be removed by `session`."""

    session: str
    size: int
    content: bytes


class Tail(NamedTuple):
    """The items after a number, with their numbers. Of earlier items, those from `first` on still exist.

    `life` changes when items are removed or the stream is lost; the items are then all that exist.
    """

    life: str
    first: int
    items: Sequence[tuple[int, bytes]]


class Stream(ABC):
    """A bounded stream: the oldest items are dropped first.

    Every method must be awaited and may raise StoreUnavailable.
    """

    @abstractmethod
    async def append(self, batch: str, items: Sequence[Item], deadline: float) -> None:
        """Append all items exactly once, however often the same batch is sent."""

    @abstractmethod
    async def after(self, life: str, number: int, deadline: float) -> Tail:
        """Return the items after `number`, or all if the stream has another `life` now."""

    @abstractmethod
    async def remove(self, session: str | None, deadline: float) -> None:
        """Remove the items of one session, or all."""


class Outbox:
    """The items that a process appends to a stream, in order. Unsent items wait, and none is appended twice."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._items: list[Item] = []
        self._batch: tuple[str, list[Item]] | None = None
        """The last batch that was sent, with its name, until it is confirmed."""
        self._in_turn = asyncio.Lock()

    def __len__(self) -> int:
        """Return the number of items that are not confirmed yet."""
        return len(self._items) + len(self._batch[1] if self._batch else ())

    def put(self, *items: Item) -> None:
        self._items += items

    def withdraw(self, item: Item) -> bool:
        """Remove an item that has not been sent. Returns whether it was in time."""
        is_in_time = item in self._items
        if is_in_time:
            self._items.remove(item)
        return is_in_time

    async def send(self) -> None:
        """Send all items. After StoreUnavailable, the next call sends the rest."""
        async with self._in_turn:
            while self:
                if self._batch is None:
                    self._batch, self._items = (token_hex(8), self._items), []
                await self._stream.append(*self._batch, deadline())
                self._batch = None


class Inbox:
    """Reads every item of a stream once, starting with those that exist already."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._life, self._number = "", 0

    async def read(self, patience: float = PATIENCE) -> tuple[Tail, bool]:
        """Return the items since the last call, and whether the stream has started again. Raises StoreUnavailable."""
        tail = await self._stream.after(self._life, self._number, deadline(patience))
        is_new = tail.life != self._life
        if is_new:
            self._life, self._number = tail.life, 0
        if tail.items:
            self._number = tail.items[-1][0]
        return tail, is_new


def deadline(patience: float = PATIENCE) -> float:
    """Return the time on the loop's clock after that many seconds."""
    return asyncio.get_running_loop().time() + patience
