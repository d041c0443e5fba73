"""Explains a request: with the explanation of its destination, or the reason why it reaches none."""

from dataclasses import replace

from msgspec import structs

from xs2a_sandbox.engine.attempt import reply_to
from xs2a_sandbox.engine.destinations.own import OWN_PAGE
from xs2a_sandbox.engine.stack import Stack
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.explain.explanation import Explanation, own
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import Documents

_KEPT = "the answer is cached: the request was sent before, and nothing that the answer depends on has changed"
_REFUSED = "the sandbox refuses this before it looks for rules"


def explain(stack: Stack, request: Request, documents: Documents) -> Explanation:
    """Explain the answer that the request would get. Nothing is stored. Raises StoreUnavailable."""
    # A description with only a path means a request to the sandbox's own address.
    request = structs.replace(request, host=request.host or "localhost")
    route = stack.routing.find(request)
    try:
        explanation = route.destination.explain(route, documents)
    except (BankError, Refused) as error:
        call = stack.transactions.stateless(request, split_target(request.target), route.session)
        text = str(error) if isinstance(error, Refused) else error.values.get("hint") or _REFUSED
        explanation = own(call, text, reply_to(error, route.bank))
    if explanation.reply and stack.landing.page(route, explanation.reply.error):
        call = stack.transactions.stateless(request, split_target(request.target), route.session)
        return own(call, OWN_PAGE)
    if stack.cache.has_like(request):
        return replace(explanation, message=f"{explanation.message}; {_KEPT}")
    return explanation
