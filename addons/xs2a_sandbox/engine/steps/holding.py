"""Holds exchanges at breakpoints of their session: the request before its bank sees it, the response before the app."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.config.modes import find_mode
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.engine import egress_policy
from xs2a_sandbox.engine.faults import is_for
from xs2a_sandbox.engine.holds import Holds, Place, Release
from xs2a_sandbox.engine.route import BankRequest, Route, Step
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.confinement import confine
from xs2a_sandbox.state import Documents, Store, Transaction
from xs2a_sandbox.state.attempts import commit, run_transaction, try_once
from xs2a_sandbox.state.session import SESSION_BREAKS
from xs2a_sandbox.state.snapshot import RemoteStore


@dataclass(frozen=True, slots=True)
class Holding:
    """`find_route` finds the route of an edited request."""

    step: Step
    holds: Holds
    store: Store | RemoteStore
    guard: Guard
    find_route: Callable[[Request], Route]

    def __call__(self, route: Route) -> Awaitable[Answer]:
        if self.holds.is_idle(route.session) or route.to_bank is None or route.is_own:
            return self.step(route)
        return self._hold(route, route.to_bank)

    async def _hold(self, route: Route, to_bank: BankRequest) -> Answer:
        notes: list[str] = []
        is_held = False
        if due := await self._take_due("request", to_bank, notes):
            is_held = True
            release = await self.holds.hold(due, to_bank, None)
            if release.is_gone or release.edits.drop:
                return _close(route, due, release, notes)
            if release.edits:
                route = self._edit(route, to_bank, due, release, notes)
        answer = await self.step(route)
        try:
            if due := await self._take_due("response", to_bank, notes):
                is_held = True
                release = await self.holds.hold(due, to_bank, answer.response)
                answer = await _change(route, answer, due, release, notes)
        except BaseException:
            await _end_rest(answer.response)
            raise
        if not is_held and not notes:
            return answer
        return structs.replace(answer, warnings=(*answer.warnings, *notes), is_repeatable=False)

    async def _take_due(self, place: Place, to_bank: BankRequest, notes: list[str]) -> dict[str, Any] | None:
        """Return the breakpoint that holds the message, and count its hit; None if the state is unavailable, too."""
        session = to_bank.session
        await self.holds.catch_up()
        if self.holds.is_idle(session):
            return None

        def look(documents: Documents) -> bool:
            there = SESSION_BREAKS.all(Transaction(documents, session, lambda transaction: {}))
            if not any(map(_is_active, there)):
                # Without an await in between, so that no report of a new breakpoint is missed.
                self.holds.note_idle(session)
                return False
            return True

        def attempt(documents: Documents) -> dict[str, Any] | None:
            state = Transaction(documents, session, lambda transaction: {})
            there = SESSION_BREAKS.all(state)
            fitting = (one for one in there if one["on"] == place and is_for(one, to_bank))
            due = next(filter(_is_active, fitting), None)
            if due:
                counted = {**due, "hits": due["hits"] + 1}
                SESSION_BREAKS.keep(state, [counted if one is due else one for one in there])
                commit(state)
            return due

        try:
            # If the state is unavailable, the bank's transaction tries again and logs it. Once per request is enough.
            is_due = isinstance(self.store, RemoteStore) or await try_once(self.store, look)
            due = await run_transaction(self.store, attempt) if is_due else None
        except StoreUnavailable:
            return None
        if due and self.holds.is_full:
            notes.append(
                f"{due['id']} did not hold the {place}: too many exchanges are held, or the sandbox is stopping"
            )
            return None
        return due

    def _edit(
        self, route: Route, to_bank: BankRequest, due: dict[str, Any], release: Release, notes: list[str]
    ) -> Route:
        """Return the route of the edited request. A request that may not go to a real bank is not edited."""
        if find_mode(to_bank.mode).asks_bank:
            try:
                egress_policy.check(to_bank, self.guard)
            except (BankError, Refused):
                notes.append(f"{due['id']} held the request ({release.id}); the edits had no effect on this request")
                return route
        notes.append(f"edited at {due['id']} ({release.id}), in the request: {release.edits.describe()}")
        return self.find_route(release.edits.change_request(route.request))


def _is_active(breakpoint: dict[str, Any]) -> bool:
    return bool(breakpoint["hits"] < breakpoint["next"])


def _close(route: Route, due: dict[str, Any], release: Release, notes: Sequence[str]) -> Answer:
    """Return the end of the connection. The bank does not see the request."""
    why = "the client disconnected" if release.is_gone else "the connection was dropped"
    text = f"{why} while {due['id']} held the request ({release.id}): the bank has not seen it"
    return Answer(
        Response(503, fault="drop"),
        reason=text,
        warnings=(*notes, text),
        is_repeatable=False,
        is_personal=route.is_personal,
    )


async def _change(route: Route, answer: Answer, due: dict[str, Any], release: Release, notes: list[str]) -> Answer:
    """Return the answer with the edits of its release."""
    response = answer.response
    if release.is_gone:
        notes.append(f"the client disconnected while {due['id']} held the response ({release.id})")
        return answer
    if release.edits.drop:
        await _end_rest(response)
        notes.append(f"the connection was dropped at {due['id']} ({release.id}) in place of the response")
        return structs.replace(answer, response=Response(response.status, response.headers, response.body, "drop"))
    if not release.edits:
        return answer
    edited = release.edits.change_response(response)
    if edited.rest is None:
        await _end_rest(response)
    if route.request.door == "direct":
        # The console has the same origin, so isolate pages even if the edit has removed headers.
        edited = confine(edited)
    was = f" (was {response.status})" if edited.status != response.status else ""
    notes.append(f"edited at {due['id']} ({release.id}), in the response: {release.edits.describe()}{was}")
    return structs.replace(answer, response=edited)


async def _end_rest(response: Response) -> None:
    if response.rest is not None:
        await response.rest.aclose()
