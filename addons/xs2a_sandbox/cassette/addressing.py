"""Builds the request for an operation and puts ids where the interface expects them."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import structs

from xs2a_sandbox.cassette.model import Operation
from xs2a_sandbox.cassette.path_pattern import LITERAL
from xs2a_sandbox.cassette.requirements import header_name
from xs2a_sandbox.cassette.things import Place, Things
from xs2a_sandbox.http import Headers, Request, to_json
from xs2a_sandbox.http import body as content

_JSON = ("Content-Type", "application/json")


def address(operation: Operation, things: Things, ids: Mapping[str, str], values: Mapping[str, str]) -> Request | None:
    """Return a request for the operation on the things with these ids.

    Returns None if the path has a parameter without a value. `values` holds further path parameters by name.
    """
    in_path = {place.name: ids[name] for name in ids for place in things[name].sent if place.part == "path"}
    words = []
    for segment in operation.pattern.segments:
        word = segment.text if segment.kind == LITERAL else in_path.get(segment.text) or values.get(segment.text)
        if word is None:
            return None
        words.append(quote(word, safe=""))
    request = Request(operation.method, "/" + "/".join(words))
    about = operation.does.about if operation.does else frozenset()
    for name in ids.keys() & about:
        places = things[name].sent
        if any(place.part == "path" and place.name in operation.pattern.names for place in places):
            continue
        if (place := next((place for place in places if place.part != "path"), None)) is None:
            return None
        request = put(request, place, ids[name])
    return request


def put(request: Request, place: Place, value: str) -> Request:
    """Return a copy of the request with the value added at a place in the query, the headers or the body."""
    target, headers, body = request.target, request.headers, request.body
    match place.part:
        case "query":
            target += ("&" if "?" in target else "?") + urlencode({place.name: value})
        case "headers":
            headers = Headers((*headers, (header_name(place.name), value)))
        case "body":
            sent = content.read(body).value
            members: dict[str, Any] = sent if isinstance(sent, dict) else {}
            inner = members
            for step in place.steps[:-1]:
                inner = inner.setdefault(step, {})
            inner[place.name] = value
            body = to_json(members)
            headers = headers if headers.get("Content-Type") else Headers((*headers, _JSON))
    return structs.replace(request, target=target, headers=headers, body=body)
