"""Couriers, one for each session with callbacks that are due. Between them, timers wait by the session's clock."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from secrets import token_hex
from typing import Any, NamedTuple

from xs2a_sandbox.bank import Answer, callbacks, timeline
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import instant
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.features.callbacks.sending import SendResult, send
from xs2a_sandbox.http.messages import SAFE_METHODS
from xs2a_sandbox.state import Document, RemoteStore
from xs2a_sandbox.state.attempts import run_transaction
from xs2a_sandbox.upstream.callbacks import TOTAL

log = logging.getLogger("xs2a_sandbox")

_LEASE = 2 * TOTAL
"""The seconds for which other processes leave a callback to the process that sends it."""
_ROUND = 10.0
"""The seconds between two searches for callbacks of processes that have ended."""
_YOUNG = 10.0
"""The seconds for which a change that was announced may not be stored yet."""
_LONGEST = 24 * 3600.0
"""The longest wait in seconds of a timer."""
_BEFORE = 3.0
"""The seconds for which an answer waits for a callback that is sent before it."""
_AGAIN = 1.0
"""The seconds after which a courier tries again if the state is unavailable."""
_MOST_CAUSES = 10_000


class _Look(NamedTuple):
    """The callbacks that are due, with their ids, and the instant of the next look; None if nothing will happen."""

    due: Sequence[tuple[str, Document]]
    at: float | None


class Couriers:
    """Sends the callbacks of all sessions of a sandbox, in the loop in which it is used."""

    def __init__(self, find_engine: Callable[[], Engine], *, shares_state: bool) -> None:
        self._find_engine = find_engine
        self._shares_state = shares_state
        self._id = token_hex(8)
        """Identifies this process in leases."""
        self._running: dict[str, bool] = {}
        """The sessions with a courier. The value is true if the courier has to look again."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_use: set[str] = set()
        """The sessions in which an app has registered an address, as far as this process knows."""
        self._causes: dict[tuple[str, str], int] = {}
        """The numbers of the exchanges that have caused callbacks, by session and id of the callback."""

    def go_on(self) -> None:
        """Send callbacks of earlier runs, and those of processes with the same state that have ended."""
        self._start(self._search())

    async def note(self, route: Route, answer: Answer) -> None:
        """Look for callbacks in the session of a request that may have changed something.

        Waits for those that a fault sends before the answer.
        """
        outbox = answer.call.outbox if answer.call else None
        queued = outbox.queued if outbox else {}
        if not (outbox and outbox.has_noted) and not self._may_have_changed(route):
            return
        # The entries of a shared journal get their numbers later.
        if answer.number and not isinstance(self._find_engine().store, RemoteStore):
            if len(self._causes) > _MOST_CAUSES:
                self._causes.clear()
            self._causes |= {(route.session, id): answer.number for id in queued}
        if "before" in queued.values():
            with suppress(BankError, TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._start(self._serve_once(route.session))), _BEFORE)
        self._wake(route.session)

    def _may_have_changed(self, route: Route) -> bool:
        """Return whether the request may have made something due that it did not cause itself, such as a later clock.

        Requests in sessions without addresses cost nothing.
        """
        is_safe = route.request.method in SAFE_METHODS
        return not is_safe and (route.is_own or route.session in self._in_use)

    def _wake(self, session: str) -> None:
        if timer := self._timers.pop(session, None):
            timer.cancel()
        if session in self._running:
            self._running[session] = True
        else:
            self._running[session] = False
            self._start(self._serve(session))

    def _wake_at(self, session: str, at: float) -> None:
        if timer := self._timers.pop(session, None):
            timer.cancel()
        wait = min(max(at - instant(), 0.0), _LONGEST)
        self._timers[session] = asyncio.get_running_loop().call_later(wait, self._wake, session)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _search(self) -> None:
        """Start couriers for the sessions in the index, at the time that is noted there.

        The first time they start at once, because a process that was ended may not have noted a moved clock.
        """
        grace: float | None = None
        while True:
            try:
                noted = await run_transaction(self._find_engine().store, callbacks.read_index)
            except StoreUnavailable:
                await asyncio.sleep(_AGAIN)
                continue
            for session, at in noted.items():
                if session not in self._running and session not in self._timers:
                    self._wake_at(session, instant() if grace is None else at + grace)
            if not self._shares_state:
                return
            # The process that has queued a callback comes first.
            grace = _ROUND / 2
            await asyncio.sleep(_ROUND)

    async def _serve(self, session: str) -> None:
        """Send the callbacks of a session until none is due, then set a timer for the next one."""
        at: float | None = None
        try:
            while True:
                self._running[session] = False
                try:
                    look = await self._look(session)
                    await self._deliver_all(session, look.due)
                    at = look.at
                except BankError:  # the state is unavailable
                    look, at = _Look((), None), instant() + _AGAIN
                if not look.due and not self._running[session]:
                    return
        except Exception:
            log.exception("the callbacks of session %s cannot be sent", session)
        finally:
            del self._running[session]
            if at is not None:
                self._wake_at(session, at)

    async def _serve_once(self, session: str) -> None:
        await self._deliver_all(session, (await self._look(session)).due)

    async def _look(self, session: str) -> _Look:
        """Make the session's due events happen, and find the callbacks that are due. Raises BankError."""
        return await self._find_engine().in_session(session, self._choose)

    def _choose(self, call: Call) -> _Look:
        """Choose the callbacks to send. Note in the index when something is due next, if nothing is due now."""
        state, now, real = call.state, call.clock.now(), instant()
        due: list[tuple[str, Document]] = []
        moments: list[float] = []
        for id, callback in callbacks.heads(state):
            lease = callback.get("lease")
            wait = (datetime.fromisoformat(callback["next"]) - now).total_seconds()
            if lease and self._shares_state and lease["by"] != self._id and lease["until"] > real:
                moments.append(float(lease["until"]))
            elif wait <= 0:
                if self._shares_state:
                    callbacks.update(state, id, {"lease": {"by": self._id, "until": real + _LEASE}})
                due.append((id, callback))
            elif not call.clock.frozen:
                moments.append(real + wait)
        event, is_in_use = timeline.quiet_until(state), callbacks.is_in_use(state)
        (self._in_use.add if is_in_use else self._in_use.discard)(call.session.id)
        if not call.clock.frozen and event < timeline.NEVER and is_in_use:
            moments.append(real + max(0.0, event + 1 - call.clock.timestamp()))
        at = min(moments, default=None)
        if not due:
            at = callbacks.note_due(state, at, real - _YOUNG if self._shares_state else real)
        return _Look(due, at)

    async def _deliver_all(self, session: str, due: Sequence[tuple[str, Document]]) -> None:
        await asyncio.gather(*(self._deliver(session, id, callback) for id, callback in due))

    async def _deliver(self, session: str, id: str, callback: Document) -> None:
        """Send a callback once, or twice if a fault says so, and note the outcome."""
        cause = self._causes.get((session, id))
        outcome = await send(self._find_engine(), session, callback, cause)
        if outcome.is_accepted and callback.get("fault") == "twice":
            second = await send(self._find_engine(), session, callback, cause)
            outcome = replace(outcome, text=second.text)
        for pause in (0.1, 1.0, 5.0):
            try:
                await self._find_engine().in_session(session, lambda call: _note(call, id, outcome))
            except BankError:
                await asyncio.sleep(pause)
            else:
                if outcome.is_accepted:
                    self._causes.pop((session, id), None)
                return
        # It will be sent again, which is better than never.
        log.warning("the outcome of the callback %s in session %s could not be stored", id, session)


def _note(call: Call, id: str, outcome: SendResult) -> None:
    callback = callbacks.find(call.state, id)
    if callback is None:  # the session was reset
        return
    if outcome.is_refused:
        changes: dict[str, Any] = {"state": callbacks.REFUSED, "answer": outcome.text, "next": None, "lease": None}
    else:
        changes = callbacks.after_try(callback, outcome.text, call.clock.now(), accepted=outcome.is_accepted)
    callbacks.settle(call.state, id, changes, call.clock.now())
