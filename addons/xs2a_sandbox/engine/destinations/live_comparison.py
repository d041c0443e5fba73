"""Compares both sides while the sandbox serves: one answers the app, the other is asked, too.

Differences are reported.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec import structs

from xs2a_sandbox.compare.comparison import Compared, Comparison, Source
from xs2a_sandbox.compare.loaded_answer import Ask
from xs2a_sandbox.compare.masking import Ignoring
from xs2a_sandbox.compare.payment_user import links as links_of
from xs2a_sandbox.compare.reports.live import SPARED, LiveReport
from xs2a_sandbox.compare.reports.report import make_printable
from xs2a_sandbox.compare.states import Move, ReportedState, SandboxSide
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.engine.destinations.journeys import Journey, Journeys, QueuePlace
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.target import client_url, cut_target
from xs2a_sandbox.journal.outcome import Outcome
from xs2a_sandbox.upstream import links

if TYPE_CHECKING:
    from xs2a_sandbox.bank import Bank
    from xs2a_sandbox.redaction.real_values import Depseudonymizer

log = logging.getLogger("xs2a_sandbox")

Send = Callable[[RealBank, Request, str], Awaitable[Response]]
"""Sends a request for a target below a real bank's URL. Raises BankError."""

UNDER_WAY = 20
"""The most running and waiting comparisons. If there are so many, reads are not compared."""
WRITES_UNDER_WAY = 200
"""The same limit for writes. It is higher, because the sides diverge if only one of them gets a write."""
GRACE = 5.0
"""Seconds to wait for comparisons at shutdown."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Says which side answers the app. If there is a `response`, it is the bank's, and the app gets it.

    Otherwise the sandbox answers `request`. If there is a `beside`, the caller then passes it the sandbox's answer
    before the app gets it; it returns soon. `outcome` gets the verdict.
    """

    request: Request
    response: Response | None = None
    beside: Callable[[Response], Awaitable[None]] | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer that the app got, and how to ask both sides; `request` has the target at the real bank.

    `moves` is the number of state changes that the sandbox had copied from the bank by then.
    """

    to_bank: BankRequest
    journey: Journey
    request: Request
    answer: Response
    source: Source
    sandbox: SandboxSide
    bank: Ask
    moves: int
    outcome: Outcome

    def keep_write(self) -> None:
        """Remember that the other side did not get this write."""
        if not self.to_bank.is_read:
            self.journey.keep(self.request, self.answer, self.source)


@dataclass(eq=False, repr=False)
class LiveComparison:
    """Compares the answers to apps, in one journey for each session at each bank."""

    report: LiveReport
    ignoring: Ignoring
    _: KW_ONLY
    answer_from: Source
    allow_writes: bool
    noise_reads: int
    journeys: Journeys
    restorer: "Depseudonymizer | None" = None

    def __post_init__(self) -> None:
        self._comparisons: WeakKeyDictionary[Bank, dict[str, Comparison]] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        # A single thread, so that comparing takes little time from answering.
        self._worker = ThreadPoolExecutor(1, "comparing")

    def is_answered_by_bank(self, to_bank: BankRequest) -> bool:
        return self.answer_from == "bank" and (self.allow_writes or to_bank.is_read)

    async def spare(self, to_bank: BankRequest, why: str) -> Turn:
        """Let the sandbox answer, without asking the bank."""
        journey = await self.journeys.of(to_bank)
        plain = structs.replace(to_bank.request, target=to_bank.destination.target)

        async def beside(answer: Response) -> None:
            self.report.skip(why, to_bank.operation)
            if not to_bank.is_read and answer.rest is None:
                journey.keep(plain, answer, "sandbox")
                await self.journeys.share(journey)

        return Turn(to_bank.request, beside=beside)

    async def turn(self, to_bank: BankRequest, send: Send, twin: SandboxSide) -> Turn:
        """Decide which side answers.

        Raises BankError if the answer to a write is lost: the bank may have acted on it.
        """
        real, request = to_bank.real, to_bank.request
        destination = to_bank.destination
        before, _ = cut_target(request.target, destination.segments)
        plain = structs.replace(request, target=destination.target)
        journey = await self.journeys.of(to_bank)

        # A redacted recording has given the app pseudonyms, which the bank does not know.
        restorer = self.restorer if to_bank.bank.replays_personal else None

        async def bank(request: Request) -> Response:
            if restorer:
                request = restorer.request(request)
            return await send(real, request, destination.with_target(request.target).sent)

        async def sandbox(request: Request) -> Response:
            answer = await twin.ask(structs.replace(request, target=before + request.target))
            return restorer.answer(answer) if restorer else answer

        async def follow(request: Request, state: ReportedState) -> Move | None:
            return await twin.follow(structs.replace(request, target=before + request.target), state)

        outcome = Outcome()

        async def begin(answer: Response, source: Source) -> None:
            if restorer and source == "sandbox" and answer.rest is None:
                answer = restorer.answer(answer)
            await self._begin(
                _Answered(
                    to_bank,
                    journey,
                    plain,
                    answer,
                    source,
                    SandboxSide(sandbox, follow),
                    bank,
                    journey.states.moves,
                    outcome,
                )
            )

        if not self.is_answered_by_bank(to_bank) or journey.side_of(plain) == "sandbox":
            return Turn(request, beside=lambda answer: begin(answer, "sandbox"), outcome=outcome)
        try:
            raw = await bank(plain)
        except BankError as error:
            failed = Compared.from_failure(to_bank.operation, to_bank.operation, error)
            self.report.add(failed, self.report.show(failed))
            if not to_bank.is_read:
                raise
            renamed = journey.counterparts.to_right(plain)
            return Turn(structs.replace(renamed, target=before + renamed.target))
        await begin(raw, "bank")
        if real.rewrite_links:
            return Turn(
                request, links.rewrite(raw, destination.url, client_url(request, destination.segments)), outcome=outcome
            )
        return Turn(request, raw, outcome=outcome)

    async def close(self) -> None:
        """Wait a short time for running comparisons, and cancel the rest."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE)
        late = list(self._tasks)
        for task in late:
            task.cancel()
            self.report.skip("not finished at the end")
        await asyncio.gather(*late, return_exceptions=True)
        await self.journeys.close()
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def _begin(self, answered: _Answered) -> None:
        to_bank, answer, journey = answered.to_bank, answered.answer, answered.journey
        most = UNDER_WAY if to_bank.is_read else WRITES_UNDER_WAY
        if answered.source == "sandbox" and not (self.allow_writes or to_bank.is_read):
            why = SPARED
        elif answer.fault:
            why = "the sandbox broke the connection, because a fault or rule says so"
        elif answer.rest is not None:
            why = "too large"
        elif len(self._tasks) >= most:
            why = f"{most} other comparisons were running"
        else:
            try:
                place = await self.journeys.queue(journey)
            except StoreUnavailable as error:
                why = f"the state cannot be used: {error}"
            else:
                task = asyncio.create_task(self._compare(answered, place))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                return
        self.report.skip(why, to_bank.operation)
        if answer.rest is None:
            answered.keep_write()
            await self.journeys.share(journey)

    async def _compare(self, answered: _Answered, place: QueuePlace) -> None:
        to_bank, journey = answered.to_bank, answered.journey
        try:
            async with self.journeys.turn(journey, place):
                if journey.side_of(answered.request):
                    self.report.skip("about a resource that only one side has", to_bank.operation)
                    answered.keep_write()
                    return
                comparison = self._comparison(to_bank).on_journey(
                    journey.counterparts, journey.states, answered.sandbox, answered.bank
                )
                compared = await comparison.beside(
                    answered.request, answered.answer, answered.source, self._worker, answered.moves
                )
                if compared and compared.trouble:
                    answered.keep_write()
            if compared:
                answered.outcome.settle(compared.verdict)
                if (
                    answered.source == "sandbox"
                    and compared.bank
                    and (link := next(links_of(compared.bank, to_bank.bank.interface.things), None))
                ):
                    self.report.say(f"at the bank the payment user decides at {make_printable(link)}")
                loop = asyncio.get_running_loop()
                self.report.add(compared, await loop.run_in_executor(self._worker, self.report.show, compared))
        except Exception:
            log.exception("a comparison failed", extra={"request": answered.request})
            self.report.skip("the sandbox failed on it; see its log", to_bank.operation)

    def _comparison(self, to_bank: BankRequest) -> Comparison:
        bank, url = to_bank.bank, to_bank.real.url or ""
        by_url = self._comparisons.setdefault(bank, {})
        if url not in by_url:
            by_url[url] = Comparison(
                bank.interface,
                bank.schemas,
                _nobody,
                None,
                bank_url=url,
                sandbox_url=to_bank.sandbox_url,
                redact=self.report.redact,
                ignoring=self.ignoring,
                noise_reads=self.noise_reads,
                allow_writes=self.allow_writes,
            )
        return by_url[url]


async def _nobody(request: Request) -> Response:
    raise ValueError("a live comparison sends no requests of its own to the bank")
