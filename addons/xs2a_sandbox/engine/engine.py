"""The complete sandbox: takes a request, and returns the bank's answer."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import structs

from xs2a_sandbox.bank import Answer, Banks
from xs2a_sandbox.cassette import Call, Interface
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.control.pages import status
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine.destinations.own import AddedPages, Refusal
from xs2a_sandbox.engine.explaining import explain
from xs2a_sandbox.engine.holds import LET_GO, Holds
from xs2a_sandbox.engine.routing import is_own_path
from xs2a_sandbox.engine.stack import Parts, Stack
from xs2a_sandbox.engine.steps.journaling import display_text, reason_of
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.explain import request as described_request
from xs2a_sandbox.explain.explanation import Explanation
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import OwnRefusal
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.journal.journal import Journal, Journaled, Peers
from xs2a_sandbox.journal.metrics import METRICS, Metrics
from xs2a_sandbox.state import Documents, RemoteStore, Store
from xs2a_sandbox.state.session import DEFAULT, session_name

if TYPE_CHECKING:
    from xs2a_sandbox.compare.comparison import Source
    from xs2a_sandbox.compare.reports.report import ComparedExchange
    from xs2a_sandbox.compare.states import Move, ReportedState

log = logging.getLogger("xs2a_sandbox")

BEGIN_ANEW = "begin again"
"""The message to all processes with the day on which the default session was reset."""


class WorkerGroup(Peers, Protocol):
    """The processes that serve together. `started` is the day from which the default session's dates count."""

    started: date

    def tell(self, question: str, argument: Any = None) -> None:
        """Send a message to all processes."""
        ...


