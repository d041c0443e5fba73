"""Lets the consent or the access token that a request relies on expire before its time."""

from datetime import datetime
from typing import Literal

from xs2a_sandbox.bank.domain.signing import FAMILIES, move
from xs2a_sandbox.bank.handlers.token import TOKENS
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.documents.formats import as_kept

_EVENT = "validUntil passes"


def expire(call: Call, what: Literal["consent", "token"]) -> bool:
    """Says whether the request names one that is still good; it is not any more."""
    if what == "token":
        secret = call.headers.get("authorization", "").partition(" ")[2].strip()
        kept = call.state.get(TOKENS, secret) if secret else None
        now = call.clock.now()
        # As instants: in the hour in which clocks go back, a later time may have the smaller text.
        if kept is None or datetime.fromisoformat(kept["expires"]) <= now:
            return False
        call.state.put(TOKENS, secret, {**kept, "expires": now.isoformat()})
        return True
    id = call.take("consent")
    return id is not None and move(call, FAMILIES["consent"], as_kept(id), _EVENT)
