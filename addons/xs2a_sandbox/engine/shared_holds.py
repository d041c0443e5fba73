"""Breakpoints of several sandboxes with a common state: each lists and releases the exchanges that any of them holds.

An exchange waits in the process that got its request. Two streams connect the processes. The stream `breaks` names the
sessions whose breakpoints have changed. The stream `holds` says what is held, what is to be released, and what was.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from secrets import token_hex
from typing import Any

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.engine.holds import LET_GO, Held, Holds
from xs2a_sandbox.errors import Refused, StoreUnavailable, body_invalid
from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.edits import Edits
from xs2a_sandbox.journal.journal import Peers
from xs2a_sandbox.state.snapshot import RemoteStore
from xs2a_sandbox.state.store import warn_of_damage
from xs2a_sandbox.state.stream import Inbox, Item, Outbox

_CHANGES, _ITEMS, _BYTES = 10_000, 2_000, 8 * 1024 * 1024
"""The maximum number of items in each stream, and of their bytes."""
_FRESH = 0.5
"""Seconds for which a process need not read again which sessions have breakpoints. A change waits for that long."""
_LOOKS = 0.05
"""Seconds between two reads of the stream by a process that holds an exchange, or waits for another to release one."""
_PATIENCE_OF_APPS = 0.25
"""Seconds to wait for a stream while an app waits."""
_PATIENCE = 2.0
"""Seconds to wait for another sandbox to release an exchange."""


class SharedHolds(Holds):
    """Holds exchanges, and tells the other processes through the stream `holds`.

    Each item names its process (`by`). The process begins or ends to hold an exchange (`begins`, `ends`), gives an
    order to the others (`release`, `let_go`), or reports the `result` of an `order`.
    """

    are_shared = True

    def __init__(self, store: RemoteStore) -> None:
        super().__init__()
        changes, holds = store.stream("breaks", _CHANGES, _BYTES), store.stream("holds", _ITEMS, _BYTES)
        self._changes, self._changed = Outbox(changes), Inbox(changes)
        self._outbox, self._inbox = Outbox(holds), Inbox(holds)
        self._name = token_hex(3)
        self._sessions: set[str] = set()
        """Sessions that have or had breakpoints."""
        self._fresh_until = 0.0
        self._elsewhere: dict[str, dict[str, Any]] = {}
        self._announced: set[str] = set()
        """The ids held here whose beginning was read from the stream. Only later items can be orders for them."""
        self._orders: dict[str, asyncio.Future[Any]] = {}
        self._reading, self._catching_up = asyncio.Lock(), asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    def share(self, peers: Peers) -> None:
        """Take part in resets of the other processes of this sandbox. Everything else goes through the state."""
        peers.answers[LET_GO] = self.let_go

    # -- for the walk of a request

    def is_idle(self, session: str) -> bool:
        return session not in self._sessions and _now() < self._fresh_until

    def note_idle(self, session: str) -> None:
        """Do nothing: others could have set a breakpoint meanwhile."""

    async def catch_up(self) -> None:
        async with self._catching_up:
            if (began := _now()) < self._fresh_until:
                return
            # Without the state the bank answers with an error, which must not wait for this.
            with suppress(StoreUnavailable):
                tail, _ = await self._changed.read(_PATIENCE_OF_APPS)
                self._sessions.update(content.decode() for _, content in tail.items)
            self._fresh_until = began + _FRESH

    def _next_id(self) -> str:
        return f"held-{self._name}-{self._count}"

    def _note_begin(self, one: Held) -> None:
        self._put(one.to_bank.session, begins=one.describe())

    def _note_end(self, one: Held) -> None:
        self._announced.discard(one.id)
        self._put(one.to_bank.session, ends=one.id)

    async def flush(self) -> None:
        if self._watching:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        with suppress(StoreUnavailable):
            await self._outbox.send()

    # -- for the control interface

    async def find(self, session: str | None) -> list[dict[str, Any]]:
        """Raises StoreUnavailable."""
        await self._read()
        now = Clock().now().isoformat(timespec="milliseconds")
        others = [one for one in self._elsewhere.values() if session in (None, one["session"]) and now < one["until"]]
        return sorted([*self._find(session), *others], key=lambda one: str(one["since"]))

    async def release(self, session: str | None, id: str, edits: Edits) -> dict[str, Any]:
        """Raises Refused, StoreUnavailable."""
        if all(one["id"] != id for one in await self.find(session)) or id not in self._elsewhere:
            return await super().release(session, id, edits)
        order, done = token_hex(8), asyncio.get_running_loop().create_future()
        self._orders[order] = done
        self._put(session or "", order=order, release=[session, id, _write_edits(edits)])
        until = _now() + _PATIENCE
        try:
            while not done.done() and _now() < until:
                await self._outbox.send()
                await asyncio.sleep(_LOOKS)
                await self._read()
        finally:
            del self._orders[order]
        result = done.result() if done.done() else None
        if isinstance(result, str):
            raise body_invalid(result)
        if result is None:
            raise Refused(404, "held-unknown", f"the sandbox that held {id} does not answer, or has released it")
        released: dict[str, Any] = result
        return released

    async def look_again(self, session: str) -> None:
        """Announce that breakpoints of the session have changed, and wait until all sandboxes have read that."""
        self._sessions.add(session)
        self._changes.put(Item(session, len(session), session.encode()))
        await self._changes.send()
        await asyncio.sleep(_FRESH)

    def forget(self, session: str | None) -> None:
        self.let_go(session)
        if self._announced or self._elsewhere or self._sessions:
            self._put(session or "", let_go=session)

    # -- the stream

    def _put(self, session: str, **more: Any) -> None:
        sent = to_json({"by": self._name, **more})
        self._outbox.put(Item(session, len(sent), sent))
        if self._watching is None or self._watching.done():
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        """Exchange items with the others while anything is held here, or waits to be sent."""
        while self._held or self._outbox:
            with suppress(StoreUnavailable):
                await self._outbox.send()
                await self._read()
            await asyncio.sleep(_LOOKS)

    async def _read(self) -> None:
        async with self._reading:
            tail, is_new = await self._inbox.read()
            if is_new:
                self._elsewhere.clear()
                self._announced.clear()
                for one in self._held.values():
                    self._note_begin(one)
            for number, sent in tail.items:
                try:
                    self._follow(json.loads(sent))
                except (ValueError, LookupError, TypeError, RecursionError):
                    warn_of_damage(f"the item {number} of the stream of held exchanges")

    def _follow(self, item: Mapping[str, Any]) -> None:
        is_own = item["by"] == self._name
        if begins := item.get("begins"):
            if not is_own:
                self._elsewhere[begins["id"]] = begins
            elif begins["id"] in self._held:
                self._announced.add(begins["id"])
        if ends := item.get("ends"):
            self._elsewhere.pop(ends, None)
        if "let_go" in item and not is_own:
            self.let_go(item["let_go"], self._announced)
        if (release := item.get("release")) and release[1] in self._announced:
            session, id, edits = release
            result = self._release((session, id, _read_edits(edits)))
            self._put(session or "", order=item["order"], result=result)
        elif "result" in item and (done := self._orders.get(item["order"])) and not done.done():
            done.set_result(item["result"])


def _write_edits(edits: Edits) -> dict[str, Any]:
    body = None if edits.body is None else edits.body.decode("latin-1")
    return asdict(edits) | {"body": body}


def _read_edits(written: Mapping[str, Any]) -> Edits:
    headers: Mapping[str, Sequence[str]] = written["headers"]
    body = written["body"]
    return Edits(
        written["status"],
        {name: tuple(values) for name, values in headers.items()},
        None if body is None else body.encode("latin-1"),
        written["drop"],
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
