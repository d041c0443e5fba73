"""The states that a bank says its consents, payments, authorisations and baskets are in, and how the sandbox's twins of
them are kept in step.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, get_args

from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.compare.loaded_answer import Ask
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.body import Content
from xs2a_sandbox.http.exchange import Exchange

Thing = Literal["consent", "payment", "basket", "authorisation"]

THINGS: tuple[Thing, ...] = get_args(Thing)
_NAMED: dict[str, dict[str, Thing]] = {
    "scaStatus": {"authorisationId": "authorisation"},
    "consentStatus": {"consentId": "consent"},
    "transactionStatus": {"paymentId": "payment", "basketId": "basket"},
}
"""By the member that tells a state: what it may be the state of, by the parameter or member that names it."""
STATES = frozenset(_NAMED)
_STATE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
"""A word, so that it may be shown."""
_USED: Thing = "consent"
_USED_BY = "Consent-ID"


@dataclass(frozen=True, slots=True)
class ReportedState:
    """A state that an answer tells; `member` is where in the body, empty if it follows from there being an answer."""

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


def reported_state(lookup: Lookup, content: Content) -> ReportedState | None:
    """The state that an answer tells of what its request names, or of what was made by it."""
    if not isinstance(content.value, dict):
        return None
    for member, names in _NAMED.items():
        state = content.value.get(member)
        if isinstance(state, str) and _STATE.fullmatch(state):
            for name, thing in names.items():
                id = lookup.parameters.get(name) or content.value.get(name)
                if isinstance(id, str):
                    return ReportedState(thing, id, state, member)
    return None


def resource(lookup: Lookup, content: Content | None) -> tuple[Thing, str] | None:
    """The consent, payment or basket that a request names or, by its answer, has made."""
    made = content.value if content and isinstance(content.value, dict) else {}
    for name, thing in [pair for names in _NAMED.values() for pair in names.items()]:
        id = lookup.parameters.get(name) or made.get(name)
        if thing != "authorisation" and isinstance(id, str):
            return thing, id
    return None


def find_used_consent(lookup: Lookup, exchange: Exchange) -> str | None:
    """The id of the consent that a successful answer was given for, if it is about what the consent opens."""
    is_its_own = any(name in lookup.parameters for names in _NAMED.values() for name in names)
    return None if is_its_own or exchange.status >= 300 else exchange.headers.get(_USED_BY)


class BankStates:
    """The states that a bank has told so far, of one journey; `moves` counts what the sandbox has done to keep step.

    `on_change` is told of each state that is new, and of each move.
    """

    def __init__(self, on_change: Callable[[ReportedState, Move | None], None] | None = None) -> None:
        self._reported: dict[tuple[Thing, str], str] = {}
        self._refused: dict[tuple[Thing, str], Move] = {}
        self._on_change = on_change
        self.moves = 0

    def detect_change(self, lookup: Lookup, exchange: Exchange, content: Content) -> ReportedState | None:
        """The state that is another one than was told of the thing before.

        Nobody tells how an authorisation began that came with what it is for. A consent that nobody had authorised yet
        has been, if the bank answers with it.
        """
        if exchange.status >= 400:
            return None
        now = reported_state(lookup, content)
        if now is None:
            id = find_used_consent(lookup, exchange)
            if id is None or self._reported.get((_USED, id)) != "received":
                return None
            now = ReportedState(_USED, id, "valid")
        last = self._reported.get((now.thing, now.id))
        if last != now.state:
            self._change(now)
        before = ("" if now.thing == "authorisation" else now.state) if last is None else last
        return now if before != now.state else None

    def find_refused(self, lookup: Lookup, content: Content) -> Move | None:
        """The move to the state that is told which was not possible when the bank told it first."""
        now = reported_state(lookup, content)
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
