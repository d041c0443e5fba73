"""Describes faults in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette.fault import CALLBACK_FAULTS, FAULT_TEXTS, NO_RETRY_AFTER
from xs2a_sandbox.features.campaign.order import ENVIRONMENT, QUIRKS
from xs2a_sandbox.features.pytest.injected_fault import SCA, InjectedFault, Phase
from xs2a_sandbox.wording import say_count

_ENDINGS = {"decline": "is declined", "timeout": "times out", "error": "fails with an error"}
_PHASES: Mapping[Phase, str] = {
    "before": "before the bank acts on the request",
    "after": "after the bank has acted on the request",
}


def describe_point(fault: InjectedFault) -> str:
    """Return where the fault occurs, such as `call 1 of account-list`."""
    if fault.operation is None:
        return "the whole run"
    return f"approval {fault.call}" if fault.operation == SCA else f"call {fault.call} of {fault.operation}"


def describe(fault: InjectedFault, order: Mapping[str, Any]) -> str:
    """Return a sentence about the fault, without its point. `order` is the order for the fault."""
    if fault.operation is None:
        return f"{_describe_surroundings(fault.name, order)} during the whole run."
    if fault.operation == SCA:
        return f"Approval {fault.call} by the customer {_ENDINGS.get(fault.name, fault.name)}."
    if "expires" in order:
        return f"The {order['expires']} expires before this call, and stays expired."
    if "callback" in order:
        text = CALLBACK_FAULTS.get(str(order["callback"]), fault.name)
        return f"All {text} that are about what this call creates or changes."
    return f"{_what(fault, order)}, {_PHASES[fault.phase]}."


def _describe_surroundings(name: str, order: Mapping[str, Any]) -> str:
    if ENVIRONMENT in order:
        return f"The app runs in the time zone {order[ENVIRONMENT]['TZ']}"
    quirks: Sequence[str] = order.get(QUIRKS, ())
    if quirks in ([name], ()):
        return f"The bank has the quirk {name}"
    return f"The bank is like {name}, with the quirks {', '.join(quirks)},"


def _what(fault: InjectedFault, order: Mapping[str, Any]) -> str:
    if "delay" in order:
        return f"The answer is {order['delay']} late"
    if fault.status is None:
        text = FAULT_TEXTS.get(fault.name, f"the fault {fault.name} occurs")
        return text[0].upper() + text[1:]
    answer = f"The bank answers {fault.status}{f' {fault.code}' if fault.code else ''}"
    match order.get("retry_after"):
        case None:
            return f"{answer} ({fault.name})"
        case value if value == NO_RETRY_AFTER:
            return f"{answer} without Retry-After"
        case value:
            return f"{answer} and asks to wait {say_count(int(value), 'second')}"
