"""A recorded exchange as the learning sees it: requests and answers as values at places."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.braces import hide_braces
from xs2a_sandbox.features.derive.unknown.recorded.forms import is_amount
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.http import body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.recording.tape import Tape
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.values import DROPPED

REDIRECTS = (302, 303)
_TRANSPORT = frozenset(
    "host accept accept-encoding accept-language connection user-agent content-length content-type date server origin "
    "keep-alive transfer-encoding vary via x-forwarded-for forwarded referer cache-control".split()
)
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, eq=False)
class SeenExchange:
    """One exchange. `time` is the bank's, if its answer has one. `document` is the JSON of the answer, or None.

    `form` has the first value of each of the `fields`. `parameters` are filled in once the operation is known.
    `has_pseudonyms` says that redaction has changed the exchange. One that was not recorded was carried over from that
    with the number `like`, or is only a copy of it.
    """

    number: int
    place: str
    time: datetime
    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    form: Mapping[str, str] | None
    body: Any
    has_json: bool
    is_unread: bool
    status: int
    answer_headers: Mapping[str, str]
    media: str
    document: Any
    text: str
    is_note: bool
    bank: str = ""
    has_pseudonyms: bool = False
    like: int = 0
    is_copy: bool = False
    fields: Sequence[tuple[str, str]] = ()
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def evidence(self) -> str:
        """The exchange that shows what was learned, in words."""
        return f"a guess, like exchange {self.like}" if self.like else f"exchange {self.number}"

    @property
    def file(self) -> str:
        """The file of the recording that has the exchange."""
        return self.place.rpartition(",")[0]

    def at(self, place: Place) -> Any:
        """Return the value at a place of the request, or None."""
        root, *steps = place
        roots = {
            "path": self.parameters,
            "query": self.query,
            "headers": self.headers,
            "form": self.form,
            "body": self.body,
        }
        return value_at(roots[str(root)], steps)

    def values(self) -> Iterator[tuple[Place, Any]]:
        """Yield the values of the request that could refer to something."""
        yield from ((("path", name), value) for name, value in self.parameters.items())
        yield from self.slots()

    def slots(self) -> Iterator[tuple[Place, Any]]:
        """Yield these values except for those in the path."""
        yield from ((("query", name), value) for name, value in self.query.items())
        yield from ((("headers", name), value) for name, value in self.headers.items())
        yield from ((("form", name), value) for name, value in (self.form or {}).items())
        if self.has_json:
            yield from leaves(self.body, ("body",))


def see(tape: Tape) -> list[SeenExchange]:
    return [
        replace(as_seen(number, place, entry), has_pseudonyms=key is not None and entry.redactions > 0)
        for number, (entry, key, place) in enumerate(zip(tape.entries, tape.keys, tape.places, strict=True), 1)
        if not entry.cut
    ]


def as_seen(number: int, place: str, entry: Exchange) -> SeenExchange:
    target = urlsplit(entry.target)
    sent, said = body.read(entry.body), body.read(entry.answer_body)
    is_form = media_type(entry.headers.get("content-type")) == _FORM
    pairs = parse_qsl(entry.body.decode(errors="replace"), keep_blank_values=True) if is_form else []
    note = bool(note_of(entry.body))
    document = hide_braces(said.value) if said.kind == "json" else None
    return SeenExchange(
        number=number,
        place=place,
        time=bank_time(entry),
        method=entry.method,
        path=tuple(hide_braces(unquote(segment)) for segment in target.path.split("/") if segment),
        query=hide_braces(_firsts(parse_qsl(target.query, keep_blank_values=True))),
        headers=hide_braces(_headers(entry.headers.pairs)),
        form=hide_braces(_firsts(pairs)) if is_form else None,
        body=hide_braces(sent.value) if sent.kind == "json" and not is_form else None,
        has_json=sent.kind == "json" and not is_form and not note,
        is_unread=(sent.kind != "json" and bool(entry.body) and not is_form) or note,
        status=entry.status,
        answer_headers=hide_braces(_headers(entry.answer_headers.pairs, kept="cache-control")),
        media=entry.answer_headers.get("content-type") or "",
        document=document,
        text=hide_braces(said.value) if said.kind == "text" else "",
        is_note=bool(note_of(entry.answer_body)),
        bank="{0.scheme}://{0.netloc}".format(urlsplit(entry.bank)) if entry.bank else "",
        fields=tuple((name, hide_braces(value)) for name, value in pairs),
    )


def are_redacted(seen: Iterable[SeenExchange]) -> bool:
    return any(one.has_pseudonyms or DROPPED in one.headers.values() or one.is_note for one in seen)


def bank_time(entry: Exchange) -> datetime:
    """Return the bank's time, if the answer has it."""
    try:
        return parsedate_to_datetime(entry.answer_headers.get("date") or "").astimezone(UTC)
    except (ValueError, TypeError):
        return entry.time.astimezone(UTC)


def _firsts(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    firsts: dict[str, str] = {}
    for name, value in pairs:
        firsts.setdefault(name, value)
    return firsts


def _headers(pairs: Sequence[tuple[str, str]], kept: str = "") -> dict[str, str]:
    return {
        name.lower(): value for name, value in reversed(pairs) if name.lower() not in _TRANSPORT or name.lower() == kept
    }


class _Fields(HTMLParser):
    """The fields of the forms in a page, each once, and the values of the hidden ones."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.hidden: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        name = named.get("name")
        if name and tag in ("input", "select", "textarea", "button"):
            self.names.add(name)
            if tag == "input" and named.get("type") == "hidden":
                self.hidden.setdefault(name, named.get("value") or "")


def field_names(text: str) -> tuple[str, ...]:
    return tuple(sorted(_Fields(text).names))


def answer_values(seen: SeenExchange) -> Iterator[tuple[Place, Any]]:
    """Yield every value that an answer tells the app or the customer: whole values, parts of links, hidden fields."""
    if seen.document is not None:
        yield from leaves(seen.document, ("body",))
    for name, value in seen.answer_headers.items():
        yield ("headers", name), value
    for name, value in _Fields(seen.text).hidden.items() if seen.text else ():
        yield ("html", name), value


def parts(value: Any) -> list[str]:
    """Return a value as text, and the segments and parameters of the link that it may be."""
    if value is None or isinstance(value, bool | Decimal | list | Mapping):
        return []
    text = str(value)
    found = [text]
    if "/" in text:
        link = urlsplit(text)
        found += [unquote(segment) for segment in link.path.split("/") if segment]
        found += [inner for _, inner in parse_qsl(link.query)]
    elif " " in text and len(text.split()) == 2 and not is_amount(text):
        found.append(text.split()[1])
    elif re.fullmatch(r"[^;=]+=[^;]+(;.*)?", text):
        found.append(text.partition(";")[0].partition("=")[2])
    return found
