"""A stream: what several sandboxes add to, and each reads in the one order in which it has come."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from secrets import token_hex
from typing import NamedTuple

PATIENCE = 0.7
"""Seconds in which a stream has to answer."""


class Item(NamedTuple):
    """What is added: `size` counts against the bound of the stream, `session` is by what it may be removed."""

    session: str
    size: int
    content: bytes


class Tail(NamedTuple):
    """The items that were added after a number, with theirs; of those before, `first` and later are still there.

    `life` is another one once items were removed, or the stream was lost: then these are all that there are.
    """

    life: str
    first: int
    items: Sequence[tuple[int, bytes]]


class Stream(ABC):
    """Bounded: the oldest items go first. Every method has to be waited for, and may raise StoreUnavailable."""

    @abstractmethod
    async def append(self, batch: str, items: Sequence[Item], deadline: float) -> None:
        """Adds all of them once, however often the same batch is sent."""

    @abstractmethod
    async def after(self, life: str, number: int, deadline: float) -> Tail:
        """The items after `number`, in a stream whose life was that."""

    @abstractmethod
    async def remove(self, session: str | None, deadline: float) -> None:
        """Removes the items of one session, or all."""


class Outbox:
    """What one process adds to a stream, in its order: what cannot be sent waits, and nothing is added twice."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._items: list[Item] = []
        self._batch: tuple[str, list[Item]] | None = None
        """The last items sent, with a name of their own, until they are confirmed."""
        self._in_turn = asyncio.Lock()

    def __len__(self) -> int:
        """Items that are not confirmed yet."""
        return len(self._items) + len(self._batch[1] if self._batch else ())

    def put(self, *items: Item) -> None:
        self._items += items

    def withdraw(self, item: Item) -> bool:
        """Whether it was in time: what was sent once may be in the stream."""
        is_in_time = item in self._items
        if is_in_time:
            self._items.remove(item)
        return is_in_time

    async def send(self) -> None:
        """Raises StoreUnavailable; what is left then is sent by the next call."""
        async with self._in_turn:
            while self:
                if self._batch is None:
                    self._batch, self._items = (token_hex(8), self._items), []
                await self._stream.append(*self._batch, deadline())
                self._batch = None


class Inbox:
    """Reads every item of a stream once, those first that are there already."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._life, self._number = "", 0

    async def read(self, patience: float = PATIENCE) -> tuple[Tail, bool]:
        """What came since the last call, and whether the stream has begun anew. Raises StoreUnavailable."""
        tail = await self._stream.after(self._life, self._number, deadline(patience))
        is_new = tail.life != self._life
        if is_new:
            self._life, self._number = tail.life, 0
        if tail.items:
            self._number = tail.items[-1][0]
        return tail, is_new


def deadline(patience: float = PATIENCE) -> float:
    """When that many seconds will be over, by the loop's clock."""
    return asyncio.get_running_loop().time() + patience
