"""Places of values in requests, answers and documents."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression

type Place = tuple[str | int, ...]
"""The steps to a value: `("body", "to", "name")`, `("headers", "etag")`, `("form", "pin")`."""


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield all values that are neither objects nor lists. An empty list is a value."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*place, name))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*place, index))
    else:
        yield place, value


def value_at(value: Any, steps: Sequence[str | int]) -> Any:
    """Return the value at a place, or None."""
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def anywhere(place: Place) -> Place:
    """Return a place in a list as that of any of its entries."""
    return tuple("*" if isinstance(step, int) else step for step in place)


def source_of(place: Place) -> str:
    """Return the expression for a place of a request."""
    return expression(str(place[0]), place[1:])


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a document with other texts. The names of members stay."""
    if isinstance(value, Mapping):
        return {name: change_texts(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [change_texts(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value
