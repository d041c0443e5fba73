"""The faults of a session, and how often each has matched."""

from typing import Any, Literal

from xs2a_sandbox.state.session import SESSION_FAULTS, has_faults_or_rules
from xs2a_sandbox.state.store import Transaction

PAYEE_OUTCOMES = ("match", "close-match", "no-match", "not-possible")
"""The outcomes of a verification of a payee."""
OF_THE_BANK = {"sca": ("decline", "timeout", "error"), "payee": PAYEE_OUTCOMES}
"""Faults that are not about requests, with their values.

With `sca` an authorisation ends that way although the payment user approved it; with `payee` the verification of a
payee has that outcome, regardless of the names.
"""


def count_match(listed: dict[str, Any]) -> dict[str, Any]:
    """Return the fault after one more match."""
    seen, skip, every = listed["seen"] + 1, listed.get("skip", 0), listed.get("every", 1)
    is_due = seen > skip and (seen - skip) % every == 0 and listed["hits"] < listed.get("next", listed["hits"] + 1)
    return {**listed, "seen": seen, "hits": listed["hits"] + is_due}


def demand(transaction: Transaction, about: Literal["sca", "payee"]) -> str | None:
    """Return the ending or outcome that a fault demands now, and count the match."""
    if not has_faults_or_rules(transaction):
        return None
    there = SESSION_FAULTS.all(transaction)
    after = [count_match(fault) if about in fault else fault for fault in there]
    if after != there:
        SESSION_FAULTS.keep(transaction, after)
    due = (fault[about] for fault, before in zip(after, there, strict=True) if fault["hits"] > before["hits"])
    return next(due, None)
