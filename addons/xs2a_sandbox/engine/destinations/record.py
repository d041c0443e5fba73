"""Mode record, and hosts that requests are forwarded to: the answer of a real server is returned unchanged."""

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
    """Returns the real bank's answer after it has been recorded."""

    egress: Egress
    guard: Guard
    transactions: Transactions

    async def answer(self, route: Route) -> Answer:
        """Ask the bank. Raises BankError, Refused."""
        return Answer(await self.egress.ask(route.bank_request, self.guard), "bank")

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Explain the answer. Raises BankError, Refused."""
        to_bank = route.bank_request
        egress_policy.check(to_bank, self.guard)
        call = self.transactions.stateless(route.request, to_bank.target, route.session)
        return own(call, f"the bank {to_bank.real.url} gets every request (mode record)")


@dataclass(frozen=True, slots=True)
class Forward:
    """Returns the answer of the host in the request. Nothing is recorded."""

    egress: Egress
    guard: Guard
    transactions: Transactions

    async def answer(self, route: Route) -> Answer:
        """Ask the host. Raises BankError, Refused."""
        return Answer(await self.egress.forward(route.request, self.guard), "bank")

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Explain the answer. Raises BankError, Refused."""
        egress_policy.check_forwarding(route.request, self.guard)
        call = self.transactions.stateless(route.request, route.target, route.session)
        return own(call, f"requests to {route.request.host} are forwarded (--forward-host)")
