"""A stream: what several sandboxes add to, and each reads in the one order in which it has come."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple


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
