"""A limit to the work that the expressions of one answer may do, counted while they do it.

Nothing from outside can interrupt a filter, and the sandbox answers nobody else meanwhile. So what goes into every
filter, test and operator is weighed before, and whatever is taken one by one is counted.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

from jinja2.exceptions import SecurityError

BUDGET = 1_000_000
"""Units: about one for an entry that is looked at, five for a filter or test that is called. Less than a second."""

WORK = "\0work"
"""The member of a scope that holds its Work: all expressions of one request share it. Nobody can type the name."""

_CALL = 5
_CHARACTERS = 64
"""Characters that cost one unit."""


class Work:
    """The rest of a budget."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = BUDGET


class _Current(threading.local):
    def __init__(self) -> None:
        self.work = Work()


_current = _Current()


def begin(work: Work) -> Work:
    """Spends from this one from now on; returns the one before, which `end` takes."""
    before, _current.work = _current.work, work
    return before


def end(before: Work) -> None:
    _current.work = before


def spend(units: int) -> None:
    """Raises SecurityError where too little is left."""
    work = _current.work
    work.left -= units
    if work.left < 0:
        text = f"more work than the expressions of one answer may do ({BUDGET} units)"
        raise SecurityError(f"{text}; a list that several of them filter is filtered once, under let,")


ALLOWED = 100
"""Units that each entry of a list which is shaped may cost; the limit is that of all together."""


def allow(entries: int) -> None:
    """Makes room for the work that shaping so many entries is: there is one for each that was found already."""
    _current.work.left += ALLOWED * entries


def charge(value: Any) -> Any:
    """The value, once its entries and characters have been paid for, those inside included."""
    if type(value) is str:
        spend(1 + len(value) // _CHARACTERS)
    elif isinstance(value, list | tuple | Mapping):
        spend(size(value, _current.work.left, 1, _CHARACTERS))
    return value


def charge_entries(value: Any) -> Any:
    """The value, once its entries have been paid for, whatever is inside them."""
    if isinstance(value, list | tuple | Mapping):
        spend(1 + len(value))
        return value
    return charge(value)


def meter(function: Callable[..., Any], *, is_shallow: bool = False) -> Callable[..., Any]:
    """A filter or test that is paid for when it is called, by what it is given.

    A shallow one does not look inside the entries of its first argument.
    """
    # Jinja2 hands an environment or a context to some.
    first = 1 if hasattr(function, "jinja_pass_arg") else 0
    weigh = charge_entries if is_shallow else charge

    @wraps(function)
    def charge_and_call(*arguments: Any, **keywords: Any) -> Any:
        spend(_CALL)
        values = [_one_by_one(value) if isinstance(value, Iterator) else value for value in arguments[first:]]
        for value in values[:1]:
            weigh(value)
        for value in (*values[1:], *keywords.values()):
            charge(value)
        return function(*arguments[:first], *values, **keywords)

    return charge_and_call


def _one_by_one(values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        spend(1)
        yield value


def size(value: Any, most: int, each: int = 0, characters: int = 1) -> int:
    """Entries and characters, those inside included, `each` more for every value; the count ends above `most`.

    As many `characters` count as one.
    """
    total, rest = 0, [value]
    while rest and total <= most:
        item = rest.pop()
        total += each
        if isinstance(item, str):
            total += len(item) // characters
        elif isinstance(item, list | tuple | dict):
            entries: Iterable[Any] = item.values() if isinstance(item, dict) else item
            total += len(item)
            rest.extend(entries)
        elif isinstance(item, Mapping):
            total += len(item)
    return total
