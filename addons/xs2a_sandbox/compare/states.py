"""The states that a bank reports for consents, payments, authorisations and baskets, which the sandbox follows."""

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

Thing = Literal["consent", "payment", "basket", "mandate", "authorisation"]

THINGS: tuple[Thing, ...] = get_args(Thing)
_STATE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
"""Only such words may be shown."""
_USED: Thing = "consent"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the result of looking up its path, and how the interface names its things."""

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
        """The effect of the request on its subject, or None if unknown."""
        operation = self.lookup.operation
        return operation.does.verb if operation and operation.does else None

    def id(self, naming: Naming, answer: Any = None) -> str | None:
        """Return the id of a thing of this kind: the one in the request, or otherwise the one that was created."""
        ids = self.things.ids_about(self.lookup, self.sent, naming.name)
        return next(ids, None) or naming.id_in(answer)

    @property
    def consent(self) -> str | None:
        """The id of the consent that gives access to the subject, or None if the subject has states itself."""
        if any(self.id(naming) for naming in self.things.with_states):
            return None
        return self.things.find_used_consent(self.lookup, self.sent)

    def can_tell(self, naming: Naming) -> bool:
        """Return whether the answer shows the state of this thing, not that of another thing at the same place."""
        does = self.lookup.operation.does if self.lookup.operation else None
        if does is None or naming.name in does.about:
            return True
        return not any(other.state == naming.state and other.name in does.about for other in self.things.with_states)


@dataclass(frozen=True, slots=True)
class ReportedState:
    """A state in an answer.

    `member` is its place in the body (`data/status`); empty if the state follows from the success.
    """

    thing: Thing
    id: str
    state: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A state change that the sandbox tried to make like the bank. `done` says whether it succeeded."""

    thing: Thing
    before: str
    to: str
    member: str
    done: bool

    def __str__(self) -> str:
        if self.done:
            return f"{self.thing} {self.before} → {self.to}"
        return f"{self.thing} {self.before} → {self.to}, which is not allowed by the sandbox's states"


Follow = Callable[[Request, ReportedState], Awaitable[Move | None]]
"""Changes the state of the thing in the session of a request to the sandbox.

Returns None if there is nothing to change.
"""


@dataclass(frozen=True, slots=True)
class SandboxSide:
    """The sandbox next to a bank: sends requests to it, and makes it follow the bank's states."""

    ask: Ask
    follow: Follow


def reported_state(asked: Asked, content: Content) -> ReportedState | None:
    """Return the state in an answer of the request's subject, or of what the request has created."""
    for naming in asked.things.with_states:
        state = naming.state_in(content.value)
        if naming.name not in THINGS or not state or not _STATE.fullmatch(state) or not asked.can_tell(naming):
            continue
        if naming.state and (id := asked.id(naming, content.value)):
            return ReportedState(naming.name, id, state, "/".join(naming.state.steps))
    return None


def resource(asked: Asked, content: Content | None) -> tuple[Thing, str] | None:
    """Return the consent, payment or basket that is the subject of the request or was created by it."""
    made = content.value if content else None
    for naming in asked.things.with_states:
        if naming.name in THINGS and naming.name != "authorisation" and (id := asked.id(naming, made)):
            return cast(Thing, naming.name), id
    return None


def find_used_consent(asked: Asked, exchange: Exchange) -> str | None:
    """Return the id of the consent with which a request got a successful answer, if it gives access to the subject."""
    return None if exchange.status >= 300 else asked.consent


def is_decided(things: Things, thing: Thing, state: str) -> bool:
    """Return whether the payment user has nothing left to decide in this state."""
    return state in things[thing].decided


class BankStates:
    """The states that a bank has reported in one journey.

    `moves` counts the state changes that the sandbox has made to follow.

    `on_change` is called for each new state and each state change.
    """

    def __init__(self, on_change: Callable[[ReportedState, Move | None], None] | None = None) -> None:
        self._reported: dict[tuple[Thing, str], str] = {}
        self._refused: dict[tuple[Thing, str], Move] = {}
        self._on_change = on_change
        self.moves = 0

    def detect_change(self, asked: Asked, exchange: Exchange, content: Content) -> ReportedState | None:
        """Return the reported state if it differs from the last one of the thing.

        The initial state of an authorisation that was created together with its resource is not reported. A consent
        that is not authorised yet must have been authorised if the bank gives a successful answer for it.
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
        """Return the failed change to the reported state, from when the bank first reported it."""
        now = reported_state(asked, content)
        move = self._refused.get((now.thing, now.id)) if now else None
        return move if move and now and move.to == now.state else None

    def keep(self, state: ReportedState, move: Move) -> None:
        self._change(state, move)

    def adopt(self, state: ReportedState, move: Move | None) -> None:
        """Add what another sandbox has learned: a reported state, or a state change."""
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
