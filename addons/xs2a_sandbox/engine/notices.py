"""Shows in the log of each sandbox how the others have handled changed files."""

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
"""Seconds between two reads of the stream."""
_COUNT, _BYTES = 100, 200_000
"""The number of kept notices, and their bytes."""


class Notices:
    """Calls `say` with the notices of all sandboxes on the same store. Notices of others include their names."""

    def __init__(self, store: RemoteStore, say: "Say") -> None:
        stream = store.stream("notices", _COUNT, _BYTES)
        self._outbox, self._inbox = Outbox(stream), Inbox(stream)
        self._say = say
        self._waiting: list[tuple[str, Level]] = []
        self._follows = False

    def own(self, text: str, level: "Level" = "info") -> None:
        """Show the notice here now, and in the other sandboxes soon."""
        self._say(text, level)
        self._waiting.append((text, level))

    async def follow(self, name: str, *, reads: bool = True) -> None:
        """Send the notices of this sandbox and read the notices of others from now on, until cancelled.

        `name` is the name of this sandbox. Only one of its processes `reads`.
        """
        while True:
            # Unsent notices are sent when the store is available again.
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
            # Ignore notices from before this sandbox started.
            if self._follows and notice["by"] != name:
                self._say(f"{notice['by']}: {notice['text']}", notice["level"])
        self._follows = True
