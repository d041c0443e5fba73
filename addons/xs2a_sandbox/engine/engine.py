"""The whole product: a request in, the bank's answer out."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

from xs2a_sandbox.bank import Bank, Banks, Outcome, TestData, following, timeline
from xs2a_sandbox.bank.bank import attempted
from xs2a_sandbox.bank.bank import refusal as reply_of
from xs2a_sandbox.bank.sca_pages import pages
from xs2a_sandbox.bank.sca_pages.html import Page, icon, show
from xs2a_sandbox.cassette import Call, Interface
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.cassette.dialect.error_table import ENGINE_ERRORS
from xs2a_sandbox.cassette.dialect.request_ids import NAME
from xs2a_sandbox.cassette.fault import PREFER
from xs2a_sandbox.cassette.spoil import SPOILS, spoiled
from xs2a_sandbox.clock import REAL, Clock, WatchedClock
from xs2a_sandbox.compare.reports.report import ComparedExchange
from xs2a_sandbox.compare.reports.report import exchange as compared_exchange
from xs2a_sandbox.compare.states import Move, ReportedState, Twin
from xs2a_sandbox.config.checks import Checks
from xs2a_sandbox.config.limits import Limits
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.control.api import Control, is_control
from xs2a_sandbox.control.front_page import FrontPage, asks_for_html
from xs2a_sandbox.control.pages import FilesStatus, Pages, status
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine import clearance
from xs2a_sandbox.engine.egress import Passage
from xs2a_sandbox.engine.faults import DueFaults
from xs2a_sandbox.engine.kept_answers import KeptAnswer, KeptAnswers
from xs2a_sandbox.engine.modes import ANSWERS, BankRequest
from xs2a_sandbox.engine.telling import displayed_text, log_entry, reason_of, request_id
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable
from xs2a_sandbox.explain import request as described_request
from xs2a_sandbox.explain.explanation import Explanation, explain, own
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.confinement import confine
from xs2a_sandbox.http.messages import OwnRefusal, header_mistake, is_field_value, refusal
from xs2a_sandbox.http.origin import Origin
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import Target, outline, split_target
from xs2a_sandbox.journal import reason as reasons
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.journal.journal import Journal, Journaled, Peers
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.metrics import METRICS, Metrics
from xs2a_sandbox.journal.tracing import Tracing
from xs2a_sandbox.signatures.rules import Form
from xs2a_sandbox.state import DistantStore, Documents, MemoryStore, Store, Transaction
from xs2a_sandbox.state.attempts import keep, kept
from xs2a_sandbox.state.session import DEFAULT, anchor, session_checks, session_clock, session_name
from xs2a_sandbox.state.snapshot import Reader

log = logging.getLogger("xs2a_sandbox")

_NOTHING = Transaction(MemoryStore(), DEFAULT, lambda _: {})
_OWN_ERRORS = ENGINE_ERRORS - {"format-error"}  # which requirements and handlers raise, too
_KEPT = "the answer is kept, as the same was asked before and nothing that it is made of has changed"
_OWN_PAGE = "this is a page of the sandbox itself"
_REFUSED = "the sandbox refuses this before it looks for rules"
_OWN_PATHS = frozenset({ROOT, pages.PAGES})


BEGIN_ANEW = "begin anew"
"""Tells all processes on which day the default session was forgotten."""


class OneSandbox(Peers, Protocol):
    """The processes that serve together. `started` is the day from which the default session's dates count."""

    started: date

    def tell(self, question: str, argument: Any = None) -> None:
        """Lets all know."""
        ...


class EyePages(Protocol):
    """Pages for eyes, below `/_sandbox/`."""

    def takes(self, request: Request, segments: tuple[str, ...]) -> bool: ...

    async def answer(self, request: Request, segments: tuple[str, ...], session: str) -> Response: ...


class OwnDestination(NamedTuple):
    """The place that answers a request before a bank is asked, with its path without the session's prefix.

    The `page` is there where it is the front page. A rule may answer in place of a payment user's page, or leave it to
    the bank.
    """

    place: Literal["host", "page", "console", "control", "payment user's page"]
    target: Target
    page: Response | None = None
    console: EyePages | None = None


