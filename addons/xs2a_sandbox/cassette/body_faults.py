"""Faults of the body: complete responses whose content is not what the interface specifies."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from xs2a_sandbox.http import Headers, Response, to_json
from xs2a_sandbox.http.media_type import is_json, media_type

_UNKNOWN = "unknownToTheInterface"
_PAGE = b"<!doctype html><title>Maintenance</title><p>We will be back soon.\n"


def corrupt(response: Response) -> Response | None:
    """Return the response with its `fault` applied to the body, or None if the body has nothing to change."""
    if response.fault == "html":
        kept = tuple(pair for pair in response.headers if pair[0].lower() != "content-type")
        return Response(response.status, (("Content-Type", "text/html"), *kept), _PAGE)
    if response.fault not in BODY_FAULTS or response.rest is not None or not response.body:
        return None
    if not is_json(media_type(Headers(response.headers).get("content-type"))):
        return None
    if response.fault == "half-json":
        return Response(response.status, response.headers, response.body[: len(response.body) // 2])
    try:
        value = json.loads(response.body, parse_float=Decimal)
    except ValueError:
        return None
    changed = _CHANGES[response.fault](value)
    return None if changed == value else Response(response.status, response.headers, to_json(changed))


def _with_more(value: Any) -> Any:
    """Return the value with an extra member in every object and an extra link in every container of links."""
    if isinstance(value, list):
        return [_with_more(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    has_links = bool(value) and all(isinstance(inner, dict) and "href" in inner for inner in value.values())
    more: Any = {"href": "/v1/unknown"} if has_links else {"number": 1, "texts": ["one"]}
    inner = value if has_links else {name: _with_more(below) for name, below in value.items()}
    return {**inner, _UNKNOWN: more}


def _without_entries(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_entries(inner) for name, inner in value.items()}
    return [] if isinstance(value, list) else value


def _without_next(value: Any) -> Any:
    """Remove the links to a next page."""
    if isinstance(value, list):
        return [_without_next(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_next(inner)
        for name, inner in value.items()
        if not (name == "next" and isinstance(inner, dict) and "href" in inner)
    }


_CHANGES: dict[str, Callable[[Any], Any]] = {
    "extra-members": _with_more,
    "empty-lists": _without_entries,
    "no-next-page": _without_next,
    "wrong-shape": lambda value: [value],
}
BODY_FAULTS = frozenset({*_CHANGES, "half-json", "html"})
"""The faults that change the body of a response."""
