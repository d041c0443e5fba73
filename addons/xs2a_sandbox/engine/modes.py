"""The modes: one function for each way in which a request that is a bank's to answer comes to its answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from xs2a_sandbox.bank import Bank, Outcome
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.compare.comparison import SAFE_METHODS
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.kinds import Mode
from xs2a_sandbox.config.real_bank import BankDestination
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.target import Target, cut_target

if TYPE_CHECKING:
    from xs2a_sandbox.engine import Engine


class BankRequest(NamedTuple):
    """A request that a bank is to answer, ours or the real one. `target` is the part of its path that was found.

    Its path has `segments` without the session's prefix.

    `sandbox_url` is what the sandbox's absolute links begin with.
    """

    request: Request
    segments: int
    target: Target
    bank: Bank
    lookup: Lookup
    mode: Mode
    session: str
    sandbox_url: str

    @property
    def real(self) -> RealBank:
        """The real bank, at the host that the request names."""
        return self.bank.real.at(self.request)

    @property
    def destination(self) -> BankDestination:
        """The place at the real bank that it is for."""
        return self.real.destination(self.request, cut_target(self.request.target, self.segments)[1])

    @property
    def operation(self) -> str:
        return self.lookup.operation.id if self.lookup.operation else "unknown operation"

    @property
    def is_read(self) -> bool:
        return self.request.method in SAFE_METHODS


async def simulate(engine: "Engine", to_bank: BankRequest, outcome: Outcome) -> Response:
    """The cassettes' answer. Raises BankError."""
    bank, faults = to_bank.bank, engine.faults_of(to_bank, outcome)

    def work(call: Call) -> Response:
        response = bank.perform(faults.decide(call), call, outcome)
        faults.finish(call)
        return response

    return await engine.commit(to_bank.request, to_bank.target, outcome, work, faults.take)


async def spy(engine: "Engine", to_bank: BankRequest, outcome: Outcome) -> Response:
    """The cassettes' answer, or the real bank's where they have none. Raises BankError, Refused."""
    bank, faults = to_bank.bank, engine.faults_of(to_bank, outcome)

    def work(call: Call) -> Response | None:
        response = bank.perform_unless_real(faults.decide(call), call, outcome)
        faults.finish(call)
        return response

    answer = await engine.commit(to_bank.request, to_bank.target, outcome, work, faults.take)
    return answer or await _ask(engine, to_bank, outcome)


async def record(engine: "Engine", to_bank: BankRequest, outcome: Outcome) -> Response:
    """The real bank's answer, once it is written down. Raises BankError, Refused."""
    return await _ask(engine, to_bank, outcome)


async def compare(engine: "Engine", to_bank: BankRequest, outcome: Outcome) -> Response:
    """One side's answer, while the other side is asked the same beside it. Raises BankError, Refused."""
    turn = await engine.passage.compare(to_bank, engine.twin(to_bank.bank), engine.guard)
    outcome.beside = turn.beside
    if turn.response is None:
        return await engine.simulate(turn.request, outcome)
    outcome.source = "bank"
    return turn.response


async def _ask(engine: "Engine", to_bank: BankRequest, outcome: Outcome) -> Response:
    outcome.source, outcome.personal = "bank", True
    return await engine.passage.ask(to_bank, engine.guard)


ANSWERS: Mapping[Mode, Callable[["Engine", BankRequest, Outcome], Awaitable[Response]]] = {
    "simulate": simulate,
    "spy": spy,
    "record": record,
    "compare": compare,
}
