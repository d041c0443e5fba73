"""Both sides while the sandbox serves: one answers the app, the other is asked beside it, and what differs is told."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from xs2a_sandbox.compare.comparison import Compared, Comparison, Source
from xs2a_sandbox.compare.identifiers import Counterparts, identifiers_in, names_in
from xs2a_sandbox.compare.loaded_answer import Ask
from xs2a_sandbox.compare.masking import Ignoring
from xs2a_sandbox.compare.payment_user import links as links_of
from xs2a_sandbox.compare.reports.live import SPARED, LiveReport
from xs2a_sandbox.compare.reports.report import printable
from xs2a_sandbox.compare.states import BankStates, Move, ToldState, Twin
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.engine.modes import BankRequest
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http.body import decode
from xs2a_sandbox.http.target import client_url, cut_target
from xs2a_sandbox.upstream import links

if TYPE_CHECKING:
    from xs2a_sandbox.bank import Bank
    from xs2a_sandbox.redaction.real_values import Restorer

log = logging.getLogger("xs2a_sandbox")

Send = Callable[[RealBank, Request, str], Awaitable[Response]]
"""Asks a real bank for a target below its URL. Raises BankError."""

UNDER_WAY = 20
"""Comparisons at the same time, those that wait for their turn included."""
GRACE = 5.0
"""Seconds that comparisons are waited for at the end."""

_JOURNEYS = 200
_ONE_SIDED = 10_000


@dataclass(frozen=True, slots=True)
class Turn:
    """The side that answers the app: the bank with `response`; without one the sandbox, which is asked `request`.

    `beside` is to be told the sandbox's answer, and returns at once.
    """

    request: Request
    response: Response | None = None
    beside: Callable[[Response], None] | None = None


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer that the app got, and how both sides are asked; `request` has the target at the real bank.

    `moves`: how often the sandbox had kept step with the bank by then.
    """

    to_bank: BankRequest
    journey: "_Journey"
    request: Request
    answer: Response
    source: Source
    sandbox: Twin
    bank: Ask
    moves: int

    def keep_write(self) -> None:
        """Remembers that the other side has not been asked to write the same."""
        if not self.to_bank.is_read:
            self.journey.keep(self.request, self.answer, self.source)


