"""Makes answers from errors that are raised outside of a bank, in the words of the bank that is meant."""

import logging
from dataclasses import dataclass

from msgspec import structs

from xs2a_sandbox.bank import Answer, Bank
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.engine.transactions import Transactions
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.messages import OwnRefusal, header_mistake, is_field_value, refusal
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.journal import reason as reasons

log = logging.getLogger("xs2a_sandbox")


@dataclass(frozen=True, slots=True)
class Refusals:
    """`default` is the bank whose words are used if no bank is meant."""

    default: Bank
    transactions: Transactions

    def answer(
        self, route: Route, error: BankError | Refused, rule: str | None = None, call: Call | None = None
    ) -> Answer:
        """Return the error as an answer.

        `rule` has left the request to a real bank. `call` was created for the request.
        """
        request = route.request
        if isinstance(error, Refused):
            own = refusal(error.status, "SERVICE_BLOCKED", "XS2A987E", str(error))
            answer = Answer(self.say(own, request), error=error.error, call=call)
            return (
                structs.replace(answer, warnings=call.warnings, objections=route.bank.objections(call))
                if call
                else answer
            )
        if header_mistake(request.headers):
            sound = Headers(pair for pair in request.headers if is_field_value(pair[1]))
            request = structs.replace(request, headers=sound)
        call = call or self.transactions.stateless(request, split_target(request.target), route.session)
        answer = route.bank.refuse(error, call, "bank", rule, in_browser=route.is_in_browser)
        if isinstance(error.__cause__, StoreUnavailable):
            code = self.default.interface.errors["busy"].code()
            return structs.replace(answer, reason=f"{code}: the state cannot be used: {error.__cause__}")
        return answer

    def say(self, response: OwnRefusal, request: Request) -> Response:
        """Return the response in the words of the default bank, because the bank that was meant may be unknown."""
        try:
            call = self.transactions.stateless(request, split_target(request.target))
            return self.default.say_refusal(response, call)
        except Exception:
            log.exception("the dialect cannot produce this error response", extra={"request": request})
            return response

    def failure(self, route: Route, failure: Exception) -> Answer:
        """Return the answer for a request on which the sandbox failed. The log has the details."""
        error = BankError("internal", reason="the sandbox failed on this request; see its log")
        target = split_target(route.request.target)
        try:
            response = route.bank.say(error, self.transactions.stateless(route.request, target))
        except Exception:
            # Leave everything of the request out, because something in it broke the answer.
            plain = Request(route.request.method, "/")
            response = route.bank.say(error, self.transactions.stateless(plain, split_target("/")))
        return Answer(response, error=error.name, reason=self.reason(failure), failure=failure)

    def reason(self, failure: BaseException) -> str:
        """Return the failure in a few words, for the log."""
        where = "".join(f", {note}" for note in getattr(failure, "__notes__", ()))
        return f"{self.default.interface.errors['internal'].code()}: {reasons.of_failure(failure)}{where}"
