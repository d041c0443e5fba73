"""Faults on demand: compiles a fault that a test asks for to a rule of a cassette."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
from msgspec import structs

from xs2a_sandbox.cassette import reader
from xs2a_sandbox.cassette.amend import Amendment
from xs2a_sandbox.cassette.body_faults import BODY_FAULTS
from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.decide import Decision
from xs2a_sandbox.cassette.dialect.layers import Interface
from xs2a_sandbox.cassette.fault_values import find_values
from xs2a_sandbox.cassette.index import Lookup, candidates
from xs2a_sandbox.cassette.model import Rule
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import BankError, Problem

PREFER = "X-Sandbox-Prefer"
"""The request header that asks for a fault of this request."""

_NEEDS_THE_ANSWER = frozenset({"truncate", *BODY_FAULTS})
_LONGEST = 500
NO_RETRY_AFTER = "none"
_MOST_SECONDS = 86_400


class FaultWish(TypedDict, total=False):
    """The fault that a test asks for.

    The response gets this `status`, or is the `error` of the dialect's table, or the answer of the `rule` with this id.
    `retry_after` is in seconds, or `none`. `delay` delays it; `fault` breaks the connection or the body. `expires`
    makes the token or consent of the request expire. `callback` changes all callbacks about the resources that the
    request creates or changes. With `after` the bank first performs the request, and then its response fails.
    """

    status: int
    error: str
    rule: str
    retry_after: int | Literal["none"]
    delay: str
    fault: Literal[
        "reset",
        "drop",
        "truncate",
        "malformed",
        "extra-members",
        "empty-lists",
        "no-next-page",
        "half-json",
        "wrong-shape",
        "html",
    ]
    expires: Literal["consent", "token"]
    callback: Literal["late", "twice", "before", "wrong-signature", "never"]
    after: bool


CALLBACK_FAULTS: Mapping[str, str] = {
    "late": "callbacks are sent ten seconds late",
    "twice": "callbacks are sent twice",
    "before": "callbacks are sent before the answer",
    "wrong-signature": "callbacks have a wrong signature",
    "never": "callbacks are never sent",
}
"""The faults of callbacks in words."""
FAULT_TEXTS: Mapping[str, str] = {
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

MEMBERS = tuple(FaultWish.__annotations__)
_ANSWERS = ("status", "error", "rule")
_EXPIRES = ("consent", "token")


@dataclass(frozen=True, slots=True)
class Fault:
    """A compiled fault: `answering` is a rule that answers instead of the bank, `amending` one that changes the
    response.

    `rule` is the id of a rule of the bank that answers, even if it does not match. `expires` is the thing that expires,
    before the request is checked or `after` it. `callback` is the fault of the callbacks that follow.
    """

    id: str
    answering: Rule | None = None
    amending: Rule | None = None
    rule: str | None = None
    expires: Literal["consent", "token"] | None = None
    after: bool = False
    callback: str | None = None

    @property
    def description(self) -> str:
        """The fault's name in messages."""
        return f"the header {PREFER}" if self.id == PREFER else f"the fault {self.id}"


@lru_cache(512)
def prefer(text: str) -> Fault:
    """Parse the fault in a header, such as `status=503, delay=2s`. Raises ValueError."""
    wish: dict[str, Any] = {}
    for part in re.split("[,;]", text[: _LONGEST + 1]):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value or len(text) > _LONGEST:
            raise ValueError(
                f"it must look like status=503 or error=NAME, delay=2s; the members are {', '.join(MEMBERS)}"
            )
        if name in wish:
            raise ValueError(f"{name} can be given only once")
        number = name in ("status", "retry_after") and value.isascii() and value.isdigit() and len(value) < 7
        switch = name == "after" and value in ("true", "false")
        wish[name] = int(value) if number else value == "true" if switch else value
    return compile_fault(PREFER, wish)


