"""Mode record, and hosts to forward to: the answer of a real server, as it is."""

from dataclasses import dataclass

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.engine import egress_policy
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.engine.transactions import Transactions
from xs2a_sandbox.explain.explanation import Explanation, own
from xs2a_sandbox.state import Documents


@dataclass(frozen=True, slots=True)
class Record:
    """The real bank's answer, once it is written down."""

    egress: Egress
    guard: Guard
    transactions: Transactions

    async def answer(self, route: Route) -> Answer:
        """Raises BankError, Refused."""
        return Answer(await self.egress.ask(route.bank_request, self.guard), "bank")

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Raises BankError, Refused."""
        to_bank = route.bank_request
        egress_policy.check(to_bank, self.guard)
        call = self.transactions.stateless(route.request, to_bank.target, route.session)
        return own(call, f"everything goes to the bank {to_bank.real.url} (mode record)")


@dataclass(frozen=True, slots=True)
class Forward:
    """The answer of the host that the request names; nothing of it is written down."""

    egress: Egress
    guard: Guard
    transactions: Transactions

    async def answer(self, route: Route) -> Answer:
        """Raises BankError, Refused."""
        return Answer(await self.egress.forward(route.request, self.guard), "bank")

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Raises BankError, Refused."""
        egress_policy.check_forwarding(route.request, self.guard)
        call = self.transactions.stateless(route.request, route.target, route.session)
        return own(call, f"{route.request.host} is a host to forward to (--forward-host)")
