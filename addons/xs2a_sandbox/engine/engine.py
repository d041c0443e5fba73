"""The whole product: a request in, the bank's answer out."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any, Protocol, cast

from msgspec import structs

from xs2a_sandbox.bank import Answer, Banks
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.compare.comparison import Source
from xs2a_sandbox.compare.reports.report import ComparedExchange
from xs2a_sandbox.compare.reports.report import exchange as compared_exchange
from xs2a_sandbox.compare.states import Move, ReportedState
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.control.api import Control
from xs2a_sandbox.control.pages import status
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine.destinations.own import Refusal
from xs2a_sandbox.engine.explaining import explain
from xs2a_sandbox.engine.routing import is_own_path
from xs2a_sandbox.engine.stack import Parts, Stack
from xs2a_sandbox.engine.steps.journaling import display_text, reason_of
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.explain import request as described_request
from xs2a_sandbox.explain.explanation import Explanation
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import OwnRefusal
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.journal.journal import Journal, Journaled, Peers
from xs2a_sandbox.journal.metrics import METRICS, Metrics
from xs2a_sandbox.state import Documents, RemoteStore, Store
from xs2a_sandbox.state.session import DEFAULT, session_name

log = logging.getLogger("xs2a_sandbox")

BEGIN_ANEW = "begin anew"
"""Tells all processes on which day the default session was forgotten."""


class WorkerGroup(Peers, Protocol):
    """The processes that serve together. `started` is the day from which the default session's dates count."""

    started: date

    def tell(self, question: str, argument: Any = None) -> None:
        """Lets all know."""
        ...


class Engine:
    """Answers requests. It keeps no state of its own: that is the store's."""

    __slots__ = ("_peers", "_stack", "parts")

    def __init__(self, parts: Parts) -> None:
        self._peers: WorkerGroup | None = None
        self.parts = replace(parts, started=parts.clock.today())
        if parts.display:
            parts.journal.show = parts.display.entry
        if isinstance(parts.store, RemoteStore):
            parts.store.on_commit, parts.store.on_fetch = parts.metrics.committed, parts.metrics.count_fetch
        self._stack = Stack(self.parts, Control(self))

    def use(self, **changes: Any) -> None:
        """Answers with these of its `parts` from the next request on; those under way end with what they began with."""
        self.parts = replace(self.parts, **changes)
        self._stack = Stack(self.parts, Control(self))

    def share(self, peers: WorkerGroup) -> None:
        """Makes this one of several processes that are one sandbox; all began on the same day."""
        self._peers = peers
        self.use(started=peers.started)
        peers.answers[BEGIN_ANEW] = lambda day: self.use(started=day)
        peers.answers[METRICS] = lambda _: self._collect_metrics()
        self.parts.journal.share(peers)

    async def close(self) -> None:
        """Ends what leads out of the sandbox, recordings included."""
        if self.parts.comparing:
            await self.parts.comparing.close()
        await self.parts.egress.close()
        await self.parts.journal.close()
        if self.parts.tracing:
            await asyncio.to_thread(self.parts.tracing.close)
        if isinstance(self.parts.store, RemoteStore):
            await self.parts.store.close()

    async def answer(self, request: Request) -> Response:
        """Any failure is answered with 500. Raises TimeoutError where no client waits any more for what is delayed."""
        return self.repeat(request) or await self.answer_anew(request)

    def repeat(self, request: Request) -> Response | None:
        """The answer to a request that was asked before, where it is kept; it needs no wait. Never raises."""
        return self._stack.cache.repeat(request)

    async def answer_anew(self, request: Request) -> Response:
        """Answers as `answer` does, for who has tried `repeat`."""
        return await self._stack.answer(request)

    def report_refusal(
        self, request: Request, response: Response, seconds: float, failure: BaseException | None
    ) -> Response:
        """Tells of an answer that a door gives itself, and returns it as the default bank says it.

        `failure` is why, where something broke.
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
            # However odd the request was, the door has to go on.
            log.exception("a refused request could not be told of", extra={"request": request})
        return response

    async def control(self, request: Request) -> Response:
        """The control interface's answer, without a line in the log."""
        return (await self._stack.refusing(self._stack.routing.find(request))).response

    def explain(self, request: Request, documents: Documents | None = None) -> Explanation:
        """The answer that `answer` would give, and why; nothing is kept of it. Raises StoreUnavailable.

        `documents` are those of the store, unless it has to be waited for.
        """
        return explain(self._stack, request, documents or cast(Store, self.parts.store))

    async def compare(self, exchange: Journaled, *, allow_writes: bool) -> ComparedExchange:
        """What the real bank answers otherwise to the request of an exchange. Raises BankError, Refused."""
        route = self._stack.routing.find(described_request.of(exchange))
        if isinstance(route.destination, Refusal):
            raise route.destination.error
        if route.to_bank is None:
            text = f"exchange {exchange.number} went to a page of the sandbox, which no bank has"
            raise Refused(409, "bank-not-asked", text)
        source: Source = "bank" if exchange.source == "bank" else "sandbox"
        once = self._stack.compare.compare_once
        compared = await once(route.to_bank, exchange.response, source, allow_writes=allow_writes)
        display = self.parts.display
        return compared_exchange(
            compared, exchange.number, (lambda entry: display.entry(entry, True)) if display else None
        )

    async def follow(self, request: Request, state: ReportedState) -> Move | None:
        """Moves what the session of the request holds as a real bank says that it was moved. Raises BankError."""
        return await self._stack.compare.sandbox.follow(request, state)

    def begin_anew(self, session: str | None) -> None:
        """Counts the default session's dates from today on, where that session, or all, was forgotten."""
        if session in (None, DEFAULT):
            self.use(started=self.parts.clock.today())
            if self._peers:
                self._peers.tell(BEGIN_ANEW, self.parts.started)

    def status(self) -> dict[str, Any]:
        parts = self.parts
        report = parts.comparing.report if parts.comparing else None
        return status(parts.files, parts.banks, parts.egress.recording, report, parts.clock)

    async def all_metrics(self) -> Metrics:
        """The metrics of all processes that are this sandbox."""
        if self._peers is None:
            return self._collect_metrics()
        return Metrics.total(part for part in await self._peers.gather(METRICS) if part)

    def displayed_text(self, text: str, personal: bool | None = None) -> str:
        """The text of an exchange as it may be shown; `personal` is None where nothing is known of it."""
        return display_text(text, self.parts.may_be_personal if personal is None else personal, self.parts.display)

    @property
    def banks(self) -> Banks:
        return self.parts.banks

    @property
    def interface(self) -> Interface:
        """The default bank's."""
        return self.parts.banks.default.interface

    @property
    def schemas(self) -> Schemas:
        return self.parts.banks.default.schemas

    @property
    def store(self) -> Store | RemoteStore:
        return self.parts.store

    @property
    def journal(self) -> Journal:
        return self.parts.journal

    @property
    def guard(self) -> Guard:
        """Says who may control the sandbox, and use its way to a bank."""
        return self._stack.guard

    def _collect_metrics(self) -> Metrics:
        counts = self.parts.egress.counts()
        if self.parts.comparing:
            counts |= self.parts.comparing.report.counts()
        for name, count in counts.items():
            self.parts.metrics.counters[name] = count
        return self.parts.metrics