def compile_fault(id: str, wish: Mapping[str, Any]) -> Fault:
    """Compile a fault. Raises ValueError with the mistake."""
    if unknown := [name for name in wish if name not in MEMBERS]:
        hint = did_you_mean(unknown[0], MEMBERS) or f"; the members are {', '.join(MEMBERS)}"
        raise ValueError(f"unknown member {unknown[0]!r} in the fault{hint}")
    for name in ("error", "rule"):
        if not isinstance(wish.get(name, ""), str):
            raise ValueError(f"{name} must be a string")
    if not isinstance(after := wish.get("after", False), bool):
        raise ValueError("after must be true or false")
    answers = [name for name in _ANSWERS if name in wish]
    if len(answers) > 1:
        raise ValueError(f"{answers[0]} and {answers[1]} cannot be combined: use one of them")
    fault = wish.get("fault")
    expires = wish.get("expires")
    if expires is not None and expires not in _EXPIRES:
        raise ValueError(f"expires must be one of {', '.join(_EXPIRES)}")
    callback = wish.get("callback")
    if callback is not None and callback not in CALLBACK_FAULTS:
        raise ValueError(f"callback must be one of {', '.join(CALLBACK_FAULTS)}")
    if not answers and fault is None and not wish.keys() & {"callback", "delay", "expires", "retry_after"}:
        raise ValueError(f"it contains no fault: use at least one of {', '.join(MEMBERS[:-1])}")
    if after and not ({"status", "error", "fault", "expires"} & wish.keys()):
        raise ValueError(
            "after needs a status, an error, a fault or expires, which takes effect after the bank has "
            "processed the request"
        )
    connection = {name: wish[name] for name in ("delay", "fault") if name in wish}
    if "retry_after" in wish:
        connection["headers"] = {"Retry-After": _retry_after(wish["retry_after"])}
    expiry = Fault(id, expires=wish.get("expires"), after=after, callback=callback)
    if "rule" in wish:
        return replace(expiry, amending=_rule(id, "amend", connection) if connection else None, rule=wish["rule"])
    answer = {name: wish[name] for name in ("status", "error") if name in wish}
    if after and answers:
        return replace(expiry, amending=_instead(_rule(id, "amend", connection), _rule(id, "respond", answer)))
    if answers:
        amending = _rule(id, "amend", connection) if connection else None
        return replace(expiry, answering=_rule(id, "respond", answer), amending=amending)
    if fault is not None and not after and fault not in _NEEDS_THE_ANSWER:
        return replace(expiry, answering=_rule(id, "respond", connection))
    return replace(expiry, amending=_rule(id, "amend", connection)) if connection else expiry


def _retry_after(value: Any) -> str | None:
    """Return the value of the header Retry-After, or None to remove the header. Raises ValueError."""
    if value == NO_RETRY_AFTER:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_SECONDS:
        raise ValueError(
            f"retry_after must be a whole number of seconds from 0 to {_MOST_SECONDS}, or {NO_RETRY_AFTER}"
        )
    return str(value)


def _instead(amending: Rule, answering: Rule) -> Rule:
    """Return a rule that replaces the response of the rule or operation that answers."""
    behaviour = amending.behaviour
    amend = replace(behaviour.amend or Amendment(), instead=answering.behaviour.respond[0])
    return replace(amending, behaviour=replace(behaviour, amend=amend))


def _rule(id: str, kind: str, spec: Mapping[str, Any]) -> Rule:
    """Read the rule like a cassette, so that it has the same features and reports the same mistakes."""
    if kind == "amend" and not spec:
        spec = {"headers": {}}
    rule = {"id": id, "match": {"path": "/{path*}"}, "require": "none", kind: dict(spec)}
    text = msgspec.json.encode({"cassette": 1, "rules": [rule]}).decode()
    problems: list[Problem] = []
    cassette = reader.parse(yaml_reader.parse(text, Path(id)), Schemas([]), problems)
    if problems:
        raise ValueError(problems[0].text)
    return cassette.rules[0]


