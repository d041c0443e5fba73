"""Describes how a fault of the connection or the content has changed an answer."""

from collections.abc import Mapping
from typing import Any

from xs2a_sandbox.cassette.body_faults import BODY_FAULTS
from xs2a_sandbox.cassette.fault import PREFER
from xs2a_sandbox.http.messages import SAFE_METHODS

UNSENT = ("reset", "drop")
"""The faults after which the app has received no part of the answer."""
_WORDS = {
    "reset": "then the connection was reset, so the app got no answer",
    "drop": "then the connection was closed, so the app got no answer",
    "truncate": "then the connection was closed in the middle of the answer: the app got half of the body",
    "malformed": "the app got bytes that are not HTTP in place of the answer",
    "extra-members": "the app got the answer with a member that the interface does not know in every object",
    "empty-lists": "the app got the answer with every list empty",
    "no-next-page": "the app got the answer without its links to the next page",
    "half-json": "the app got only the first half of the JSON",
    "wrong-shape": "the app got the answer inside a list",
    "html": "the app got a page of HTML in place of the body",
}


def describe_fault(exchange: Mapping[str, Any]) -> str:
    """Return a sentence about the fault of an exchange, or an empty text without a fault."""
    fault = exchange["fault"]
    if fault is None:
        return ""
    what = _WORDS.get(fault, f"then the fault {fault} changed the answer")
    return f"{_bank_did(exchange)}; {what}."


def is_unsent(exchange: Mapping[str, Any]) -> bool:
    """Return whether a fault of the connection has kept the journal's answer from the app."""
    return exchange["fault"] is not None and exchange["fault"] not in BODY_FAULTS


def is_fault(rule: str | None) -> bool:
    return rule is not None and (rule == PREFER or rule.startswith("fault-"))


def _bank_did(exchange: Mapping[str, Any]) -> str:
    if exchange["source"] == "sandbox" or is_fault(exchange["rule"]):
        return "The bank did nothing"
    if exchange["method"] in SAFE_METHODS or exchange["status"] >= 400:
        return f"The bank answered {exchange['status']}"
    return "The bank did this"
