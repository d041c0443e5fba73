"""Finds the consent or the access token that a request uses, and makes it expire early."""

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
    """Expire the token, or the consent or mandate, that the request `sent` uses. Returns whether one was valid."""
    if what == "token":
        secret = call.headers.get("authorization", "").partition(" ")[2].strip()
        kept = call.state.get(TOKENS, secret) if secret else None
        now = call.clock.now()
        # Compare instants, not texts: when clocks go back, a later time may have the smaller text.
        if kept is None or datetime.fromisoformat(kept["expires"]) <= now:
            return False
        call.state.put(TOKENS, secret, {**kept, "expires": now.isoformat()})
        return True
    id = find_consent_id(call, sent)
    return id is not None and any(move(call, FAMILIES[name], id, OVER) for name in ("consent", "mandate"))


def find_consent_id(call: Call, sent: Sent) -> str | None:
    """Return the id of the consent or mandate that the request `sent` leads to. Raises BankError.

    The request names it, or something that leads to it, such as a token or an account of one session.
    """
    id = next(call.things["consent"].ids(sent), None) or call.take("consent")
    return as_kept(str(id)) if id else None