def check_names(wish: Mapping[str, Any], interfaces: Sequence[Interface]) -> None:
    """Check that one of the interfaces has the error and the rule. Raises ValueError."""
    for name, listed in (
        ("error", [error for interface in interfaces for error in interface.errors]),
        ("rule", [rule.id for interface in interfaces for rule in interface.rules]),
    ):
        if name in wish and wish[name] not in listed:
            raise ValueError(f"the bank has no {name} {wish[name][:80]!r}{did_you_mean(wish[name], listed)}")


def read_wish(request_header: str, interface: Interface) -> Fault:
    """Return the fault that a request's header asks for. Raises BankError if it is invalid."""
    try:
        fault = prefer(request_header)
        check_names(_names(fault), [interface])
    except ValueError as error:
        raise BankError("format-error", expected=f"the header {PREFER}: {error}") from None
    return fault


def is_there(fault: Fault, interface: Interface) -> bool:
    """Return whether the bank has the fault's error or rule. Other banks of the sandbox may lack it."""
    names = _names(fault)
    return names.get("error", "internal") in interface.errors and (
        "rule" not in names or any(rule.id == names["rule"] for rule in interface.rules)
    )


def _names(fault: Fault) -> dict[str, str]:
    error = fault.answering.behaviour.respond[0].error if fault.answering else None
    if fault.amending and (amend := fault.amending.behaviour.amend) and amend.instead:
        error = amend.instead.error
    return {name: value for name, value in (("error", error), ("rule", fault.rule)) if value is not None}


def apply(faults: Sequence[Fault], decision: Decision, interface: Interface, lookup: Lookup, call: Call) -> Decision:
    """Return the decision changed by the faults. The first response counts, but all amendments. Raises BankError."""
    amendments = [(_fill(fault.amending, lookup, call), decision.parameters) for fault in faults if fault.amending]
    answering = next((fault for fault in faults if fault.answering or fault.rule), None)
    if answering:
        decision = _decide(answering, decision, interface, lookup, call)
    return structs.replace(decision, amendments=(*amendments, *decision.amendments))


def _fill(rule: Rule, lookup: Lookup, call: Call) -> Rule:
    """Return the rule with the values for the text of its error."""
    behaviour = rule.behaviour
    if (amend := behaviour.amend) and amend.instead and amend.instead.error:
        instead = replace(amend.instead, values=find_values(amend.instead.error, lookup, call))
        return replace(rule, behaviour=replace(behaviour, amend=replace(amend, instead=instead)))
    if behaviour.respond and (error := behaviour.respond[0].error):
        respond = (replace(behaviour.respond[0], values=find_values(error, lookup, call)),)
        return replace(rule, behaviour=replace(behaviour, respond=respond))
    return rule


def _decide(fault: Fault, decision: Decision, interface: Interface, lookup: Lookup, call: Call) -> Decision:
    rule, parameters = fault.answering and _fill(fault.answering, lookup, call), decision.parameters
    if rule is None:
        operation = lookup.operation.id if lookup.operation else None
        named = [listed for listed in interface.rules if listed.id == fault.rule]
        rule = next((listed for listed in named if listed.operation == operation), named[0])
        there = {
            candidate.id: path
            for candidate, path in candidates(lookup, lambda path: lambda place: call.values(place, path))
        }
        if rule.behaviour.bank or (rule.id not in there and (rule.operation is None or rule.operation != operation)):
            why = (
                "sends requests to the real bank"
                if rule.behaviour.bank
                else f"is for {rule.operation or 'another path'}"
            )
            raise BankError("format-error", expected=f"{fault.description}: the rule {rule.id} {why}")
        parameters = there.get(rule.id, lookup.parameters)
        if rule.behaviour.amend:
            return structs.replace(decision, amendments=((rule, parameters), *decision.amendments))
    call.operation, call.path = (lookup.operation.id if lookup.operation else None), parameters
    return Decision("rule", rule, lookup.operation, parameters, call, None, decision.amendments)
