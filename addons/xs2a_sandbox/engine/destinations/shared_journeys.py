"""Journeys of several sandboxes with a common state. All sandboxes learn the same lessons in the same order."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from secrets import token_hex
from threading import Lock
from typing import Any

from xs2a_sandbox.engine.destinations.journeys import Journey, Journeys, Lesson, Name, QueuePlace
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.errors import StoreUnavailable
from xs2a_sandbox.http import to_json
from xs2a_sandbox.state.snapshot import RemoteStore
from xs2a_sandbox.state.store import warn_of_damage
from xs2a_sandbox.state.stream import PATIENCE, Inbox, Item, Outbox

COUNT, BYTES = 20_000, 8 * 1024 * 1024
"""The most items in the stream, and their bytes. Sandboxes that start later do not get items that were dropped."""

_PATIENCE_OF_APPS = 0.25
"""Seconds to wait for the stream while an app waits, because the app may have to wait for the state, too."""
_LOOKS = 0.02
"""Seconds between two reads of the stream while other comparisons have their turn."""
_SIGNS = 1.0
"""Seconds between two heartbeats of a sandbox with waiting or running comparisons."""
GONE = 3.5
"""Seconds without a heartbeat after which others stop waiting for a sandbox."""


class SharedJourneys(Journeys):
    """Shares comparisons between sandboxes through a stream.

    Each item has the sandbox (`by`), the journey (`at`) whose comparison `begins` or `ends`, and the `lessons`. An item
    without a journey is a heartbeat.
    """

    def __init__(self, store: RemoteStore) -> None:
        super().__init__()
        stream = store.stream("comparisons", COUNT, BYTES)
        self._outbox, self._inbox = Outbox(stream), Inbox(stream)
        self._name = token_hex(8)
        self._sandbox_url = ""
        self._learning = Lock()  # comparisons run in a thread
        self._lessons: dict[Name, list[Lesson]] = {}
        """Lessons of this sandbox that have not been sent to the others."""
        self._last_signs: dict[str, float] = {}
        """By sandbox: when an item from it was last read here."""
        self._away = 0.0
        """The time until which apps do not wait for the stream."""
        self._places: set[QueuePlace] = set()
        self._reading = asyncio.Lock()
        self._living: asyncio.Task[None] | None = None

    async def of(self, to_bank: BankRequest) -> Journey:
        """Return the journey. If the stream is unavailable, the journey contains only the lessons of this sandbox."""
        self._sandbox_url = to_bank.sandbox_url
        try:
            await self._read(_PATIENCE_OF_APPS)
        except StoreUnavailable:
            self._away = _now() + _SIGNS
        return await super().of(to_bank)

    async def queue(self, journey: Journey) -> QueuePlace:
        # The app has already waited for the stream once.
        if _now() < self._away:
            raise StoreUnavailable("it was not there a moment ago")
        place = self._place(self._name)
        begins = self._item(journey, begins=place.number)
        self._places.add(place)
        self._outbox.put(begins)
        try:
            await self._outbox.send()
            await self._read()
        except BaseException:
            if self._outbox.withdraw(begins):
                self._places.discard(place)
            else:  # others may have read it
                self.leave(journey, place)
            raise
        finally:
            self._live()
        return place

    @asynccontextmanager
    async def turn(self, journey: Journey, place: QueuePlace) -> AsyncIterator[None]:
        try:
            while self._is_behind(journey, place):
                await asyncio.sleep(_LOOKS)
                if journey.queue[0].by != self._name:
                    with suppress(StoreUnavailable):
                        await self._read()
            yield
        finally:
            self.leave(journey, place)
            await self.share(journey)

    def leave(self, journey: Journey, place: QueuePlace) -> None:
        self._places.discard(place)
        if place in journey.queue:
            journey.queue.remove(place)
        self._outbox.put(self._item(journey, ends=place.number, lessons=self._take_lessons(journey)))

    async def share(self, journey: Journey) -> None:
        if lessons := self._take_lessons(journey):
            self._outbox.put(self._item(journey, lessons=lessons))
        # Items that cannot be sent now are sent with the next heartbeat.
        with suppress(StoreUnavailable):
            await self._outbox.send()
        self._live()

    async def close(self) -> None:
        if self._living:
            self._living.cancel()
            await asyncio.gather(self._living, return_exceptions=True)
        with suppress(StoreUnavailable):
            await self._outbox.send()

    def _make(self, name: Name, sandbox_url: str) -> Journey:
        return Journey(name, sandbox_url, partial(self._learn, name))

    def _learn(self, name: Name, lesson: Lesson) -> None:
        with self._learning:
            self._lessons.setdefault(name, []).append(lesson)

    def _take_lessons(self, journey: Journey) -> list[Lesson]:
        with self._learning:
            return self._lessons.pop(journey.name, [])

    def _is_behind(self, journey: Journey, place: QueuePlace) -> bool:
        """Return whether another comparison of the journey comes first, by a sandbox that is alive."""
        queue = journey.queue
        while queue and queue[0].by != self._name and _now() - self._last_signs.get(queue[0].by, 0.0) > GONE:
            del queue[0]
        return place in queue and queue[0] is not place

    # The stream

    def _item(self, journey: Journey | None = None, **more: Any) -> Item:
        at, session = (journey.name, journey.name[1]) if journey else (None, "")
        sent = to_json({"by": self._name, "at": at, **more})
        return Item(session, len(sent), sent)

    async def _read(self, patience: float = PATIENCE) -> None:
        async with self._reading:
            tail, is_new = await self._inbox.read(patience)
            if is_new:
                for journey in self._journeys.values():
                    journey.queue = [place for place in journey.queue if place in self._places]
            for number, sent in tail.items:
                try:
                    self._follow(json.loads(sent))
                except (ValueError, LookupError, TypeError, RecursionError):
                    warn_of_damage(f"the item {number} of the stream of comparisons")

    def _follow(self, item: dict[str, Any]) -> None:
        by = item["by"]
        self._last_signs[by] = _now()
        if not item["at"]:
            return
        url, session = item["at"]
        journey = self._journey((url, session), self._sandbox_url)
        if by != self._name:
            for lesson in item.get("lessons", ()):
                journey.adopt(lesson)
        if begins := item.get("begins"):
            self._line_up(journey, by, begins)
        if ends := item.get("ends"):
            journey.queue = [place for place in journey.queue if (place.by, place.number) != (by, ends)]

    def _line_up(self, journey: Journey, by: str, number: int) -> None:
        if by != self._name:
            journey.queue.append(QueuePlace(by, number))
            return
        # A missing place of this sandbox has been given up.
        journey.queue += [place for place in self._places if place.number == number and place not in journey.queue]

    def _live(self) -> None:
        """Start to send heartbeats, as long as anything waits for them."""
        if (self._places or self._outbox) and (self._living is None or self._living.done()):
            self._living = asyncio.get_running_loop().create_task(self._give_signs())

    async def _give_signs(self) -> None:
        while self._places or self._outbox:
            await asyncio.sleep(_SIGNS)
            if self._places:
                self._outbox.put(self._item())
            with suppress(StoreUnavailable):
                await self._outbox.send()


def _now() -> float:
    return asyncio.get_running_loop().time()
