"""An operation that makes consents or payments of requests that its handler refuses, and the recorded bank took."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xs2a_sandbox.cassette import Operation
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange

MAKES = {"consents.create": "consent", "payments.initiate": "payment"}
"""By the handler that makes them, the families that effects can make."""

_BEGUN = re.compile(r"\bresult\.(?:authorisation\.)?(approach|authorisationId|scaStatus|page|redirectUri|next)\b")
_IBANS = " + ".join(
    f"((body.access.{name} or []) | map(attribute='iban') | list)" for name in ("accounts", "balances", "transactions")
)


def by_effects(
    operation: Operation,
    learned: Mapping[str, Any],
    exchanges: Sequence[RecognisedExchange],
    operations: Mapping[str, Operation],
    ids: str | None,
) -> dict[str, Any]:
    """The change of the operation, with effects in place of its handler; `learned` is what else is otherwise in it.

    `ids` is the form of what is made, None for UUIDs.
    """
    family = MAKES[operation.behaviour.handler or ""]
    written = operation.origin.written
    service = str((operation.behaviour.options or {}).get("service") or "{{ path.service }}")
    document = _consent(exchanges) if family == "consent" else _payment(exchanges, service)
    begin = {"family": family, "id": "{{ let.id }}", "implicit": True, **_page(family, service, operations)}
    kept = {key: value for key, value in learned.items() if key in ("path", "where")}
    return {
        **kept,
        "handler": None,
        "with": None,
        "answers": None,
        "require": [_find_required(exchanges, "/access" if family == "consent" else "/debtorAccount")],
        "let": {
            **dict.fromkeys(written.get("let", {})),
            "id": f"{{{{ new_id('{ids}') }}}}" if ids else "{{ uuid() }}",
            "self": "{{ request.path }}/{{ let.id }}",
        },
        "effects": [
            {"set": f"state.{family}s[let.id]", "to": document},
            {"do": "begin-authorisation", "with": begin, "as": "authorisation"},
        ],
        "respond": _rename(learned.get("respond") or written["respond"], service, tuple(written.get("let", {}))),
    }


def _find_required(exchanges: Sequence[RecognisedExchange], member: str) -> dict[str, Any]:
    required: dict[str, Any] = {}
    if all(exchange.entry.headers.get("X-Request-ID") for exchange in exchanges):
        required["headers"] = {"X-Request-ID": {"exists": True}}
    if all(isinstance(exchange.body, dict) and member.strip("/") in exchange.body for exchange in exchanges):
        required["body"] = {member: {"exists": True}}
    return required


def _consent(exchanges: Sequence[RecognisedExchange]) -> dict[str, Any]:
    until = "body.validUntil or today(90)"
    if any(
        str((exchange.body or {}).get("validUntil", "9")) < f"{exchange.entry.time:%Y-%m-%d}" for exchange in exchanges
    ):
        until = "body.validUntil if body.validUntil >= today() else today(90)"  # the bank takes a day that is over
    return {
        "consentStatus": "received",
        "accounts": f"{{{{ ({_IBANS}) | unique | list or (state.accounts | list) }}}}",
        "access": "{{ body.access }}",
        "recurringIndicator": "{{ body.recurringIndicator or false }}",
        "validUntil": f"{{{{ {until} }}}}",
        "frequencyPerDay": "{{ body.frequencyPerDay or 4 }}",
        "lastActionDate": "{{ today() }}",
    }


def _payment(exchanges: Sequence[RecognisedExchange], service: str) -> dict[str, Any]:
    sent = dict.fromkeys(name for exchange in exchanges if isinstance(exchange.body, dict) for name in exchange.body)
    own = {"service": service, "product": "{{ path.product }}", "transactionStatus": "RCVD", "request": "{{ body }}"}
    return {**{name: f"{{{{ body.{name} }}}}" for name in sent if name.isidentifier()}, **own}


def _page(family: str, service: str, operations: Mapping[str, Operation]) -> dict[str, str]:
    """The customer's page, as the operation names it that starts such authorisations."""
    for operation in operations.values():
        options = operation.behaviour.options or {}
        if operation.behaviour.handler == "authorisations.start" and options.get("family") == family:
            return {"page": str(options.get("page", "")).replace("{service}", service)}
    return {}


def _rename(value: Any, service: str, lets: tuple[str, ...]) -> Any:
    """The answer with what effects have made in place of a handler's result; what can follow is not known here."""
    if isinstance(value, dict):
        members = {key: _rename(member, service, lets) for key, member in value.items()}
        return {key: member for key, member in members.items() if not _lacks(member, lets)}
    if isinstance(value, list):
        return [_rename(member, service, lets) for member in value]
    if not isinstance(value, str):
        return value
    for before, after in _NAMES.items():
        value = value.replace(before, after)
    return _BEGUN.sub(r"let.authorisation.\1", value.replace("result.service", f"'{service}'"))


_NAMES = {
    "result.authorisation.self": "(let.self ~ '/authorisations/' ~ let.authorisation.authorisationId)",
    "result.consentId": "let.id",
    "result.paymentId": "let.id",
    "result.self": "let.self",
    "result.product": "path.product",
    "result.consentStatus": "'received'",
    "result.transactionStatus": "'RCVD'",
}


def _lacks(value: Any, lets: Sequence[str]) -> bool:
    if not isinstance(value, str):
        return False
    return "result." in value or any(f"let.{name}" in value for name in lets if name not in ("id", "self"))
