"""The faults of a session: list, add and remove them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

from xs2a_sandbox.cassette.fault import PREFER, FaultWish
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit, read_order, wrong_field
from xs2a_sandbox.http import Response

FAULTS: tuple[str, ...] = get_args(get_type_hints(FaultWish)["fault"])
_FIELDS = (
    *("operation", "does", "method", "status", "error", "retry_after", "rule", "delay", "fault", "expires", "sca"),
    *("skip", "next", "every"),
)
_NUMBERS = ("status", "retry_after", "skip", "next", "every")


@dataclass(frozen=True, slots=True)
class Preset:
    """A fault that one click adds."""

    name: str
    doc: str
    order: Mapping[str, Any]


PRESETS: Mapping[str, Preset] = {
    "down": Preset("Bank down", "The next 10 requests: 503", {"operation": "*", "error": "bank-down", "next": 10}),
    "slow": Preset("Slow bank", "Every response takes 5 s longer", {"delay": "5s"}),
    "limit": Preset(
        "Too many requests",
        "The next 5: 429, Retry-After 60",
        {"error": "access-exceeded", "retry_after": 60, "next": 5},
    ),
    "lost": Preset(
        "Payment response lost",
        "The bank takes the next payment; the connection breaks",
        {"does": "create payment", "fault": "reset", "after": True, "next": 1},
    ),
    "token": Preset("Token expires", "Before the next request", {"expires": "token", "next": 1}),
    "consent": Preset(
        "Consent expires", "Before the next read of entries", {"does": "list entry", "expires": "consent", "next": 1}
    ),
    "declined": Preset("Customer declines", "The next authorisation", {"sca": "decline", "next": 1}),
    "html": Preset("HTML instead of JSON", "The next response is a page", {"fault": "html", "next": 1}),
}


_KINDS = {
    "reset": "the connection is reset",
    "drop": "the connection is closed without an answer",
    "truncate": "the answer is cut short",
    "malformed": "the answer is not HTTP",
    "extra-members": "objects have unknown members",
    "empty-lists": "lists are empty",
    "no-next-page": "the next page is missing",
    "half-json": "the JSON ends in the middle",
    "wrong-shape": "the JSON has a different structure",
    "html": "the answer is a page of HTML",
}
"""The faults of connections and contents in words. A fault without words here is shown by its name."""


async def faults(visit: ConsoleVisit) -> Response:
    problem, sent = "", {name: visit.form.get(name, "").strip() for name in _FIELDS}
    if visit.is_sent:
        try:
            if id := visit.form.get("remove"):
                await visit.ask("DELETE", f"faults/{quote(id, safe='')}")
            elif "clear" in visit.form:
                await visit.ask("DELETE", "faults")
            elif preset := PRESETS.get(visit.form.get("preset", "")):
                await visit.ask("POST", "faults", dict(preset.order))
            else:
                after = {"after": True} if "after" in visit.form else {}
                await visit.ask("POST", "faults", read_order(sent, _NUMBERS) | after)
            return visit.go("faults")
        except Refused as refused:
            problem = str(refused)
    listed = (await visit.ask("GET", "faults"))["faults"]
    interfaces = [bank.interface for bank in visit.sandbox.banks.all]
    return visit.page(
        "faults.html",
        "Faults",
        400 if problem else 200,
        problem=problem,
        wrong=wrong_field(problem, _FIELDS, sent),
        faults=[{**fault, "what": ", ".join(_words(fault)), "whom": _whom(fault)} for fault in listed],
        sent=sent,
        after="after" in visit.form,
        operations=sorted({id for interface in interfaces for id in interface.operations}),
        errors=sorted({name for interface in interfaces for name in interface.errors}),
        rules=sorted({rule.id for interface in interfaces for rule in interface.rules}),
        kinds=[(kind, _KINDS.get(kind, kind)) for kind in FAULTS],
        presets=PRESETS,
        prefer=PREFER if visit.settings.prefer else "",
    )


def _words(fault: Mapping[str, Any]) -> Iterator[str]:
    """Say in words what goes wrong."""
    if "status" in fault:
        yield f"answered {fault['status']}"
    if "error" in fault:
        yield f"answered with the error {fault['error']}"
    if "rule" in fault:
        yield f"answered by the rule {fault['rule']}"
    if "delay" in fault:
        yield f"{fault['delay']} late"
    if "retry_after" in fault:
        yield f"Retry-After {fault['retry_after']}"
    if "fault" in fault:
        yield _KINDS.get(fault["fault"], fault["fault"])
    if "expires" in fault:
        yield f"the {fault['expires']} expires"
    if "sca" in fault:
        yield f"an approval ends by {fault['sca']}"
    if fault.get("after"):
        yield "only after the bank has done it"


def _whom(fault: Mapping[str, Any]) -> str:
    """Say in words which requests the fault is for."""
    which = " ".join(filter(None, (fault.get("method"), fault.get("operation"), fault.get("does")))) or (
        "authorisations" if "sca" in fault else "all requests"
    )
    often = [f"not the first {fault['skip']}"] if "skip" in fault else []
    often += [f"one in {fault['every']}"] if "every" in fault else []
    often += [f"{fault['next']} times"] if "next" in fault else []
    return ", ".join([which, *often])
