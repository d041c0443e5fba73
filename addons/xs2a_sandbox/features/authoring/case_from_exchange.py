"""Makes a rule from an exchange in the journal: its operation, what distinguishes the request, and the answer."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from xs2a_sandbox.cassette import Interface, Operation
from xs2a_sandbox.cassette.body_faults import BODY_FAULTS
from xs2a_sandbox.cassette.requirements import header_name
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.derive.infer_match import make_recorded_request, tell_apart
from xs2a_sandbox.features.derive.recorded_answer import write_answer
from xs2a_sandbox.features.derive.routes import Routes, slug
from xs2a_sandbox.features.derive.telling_headers import TellingHeaders
from xs2a_sandbox.http import Headers, to_json
from xs2a_sandbox.journal.journal import Journaled

_MEMBERS = 12
"""The most values of a body that the rule asks for. If a body has more, it asks for none."""


def case_from(entry: Journaled, interface: Interface) -> dict[str, Any]:
    """Return a rule as a cassette contains it, with an example made from the exchange.

    Raises UserMistake if the journal has not kept the whole exchange.
    """
    if entry.cut:
        raise UserMistake(
            f"exchange {entry.number} is too large, so the journal has only a part of it: it cannot become a case"
        )
    route = Routes(interface).find(entry.method, entry.path)
    query = dict(reversed(parse_qsl(entry.target.partition("?")[2], keep_blank_values=True)))
    telling = TellingHeaders({name.lower(): name for name in _find_telling(interface.things)}, {}, {})
    headers = {name: value for name in telling.names.values() if (value := entry.headers.get(name)) is not None}
    request = make_recorded_request(
        entry.number, route.parameters, entry.target, Headers(headers.items()), entry.body, "", telling
    )
    (distinction,) = tell_apart([request], {}, telling)
    if len(distinction.get("body", ())) > _MEMBERS:
        del distinction["body"]
    start = {"operation": route.operation.id} if route.operation else {"method": route.method, "path": route.path}
    sent = {"headers": headers, "query": query, "method": entry.method, "body": entry.json}
    rule: dict[str, Any] = {
        "id": f"{slug(route.name)}-{entry.number}",
        "doc": f"Exchange {entry.number} of the journal, answered on {entry.time:%Y-%m-%d %H:%M}.",
        "match": start | distinction,
        "respond": _answer(entry),
        "examples": [
            {"request": {key: value for key, value in sent.items() if value}, "expect": {"status": entry.status}}
        ],
    }
    if route.operation and entry.source == "sandbox":
        # The request may have got this answer because it lacked something, so it must not be required before the rule.
        rule["require"] = "none"
        if missed := _find_missed_headers(route.operation, entry):
            # Without them, the rule would also answer the corrected request.
            matched = {name: {"absent": True} if value is None else value for name, value in missed.items()}
            rule["match"] = {**rule["match"], "headers": {**rule["match"].get("headers", {}), **matched}}
            example = rule["examples"][0]["request"]
            example["headers"] = {**example.get("headers", {}), **missed}
    return rule


def _find_missed_headers(operation: Operation, entry: Journaled) -> dict[str, str | None]:
    """Return the headers that do not meet the operation's requirements, with their values, None if they are missing."""
    constraints = (one for step in operation.require.steps for one in step.constraints if one.place.part == "headers")
    sent = ((one, entry.headers.all(one.place.name)) for one in constraints)
    return {header_name(one.place.name): values[0] if values else None for one, values in sent if not one.fits(values)}


def _find_telling(things: Things) -> list[str]:
    """Return the headers that identify a consent or customer.

    Others are the same in most requests, or always different.
    """
    places = (place for name in ("consent", "customer") for place in things[name].sent)
    return [header_name(place.name) for place in places if place.part == "headers"]


def _answer(entry: Journaled) -> dict[str, Any]:
    body = entry.answer_json
    if isinstance(body, dict) and body.pop("sandbox", None):
        # The sandbox's diagnosis of an unmatched request is not part of the answer.
        entry = replace(entry, answer_body=to_json(body))
    # A fault of the content is in the body that was kept.
    is_broken = entry.fault is not None and entry.fault not in BODY_FAULTS
    return write_answer(entry, {}) | ({"fault": entry.fault} if is_broken else {})
