"""Makes the consent or the access token that a request uses expire early."""

from datetime import datetime
from typing import Literal

from xs2a_sandbox.bank.domain.documents import changed_state_of
from xs2a_sandbox.bank.domain.lifecycle import CONSENT, OVER
from xs2a_sandbox.bank.domain.signing import FAMILIES, move
from xs2a_sandbox.bank.handlers.token import TOKENS
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.things import Sent
from xs2a_sandbox.documents.formats import as_kept
from xs2a_sandbox.state import Document

_EXPIRED = frozenset(transition.to for transition in CONSENT.transitions if transition.event == OVER)


def is_expired(consent: Document) -> bool:
    """Return whether the consent has expired, or a test has made it expire."""
    return changed_state_of("consents", consent) in _EXPIRED


def expire(call: Call, what: Literal["consent", "token"], sent: Sent) -> bool:
    """Expire the token or consent that the request `sent` uses. Returns whether there was a valid one."""
    if what == "token":
        secret = call.headers.get("authorization", "").partition(" ")[2].strip()
        kept = call.state.get(TOKENS, secret) if secret else None
        now = call.clock.now()
        # Compare instants, not texts: when clocks go back, a later time may have the smaller text.
        if kept is None or datetime.fromisoformat(kept["expires"]) <= now:
            return False
        call.state.put(TOKENS, secret, {**kept, "expires": now.isoformat()})
        return True
    id = next(call.things["consent"].ids(sent), None)
    return id is not None and move(call, FAMILIES["consent"], as_kept(id), OVER)
