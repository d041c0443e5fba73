"""Tells the log of each of several sandboxes what the others have made of changed files."""

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.state.snapshot import RemoteStore
from xs2a_sandbox.state.stream import Inbox, Item, Outbox

if TYPE_CHECKING:
    from xs2a_sandbox.journal.serving_log import Level, Say

_PAUSE = 0.5
"""Seconds between two looks at the stream."""
_COUNT, _BYTES = 100, 200_000
"""Notices that are kept for who looks later, and what they take up."""


class Notices:
    """`say` is told what this sandbox notices, and what the others on the same store do, with their names."""

    def __init__(self, store: RemoteStore, say: "Say") -> None:
        stream = store.stream("notices", _COUNT, _BYTES)
        self._outbox, self._inbox = Outbox(stream), Inbox(stream)
        self._say = say
        self._waiting: list[tuple[str, Level]] = []
        self._follows = False

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
        for text, level in self._waiting:
            content = json.dumps({"by": name, "text": text, "level": level}).encode()
            self._outbox.put(Item("", len(content), content))
        self._waiting = []
        await self._outbox.send()

    async def _read(self, name: str) -> None:
        tail, _ = await self._inbox.read()
        for _, content in tail.items:
            notice = json.loads(content)
            # What was there before this sandbox is no news.
            if self._follows and notice["by"] != name:
                self._say(f"{notice['by']}: {notice['text']}", notice["level"])
        self._follows = True