@dataclass(eq=False, repr=False)
class LiveComparison:
    """Comparisons of one session wait for each other: what the sides call a thing is learned before it is named."""

    report: LiveReport
    ignoring: Ignoring
    _: KW_ONLY
    answer_from: Source
    allow_writes: bool
    noise_reads: int
    restorer: "Restorer | None" = None

    def __post_init__(self) -> None:
        self._comparisons: WeakKeyDictionary[Bank, dict[str, Comparison]] = WeakKeyDictionary()
        self._journeys: dict[tuple[str, str], _Journey] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # One thread, so that whoever answers the app competes with no more than that.
        self._worker = ThreadPoolExecutor(1, "comparing")

    def is_answered_by_bank(self, to_bank: BankRequest) -> bool:
        return self.answer_from == "bank" and (self.allow_writes or to_bank.is_read)

    def counterparts(self, to_bank: BankRequest) -> tuple[Counterparts, BankStates]:
        """What the two sides call things in the session of a request, and the states that they are in."""
        journey = self._journey(to_bank)
        return journey.counterparts, journey.states

    def spare(self, to_bank: BankRequest, why: str) -> Turn:
        """The sandbox answers, and the bank is not asked."""
        journey, plain = self._journey(to_bank), replace(to_bank.request, target=to_bank.destination.target)

        def beside(answer: Response) -> None:
            self.report.skip(why, to_bank.operation)
            if not to_bank.is_read and answer.rest is None:
                journey.keep(plain, answer, "sandbox")

        return Turn(to_bank.request, beside=beside)

    async def turn(self, to_bank: BankRequest, send: Send, twin: Twin) -> Turn:
        """Raises BankError for a write whose answer did not come: the bank may have acted on it."""
        real, request = to_bank.real, to_bank.request
        destination = to_bank.destination
        before, _ = cut_target(request.target, destination.segments)
        plain = replace(request, target=destination.target)
        journey = self._journey(to_bank)

        # A redacted recording that answers has given the app pseudonyms, which the bank does not know.
        restorer = self.restorer if to_bank.bank.replays_personal else None

        async def bank(request: Request) -> Response:
            if restorer:
                request = restorer.request(request)
            return await send(real, request, destination.with_target(request.target).sent)

        async def sandbox(request: Request) -> Response:
            answer = await twin.ask(replace(request, target=before + request.target))
            return restorer.answer(answer) if restorer else answer

        async def follow(request: Request, state: ToldState) -> Move | None:
            return await twin.follow(replace(request, target=before + request.target), state)

        def begin(answer: Response, source: Source) -> None:
            if restorer and source == "sandbox" and answer.rest is None:
                answer = restorer.answer(answer)
            self._begin(
                _Answered(to_bank, journey, plain, answer, source, Twin(sandbox, follow), bank, journey.states.moves)
            )

        if not self.is_answered_by_bank(to_bank) or journey.side_of(plain) == "sandbox":
            return Turn(request, beside=lambda answer: begin(answer, "sandbox"))
        try:
            raw = await bank(plain)
        except BankError as error:
            failed = Compared.failed(to_bank.operation, to_bank.operation, error)
            self.report.add(failed, self.report.show(failed))
            if not to_bank.is_read:
                raise
            renamed = journey.counterparts.to_right(plain)
            return Turn(replace(renamed, target=before + renamed.target))
        begin(raw, "bank")
        if real.rewrite_links:
            return Turn(request, links.rewrite(raw, destination.url, client_url(request, destination.segments)))
        return Turn(request, raw)

    async def close(self) -> None:
        """Waits a little for what is under way, and gives up the rest."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE)
        late = list(self._tasks)
        for task in late:
            task.cancel()
            self.report.skip("still under way at the end")
        await asyncio.gather(*late, return_exceptions=True)
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _begin(self, answered: _Answered) -> None:
        to_bank, answer = answered.to_bank, answered.answer
        if answered.source == "sandbox" and not (self.allow_writes or to_bank.is_read):
            why = SPARED
        elif answer.fault:
            why = "the sandbox broke the connection, as it was told to"
        elif answer.rest is not None:
            why = "too large"
        elif len(self._tasks) >= UNDER_WAY:
            why = f"{UNDER_WAY} others were under way"
        else:
            task = asyncio.create_task(self._compare(answered))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        self.report.skip(why, to_bank.operation)
        if answer.rest is None:
            answered.keep_write()

    async def _compare(self, answered: _Answered) -> None:
        to_bank, journey = answered.to_bank, answered.journey
        try:
            async with journey.lock:
                if journey.side_of(answered.request):
                    self.report.skip("about what only one side has", to_bank.operation)
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
                if answered.source == "sandbox" and compared.bank and (link := next(links_of(compared.bank), None)):
                    self.report.say(f"at the bank the payment user decides at {printable(link)}")
                loop = asyncio.get_running_loop()
                self.report.add(compared, await loop.run_in_executor(self._worker, self.report.show, compared))
        except Exception:
            log.exception("a comparison failed", extra={"request": answered.request})
            self.report.skip("the sandbox failed at it, its log says why", to_bank.operation)

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

    def _journey(self, to_bank: BankRequest) -> "_Journey":
        url = to_bank.real.url or ""
        key = url, to_bank.session
        if key not in self._journeys:
            if len(self._journeys) >= _JOURNEYS:
                del self._journeys[next(iter(self._journeys))]
            self._journeys[key] = _Journey(Counterparts(url, to_bank.sandbox_url))
        return self._journeys[key]


class _Journey:
    """One session at one bank: what its two sides call things, and what only one of them has."""

    def __init__(self, counterparts: Counterparts) -> None:
        self.counterparts = counterparts
        self.states = BankStates()
        self.lock = asyncio.Lock()
        self._one_sided: dict[str, Source] = {}

    def keep(self, request: Request, answer: Response, source: Source) -> None:
        """Remembers that what this write has made is there on one side only."""
        body = decode(Headers(answer.headers), answer.body)
        named = set(names_in(request))
        for identifier in identifiers_in(content.read(body or b"").value):
            if identifier not in named:
                if len(self._one_sided) >= _ONE_SIDED:
                    del self._one_sided[next(iter(self._one_sided))]
                self._one_sided[identifier] = source

    def side_of(self, request: Request) -> Source | None:
        """The only side that has what the request names, if there is only one."""
        if not self._one_sided:
            return None
        return next((self._one_sided[name] for name in names_in(request) if name in self._one_sided), None)


async def _nobody(request: Request) -> Response:
    raise ValueError("a comparison of its own journey asks")
