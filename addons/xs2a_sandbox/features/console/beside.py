"""Two exchanges side by side, field by field."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote

from xs2a_sandbox.documents.json_pointer import pointer_text
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response

_ABSENT = object()
_LONG = 400
"""The number of characters from which on a text is folded."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value for display. If there is a `summary`, it is shown until the user opens the value."""

    text: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A place in two messages, and the value in each, or None. `differs` also if only the redacted values differ."""

    place: str
    first: Value | None
    second: Value | None
    differs: bool

    @property
    def differs_unseen(self) -> bool:
        return self.differs and self.first == self.second


async def beside(visit: ConsoleVisit) -> Response:
    numbers = [visit.query.get(name, "").strip() for name in ("one", "other")]
    try:
        views = [await _exchange(visit, number, "") for number in numbers]
        plain = [await _exchange(visit, number, "?plain=true") for number in numbers]
    except Refused as refused:
        return visit.page("beside.html", "Traffic", refused.status, problem=str(refused), numbers=numbers, parts=())
    parts = [
        (
            title,
            fields([_message(exchange, name) for exchange in views], [_message(exchange, name) for exchange in plain]),
        )
        for title, name in (("Request", "request"), ("Answer", "answer"))
    ]
    return visit.page("beside.html", "Traffic", numbers=numbers, exchanges=views, parts=parts)


async def _exchange(visit: ConsoleVisit, number: str, query: str) -> Any:
    return await visit.ask("GET", f"journal/{quote(number, safe='') or '0'}{query}")


def fields(views: Sequence[Mapping[str, Any]], plain: Sequence[Mapping[str, Any]]) -> list[Field]:
    """Return the places of two messages in their order. `plain` are the unredacted messages, which are compared.

    An object or a list that one message lacks is a single place.
    """
    return [
        field
        for place in dict.fromkeys((*views[0], *views[1]))
        for field in _fields(
            place,
            [message.get(place, _ABSENT) for message in views],
            [message.get(place, _ABSENT) for message in plain],
        )
    ]


def _fields(place: str, views: Sequence[Any], plain: Sequence[Any]) -> Iterator[Field]:
    steps: dict[str | int, None] = {}
    if all(isinstance(value, dict) for value in views):
        steps = dict.fromkeys((*views[0], *views[1]))
    elif all(isinstance(value, list) for value in views):
        steps = dict.fromkeys(range(max(map(len, views))))
    if not steps:
        yield Field(place, _value(views[0]), _value(views[1]), plain[0] != plain[1])
    for step in steps:
        inner = place.removeprefix("body") + pointer_text((step,))
        yield from _fields(inner, [_at(value, step) for value in views], [_at(value, step) for value in plain])


def _at(container: Any, step: str | int) -> Any:
    if isinstance(container, list):
        return container[step] if isinstance(step, int) and step < len(container) else _ABSENT
    return container.get(step, _ABSENT) if isinstance(container, dict) else _ABSENT


def _message(exchange: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the values of a message by place. The whole body is one of them."""
    return dict(_places(exchange, name))


def _places(exchange: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    message = exchange[name]
    if name == "request":
        path, _, query = exchange["target"].partition("?")
        yield from (("session", exchange["session"]), ("method", exchange["method"]), ("path", path))
        yield from ((f"?{parameter}", value) for parameter, value in parse_qsl(query, keep_blank_values=True))
    else:
        yield from (("status", exchange["status"]), ("answered by", exchange["rule"] or exchange["source"]))
    for header, values in _headers(message).items():
        yield header, ", ".join(values)
    if "body" in message:
        yield "body", message["body"]
    elif text := message.get("text", message.get("base64")):
        yield "body", {f"line {n}": line for n, line in enumerate(text.splitlines(), 1)}


def _headers(message: Mapping[str, Any]) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in message["headers"]:
        headers.setdefault(name.lower(), []).append(value)
    return headers


def _value(value: Any) -> Value | None:
    if value is _ABSENT:
        return None
    if isinstance(value, dict | list) and value:
        singular, plural = ("member", "members") if isinstance(value, dict) else ("entry", "entries")
        summary = f"{len(value)} {singular if len(value) == 1 else plural}"
        return Value(json.dumps(value, ensure_ascii=False, indent=2), summary)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Value(text, f"{len(text):,} characters" if len(text) > _LONG else "")
