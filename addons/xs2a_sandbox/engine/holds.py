"""The exchanges that breakpoints hold, in this process and in those that serve with it."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config.readers import seconds
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.errors import InvalidResponse, Refused, body_invalid
from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.edits import Edits
from xs2a_sandbox.http.patience import PATIENCE
from xs2a_sandbox.journal.journal import Peers

log = logging.getLogger("xs2a_sandbox")

MOST = 100
"""Exchanges that one process holds at a time."""
_SESSIONS = 10_000
"""Sessions that are remembered to have no breakpoint."""
_FIND, _RELEASE, _LOOK = "find held", "release held", "look at breaks"
LET_GO = "let held go"
"""Tells all processes to release the exchanges of a session, or of all, because it was deleted."""

type Place = Literal["request", "response"]


class Release(NamedTuple):
    """The end of a hold: the edits, and whether the client `is_gone`."""

    id: str
    edits: Edits
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    id: str
    breakpoint: str
    to_bank: BankRequest
    response: Response | None
    since: datetime
    until: datetime
    end: "asyncio.Future[Release]"

    @property
    def place(self) -> Place:
        return "request" if self.response is None else "response"

    def check(self, edits: Edits) -> None:
        """Raises InvalidResponse for edits that the held message cannot have."""
        if self.response:
            edits.change_response(self.response)
        elif edits.status is not None:
            raise InvalidResponse("a request has no status: to edit the status, hold the response")

    def describe(self) -> dict[str, Any]:
        request, response = self.to_bank.request, self.response
        answer = None
        if response is not None:
            answer = _describe_message(Headers(response.headers), response.body) | {"status": response.status}
        return {
            "id": self.id,
            "breakpoint": self.breakpoint,
            "session": self.to_bank.session,
            "on": self.place,
            "since": self.since.isoformat(timespec="milliseconds"),
            "until": self.until.isoformat(timespec="milliseconds"),
            "operation": self.to_bank.lookup.operation.id if self.to_bank.lookup.operation else None,
            "method": request.method,
            "url": request.url,
            "cut": response is not None and response.rest is not None,
            "request": _describe_message(request.headers, request.body),
            "response": answer,
        }


class Holds:
    """Holds exchanges until they are released, their time is over, the client disconnects, or the sandbox stops."""

    are_shared = False
    """Whether sandboxes with a common state can release exchanges that others hold."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._idle: set[str] = set()
        """Sessions that have no breakpoint which could still hold anything."""
        self._count = 0
        self._peers: Peers | None = None
        self._is_closed = False

    def share(self, peers: Peers) -> None:
        """Join other processes: each lists and releases the exchanges that any of them holds."""
        self._peers = peers
        peers.answers |= {
            _FIND: self._find,
            _RELEASE: self._release,
            _LOOK: self._idle.discard,
            LET_GO: self.let_go,
        }

    # -- during the processing of a request

    def is_idle(self, session: str) -> bool:
        """Return whether the session is known to have no breakpoint, without reading the state."""
        return session in self._idle

    def note_idle(self, session: str) -> None:
        """Remember that the session has no breakpoint, until `look_again`."""
        if len(self._idle) >= _SESSIONS:
            self._idle.clear()
        self._idle.add(session)

    @property
    def is_full(self) -> bool:
        return self._is_closed or len(self._held) >= MOST

    async def hold(self, listed: Mapping[str, Any], to_bank: BankRequest, response: Response | None) -> Release:
        """Hold the exchange at this breakpoint, for at most its `timeout`, and return how it was released."""
        loop, now, timeout = asyncio.get_running_loop(), Clock().now(), seconds(listed["timeout"])
        self._count += 1
        id = self._next_id()
        end: asyncio.Future[Release] = loop.create_future()
        until = now + timedelta(seconds=timeout)
        one = self._held[id] = Held(id, listed["id"], to_bank, response, now, until, end)
        self._note_begin(one)
        # The log has a line for each exchange only at its end.
        text = "%s holds a %s of the session %s as %s for at most %g s: `xs2a-sandbox held` shows it"
        log.warning(text, one.breakpoint, one.place, to_bank.session, id, timeout)
        timer = loop.call_later(timeout, _end, end, Release(id, Edits()))
        patience = PATIENCE.get()
        try:
            with patience.held(lambda: _end(end, Release(id, Edits(), is_gone=True))) if patience else nullcontext():
                return await end
        finally:
            timer.cancel()
            del self._held[id]
            self._note_end(one)

    async def catch_up(self) -> None:
        """Learn which sessions have breakpoints, if other sandboxes can set them."""

    def _next_id(self) -> str:
        workers, number = (self._peers.workers, self._peers.number) if self._peers else (1, 1)
        return f"held-{(self._count - 1) * workers + number}"

    def _note_begin(self, one: Held) -> None:
        """Called when an exchange is held from now on."""

    def _note_end(self, one: Held) -> None:
        """Called when an exchange is no longer held."""

    async def flush(self) -> None:
        """Tell other sandboxes which holds have ended, before the state is closed."""

    def close(self) -> None:
        """Release everything, and hold nothing from now on."""
        self._is_closed = True
        self.let_go(None)

    # -- for the control interface

    async def find(self, session: str | None) -> list[dict[str, Any]]:
        """Return the held exchanges of all processes, of one session or all, oldest first."""
        parts = await self._peers.gather(_FIND, session) if self._peers else [self._find(session)]
        return sorted((one for part in parts for one in part or ()), key=lambda one: one["since"])

    async def release(self, session: str | None, id: str, edits: Edits) -> dict[str, Any]:
        """Release an exchange, and return its description. Raises Refused."""
        order = session, id, edits
        answers = await self._peers.gather(_RELEASE, order) if self._peers else [self._release(order)]
        answer = next((answer for answer in answers if answer is not None), None)
        if answer is None:
            text = "it was released, its timeout ended, or the client disconnected"
            raise Refused(404, "held-unknown", f"nothing with the id {id} is held: {text}")
        if isinstance(answer, str):
            raise body_invalid(answer)
        released: dict[str, Any] = answer
        return released

    async def look_again(self, session: str) -> None:
        """Make all processes read the breakpoints of the session before its next request."""
        self._idle.discard(session)
        if self._peers:
            await self._peers.gather(_LOOK, session)

    def forget(self, session: str | None) -> None:
        """Release everything that was held of a session, or of all, because it was reset."""
        self.let_go(session)

    def let_go(self, session: str | None, ids: Collection[str] | None = None) -> None:
        """Release what this process holds of one session, or of all. If there are `ids`, release only these."""
        for one in self._of(session):
            if ids is None or one.id in ids:
                _end(one.end, Release(one.id, Edits()))

    def _find(self, session: str | None) -> list[dict[str, Any]]:
        return [one.describe() for one in self._of(session) if not one.end.done()]

    def _release(self, order: tuple[str | None, str, Edits]) -> dict[str, Any] | str | None:
        """Release one and return it, or the reason why the edits are invalid. Return None if it is not held here."""
        session, id, edits = order
        one = self._held.get(id)
        if one is None or one.end.done() or session not in (None, one.to_bank.session):
            return None
        try:
            one.check(edits)
        except InvalidResponse as error:
            return str(error)
        described = one.describe()
        one.end.set_result(Release(id, edits))
        return described

    def _of(self, session: str | None) -> list[Held]:
        return [one for one in self._held.values() if session in (None, one.to_bank.session)]


def _end(end: "asyncio.Future[Release]", release: Release) -> None:
    if not end.done():
        end.set_result(release)


def _describe_message(headers: Headers, body: bytes) -> dict[str, Any]:
    """Return the headers, and the body, decoded if possible."""
    plain = decode(headers, body)
    # Imported for the first held exchange, because the view of the journal imports much.
    from xs2a_sandbox.control.journal import describe_body

    return {"headers": [list(pair) for pair in headers], **describe_body(body if plain is None else plain)}
