"""The callbacks of a session: what the bank has sent to apps and will send, and sending one again."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from xs2a_sandbox.cassette.fault import CALLBACK_FAULTS
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response
from xs2a_sandbox.wording import say_times

_STATES = {
    "waiting": "waits",
    "delivered": "accepted by the app",
    "refused": "not allowed",
    "failed": "given up",
    "withheld": "not sent, by a fault",
}


async def callbacks(visit: ConsoleVisit) -> Response:
    """Return the whole page, or with `part=true` only what changes by itself."""
    problem = ""
    if visit.is_sent:
        try:
            await visit.ask("POST", f"callbacks/{quote(visit.form.get('resend', ''), safe='')}/resend")
            return visit.go("callbacks")
        except Refused as refused:
            problem = str(refused)
    there = (await visit.ask("GET", "callbacks"))["callbacks"]
    shown: dict[str, Any] = {
        "callbacks": [_describe(one) for one in reversed(there)],
        "has_any": any(bank.interface.callbacks for bank in visit.sandbox.banks.all),
    }
    if visit.query.get("part") == "true":
        return visit.part("callbacks_parts.html", **shown)
    return visit.page("callbacks.html", "Callbacks", 400 if problem else 200, problem=problem, **shown)


def _describe(one: Mapping[str, Any]) -> dict[str, Any]:
    cause = one["cause"]
    return {
        **one,
        "says": _STATES[one["state"]],
        "tried_words": say_times(one["tries"]) if one["tries"] else "not yet",
        "because": "an event at its time" if cause.get("event") else f"{cause['method']} {cause['path']}",
        "fault_words": CALLBACK_FAULTS.get(one["fault"] or "", ""),
    }
