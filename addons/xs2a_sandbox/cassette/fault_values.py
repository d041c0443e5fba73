"""Values for the texts of errors that faults demand. Nothing has gone wrong, so no handler provides them."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.cassette.things import SentMessage

_DEMANDED = "a fault demands this error"
_EXAMPLES: Mapping[str, Any] = {
    "account": "another account",
    "address": "10.0.0.1",
    "allow": "GET",
    "approach": "redirect",
    "claim": "iat",
    "count": 1,
    "expected": _DEMANDED,
    "kind": "this access",
    "left": 2,
    "limit": 4,
    "offered": "other values",
    "period": "day",
    "reason": _DEMANDED,
    "right": "balances",
    "scope": "another scope",
    "serial": "4711",
    "status": "rejected",
    "step": "this step",
    "thing": "consent",
    "tpp": "of this request",
}
_LARGEST = 65_536
_ABOUT_PATHS = frozenset({"not-recorded", "path-unknown", "product-unknown"})
"""The errors whose id is a path."""
_EXAMPLES_OF: Mapping[str, Mapping[str, Any]] = {
    "body-too-large": {"limit": _LARGEST},
    "cancellation-invalid": {"status": "RJCT"},
    "headers-too-large": {"limit": _LARGEST},
    "status-invalid": {"status": "RJCT", "thing": "payment"},
    "target-too-long": {"limit": _LARGEST},
}


def find_values(error: str, lookup: Lookup, call: Call) -> dict[str, Any]:
    """Return a value for each placeholder of the error's text: from the request, or an example."""
    request = {
        "id": _find_id(error, lookup, call),
        "method": call.request.method,
        "session": call.session.id,
        "bank": call.request.host,
        "expires": call.now(),
    }
    return {**_EXAMPLES, **request, **_EXAMPLES_OF.get(error, {})}


def _find_id(error: str, lookup: Lookup, call: Call) -> str:
    """Return the id that the error is about: that of the request's subject, or of its consent. Empty if unknown."""
    if error in _ABOUT_PATHS:
        return call.self_path
    sent = SentMessage(call.request, lookup.parameters)
    about = [id for name in call.things.namings for id in call.things.ids_about(lookup, sent, name)]
    used = call.things.find_used_consent(lookup, sent)
    found = (used, *about) if error.startswith(("consent-", "access-")) else (*about, used)
    return next(filter(None, found), "")
