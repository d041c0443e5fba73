"""Journeys: a session at a bank, with the ids of the same things on both sides, and a queue of its comparisons."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from xs2a_sandbox.compare.comparison import Source
from xs2a_sandbox.compare.identifiers import Counterparts, identifiers_in, names_in, path_names_in
from xs2a_sandbox.compare.states import BankStates, Move, ReportedState
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http.body import decode

_MOST = 200
_ONE_SIDED = 10_000

Name = tuple[str, str]
"""The bank's URL, and the session."""
Lesson = dict[str, Any]
"""Something learned from a comparison, as JSON."""


@dataclass(eq=False)
class QueuePlace:
    """A place in the queue of a journey. `by` is the sandbox that compares."""

    by: str
    number: int
    turn: asyncio.Event = field(default_factory=asyncio.Event)


class Journey:
    """Knows the ids of the same things on both sides, the states that the bank reported, and things on only one side.

    Calls `on_lesson` with everything that is learned here.
    """

    def __init__(self, name: Name, sandbox_url: str, on_lesson: Callable[[Lesson], object] | None = None) -> None:
        self.name = name
        self.queue: list[QueuePlace] = []
        self._one_sided: OrderedDict[str, Source] = OrderedDict()
        self._on_lesson = on_lesson
        tell_pair = tell_change = None
        if on_lesson:

            def tell_pair(bank: str, sandbox: str) -> None:
                on_lesson({"bank": bank, "sandbox": sandbox})

            def tell_change(state: ReportedState, move: Move | None) -> None:
                on_lesson({"state": asdict(state), "move": asdict(move) if move else None})

        self.counterparts = Counterparts(name[0], sandbox_url, tell_pair)
        self.states = BankStates(tell_change)

    def keep(self, request: Request, answer: Response, source: Source) -> None:
        """Remember that only one side has the result of this write, and that the changed things now differ."""
        if answer.status >= 400:
            return
        body = decode(Headers(answer.headers), answer.body)
        things = self.counterparts.things
        names = set(names_in(request, things))
        answered = identifiers_in(content.read(body or b"").value, things)
        made = [identifier for identifier in answered if identifier not in names]
        changed = [name for name in path_names_in(request) if self.counterparts.is_known(name)]
        for identifier in (*made, *changed):
            self._keep(identifier, source)
            if self._on_lesson:
                self._on_lesson({"only": identifier, "at": source})

    def side_of(self, request: Request) -> Source | None:
        """Return the only side that has the things in the request, or None."""
        if not self._one_sided:
            return None
        names = names_in(request, self.counterparts.things)
        return next((self._one_sided[name] for name in names if name in self._one_sided), None)

    def adopt(self, lesson: Lesson) -> None:
        """Add a lesson from another sandbox."""
        match lesson:
            case {"bank": bank, "sandbox": sandbox}:
                self.counterparts.adopt(bank, sandbox)
            case {"state": state, "move": move}:
                self.states.adopt(ReportedState(**state), Move(**move) if move else None)
            case {"only": identifier, "at": source}:
                self._keep(identifier, source)

    def advance(self) -> None:
        """Give the first place in the queue its turn."""
        if self.queue:
            self.queue[0].turn.set()

    def _keep(self, identifier: str, source: Source) -> None:
        if len(self._one_sided) >= _ONE_SIDED:
            self._one_sided.popitem(last=False)
        self._one_sided[identifier] = source


class Journeys:
    """The journeys of one sandbox. Comparisons of one journey are run one after the other, so that ids are learned
    before they are used.
    """

    def __init__(self) -> None:
        self._journeys: dict[Name, Journey] = {}
        self._last = 0

    async def of(self, to_bank: BankRequest) -> Journey:
        """Return the journey of a request, with everything that has been learned about it."""
        journey = self._journey((to_bank.real.url or "", to_bank.session), to_bank.sandbox_url)
        journey.counterparts.things = to_bank.bank.interface.things
        return journey

    async def queue(self, journey: Journey) -> QueuePlace:
        """Return a place behind all running comparisons of the journey. Raises StoreUnavailable."""
        place = self._place("")
        journey.queue.append(place)
        return place

    @asynccontextmanager
    async def turn(self, journey: Journey, place: QueuePlace) -> AsyncIterator[None]:
        """Wait for the turn of a place, and give the place up at the end."""
        try:
            journey.advance()
            await place.turn.wait()
            yield
        finally:
            self.leave(journey, place)

    def leave(self, journey: Journey, place: QueuePlace) -> None:
        """Give a place up, so that the next one has its turn."""
        journey.queue.remove(place)
        journey.advance()

    async def share(self, journey: Journey) -> None:
        """Send the lessons about a journey to the other sandboxes with the same state."""

    async def close(self) -> None:
        """Stop the background work."""

    def _journey(self, name: Name, sandbox_url: str) -> Journey:
        if name not in self._journeys:
            if len(self._journeys) >= _MOST:
                del self._journeys[next(iter(self._journeys))]
            self._journeys[name] = self._make(name, sandbox_url)
        return self._journeys[name]

    def _make(self, name: Name, sandbox_url: str) -> Journey:
        return Journey(name, sandbox_url)

    def _place(self, by: str) -> QueuePlace:
        self._last += 1
        return QueuePlace(by, self._last)
