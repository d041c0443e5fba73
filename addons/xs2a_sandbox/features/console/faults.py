"""The faults of a session and of all sessions: list, add and remove them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

from xs2a_sandbox.cassette.fault import CALLBACK_FAULTS, FAULT_TEXTS, PREFER, FaultWish
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit, read_order, wrong_field
from xs2a_sandbox.http import Response
from xs2a_sandbox.wording import say_times

FAULTS: tuple[str, ...] = get_args(get_type_hints(FaultWish)["fault"])
_FIELDS = (
    *(
        "operation",
        "does",
        "method",
        "status",
        "error",
        "retry_after",
        "rule",
        "delay",
        "fault",
        "expires",
        "callback",
        "sca",
        "payee",
    ),
    *("skip", "next", "every", "sessions"),
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
    "payee": Preset("Payee does not match", "The next name that is verified", {"payee": "no-match", "next": 1}),
    "html": Preset("HTML instead of JSON", "The next response is a page", {"fault": "html", "next": 1}),
}


async def faults(visit: ConsoleVisit) -> Response:
    problem, sent = "", {name: visit.form.get(name, "").strip() for name in _FIELDS}
    if visit.is_sent:
        try:
            if id := visit.form.get("delete"):
                await visit.ask("DELETE", f"faults/{quote(id, safe='')}")
            elif "clear" in visit.form:
                await visit.ask("DELETE", "faults?sessions=all" if visit.form["clear"] == "all" else "faults")
            elif preset := PRESETS.get(visit.form.get("preset", "")):
                whose = {"sessions": sent["sessions"]} if sent["sessions"] else {}
                await visit.ask("POST", "faults", {**preset.order, **whose})
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
        faults=[
            {
                **fault,
                "what": ", ".join(_words(fault)),
                "whom": _whom(fault),
                "is_shared": "sessions" in fault,
                "used": f"used {say_times(fault['hits'])}" if fault["hits"] else "not used yet",
            }
            for fault in listed
        ],
        sent=sent,
        after="after" in visit.form,
        operations=sorted({id for interface in interfaces for id in interface.operations}),
        errors=sorted({name for interface in interfaces for name in interface.errors}),
        rules=sorted({rule.id for interface in interfaces for rule in interface.rules}),
        callback_kinds=CALLBACK_FAULTS,
        kinds=[(kind, FAULT_TEXTS.get(kind, kind)) for kind in FAULTS],
        presets=PRESETS,
        prefer=PREFER if visit.settings.prefer else "",
    )


def _words(fault: Mapping[str, Any]) -> Iterator[str]:
    """Yield the effects of a fault in words."""
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
        yield FAULT_TEXTS.get(fault["fault"], fault["fault"])
    if "expires" in fault:
        yield f"the {fault['expires']} expires"
    if "callback" in fault:
        yield CALLBACK_FAULTS.get(fault["callback"], fault["callback"])
    if "sca" in fault:
        yield f"an approval ends by {fault['sca']}"
    if "payee" in fault:
        yield f"a payee is verified as {fault['payee']}"
    if fault.get("after"):
        yield "only after the bank has done it"


def _whom(fault: Mapping[str, Any]) -> str:
    """Describe which requests the fault applies to."""
    which = " ".join(filter(None, (fault.get("method"), fault.get("operation"), fault.get("does")))) or (
        "authorisations" if "sca" in fault else "verifications of payees" if "payee" in fault else "all requests"
    )
    often = [f"not the first {fault['skip']}"] if "skip" in fault else []
    often += [f"one in {fault['every']}"] if "every" in fault else []
    often += [say_times(fault["next"])] if "next" in fault else []
    return ", ".join([which, *often])
