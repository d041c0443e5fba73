"""The states that a bank says its consents, payments, authorisations and baskets are in, and how the sandbox's twins of
them are kept in step.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from xs2a_sandbox.cassette.index import Index, Lookup
from xs2a_sandbox.cassette.things import Message, Naming, Sent, SentMessage, Things
from xs2a_sandbox.compare.loaded_answer import Ask
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.body import Content
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import split_target

Thing = Literal["consent", "payment", "basket", "authorisation"]

THINGS: tuple[Thing, ...] = get_args(Thing)
_STATE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
"""A word, so that it may be shown."""
_USED: Thing = "consent"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, what its path leads to, and how the interface names what it is about."""

    things: Things
    lookup: Lookup
    sent: Sent

    @classmethod
    def of(cls, index: Index, method: str, message: Message) -> "Asked":
        lookup = index.find(method, split_target(message.target).segments)
        return cls(index.interface.things, lookup, SentMessage(message, lookup.parameters))

    @classmethod
    def in_exchange(cls, index: Index, exchange: Exchange) -> "Asked":
        return cls.of(index, exchange.method, exchange)

    @property
    def verb(self) -> str | None:
        """What it does to what it is about; None where that is not known."""
        operation = self.lookup.operation
        return operation.does.verb if operation and operation.does else None

    def id(self, naming: Naming, answer: Any = None) -> str | None:
        """The id of a thing that it is about or, by its answer, has made."""
        ids = self.things.ids_about(self.lookup, self.sent, naming.name)
        return next(ids, None) or naming.id_in(answer)

    @property
    def consent(self) -> str | None:
        """The id of the consent that opens what it is about; None where it is about a consent or the like itself."""
        if any(self.id(naming) for naming in self.things.with_states):
            return None
        return self.things.find_used_consent(self.lookup, self.sent)

    def can_tell(self, naming: Naming) -> bool:
        """False for a thing that it is not about where another one shows its state in the same place."""
        does = self.lookup.operation.does if self.lookup.operation else None
        if does is None or naming.name in does.about:
            return True
        return not any(other.state == naming.state and other.name in does.about for other in self.things.with_states)


@dataclass(frozen=True, slots=True)
class ReportedState:
    """A state that an answer tells; `member` is where in the body (`data/status`), empty if it follows from there being
    an answer.
    """

    thing: Thing
    id: str
    state: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A thing of the sandbox's that was to follow the bank from one state to another; `done` says whether it did."""

    thing: Thing
    before: str
    to: str
    member: str
    done: bool

    def __str__(self) -> str:
        if self.done:
            return f"{self.thing} {self.before} → {self.to}"
        return f"{self.thing} {self.before} → {self.to}, which the sandbox's states do not allow"


Follow = Callable[[Request, ReportedState], Awaitable[Move | None]]
"""Moves the sandbox's twin, in the session of a request to it, to the state that is told. None where there is nothing
to move."""


@dataclass(frozen=True, slots=True)
class SandboxSide:
    """The sandbox beside a bank: it is asked, and follows what the bank says."""

    ask: Ask
    follow: Follow


def reported_state(asked: Asked, content: Content) -> ReportedState | None:
    """The state that an answer tells of what its request is about, or of what was made by it."""
    for naming in asked.things.with_states:
        state = naming.state_in(content.value)
        if naming.name not in THINGS or not state or not _STATE.fullmatch(state) or not asked.can_tell(naming):
            continue
        if naming.state and (id := asked.id(naming, content.value)):
            return ReportedState(naming.name, id, state, "/".join(naming.state.steps))
    return None


def resource(asked: Asked, content: Content | None) -> tuple[Thing, str] | None:
    """The consent, payment or basket that a request is about or, by its answer, has made."""
    made = content.value if content else None
    for naming in asked.things.with_states:
        if naming.name in THINGS and naming.name != "authorisation" and (id := asked.id(naming, made)):
            return cast(Thing, naming.name), id
    return None


def find_used_consent(asked: Asked, exchange: Exchange) -> str | None:
    """The id of the consent that a successful answer was given for, if it is about what the consent opens."""
    return None if exchange.status >= 300 else asked.consent


def is_decided(things: Things, thing: Thing, state: str) -> bool:
    """True if no payment user has anything to decide about what is in this state."""
    return state in things[thing].decided


class BankStates:
    """The states that a bank has told so far, of one journey; `moves` counts what the sandbox has done to keep step.

    `on_change` is told of each state that is new, and of each move.
    """

    def __init__(self, on_change: Callable[[ReportedState, Move | None], None] | None = None) -> None:
        self._reported: dict[tuple[Thing, str], str] = {}
        self._refused: dict[tuple[Thing, str], Move] = {}
        self._on_change = on_change
        self.moves = 0

    def detect_change(self, asked: Asked, exchange: Exchange, content: Content) -> ReportedState | None:
        """The state that is another one than was told of the thing before.

        Nobody tells how an authorisation began that came with what it is for. A consent that nobody had authorised yet
        has been, if the bank answers with it.
        """
        if exchange.status >= 400:
            return None
        now = reported_state(asked, content)
        if now is None:
            id, authorised = find_used_consent(asked, exchange), asked.things[_USED].authorised
            before = self._reported.get((_USED, id)) if id else None
            if id is None or before is None or authorised is None or is_decided(asked.things, _USED, before):
                return None
            now = ReportedState(_USED, id, authorised)
        last = self._reported.get((now.thing, now.id))
        if last != now.state:
            self._change(now)
        begun = ("" if now.thing == "authorisation" else now.state) if last is None else last
        return now if begun != now.state else None

    def find_refused(self, asked: Asked, content: Content) -> Move | None:
        """The move to the state that is told which was not possible when the bank told it first."""
        now = reported_state(asked, content)
        move = self._refused.get((now.thing, now.id)) if now else None
        return move if move and now and move.to == now.state else None

    def keep(self, state: ReportedState, move: Move) -> None:
        self._change(state, move)

    def adopt(self, state: ReportedState, move: Move | None) -> None:
        """Takes over what the bank has told another sandbox, or how that has kept step."""
        if move is None:
            self._reported[state.thing, state.id] = state.state
        elif move.done:
            self.moves += 1
            self._refused.pop((state.thing, state.id), None)
        else:
            self._refused[state.thing, state.id] = move

    def _change(self, state: ReportedState, move: Move | None = None) -> None:
        self.adopt(state, move)
        if self._on_change:
            self._on_change(state, move)
