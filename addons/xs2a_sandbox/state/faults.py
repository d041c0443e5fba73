"""The faults of a session, and how often each has matched."""

from typing import Any

from xs2a_sandbox.state.session import SESSION_FAULTS
from xs2a_sandbox.state.store import Transaction

SCA_ENDINGS = ("decline", "timeout", "error")
"""The ways in which an authorisation can end although the payment user approved it."""


def count_match(listed: dict[str, Any]) -> dict[str, Any]:
    """Return the fault after one more match."""
    seen, skip, every = listed["seen"] + 1, listed.get("skip", 0), listed.get("every", 1)
    is_due = seen > skip and (seen - skip) % every == 0 and listed["hits"] < listed.get("next", listed["hits"] + 1)
    return {**listed, "seen": seen, "hits": listed["hits"] + is_due}


def next_sca_ending(transaction: Transaction) -> str | None:
    """Return the ending that a fault demands for an authorisation that would succeed now, and count the match."""
    there = SESSION_FAULTS.all(transaction)
    after = [count_match(fault) if "sca" in fault else fault for fault in there]
    if after != there:
        SESSION_FAULTS.keep(transaction, after)
    due = (fault["sca"] for fault, before in zip(after, there, strict=True) if fault["hits"] > before["hits"])
    return next(due, None)
