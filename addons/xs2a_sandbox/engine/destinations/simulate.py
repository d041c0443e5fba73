"""Mode simulate: the cassettes answer. Mode spy: the real bank answers what the cassettes do not."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from msgspec import structs

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.bank.expiry import find_consent_id
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.decide import Decision
from xs2a_sandbox.cassette.things import SentMessage
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.engine import egress_policy
from xs2a_sandbox.engine.attempt import attempt, reply_to
from xs2a_sandbox.engine.egress import Egress
from xs2a_sandbox.engine.faults import DueFaults
from xs2a_sandbox.engine.refusals import Refusals
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.engine.transactions import Transactions
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.explain.explanation import Explanation, explain
from xs2a_sandbox.state import Documents


class LeftToBank(NamedTuple):
    """The real bank has to answer, because no rule matches or because the `rule` leaves it to the bank."""

    rule: str | None
    call: Call


class Decided(NamedTuple):
    """A decision about a request, before it is carried out, with its explanation."""

    explanation: Explanation
    decision: Decision
    call: Call


@dataclass(frozen=True, slots=True)
class Simulate:
    """Without `prefers` the header X-Sandbox-Prefer is ignored."""

    transactions: Transactions
    prefers: bool

    def answer(self, route: Route) -> Coroutine[Any, Any, Answer]:
        """Answer the request. Raises BankError if the state is unavailable."""
        return self._run(route, partial(_perform, route))

    async def answer_unless_real(self, route: Route) -> Answer | LeftToBank:
        """Return the cassettes' answer if they have one. Raises the same errors as `answer`."""

        def perform(faults: DueFaults, decision: Decision, call: Call) -> Answer | LeftToBank:
            if not decision.is_left_to_bank:
                return _perform(route, faults, decision, call)
            faults.finish(call)
            return LeftToBank(decision.rule.id if decision.rule else None, call)

        return await self._run(route, perform)

    def _run[R](
        self, route: Route, perform: Callable[[DueFaults, Decision, Call], R]
    ) -> Coroutine[Any, Any, R | Answer]:
        faults, request = self._faults(route), route.request
        work, target, is_read = partial(_decide, route, faults, perform), faults.to_bank.target, faults.to_bank.is_read
        return self.transactions.run(request, target, route.session, route.bank, work, faults.take, is_read=is_read)

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Explain the answer. Raises BankError, StoreUnavailable."""
        explanation, decision, call = self.decide(route, documents)
        return attempt(route.bank, explanation, decision, call, in_browser=route.is_in_browser)

    def decide(self, route: Route, documents: Documents) -> Decided:
        """Decide how to answer the request. Raises BankError, StoreUnavailable."""
        bank, target = route.bank, route.bank_request.target
        call = self.transactions.begin(route.request, target, route.session, bank, documents)
        faults = self._faults(route)
        faults.look(call)
        decision = faults.decide(call)
        interface, lookup = faults.to_bank.bank.interface, faults.to_bank.lookup
        explanation = explain(interface, bank.schemas, lookup, call, decision)
        return Decided(replace(explanation, consent=_find_consent_id(faults, call)), decision, call)

    def _faults(self, route: Route) -> DueFaults:
        return DueFaults(route.bank_request, prefers=self.prefers, is_distant=self.transactions.is_shared)


def _find_consent_id(faults: DueFaults, decided: Call) -> str | None:
    bank, lookup = faults.to_bank.bank, faults.to_bank.lookup
    # The decided call keeps the path of the rule that answers it.
    call = decided.with_request(decided.request, faults.to_bank.target._replace(segments=lookup.segments))
    bank.prepare(call, lookup)
    try:
        return find_consent_id(call, SentMessage(call.request, call.path))
    except BankError:
        return None


@dataclass(frozen=True, slots=True)
class Spy:
    """Returns the cassettes' answer, or that of the real bank if they have none."""

    simulate: Simulate
    egress: Egress
    guard: Guard
    refusals: Refusals

    async def answer(self, route: Route) -> Answer:
        """Answer the request. Raises BankError."""
        answer = await self.simulate.answer_unless_real(route)
        if isinstance(answer, Answer):
            return answer
        rule, call = answer
        try:
            response = await self.egress.ask(route.bank_request, self.guard)
        except (BankError, Refused) as error:
            return structs.replace(self.refusals.answer(route, error, rule, call), is_personal=True)
        objections = route.bank.objections(call)
        return Answer(
            response, "bank", rule, warnings=call.warnings, objections=objections, call=call, is_personal=True
        )

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Explain the answer. Raises BankError, StoreUnavailable."""
        explanation, decision, call = self.simulate.decide(route, documents)
        if not decision.is_left_to_bank:
            return attempt(route.bank, explanation, decision, call, in_browser=route.is_in_browser)
        try:
            egress_policy.check(route.bank_request, self.guard)
        except (BankError, Refused) as error:
            return explain_kept_back(explanation, error, route, call)
        return explain_asked(explanation, route)


def explain_asked(explanation: Explanation, route: Route) -> Explanation:
    """Return the explanation, extended by the fact that the real bank is asked."""
    to_bank = route.bank_request
    text = f"the bank {to_bank.real.url} is asked (mode {to_bank.mode})"
    return replace(explanation, message=f"{explanation.message}; {text}")


def explain_kept_back(explanation: Explanation, error: BankError | Refused, route: Route, call: Call) -> Explanation:
    """Return the explanation, extended by the reason why the real bank must not be asked."""
    text = error.values["hint"] if isinstance(error, BankError) else str(error)
    reply = reply_to(error, route.bank, call.operation)
    return replace(explanation, message=f"{explanation.message}; {text}", reply=reply)


def _decide[R](
    route: Route, faults: DueFaults, perform: Callable[[DueFaults, Decision, Call], R], call: Call
) -> R | Answer:
    try:
        decision = faults.decide(call)
    except BankError as error:
        return route.bank.refuse(error, call, in_browser=route.is_in_browser)
    return perform(faults, decision, call)


def _perform(route: Route, faults: DueFaults, decision: Decision, call: Call) -> Answer:
    answer = route.bank.answer(decision, call, in_browser=route.is_in_browser)
    if answer.refusal is None:
        faults.finish(call)
    return structs.replace(answer, is_repeatable=False) if faults.counts else answer
