"""Replaces a handler that rejects requests which the recorded bank accepted: effects create the consent or payment."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.cassette.evaluation.expressions import find_alternatives
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange

MAKES = {"consents.create": "consent", "payments.initiate": "payment"}
"""The families that effects can create, by the handler that creates them."""

_BEGUN = re.compile(r"\bresult\.(?:authorisation\.(\w+)|(approach|next))\b")
_WHOLE = re.compile(r"\{\{ ((?:(?!\}\}).)*) \}\}")
_STATUS = re.compile(r"\bresult\.status\b")
_BEGINNINGS = {"consent": "awaiting", "payment": "RCVD"}
_NEEDED = {"consent": "sent", "payment": "debtor"}
"""The input that a request must have, by family."""


def by_effects(
    operation: Operation,
    learned: Mapping[str, Any],
    exchanges: Sequence[RecognisedExchange],
    ids: str | None,
) -> dict[str, Any]:
    """Return the change of the operation, with effects replacing its handler. `learned` are its other changes.

    `ids` is the form of the created ids, or None for UUIDs.
    """
    family = MAKES[operation.behaviour.handler or ""]
    written = operation.origin.written
    inputs = {name: source.written for name, source in operation.behaviour.inputs.items()}
    document = _consent(exchanges, inputs) if family == "consent" else _payment(inputs)
    begin = {"family": family, "id": "{{ let.id }}", "implicit": True}
    respond = learned.get("respond") or written["respond"]
    kept = {key: value for key, value in learned.items() if key in ("path", "where")}
    return {
        **kept,
        "handler": None,
        "with": None,
        "answers": None,
        "require": [_find_required(exchanges, operation, _NEEDED[family])],
        "let": {
            **dict.fromkeys(written.get("let", {})),
            "id": f"{{{{ new_id('{ids}') }}}}" if ids else "{{ uuid() }}",
            "self": "{{ request.path }}/{{ let.id }}",
            **_lets(family, inputs),
        },
        "effects": [
            {"set": f"state.{family}s[let.id]", "to": document},
            {"do": "begin-authorisation", "with": begin, "as": "authorisation"},
        ],
        "respond": _rename(respond, family, _names(inputs), tuple(written.get("let", {}))),
    }


def _find_required(exchanges: Sequence[RecognisedExchange], operation: Operation, needed: str) -> dict[str, Any]:
    """Return the places of inputs that all requests contain."""
    required: dict[str, Any] = {}
    for name in ("once", needed):
        source = operation.behaviour.inputs.get(name)
        if source is None or any(exchange.take(name) is None for exchange in exchanges):
            continue
        for place in source.places:
            member = place.name if place.part.part == "headers" else place.part.name
            if place.part.part in ("headers", "body") and member and len(source.places) == 1:
                required.setdefault(place.part.part, {})[member] = {"exists": True}
    return required


def _consent(exchanges: Sequence[RecognisedExchange], inputs: Mapping[str, Any]) -> dict[str, Any]:
    wished = _expression(inputs.get("valid_until"))
    until = f"{wished} or today(90)"
    days = [(str(exchange.take("valid_until") or "9"), f"{exchange.entry.time:%Y-%m-%d}") for exchange in exchanges]
    if any(day < today for day, today in days):
        until = f"{wished} if {wished} >= today() else today(90)"  # the bank accepts a day in the past
    return {
        "status": "awaiting",
        "accounts": {**_ACCOUNTS, "when": f"not let.ibans or {_IS_NAMED}"},
        "sent": inputs.get("sent"),
        "recurring": f"{{{{ {_expression(inputs.get('recurring'))} or false }}}}",
        "valid_until": f"{{{{ {until} }}}}",
        "frequency": f"{{{{ {_expression(inputs.get('frequency'))} or 4 }}}}",
        "last_action_on": "{{ today() }}",
    }


_IS_NAMED = "entry in let.ibans or state.accounts[entry].iban in let.ibans"
_ACCOUNTS = {"each": "{{ state.accounts | list }}", "when": _IS_NAMED, "give": "{{ entry }}"}
"""The ids of accounts that are named by IBAN. An id may be an IBAN itself."""


def _lets(family: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for the IBANs in the request and, for a payment, the debtor."""
    if family == "payment":
        return {"debtor": inputs["debtor"], "ibans": ["{{ let.debtor.iban }}"], "payers": _ACCOUNTS}
    access = inputs.get("access")
    written = [str(entry.get("accounts")) for entry in access] if isinstance(access, list) else []
    # A string that is not a place in the request is a word: for all accounts, or for those that are chosen.
    named = [_expression(one) for one in written if find_alternatives(one)]
    ibans = " + ".join(f"(({one} or []) | map(attribute='iban') | list)" for one in named) or "[]"
    return {"ibans": f"{{{{ {ibans} }}}}"}


def _expression(written: Any) -> str:
    """Return an input as a part of an expression."""
    if isinstance(written, str) and (whole := _WHOLE.fullmatch(written)):
        return whole[1]
    return "none" if written is None else repr(written)


def _payment(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a payment that are inputs of its handler in the dialect."""
    document = {name: inputs[name] for name in _OF_PAYMENTS if name in inputs}
    parts = document.get("parts")
    amount = parts[0]["amount"] if isinstance(parts, list) else None
    debtor = {"merge": ["{{ let.debtor }}", {"account": "{{ let.payers[0] or let.debtor.iban }}"}]}
    return {"kind": "single", **document, "debtor": debtor, "amount": amount, "status": "RCVD"}


_OF_PAYMENTS = "kind service product parts execute_on schedule instant sent".split()


def _rename(value: Any, family: str, names: Mapping[str, str], lets: tuple[str, ...]) -> Any:
    """Return the answer with effects' values instead of a handler's result. Next steps are unknown, and left out."""
    if isinstance(value, dict):
        members = {key: _rename(member, family, names, lets) for key, member in value.items()}
        return {key: member for key, member in members.items() if not _lacks(member, lets)}
    if isinstance(value, list):
        return [_rename(member, family, names, lets) for member in value]
    if not isinstance(value, str):
        return value
    for before, after in names.items():
        value = value.replace(before, after)
    value = _STATUS.sub(f"'{_BEGINNINGS[family]}'", value)
    return _BEGUN.sub(r"let.authorisation.\1\2", value)


def _names(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return the replacements for members of a handler's result."""
    return {
        "result.authorisation.self": "(let.self ~ '/authorisations/' ~ let.authorisation.id)",
        "result.id": "let.id",
        "result.self": "let.self",
        "result.service": _expression(inputs.get("service")),
        "result.product": _expression(inputs.get("product")),
    }


def _lacks(value: Any, lets: Sequence[str]) -> bool:
    if not isinstance(value, str):
        return False
    return "result." in value or any(f"let.{name}" in value for name in lets if name not in ("id", "self"))