class Engine:
    """Answers requests. It has no state of its own; that is in the store."""

    __slots__ = ("_peers", "_stack", "parts")

    def __init__(self, parts: Parts) -> None:
        self._peers: WorkerGroup | None = None
        self.parts = replace(parts, started=parts.clock.today())
        if parts.display:
            parts.journal.show = parts.display.entry
        if isinstance(parts.store, RemoteStore):
            parts.store.on_commit, parts.store.on_fetch = parts.metrics.committed, parts.metrics.count_fetch
        self._stack = Stack(self.parts, self)

    def use(self, **changes: Any) -> None:
        """Replace some `parts` from the next request on. Requests in progress keep the old ones."""
        self.parts = replace(self.parts, **changes)
        self._stack = Stack(self.parts, self)

    def add_pages(self, name: str, pages: AddedPages) -> None:
        """Add pages below `/_sandbox/`, which replace earlier ones with the same name."""
        self.use(pages={**self.parts.pages, name: pages})

    def share(self, peers: WorkerGroup) -> None:
        """Make this engine one of several processes of one sandbox, which all count from the same day."""
        self._peers = peers
        self.use(started=peers.started)
        peers.answers[BEGIN_ANEW] = lambda day: self.use(started=day)
        peers.answers[METRICS] = lambda _: self._collect_metrics()
        self.parts.journal.share(peers)
        self.parts.holds.share(peers)

    def let_go(self) -> None:
        """Release everything that breakpoints hold, and hold nothing from now on."""
        self.parts.holds.close()

    async def close(self) -> None:
        """Close connections to the outside, and recordings."""
        self.let_go()
        if self.parts.comparing:
            await self.parts.comparing.close()
        await self.parts.egress.close()
        await self.parts.journal.close()
        await self.parts.holds.flush()
        if self.parts.tracing:
            await asyncio.to_thread(self.parts.tracing.close)
        if isinstance(self.parts.store, RemoteStore):
            await self.parts.store.close()

    async def answer(self, request: Request) -> Response:
        """Answer the request; every failure is a 500.

        Raises TimeoutError if the delay is longer than any client waits.
        """
        return self._stack.cache.repeat(request) or await self.answer_anew(request)

    def repeat(self, request: Request) -> Response | None:
        """Return the cached answer to a repeated request, or None. Never waits and never raises."""
        return self._stack.cache.repeat(request)

    def answer_anew(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer the request without trying the cache first. The caller has tried `repeat`."""
        return self._stack.answer(request)

    def report_refusal(
        self, request: Request, response: Response, seconds: float, failure: BaseException | None
    ) -> Response:
        """Log an answer that a door gave itself, and return it in the words of the default bank.

        `failure` is the exception, if something broke.
        """
        refusals, session, is_journaled = self._stack.refusals, DEFAULT, True
        if isinstance(response, OwnRefusal):
            response = refusals.say(response, request)
        try:
            with suppress(BankError):
                session, segments = session_name(request, split_target(request.target).segments)
                is_journaled = not is_own_path(segments)
            personal = self.parts.may_be_personal
            answer = Answer(response, is_journaled=is_journaled, is_personal=personal)
            if failure:
                answer = structs.replace(answer, error="internal", reason=refusals.reason(failure))
            answer = structs.replace(answer, reason=reason_of(request, answer, personal, self.parts.display))
            self._stack.journaling.tell(request, answer, session, seconds)
        except Exception:
            # The door must keep working, even if the request is faulty.
            log.exception("a refused request could not be recorded", extra={"request": request})
        return response

    async def control(self, request: Request) -> Response:
        """Return the answer of the control interface, without a log entry."""
        route = self._stack.routing.find(request)
        answer = await self._stack.refusing(route)
        if self.parts.on_answer:
            await self.parts.on_answer(route, answer)
        return answer.response

    def explain(self, request: Request, documents: Documents | None = None) -> Explanation:
        """Explain the answer that `answer` would give. Nothing is stored. Raises StoreUnavailable.

        `documents` are needed if the store is remote.
        """
        return explain(self._stack, request, documents or cast(Store, self.parts.store))

    async def compare(self, exchange: Journaled, *, allow_writes: bool) -> "ComparedExchange":
        """Compare an exchange with the real bank. Raises BankError, Refused."""
        route = self._stack.routing.find(described_request.of(exchange))
        if isinstance(route.destination, Refusal):
            raise route.destination.error
        if route.to_bank is None:
            text = f"exchange {exchange.number} was for a page of the sandbox, so no bank can answer it"
            raise Refused(409, "bank-not-asked", text)
        from xs2a_sandbox.compare.reports.report import exchange as compared_exchange

        source: Source = "bank" if exchange.source == "bank" else "sandbox"
        once = self._stack.compare.compare_once
        compared = await once(route.to_bank, exchange.response, source, allow_writes=allow_writes)
        await self.parts.journal.note_verdict(exchange, compared.verdict)
        display = self.parts.display
        return compared_exchange(
            compared, exchange.number, (lambda entry: display.entry(entry, True)) if display else None
        )

    async def in_session[R](self, session: str, work: Callable[[Call], R]) -> R:
        """Run work in a transaction of the session, after all events that are due. Raises BankError."""
        request, banks = Request("GET", f"/{ROOT}/callbacks"), self.parts.banks
        bank = next((bank for bank in banks.all if bank.interface.callbacks), banks.default)
        return await self._stack.transactions.run(request, split_target(request.target), session, bank, work)

    async def follow(self, request: Request, state: "ReportedState") -> "Move | None":
        """Apply a state change that a real bank reported to the request's session. Raises BankError."""
        return await self._stack.compare.sandbox.follow(request, state)

    def begin_anew(self, session: str | None) -> None:
        """Count the default session's dates from today on, if that session, or all, was reset.

        Exchanges that the session held continue.
        """
        self.parts.holds.forget(session)
        if self._peers:
            self._peers.tell(LET_GO, session)
        if session in (None, DEFAULT):
            self.use(started=self.parts.clock.today())
            if self._peers:
                self._peers.tell(BEGIN_ANEW, self.parts.started)

    def status(self) -> dict[str, Any]:
        parts = self.parts
        report = parts.comparing.report if parts.comparing else None
        return status(parts.files, parts.banks, parts.egress.recording, report, parts.clock)

    async def all_metrics(self) -> Metrics:
        """Return the metrics of all processes of this sandbox."""
        if self._peers is None:
            return self._collect_metrics()
        return Metrics.total(part for part in await self._peers.gather(METRICS) if part)

    def displayed_text(self, text: str, personal: bool | None = None) -> str:
        """Return the text of an exchange as it may be shown. `personal` is None if unknown."""
        return display_text(text, self.parts.may_be_personal if personal is None else personal, self.parts.display)

    @property
    def banks(self) -> Banks:
        return self.parts.banks

    @property
    def interface(self) -> Interface:
        """The interface of the default bank."""
        return self.parts.banks.default.interface

    @property
    def schemas(self) -> Schemas:
        return self.parts.banks.default.schemas

    @property
    def store(self) -> Store | RemoteStore:
        return self.parts.store

    @property
    def may_be_personal(self) -> bool:
        return self.parts.may_be_personal

    @property
    def held(self) -> Holds:
        return self.parts.holds

    @property
    def journal(self) -> Journal:
        return self.parts.journal

    @property
    def guard(self) -> Guard:
        """Decides who may control the sandbox and use its way to a bank."""
        return self._stack.guard

    def _collect_metrics(self) -> Metrics:
        counts = self.parts.egress.counts()
        if self.parts.comparing:
            counts |= self.parts.comparing.report.counts()
        for name, count in counts.items():
            self.parts.metrics.counters[name] = count
        return self.parts.metrics