type PassTime = Callable[[float, str], Awaitable[None]]
"""Lets the seconds of a delay pass in a session."""


async def _sleep(seconds: float, session: str) -> None:
    await asyncio.sleep(seconds)


class Engine:
    """Answers requests. It keeps no state of its own: that is the store's.

    Sessions begin with `clock`. `on_exchange` is told of every request once it is answered, with its path, and why it
    failed, as `display` shows them; `public_url` is where browsers reach our pages, `allow_origin` which others may use
    the way to a bank; `pass_time` waits for what is delayed. Nobody controls the sandbox before `admin_token` is set.
    """

    def __init__(
        self,
        banks: Banks,
        store: Store | DistantStore,
        testdata: TestData,
        *,
        limits: Limits,
        clock: Clock = REAL,
        passage: Passage | None = None,
        display: Display | None = None,
        host: str = "127.0.0.1",
        public_url: str = "http://127.0.0.1:8081",
        static_data: bool = False,
        debug_headers: bool = True,
        prefer: bool = True,
        ca_file: Path = Path("mitmproxy-ca-cert.pem"),
        journal: Journal | None = None,
        allow_origin: Collection[Origin] = (),
        seal: Callable[[Response, Form], Response] | None = None,
        pass_time: PassTime = _sleep,
    ) -> None:
        self.store = store
        self.testdata = testdata
        self.limits = limits
        self.public_url = public_url
        self.journal = Journal() if journal is None else journal
        self.on_exchange: Callable[[LogEntry], None] | None = None
        self.tracing: Tracing | None = None
        self.admin_token: str | None = None
        self.files = FilesStatus(REAL.now())
        self.banks = banks
        self.passage = passage or Passage()
        self.display = display
        if display:
            self.journal.show = display.entry
        self._clock = clock
        self._started = clock.today()
        self._is_shared = isinstance(store, DistantStore)
        self._peers: OneSandbox | None = None
        self.metrics = Metrics()
        if isinstance(store, DistantStore):
            store.on_commit, store.on_fetch = self.metrics.committed, self.metrics.fetched
        self._host = host
        self._seal = seal
        self._allowed = frozenset(allow_origin)
        self._static = static_data
        self._debug_headers = debug_headers
        self._prefer = prefer
        self._pass_time = pass_time
        self._front_page: FrontPage | None = None
        self._console: EyePages | None = None
        self._pages = Pages(ca_file, store, self.passage.recording)
        self._control = Control(self)
        self._kept = self._kept_answers(banks)

    @property
    def interface(self) -> Interface:
        """The default bank's."""
        return self.banks.default.interface

    @property
    def schemas(self) -> Schemas:
        return self.banks.default.schemas

    def use(self, banks: Banks, testdata: TestData, loaded: datetime) -> None:
        """Answers by these from the next request on; those under way end with what they began with."""
        self.banks, self.testdata, self.files = banks, testdata, FilesStatus(loaded)
        self._kept = self._kept_answers(banks)

    def _kept_answers(self, banks: Banks) -> KeptAnswers:
        # What others write in a distant store is not seen here.
        store = None if isinstance(self.store, DistantStore) else self.store
        return KeptAnswers(store, heeds_ids=banks.heed_request_ids)

    def share(self, peers: OneSandbox) -> None:
        """Makes this one of several processes that are one sandbox; all began on the same day."""
        self._peers, self._started = peers, peers.started
        peers.answers[BEGIN_ANEW] = self._begin_on
        peers.answers[METRICS] = lambda _: self._counted()
        self.journal.share(peers)

    def introduce(self, front_page: FrontPage, console: EyePages | None = None) -> None:
        """Lets who opens the base URL see this page from now on, and who has signed in the console."""
        self._front_page, self._console = front_page, console

    async def control(self, request: Request) -> Response:
        """The control interface's answer, without a line in the log."""
        outcome, target = Outcome(self.banks.default), split_target(request.target)
        outcome.session, segments = session_name(request, target.segments)
        begin = partial(self.begin, request, target, outcome)
        return await self._control.answer(request, segments, self.guard, begin)

    async def close(self) -> None:
        """Ends what leads out of the sandbox, recordings included."""
        await self.passage.close()
        await self.journal.close()
        if self.tracing:
            await asyncio.to_thread(self.tracing.close)
        if isinstance(self.store, DistantStore):
            await self.store.close()

    def repeat(self, request: Request) -> Response | None:
        """The answer to a request that was asked before, where it is kept; it needs no wait. Never raises."""
        started = time.perf_counter()
        question = self._kept.question(request)
        kept = None if question is None else self._kept.find(question)
        return self._repeat(kept, request, started) if kept else None

    async def answer(self, request: Request) -> Response:
        """Raises TimeoutError where `pass_time` does: no client waits any more."""
        return self.repeat(request) or await self.answer_anew(request)

    async def answer_anew(self, request: Request) -> Response:
        """The answer where none is kept; any failure is answered with 500. Raises as `answer` does."""
        started, failure = time.perf_counter(), None
        # What is under way when everything is read again, or forgotten, is not kept for those who ask after that.
        answers = self._kept
        question = answers.question(request)
        outcome = Outcome(self.banks.default)
        outcome.personal = self._may_be_personal
        outcome.is_watched = question is not None and answers.is_repeated(question)
        try:
            response = self._sealed(await self._respond(request, outcome), outcome)
            response, reason = await self._finished(request, response, outcome)
        except Exception as error:
            failure, outcome.beside = error, None
            response, reason = await self._finished(request, self._failed(request, outcome, error), outcome)
        if outcome.delay:
            try:
                await self._pass_time(outcome.delay, outcome.session)
            except TimeoutError:
                self._tell(request, response, outcome, time.perf_counter() - started, reason)
                raise
        line = self._tell(request, response, outcome, time.perf_counter() - started, reason)
        if outcome.is_watched and question is not None and line:
            answers.keep(question, request, response, outcome, line)
        if failure:
            # After its line, which says it in a few words.
            text = "the sandbox failed on %s %s"
            more = {"request": request, "personal": outcome.personal}
            log.error(text, request.method, outline(request.target), exc_info=failure, extra=more)
        return response

    async def _finished(self, request: Request, response: Response, outcome: Outcome) -> tuple[Response, str | None]:
        """The answer as the client gets it, and the reason why the request failed, if it did."""
        # The console has its origin there.
        if request.door == "direct" and (outcome.journaled or outcome.source in ("rule", "bank")):
            response = confine(response)
        reason = self._reason(request, response, outcome)
        if response.fault in SPOILS:
            response = self._spoil(response, outcome)
        if request.method == "HEAD":
            response = response.without_body()
        if outcome.beside:
            try:
                await outcome.beside(response)
            except Exception:
                log.exception("the exchange could not be compared", extra={"request": request})
        if outcome.ignored:
            outcome.warnings = (*outcome.warnings, outcome.ignored)
        if objections := outcome.objections:
            outcome.warnings = (*outcome.warnings, *(f"strict would refuse this: {text}" for text in objections))
        return (response.with_headers(*outcome.headers) if self._debug_headers else response), reason

    def _reason(self, request: Request, response: Response, outcome: Outcome) -> str | None:
        """The reason why a request failed, as it may be shown; None where that cannot be said."""
        try:
            return reason_of(request, response, outcome, self.display)
        except Exception:
            log.exception("the reason of a failed request cannot be shown", extra={"request": request})
            return None

    def _spoil(self, response: Response, outcome: Outcome) -> Response:
        if changed := spoiled(response):
            return changed
        outcome.warnings = (*outcome.warnings, f"{response.fault} changes nothing of this answer")
        return Response(response.status, response.headers, response.body, None, response.rest)

    def _sealed(self, response: Response, outcome: Outcome) -> Response:
        """The answer as the bank signs it, where its dialect says so. Raises ConfigError."""
        form = outcome.bank.interface.signatures.answers
        # What a real bank says it signs itself, and pages are for browsers.
        if form is None or self._seal is None or outcome.source == "bank" or outcome.in_browser:
            return response
        return self._seal(response, form) if outcome.journaled and not response.rest else response

    def _repeat(self, kept: KeptAnswer, request: Request, started: float) -> Response:
        response = kept.answer(request.headers.first.get(NAME))
        try:
            milliseconds = (time.perf_counter() - started) * 1000
            exchange = kept.line._replace(milliseconds=milliseconds, request_id=request_id(request))
            self.metrics.answered(exchange, request.door)
            self.journal.add(request, response, exchange)
            if self.tracing:
                self.tracing.answered(request, exchange)
            if self.on_exchange:
                self.on_exchange(exchange)
        except Exception:
            log.exception("the exchange could not be told of", extra={"request": request})
        return response

    def refused(self, request: Request, response: Response, seconds: float, failure: BaseException | None) -> Response:
        """Tells of an answer that a door gives itself, and returns it as the default bank says it.

        `failure` is why, where something broke.
        """
        if isinstance(response, OwnRefusal):
            response = self._say_refusal(response, request)
        try:
            outcome = Outcome(self.banks.default)
            outcome.personal = self._may_be_personal
            if failure:
                outcome.error, outcome.reason = "internal", self._failure(failure)
            with suppress(BankError):
                outcome.session, segments = session_name(request, split_target(request.target).segments)
                outcome.journaled = not segments or segments[0] not in _OWN_PATHS
            self._tell(request, response, outcome, seconds, reason_of(request, response, outcome, self.display))
        except Exception:
            # However odd the request was, the door has to go on.
            log.exception("a refused request could not be told of", extra={"request": request})
        return response

    def _say_refusal(self, response: OwnRefusal, request: Request) -> Response:
        """The refusal as the default bank says it; which other one was meant need not have been read."""
        try:
            return self.banks.default.say_refusal(response, self._stateless(request, split_target(request.target)))
        except Exception:
            log.exception("the dialect cannot say a refusal", extra={"request": request})
            return response

    def _tell(
        self, request: Request, response: Response, outcome: Outcome, seconds: float, reason: str | None
    ) -> LogEntry | None:
        """Shows the exchange in journal and log; None where that went wrong, or is not the same again."""
        try:
            exchange = log_entry(request, response, outcome, seconds, reason, self.display)
            self.metrics.answered(exchange, request.door)
            if outcome.journaled:
                self.journal.add(request, response, exchange)
            if self.tracing and outcome.logged:
                self.tracing.answered(request, exchange)
            if self.on_exchange and outcome.logged:
                self.on_exchange(exchange)
        except Exception:
            log.exception("the exchange could not be told of", extra={"request": request})
            return None
        return exchange if outcome.journaled else None

    @property
    def _may_be_personal(self) -> bool:
        return self.banks.are_personal or self.passage.can_forward

    def displayed_text(self, text: str, personal: bool | None = None) -> str:
        """The text of an exchange as it may be shown; `personal` is None where nothing is known of it."""
        return displayed_text(text, self._may_be_personal if personal is None else personal, self.display)

    def _failure(self, failure: BaseException, where: str | None = None) -> str:
        code, text = self.interface.errors["internal"].code(), reasons.of_failure(failure)
        return f"{code}: {text}, in {where}" if where else f"{code}: {text}"

    @property
    def guard(self) -> Guard:
        """Says who may control the sandbox, and use its way to a bank."""
        return Guard(self.admin_token, self._host, self.public_url, self._allowed)

    def explain(self, request: Request, documents: Documents | None = None) -> Explanation:
        """The answer that `answer` would give, and why; nothing is kept of it. Raises StoreUnavailable.

        `documents` are those of the store, unless it has to be waited for.
        """
        # Whoever describes a path alone means it as it would be asked for.
        request = replace(request, host=request.host or "localhost")
        outcome, target = Outcome(self.banks.default), split_target(request.target)
        try:
            explanation = self._explain(request, outcome, documents or cast(Store, self.store))
        except (BankError, Refused) as error:
            text = str(error) if isinstance(error, Refused) else error.values.get("hint") or _REFUSED
            explanation = own(self._stateless(request, target, outcome.session), text, reply_of(error, outcome))
        if explanation.reply and self._page_instead(explanation.reply.error, request, outcome):
            return own(self._stateless(request, target, outcome.session), _OWN_PAGE)
        if self._kept.has_like(request):
            return replace(explanation, message=f"{explanation.message}; {_KEPT}")
        return explanation

    def _explain(self, request: Request, outcome: Outcome, documents: Documents) -> Explanation:
        to_bank = self._destination(request, outcome)
        if isinstance(to_bank, OwnDestination):
            place, target = to_bank.place, to_bank.target
            text = _OWN_PAGE
            if place == "host":
                clearance.check_forwarding(request, self.guard)
                text = f"{request.host} is a host to forward to (--forward-host)"
            if place != "payment user's page":
                return own(self._stateless(request, target, outcome.session), text)
            if explanation := self._explain_page(request, target, outcome, documents):
                return explanation
            to_bank = self._to_bank(request, *target, outcome)
        bank, mode = to_bank.bank, to_bank.mode
        if mode == "record":
            clearance.check(to_bank, self.guard)
            call = self._stateless(request, to_bank.target, outcome.session)
            return own(call, f"everything goes to the bank {to_bank.real.url} (mode record)")
        call = outcome.call = self.begin(request, to_bank.target, outcome, documents)
        faults = self.faults_of(to_bank, outcome)
        faults.look(call)
        decision = faults.decide(call)
        interface, lookup = faults.to_bank.bank.interface, faults.to_bank.lookup
        explained = explain(interface, bank.schemas, lookup, call, decision)
        comparing = self.passage.comparing if mode == "compare" else None
        asks_bank = mode == "spy" and decision.is_left_to_bank
        try:
            if asks_bank:
                clearance.check(to_bank, self.guard)
            elif comparing and not self.passage.why_spared(comparing, to_bank, self.guard):
                asks_bank = comparing.is_answered_by_bank(to_bank)
        except (BankError, Refused) as error:
            text = error.values["hint"] if isinstance(error, BankError) else str(error)
            return replace(explained, message=f"{explained.message}; {text}", reply=reply_of(error, outcome))
        if asks_bank:
            text = f"the bank {to_bank.real.url} is asked (mode {mode})"
            return replace(explained, message=f"{explained.message}; {text}")
        explained = replace(explained, reply=attempted(decision, call, outcome), objections=outcome.objections)
        refusals = [error for error in (decision.error, *call.objections) if isinstance(error, BankError)]
        signatures = (refused.values["signature"] for refused in refusals if "signature" in refused.values)
        return replace(explained, signature=next(signatures, None))

    def _explain_page(
        self, request: Request, target: Target, outcome: Outcome, documents: Documents
    ) -> Explanation | None:
        """None where the real bank is asked. Raises StoreUnavailable."""
        bank, call = outcome.bank, self.begin(request, target, outcome, documents)
        if lookup := bank.find_before_page(request.method, target.segments):
            decision = bank.decide(call, lookup)
            if not decision.is_left_to_bank:
                explained = explain(bank.interface, bank.schemas, lookup, call, decision)
                return replace(explained, reply=attempted(decision, call, outcome))
            if decision.rule:
                return None
        return own(call, f"{_OWN_PAGE}; only a rule for /sca/ comes first")

    async def simulate(self, request: Request, outcome: Outcome) -> Response:
        """The answer in mode simulate, whatever the mode of the bank."""
        outcome.simulated = True
        response = await self._respond(request, outcome)
        return response.without_body() if request.method == "HEAD" else response

    async def compare(self, exchange: Journaled, *, allow_writes: bool) -> ComparedExchange:
        """What the real bank answers otherwise to the request of an exchange. Raises BankError, Refused."""
        request, outcome = (
            described_request.of(exchange),
            Outcome(self.banks.default),
        )
        to_bank = self._destination(request, outcome)
        if isinstance(to_bank, OwnDestination):
            raise Refused(
                409, "bank-not-asked", f"exchange {exchange.number} went to a page of the sandbox, which no bank has"
            )
        compared = await self.passage.compare_once(
            to_bank,
            exchange.response,
            "bank" if exchange.source == "bank" else "sandbox",
            self.twin(to_bank.bank),
            self.guard,
            allow_writes=allow_writes,
        )
        display = self.display
        return compared_exchange(
            compared, exchange.number, (lambda entry: display.entry(entry, True)) if display else None
        )

    def twin(self, bank: Bank) -> Twin:
        """The sandbox beside a real bank."""
        return Twin(lambda request: self.simulate(request, Outcome(bank)), self.follow)

    async def follow(self, request: Request, state: ReportedState) -> Move | None:
        """Moves what the session of the request holds as a real bank says that it was moved. Raises BankError."""
        outcome, target = Outcome(self.banks.choose(request)), split_target(request.target)
        outcome.session, segments = session_name(request, target.segments)
        # The wishes of an app have had their effect already.
        plain = replace(request, headers=Headers(), body=b"")
        return await self.commit(plain, Target(segments, target.query), outcome, partial(following.follow, state=state))

    async def _respond(self, request: Request, outcome: Outcome) -> Response:
        """The answer; errors as the bank says them, refusals as the sandbox does."""
        try:
            destination = self._destination(request, outcome)
            if isinstance(destination, OwnDestination):
                if response := await self._respond_itself(request, destination, outcome):
                    return response
                destination = self._to_bank(request, *destination.target, outcome)
            return await ANSWERS[destination.mode](self, destination, outcome)
        except BankError as error:
            return self._say(error, request, outcome)
        except Refused as refused:
            outcome.error, outcome.source, outcome.rule = refused.error, "sandbox", None
            return self._say_refusal(refusal(refused.status, "SERVICE_BLOCKED", "XS2A987E", str(refused)), request)

    def _destination(self, request: Request, outcome: Outcome) -> OwnDestination | BankRequest:
        """The place, or bank, that is to answer. Raises BankError for what nobody answers."""
        target = split_target(request.target)
        outcome.session, segments = session_name(request, target.segments)
        outcome.journaled = not segments or segments[0] not in _OWN_PATHS
        if mistake := header_mistake(request.headers):
            raise BankError("format-error", expected=mistake)
        if too_large := self.limits.excess(request):
            raise BankError(too_large[0], limit=too_large[1])
        if self.passage.forwards(request):
            return OwnDestination("host", Target(segments, target.query))
        if outcome.journaled:
            return self._to_bank(request, segments, target.query, outcome)
        outcome.personal = False
        target = Target(segments, target.query)
        if self._console and self._console.takes(request, segments):
            return OwnDestination("console", target, console=self._console)
        if self._pages.has(request, segments):
            return OwnDestination("page", target)
        if segments == (ROOT,) and (page := self._front(request)):
            return OwnDestination("page", target, page)
        if is_control(request, segments):
            return OwnDestination("control", target)
        outcome.bank = self.banks.bank_of(request)
        # A bank that is recorded has pages of its own.
        outcome.in_browser = segments[0] == pages.PAGES and outcome.bank.real.mode_of(segments) != "record"
        if outcome.in_browser:
            return OwnDestination("payment user's page", target)
        return self._to_bank(request, *target, outcome)

    async def _respond_itself(self, request: Request, destination: OwnDestination, outcome: Outcome) -> Response | None:
        """None where a rule leaves a page to the real bank."""
        if destination.console:
            # Whoever looks at the log does not want to see who looks at it.
            outcome.logged = False
            return await destination.console.answer(request, destination.target.segments, outcome.session)
        match destination.place:
            case "host":
                outcome.source = "bank"
                return await self.passage.forward(request, self.guard)
            case "control":
                segments, begin = (
                    destination.target.segments,
                    partial(self.begin, request, split_target(request.target), outcome),
                )
                return await self._control.answer(request, segments, self.guard, begin)
            case "payment user's page":
                return await self.commit(request, destination.target, outcome, partial(self._page, outcome))
        return destination.page or await self._pages.answer(request, destination.target.segments)

    def _to_bank(
        self, request: Request, segments: tuple[str, ...], query: tuple[tuple[str, str], ...], outcome: Outcome
    ) -> BankRequest:
        """The request as one that a bank is to answer. Raises BankError for one that is for none of them."""
        bank = outcome.bank = self.banks.choose(request)
        lookup = bank.find(request.method, segments)
        mode = "simulate" if outcome.simulated else bank.real.mode_of(lookup.segments)
        outcome.personal = outcome.simulated or mode in ("record", "compare") or bank.replays_personal
        if not lookup.is_known and self.banks.is_for_nobody(request, bank):
            raise self.banks.stranger(request)
        if mode in ("record", "compare") and self._prefer and request.headers.get(PREFER) is not None:
            outcome.ignored = f"{PREFER} means nothing in mode {mode}: what goes to a bank is left as it is"
        path = Target(lookup.segments, query)
        return BankRequest(request, len(segments), path, bank, lookup, mode, outcome.session, self.public_url)

    def _say(self, error: BankError, request: Request, outcome: Outcome) -> Response:
        """The error in the bank's words, or the front page where nothing is found at the sandbox's own address."""
        if page := self._page_instead(error.name, request, outcome):
            outcome.journaled = outcome.personal = False
            return page
        outcome.error = error.name
        if outcome.rule is None or error.name in _OWN_ERRORS:
            outcome.source, outcome.rule = "sandbox", None
        if error.name in _OWN_ERRORS:
            outcome.amending = ()
        if header_mistake(request.headers):
            request = replace(request, headers=Headers(pair for pair in request.headers if is_field_value(pair[1])))
        call = outcome.call or self._stateless(request, split_target(request.target), outcome.session)
        if not outcome.in_browser:
            response = outcome.bank.say(error, call)
            if not response.body:
                outcome.reason = outcome.bank.reason(error, call.operation)
            return outcome.bank.amend(response, call, outcome)
        outcome.reason = outcome.bank.reason(error, call.operation)
        return outcome.bank.show(error, call)

    def _page_instead(self, error: str | None, request: Request, outcome: Outcome) -> Response | None:
        """The front page, its icon, or a way back from a page that is missing, unless the bank has something there."""
        if error not in ("path-unknown", "not-recorded") or outcome.simulated:
            return None
        path = split_target(request.target).segments
        if not path:
            return self._front(request)
        match session_name(request, path)[1]:
            case ("favicon.ico",) if self._is_looked_at(request):
                return icon()
            case (first, *_) if first == ROOT and self._is_looked_at(request) and asks_for_html(request):
                return show(Page("nowhere", {"path": request.target.partition("?")[0][:200]}), 404)
        return None

    def _front(self, request: Request) -> Response | None:
        return self._front_page.answer(request) if self._front_page and self._is_looked_at(request) else None

    def _is_looked_at(self, request: Request) -> bool:
        """Whether somebody looks at the sandbox's own address; never through the proxy or the TLS door."""
        is_read = request.method in ("GET", "HEAD") and request.door == "direct"
        return self._front_page is not None and is_read and self.guard.is_ours(request.host)

    def faults_of(self, to_bank: BankRequest, outcome: Outcome) -> DueFaults:
        return DueFaults(to_bank, outcome, prefers=self._prefer, is_distant=self._is_shared)

    async def commit[R](
        self,
        request: Request,
        target: Target,
        outcome: Outcome,
        work: Callable[[Call], R],
        take: Callable[[Call], None] | None = None,
    ) -> R:
        """The result of `work`, once all that it has written is kept. Raises BankError.

        What `take` writes before is kept whatever becomes of the work.
        """
        # Nobody sees what a HEAD for a page would change.
        reads_page = request.method == "HEAD" and target.segments[:1] == (pages.PAGES,)

        tries = 0

        def attempt(documents: Documents) -> R:
            outcome.source, outcome.rule, outcome.error, outcome.delay = "sandbox", None, None, 0.0
            call = outcome.call = self.begin(request, target, outcome, documents, take)
            if outcome.is_watched:
                call.clock = WatchedClock.of(call.clock)
            nonlocal tries
            tries += 1
            try:
                response = work(call)
            except BankError as error:
                if error.keep:
                    self._keep(call.state)
                raise
            if not reads_page:
                self._keep(call.state)
            return response

        try:
            try:
                return await kept(self.store, attempt, _reader(request, target, outcome.session))
            finally:
                if tries > 1:
                    self.metrics.counters["commits_retried"] += tries - 1
        except StoreUnavailable as error:
            self.metrics.counters["state_failures"] += 1
            outcome.call, outcome.delay = None, 0.0
            outcome.reason = f"{self.interface.errors['busy'].code()}: the state cannot be used: {error}"
            raise BankError("busy") from None

    def _keep(self, state: Transaction) -> None:
        if self._is_shared or not state.is_changed:  # what is elsewhere is sent afterwards
            keep(state)
            return
        started = time.perf_counter()
        keep(state)
        self.metrics.committed(time.perf_counter() - started)

    def begin(
        self,
        request: Request,
        target: Target,
        outcome: Outcome,
        documents: Documents,
        take: Callable[[Call], None] | None = None,
    ) -> Call:
        """The call, with a transaction of its own, after all that was due has happened. Raises StoreUnavailable."""
        call = self._call(request, target, outcome, documents)
        timeline.run(call)
        if take:
            take(call)
        if call.state.is_changed:
            # It has happened whatever becomes of this request, and is not to happen again for the next one.
            keep(call.state)
            call = self._call(request, target, outcome, documents)
        return call

    def _call(self, request: Request, target: Target, outcome: Outcome, documents: Documents) -> Call:
        testdata, clock = self.testdata, self._clock
        started = None if self._is_shared else self._started
        state = Transaction(
            documents,
            outcome.session,
            lambda transaction: testdata.at(anchor(transaction, started, clock)),
            timeline.note,
        )
        session = Session.from_name(outcome.session, self.public_url)
        own_checks = session_checks(state)
        call = Call(
            request,
            target,
            session,
            session_clock(state, clock),
            state,
            static=self._static,
            sca=outcome.bank.sca_options,
            checks=Checks.of(*own_checks) if own_checks else outcome.bank.checks,
        )
        outcome.warnings = call.warnings
        return call

    def _stateless(self, request: Request, target: Target, session: str = DEFAULT) -> Call:
        """A call for errors that must be sayable while the store is not there."""
        return Call(request, target, Session.from_name(session, self.public_url), self._clock, _NOTHING)

    def _page(self, outcome: Outcome, call: Call) -> Response | None:
        if (answer := outcome.bank.by_rule(call, outcome)) or outcome.rule:
            return answer
        page = pages.serve(call, call.sca, outcome.bank.words(call))
        if isinstance(page, Response):
            return page
        if page.error is None:
            return show(page)
        outcome.reason = outcome.bank.reason(page.error)
        return show(page, self.interface.errors[page.error.name].status())

    def _failed(self, request: Request, outcome: Outcome, failure: Exception) -> Response:
        """The answer to a request on which the sandbox failed; its log says how."""
        outcome.delay, outcome.reason = 0.0, self._failure(failure, outcome.rule)
        error = BankError("internal", reason="the sandbox failed on this request, its log says why")
        outcome.source, outcome.rule, outcome.error, outcome.amending = "sandbox", None, error.name, ()
        try:
            return outcome.bank.say(error, self._stateless(request, split_target(request.target)))
        except Exception:
            # Whatever in the request broke the answer: it has no part in this one.
            return outcome.bank.say(error, self._stateless(Request(request.method, "/"), split_target("/")))

    def status(self) -> dict[str, Any]:
        passage = self.passage
        report = passage.comparing.report if passage.comparing else None
        return status(self.files, self.banks, passage.recording, report, self._clock)

    async def all_metrics(self) -> Metrics:
        """The metrics of all processes that are this sandbox."""
        if self._peers is None:
            return self._counted()
        return Metrics.total(part for part in await self._peers.gather(METRICS) if part)

    def _counted(self) -> Metrics:
        for name, count in self.passage.counts().items():
            self.metrics.counters[name] = count
        return self.metrics

    def begin_anew(self, session: str | None) -> None:
        if session in (None, DEFAULT):
            self._started = self._clock.today()
            self._kept = self._kept_answers(self.banks)
            if self._peers:
                self._peers.tell(BEGIN_ANEW, self._started)

    def _begin_on(self, day: date) -> None:
        self._started = day
        self._kept = self._kept_answers(self.banks)


def _reader(request: Request, target: Target, session: str) -> Reader:
    """The request as one of a kind: of its ids some stand in the path, one in a header field."""
    segments = target.segments
    return Reader(
        session,
        (request.method, len(segments), segments[:2]),
        (*segments[2:], request.headers.first.get("consent-id", "")),
    )
