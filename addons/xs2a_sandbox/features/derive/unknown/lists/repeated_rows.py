"""Lists in answers that repeat a list of the thing's own request, such as the payments of a bulk payment."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression
from xs2a_sandbox.features.derive.unknown.recorded.forms import read_number
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, ExchangeScopes

_LEAST = 4
"""The least letters of a text that an entry does not have by chance."""


def lists_in(document: Any) -> Iterator[tuple[Place, list[dict[str, Any]]]]:
    """Yield the lists of objects in an answer, with their places."""
    for name, inner in document.items() if isinstance(document, Mapping) else ():
        if isinstance(inner, list) and all(isinstance(row, dict) for row in inner):
            yield (name,), inner
        else:
            yield from (((name, *place), rows) for place, rows in lists_in(inner))


def find_repeated_rows(scopes: ExchangeScopes, ones: Sequence[SeenExchange], values: Sequence[Any]) -> str | None:
    """Return the expression for the list in the request of a thing that the `values` of all these answers repeat."""
    lookups = scopes.lookups[scopes.world.operation_of[ones[0]]]
    own = [f"{lookup.name}{AFTER}" for lookup in lookups if lookup.place[0] == "path" and not lookup.owned]
    for name in ["new", *own]:
        sent = scopes.value(f"let.{name}.sent", ones[0])
        for place, _ in lists_in(sent):
            source = expression("let", (name, "sent", *place))
            if all(_repeats(scopes.value(source, one), value) for one, value in zip(ones, values, strict=True)):
                return source
    return None


def _repeats(sent: Any, rows: Any) -> bool:
    if not isinstance(sent, list) or not isinstance(rows, list) or len(sent) != len(rows) or not rows:
        return False
    return all(isinstance(row, Mapping) and _is_row_of(mine, row) for mine, row in zip(sent, rows, strict=True))


def _is_row_of(sent: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Return whether an entry has a telling value of one that was sent, and at least half of all its values."""
    same = [name for name in sent if name in row and is_same(sent[name], row[name])]
    is_telling = any(len(str(value)) >= _LEAST for name in same for _, value in leaves(sent[name]))
    return is_telling and len(same) * 2 >= len(sent)


def is_same(sent: Any, told: Any) -> bool:
    """Return whether an answer repeats a value. It may write amounts in another way."""
    mine, theirs = dict(leaves(sent)), dict(leaves(told))
    return mine.keys() == theirs.keys() and all(_is_equal(value, theirs[place]) for place, value in mine.items())


def _is_equal(one: Any, other: Any) -> bool:
    number = read_number(one)
    return type(one) is type(other) and (one == other or (number is not None and number == read_number(other)))
