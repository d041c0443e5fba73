"""An exchange of the journal made into a rule: what it was asked, what distinguishes it, and the answer as it was."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from xs2a_sandbox.cassette import Interface
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
"""Values of a body that a rule asks for; of a larger body it asks for none."""


def case_from(entry: Journaled, interface: Interface) -> dict[str, Any]:
    """A rule as a cassette writes it, with an example that holds.

    Raises UserMistake: not all of the exchange was kept.
    """
    if entry.cut:
        raise UserMistake(
            f"exchange {entry.number} was cut in the journal, because it is too large: it cannot become a case"
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
        "doc": f"As answered on {entry.time:%Y-%m-%d %H:%M}, exchange {entry.number} of the journal.",
        "match": start | distinction,
        "respond": _answer(entry),
        "examples": [
            {"request": {key: value for key, value in sent.items() if value}, "expect": {"status": entry.status}}
        ],
    }
    if route.operation and entry.source == "sandbox":
        # What the request lacked was the reason for this answer: it must not be asked for before the rule is.
        rule["require"] = "none"
    return rule


def _find_telling(things: Things) -> list[str]:
    """The headers that say whose request it is; the others are alike in most requests, or never."""
    places = (place for name in ("consent", "customer") for place in things[name].sent)
    return [header_name(place.name) for place in places if place.part == "headers"]


def _answer(entry: Journaled) -> dict[str, Any]:
    body = entry.answer_json
    if isinstance(body, dict) and body.pop("sandbox", None):
        # The sandbox's own remark on an unmatched request is no part of the answer.
        entry = replace(entry, answer_body=to_json(body))
    return write_answer(entry, {}) | ({"fault": entry.fault} if entry.fault else {})
