"""Shows how a document reached its state: its exchanges, and its way through the state machine."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from xs2a_sandbox.bank.domain.documents import state_of
from xs2a_sandbox.bank.domain.lifecycle import NONE, Machine
from xs2a_sandbox.cassette.evaluation.state_words import StateWords
from xs2a_sandbox.cassette.things import Naming, Things
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.documents import MACHINES, row
from xs2a_sandbox.features.console.machine_picture import Arrow, Picture, lay_out
from xs2a_sandbox.features.console.visit import ConsoleVisit

_PAGE = re.compile(r"https?://", re.IGNORECASE)
_WORD = re.compile(r"[\w~-]+(?:\.[\w~-]+)*")
"""A possible id in a path, a header or a body."""
_TIMELINE = 50
"""The number of last exchanges in a timeline."""


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """An exchange about a document, sent to `origin`. `page` is the payment user's page, if the answer links one."""

    exchange: Mapping[str, Any]
    states: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    page: str | None
    origin: str

    @property
    def is_callback(self) -> bool:
        return _is_callback(self.exchange)

    @property
    def host(self) -> str:
        return self.origin.partition("://")[2]


@dataclass(frozen=True, slots=True)
class LifeState:
    """`word` is the state's name in responses; `place` is `here`, `past`, `next` or empty."""

    name: str
    word: str
    meaning: str
    place: str


@dataclass(frozen=True, slots=True)
class Life:
    """`taken` are the arrows that messages have shown; `has_moved_since` is whether the state has changed since."""

    steps: tuple[TimelineStep, ...]
    machine: Machine
    status: str
    states: tuple[LifeState, ...]
    taken: frozenset[Arrow]
    has_moved_since: bool

    @property
    def picture(self) -> Picture:
        return lay_out(self.machine)

    @property
    def meaning(self) -> str:
        return self.machine.meanings.get(self.status, "")

    @property
    def is_final(self) -> bool:
        return self.status in self.machine.final

    @property
    def place_of(self) -> Mapping[str, str]:
        return {state.name: state.place for state in self.states}


async def documents_in(visit: ConsoleVisit, exchange: Mapping[str, Any]) -> list[tuple[dict[str, str], Life | None]]:
    """Return the documents with a state whose ids an exchange mentions, each as an entry of a list with its life."""
    words = set(_WORD.findall(json.dumps(exchange, ensure_ascii=False)))
    state = await visit.read_state()
    return [
        (row(collection, id, document, state), make_life(visit, collection, document, await timeline(visit, id)))
        for collection in MACHINES
        for id, document in state.get(collection, {}).items()
        if id in words
    ]


async def timeline(visit: ConsoleVisit, id: str) -> tuple[TimelineStep, ...]:
    """Return the exchanges that name a document, oldest first."""
    things = _things(visit)
    listed = await visit.ask("GET", f"journal?{urlencode({'text': id, 'limit': _TIMELINE})}")
    steps = []
    for entry in listed["exchanges"]:
        try:
            exchange = await visit.ask("GET", f"journal/{entry['number']}?plain=true")
        except Refused:
            continue  # the journal has dropped it in the meantime
        # In a callback the bank's words are in the request.
        body, pages = exchange["request" if _is_callback(entry) else "answer"].get("body"), things.pages
        links = tuple(_hrefs(body, pages))
        page = next((href for name, href in links if name in pages and _PAGE.match(href)), None)
        steps.append(TimelineStep(entry, tuple(_reported_states(body, things)), links, page, exchange["origin"]))
    return tuple(steps)


def make_life(visit: ConsoleVisit, collection: str, document: Any, steps: Sequence[TimelineStep]) -> Life | None:
    """Follow a document through its state machine, using the states in the messages of `steps`.

    Return None if the document has no state machine.
    """
    machine = MACHINES.get(collection)
    if machine is None or not isinstance(document, dict):
        return None
    naming, words = _things(visit)[machine.name], visit.sandbox.banks.default.interface.states
    status = state_of(collection, document)
    telling = [(step.exchange, word) for step in steps for word in _told(step, naming)]
    told = [words.state(naming.name, word) for _, word in telling]
    beginning = [NONE] if telling and telling[0][0]["method"] == "POST" and not _is_callback(telling[0][0]) else []
    taken = _ways(machine, [*beginning, *told, status]) if told else frozenset()
    passed = {*told, *(state for arrow in taken for state in arrow)}
    return Life(
        tuple(steps),
        machine,
        status,
        tuple(_states(machine, status, passed, words, naming)),
        taken,
        bool(told) and told[-1] != status,
    )


def _ways(machine: Machine, states: Sequence[str]) -> frozenset[Arrow]:
    """Return the arrows that connect the states, on the shortest way where states are unknown."""
    return frozenset(
        arrow for before, to in pairwise(states) if before != to for arrow in pairwise(machine.way(before, to))
    )


def _states(
    machine: Machine, status: str, passed: Collection[str], words: StateWords, naming: Naming
) -> Iterator[LifeState]:
    for name in (box.state for box in lay_out(machine).boxes if not box.is_point):
        is_next = (status, name) in machine.arrows
        place = "here" if name == status else "past" if name in passed else "next" if is_next else ""
        yield LifeState(name, words.word(naming.name, name) or name, machine.meanings[name], place)


def _is_callback(exchange: Mapping[str, Any]) -> bool:
    return bool(exchange["source"] == "app")


def _things(visit: ConsoleVisit) -> Things:
    return visit.sandbox.banks.default.interface.things


def _told(step: TimelineStep, naming: Naming) -> Iterator[str]:
    """Yield the words for states of this kind in the answer."""
    member = naming.state.name if naming.state else ""
    yield from (state for name, state in step.states if name == member)


def _reported_states(body: Any, things: Things) -> Iterator[tuple[str, str]]:
    """Yield the states in an answer, each with the name of its member."""
    told = [(naming.state.name, naming.state_in(body)) for naming in things.with_states if naming.state]
    yield from dict.fromkeys((name, state) for name, state in told if state)


def _hrefs(body: Any, pages: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the links and the addresses of `pages` in an answer, at any place outside of lists."""
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict) and isinstance(href := value.get("href"), str):
            yield name, href
        elif name in pages and isinstance(value, str):
            yield name, value
        else:
            yield from _hrefs(value, pages)
