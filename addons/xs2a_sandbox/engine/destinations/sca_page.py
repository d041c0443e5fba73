"""The payment user's pages below `/sca/`. A rule may answer instead, or leave them to the real bank."""

from collections.abc import Callable
from dataclasses import dataclass

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.bank.sca_pages.html import show
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.engine.attempt import attempt
from xs2a_sandbox.engine.destinations.own import OWN_PAGE
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.engine.transactions import Transactions
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.explain.explanation import Explanation, explain, own
from xs2a_sandbox.http import Response
from xs2a_sandbox.state import Documents


@dataclass(frozen=True, slots=True)
class ScaPage:
    """`at_bank` returns the route of a page that is left to the real bank."""

    transactions: Transactions
    at_bank: Callable[[Route], Route]

    async def answer(self, route: Route) -> Answer:
        """Answer the request. Raises BankError, Refused."""
        bank, request = route.bank, route.request

        def work(call: Call) -> Answer | None:
            if lookup := bank.find_before_page(request.method, call.segments):
                decision = bank.decide(call, lookup)
                if not decision.is_left_to_bank:
                    return bank.answer(decision, call, in_browser=True)
                if decision.rule:
                    return None
            return _page(route, call)

        if answer := await self.transactions.run(request, route.target, route.session, bank, work):
            return answer
        route = self.at_bank(route)
        return await route.destination.answer(route)

    def explain(self, route: Route, documents: Documents) -> Explanation:
        """Explain the answer. Raises BankError, Refused, StoreUnavailable."""
        bank, request = route.bank, route.request
        call = self.transactions.begin(request, route.target, route.session, bank, documents)
        if lookup := bank.find_before_page(request.method, route.target.segments):
            decision = bank.decide(call, lookup)
            if not decision.is_left_to_bank:
                explanation = explain(bank.interface, bank.schemas, lookup, call, decision)
                return attempt(bank, explanation, decision, call, in_browser=True)
            if decision.rule:
                route = self.at_bank(route)
                return route.destination.explain(route, documents)
        return own(call, f"{OWN_PAGE}; only a rule for /sca/ comes first")


def _page(route: Route, call: Call) -> Answer:
    # Imported for the first page, because most runs show none.
    from xs2a_sandbox.bank.sca_pages import pages

    bank = route.bank
    try:
        page = pages.serve(call, bank.words(call))
    except BankError as error:
        return bank.refuse(error, call, in_browser=True)
    if call.request.method == "HEAD":
        # The explanation does not show state changes.
        call.state.discard()
    reason = None
    if isinstance(page, Response):
        response = page
    elif page.error is None:
        response = show(page)
    else:
        reason = bank.reason(page.error)
        response = show(page, bank.interface.errors[page.error.name].status())
    return Answer(response, reason=reason, warnings=call.warnings, objections=bank.objections(call), call=call)
