"""Tells the log of each of several sandboxes what the others have made of changed files."""

import asyncio
import json
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING

from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state.snapshot import DistantStore
from xs2a_sandbox.state.stream import Item

if TYPE_CHECKING:
    from xs2a_sandbox.journal.serving_log import Level, Say

_PAUSE = 0.5
"""Seconds between two looks at the stream."""
_PATIENCE = 0.7
"""Seconds in which the stream has to answer."""
_COUNT, _BYTES = 100, 200_000
"""Notices that are kept for who looks later, and what they take up."""


class Notices:
    """`say` is told what this sandbox notices, and what the others on the same store do, with their names."""

    def __init__(self, store: DistantStore, say: "Say") -> None:
        self._stream = store.stream("notices", _COUNT, _BYTES)
        self._say = say
        self._waiting: list[tuple[str, Level]] = []
        self._batch: tuple[str, list[Item]] | None = None
        """The last batch sent, with a name of its own, until it is confirmed."""
        self._place: tuple[str, int] | None = None
        """The life of the stream, and the number of the last notice that was read."""

    def own(self, text: str, level: "Level" = "info") -> None:
        """Says it here, and soon elsewhere."""
        self._say(text, level)
        self._waiting.append((text, level))

    async def follow(self, name: str, *, reads: bool = True) -> None:
        """Sends what is said here, and reads what others say from now on, until it is cancelled.

        `name` is that of this sandbox. One of its processes `reads`.
        """
        while True:
            # What waits is sent once the store is there again.
            with suppress(StoreUnavailable):
                if reads:
                    await self._read(name)
                await self._send(name)
            await asyncio.sleep(_PAUSE)

    async def _send(self, name: str) -> None:
        if self._batch is None and self._waiting:
            written = [json.dumps({"by": name, "text": text, "level": level}).encode() for text, level in self._waiting]
            self._batch = token_hex(8), [Item("", len(content), content) for content in written]
            self._waiting = []
        if self._batch:
            await self._stream.append(*self._batch, _deadline())
            self._batch = None

    async def _read(self, name: str) -> None:
        life, number = self._place or ("", 0)
        tail = await self._stream.after(life, number, _deadline())
        for _, content in tail.items:
            notice = json.loads(content)
            if self._place and notice["by"] != name:
                self._say(f"{notice['by']}: {notice['text']}", notice["level"])
        before = number if tail.life == life else 0
        self._place = tail.life, tail.items[-1][0] if tail.items else before


def _deadline() -> float:
    return asyncio.get_running_loop().time() + _PATIENCE
