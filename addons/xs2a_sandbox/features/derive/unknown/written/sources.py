"""Lists the values that an answer may repeat or compute, each as an expression."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.recorded.forms import DateForm, date_form, is_grouped, read_number
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, AGAIN, ExchangeScopes
from xs2a_sandbox.redaction.values import DROPPED

_INTERNAL = frozenset("state sent headers entered told of made since lifetime ended kind number".split())
"""Members of things that answers do not repeat, or not as they are."""


def is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | Decimal) and isinstance(other, int | Decimal):
        return one == other
    if isinstance(one, str) and isinstance(other, str) and is_grouped(one) != is_grouped(other):
        return read_number(one) is not None and read_number(one) == read_number(other)
    return type(one) is type(other) and bool(one == other)


def is_telling(value: Any) -> bool:
    """Return whether an equal value elsewhere is unlikely to be equal by chance."""
    if value is None or isinstance(value, bool) or value in ("", [], {}, DROPPED):
        return False
    if isinstance(value, int):
        return abs(value) > 99
    return not (isinstance(value, str) and len(value) < 2)


def find_sources(scopes: ExchangeScopes, one: SeenExchange) -> Iterator[tuple[str, Any]]:
    """Yield what an answer may repeat, as expressions with their values, the most likely first."""
    scope = scopes.scope(one, after=True)
    things = {name: thing for name, thing in scope["let"].items() if isinstance(thing, Mapping)}
    documents = {
        name: thing
        for name, thing in things.items()
        if "made" in thing and (name in ("new", AGAIN) or name.endswith(AFTER))
    }
    documents = dict(sorted(documents.items(), key=lambda named: named[0] != "new"))

    def without_nonces(headers: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in headers.items() if ("headers", name) not in scopes.nonces}

    for name, thing in documents.items():
        yield f"let.{name}.state", thing["state"]
        for key, value in thing.items():
            source = expression("let", (name, key))
            if states := scopes.late_keys.get((thing["kind"], key)):
                source = f"({source} if let.{name}.state in {literal(states)} else none)"
            if key not in _INTERNAL:
                yield source, value
        yield from below(f"let.{name}.told", thing["told"])
    for root in ("path", "body"):
        yield from below(root, scope[root])
    for name, thing in documents.items():
        yield from below(f"let.{name}.sent", thing["sent"])
    for name, thing in things.items():
        if "made" not in thing:
            yield f"let.{name}", thing
            yield from below(f"let.{name}", thing)
    yield from below("query", scope["query"])
    yield from below("form", one.form)
    for name, thing in documents.items():
        yield from below(f"let.{name}.of", thing["of"])
        sent = dict(below(f"let.{name}.sent", thing["sent"]))
        for source, value in below(f"let.{name}.entered", thing["entered"]):
            # A later request can change what the first one has said.
            first = source.replace(".entered", ".sent", 1)
            yield (f"({source} or {first})" if first in sent else source), value
        yield from below(f"let.{name}.headers", without_nonces(thing["headers"]))
    entered = ((f"let.{name}.entered", thing["entered"]) for name, thing in documents.items())
    for root, told in (("form", one.form), *entered):
        for name, value in (told or {}).items():
            if isinstance(value, str) and value.islower():
                yield f"{expression(root, (name,))} | capitalize", value.capitalize()
    for root, told in (
        ("body", scope["body"]),
        *((f"let.{name}.sent", thing["sent"]) for name, thing in documents.items()),
    ):
        for source, value in below(root, told):
            if isinstance(value, str) and (written := value.replace(" ", "")) != value and written.isdecimal():
                yield f"{source} | replace(' ', '')", written
            elif isinstance(value, str) and value.upper() != value:
                yield f"{source} | upper", value.upper()
    yield from below("headers", {name: one.headers[name] for name in one.headers if ("headers", name) in scopes.nonces})
    yield "request.path", scope["request"]["path"]
    if one.bank:
        yield "session.url", one.bank


def find_inherited(scopes: ExchangeScopes, one: SeenExchange) -> Iterator[str]:
    """Yield what a thing has from its own request, or from that of the thing that it belongs to."""
    for name, thing in scopes.scope(one)["let"].items():
        if isinstance(thing, Mapping) and "made" in thing and name.endswith(AFTER):
            for other, sent in thing["of"].items():
                for member in sent:
                    own, inherited = (name, "sent", member), (name, "of", other, member)
                    yield f"({expression('let', own)} or {expression('let', inherited)})"


def below(source: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if "?" not in str(name):
                yield expression(source, (str(name),)), inner
                yield from below(expression(source, (str(name),)), inner)


def find_times(scopes: ExchangeScopes, one: SeenExchange, value: Any, sources: Sequence[str]) -> Iterator[str]:
    """Yield expressions for a date or time: now, when the thing was made, and a while after either."""
    form = date_form(value)
    if form is None:
        return
    yield form.write("clock.seconds")
    # What the path names comes before the token of a header.
    starts = dict.fromkeys(source.rpartition(".")[0] for source in sources if source.endswith(".state"))
    for start in starts:
        yield form.write(f"{start}.made")
        yield form.write(f"{start}.since")
        for source in sources:
            if (
                source.startswith(f"{start}.sent.")
                and isinstance(days := scopes.value(source, one), int)
                and 0 < days < 1000
            ):
                yield form.write(f"({start}.made + {source} * 86400)")
    yield from _later(form, value, one.time, "clock.seconds")
    for start in starts:
        made = scopes.value(f"{start}.made", one)
        if isinstance(made, int):
            yield from _later(form, value, datetime.fromtimestamp(made, UTC), f"{start}.made")


def _later(form: DateForm, value: Any, start: datetime, source: str) -> Iterator[str]:
    moment = form.moment(value)
    gap = int((moment - start).total_seconds()) if form.has_time else (moment.date() - start.date()).days * 86400
    if gap:
        yield form.write(f"({source} {'+' if gap > 0 else '-'} {abs(gap)})")
