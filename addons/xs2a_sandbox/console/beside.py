"""Two exchanges side by side, field by field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote

from xs2a_sandbox.console.visit import ConsoleVisit
from xs2a_sandbox.documents.json_pointer import leaves
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.http import Response

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Field:
    """What stands at a place of both, as it is shown; None where it is not there. They may differ in what is hidden."""

    place: str
    one: str | None
    other: str | None
    differs: bool

    @property
    def differs_unseen(self) -> bool:
        return self.differs and self.one == self.other


async def beside(visit: ConsoleVisit) -> Response:
    numbers = [visit.query.get(name, "").strip() for name in ("one", "other")]
    try:
        shown = [await _exchange(visit, number, "") for number in numbers]
        plain = [await _exchange(visit, number, "?plain=true") for number in numbers]
    except Refused as refused:
        return visit.page("beside.html", "Traffic", refused.status, problem=str(refused), numbers=numbers, parts=())
    parts = [
        (title, fields(_told(shown[0], of), _told(shown[1], of), _told(plain[0], of), _told(plain[1], of)))
        for title, of in (("Request", "request"), ("Answer", "answer"))
    ]
    return visit.page("beside.html", "Traffic", numbers=numbers, exchanges=shown, parts=parts)


async def _exchange(visit: ConsoleVisit, number: str, query: str) -> Any:
    return await visit.ask("GET", f"journal/{quote(number, safe='') or '0'}{query}")


def fields(
    one: Mapping[str, Any], other: Mapping[str, Any], plain_one: Mapping[str, Any], plain_other: Mapping[str, Any]
) -> list[Field]:
    """All places that either has, in their order; whether they differ is seen in what was sent."""
    return [
        Field(
            place,
            _text(one.get(place, _ABSENT)),
            _text(other.get(place, _ABSENT)),
            plain_one.get(place, _ABSENT) != plain_other.get(place, _ABSENT),
        )
        for place in dict.fromkeys((*one, *other))
    ]


def _told(exchange: Mapping[str, Any], of: str) -> dict[str, Any]:
    return dict(_places(exchange, of))


def _places(exchange: Mapping[str, Any], of: str) -> Iterator[tuple[str, Any]]:
    """The fields of a message by place."""
    message = exchange[of]
    if of == "request":
        path, _, query = exchange["target"].partition("?")
        yield from (("session", exchange["session"]), ("method", exchange["method"]), ("path", path))
        yield from ((f"?{name}", value) for name, value in parse_qsl(query, keep_blank_values=True))
    else:
        yield from (("status", exchange["status"]), ("answered by", exchange["rule"] or exchange["source"]))
    for name, values in _headers(message).items():
        yield name, ", ".join(values)
    if "body" in message:
        yield from ((place or "body", value) for place, value in leaves(message["body"]))
    elif text := message.get("text", message.get("base64")):
        yield from ((f"line {n}", line) for n, line in enumerate(text.splitlines(), 1))


def _headers(message: Mapping[str, Any]) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in message["headers"]:
        headers.setdefault(name.lower(), []).append(value)
    return headers


def _text(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
