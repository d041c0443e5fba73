"""Mode compare: one side answers the app, and the same request goes to the other side."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from xs2a_sandbox.bank import Answer, Banks, following
from xs2a_sandbox.compare.comparison import Compared, Source
from xs2a_sandbox.compare.states import Move, ReportedState, SandboxSide
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.engine import egress_policy
from xs2a_sandbox.engine.attempt import attempt
from xs2a_sandbox.engine.destinations import single_comparison
from xs2a_sandbox.engine.destinations.live_comparison import LiveComparison, Turn
from xs2a_sandbox.engine.destinations.simulate import Simulate, explain_asked, explain_kept_back
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.engine.route import BankRequest, Route
from xs2a_sandbox.engine.transactions import Transactions
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.explain.explanation import Explanation
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.target import Target, split_target
from xs2a_sandbox.state import Documents
from xs2a_sandbox.state.session import session_name

NOT_ITS_OWN = "for a host or port different from the bank's"
NOT_LET_OUT = "from a web page of another site, or with the admin token"


@dataclass(frozen=True, slots=True)
class SandboxTwin:
    """The sandbox as the other side of a real bank. `answer` simulates in every mode of the bank."""

    answer: Callable[[Request], Awaitable[Answer]]
    banks: Banks
    transactions: Transactions

    @property
    def twin(self) -> SandboxSide:
        return SandboxSide(self._ask, self.follow)

    async def _ask(self, request: Request) -> Response:
        response = (await self.answer(request)).response
        return response.without_body() if request.method == "HEAD" else response

    async def follow(self, request: Request, state: ReportedState) -> Move | None:
        """Apply a state change that a real bank reported to the request's session. Raises BankError."""
        bank, target = self.banks.choose(request), split_target(request.target)
        session, segments = session_name(request, target.segments)
        # The headers and body of the app's request have had their effect already.
        plain = structs.replace(request, headers=Headers(), body=b"")
        work = partial(following.follow, state=state)
        return await self.transactions.run(plain, Target(segments, target.query), session, bank, work)


@dataclass(frozen=True, slots=True)
class Compare:
    """If `comparing` is None, no bank is asked."""

    simulate: Simulate
    sandbox: SandboxTwin
    egress: Egress
    guard: Guard
    comparing: LiveComparison | None

    async def answer(self, route: Route) -> Answer:
        """Answer the request, and have it compared. Raises BankError, Refused."""
        turn = await self._turn(route.bank_request)
        if turn.response is None:
            answer = await self.sandbox.answer(turn.request)
            # The comparison needs the answer as it is, without a page of the sandbox instead of an error.
            return structs.replace(answer, beside=turn.beside, outcome=turn.outcome, refusal=None)
        return Answer(turn.response, "bank", beside=turn.beside, outcome=turn.outcome)

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Explain the answer. Raises BankError, StoreUnavailable."""
        explanation, decision, call = self.simulate.decide(route, documents)
        comparing, to_bank = self.comparing, route.bank_request
        try:
            if comparing and not _why_spared(comparing, to_bank, self.guard) and comparing.is_answered_by_bank(to_bank):
                return explain_asked(explanation, route)
        except (BankError, Refused) as error:
            return explain_kept_back(explanation, error, route, call)
        return attempt(route.bank, explanation, decision, call, in_browser=route.is_in_browser)

    async def _turn(self, to_bank: BankRequest) -> Turn:
        """Return which side answers. The sandbox does if the bank must not be asked.

        Raises BankError, Refused.
        """
        if self.comparing is None:
            return Turn(to_bank.request)
        if why := _why_spared(self.comparing, to_bank, self.guard):
            return await self.comparing.spare(to_bank, why)
        return await self.comparing.turn(to_bank, self.egress.send, self.sandbox.twin)

    async def compare_once(
        self, to_bank: BankRequest, answer: Response, source: Source, *, allow_writes: bool
    ) -> Compared:
        """Compare an exchange with the bank, in any mode that asks it. Raises BankError, Refused."""
        single_comparison.check(to_bank, allow_writes=allow_writes)
        egress_policy.check(to_bank, self.guard)
        ways = self.egress.send, self.sandbox.twin
        if self.comparing is None or to_bank.mode != "compare":
            return await single_comparison.compare(to_bank, answer, source, *ways)
        journeys = self.comparing.journeys
        journey = await journeys.of(to_bank)
        compared = await single_comparison.compare(to_bank, answer, source, *ways, journey)
        await journeys.share(journey)
        return compared


def _why_spared(comparing: LiveComparison, to_bank: BankRequest, guard: Guard) -> str | None:
    """Return the reason why the bank must not be asked, or None.

    Raises BankError, Refused if the sandbox does not answer either.
    """
    try:
        egress_policy.check(to_bank, guard)
    except (BankError, Refused) as error:
        is_elsewhere = isinstance(error, BankError)
        if comparing.is_answered_by_bank(to_bank) or (is_elsewhere and not to_bank.lookup.is_known):
            raise
        return NOT_ITS_OWN if is_elsewhere else NOT_LET_OUT
    return None
