"""Limits the work of expressions in one response; the work is counted while they run.

A filter cannot be interrupted from outside, and the sandbox answers no other request at the same time. So the arguments
of every filter, test and operator are measured first, and entries of lists are counted as they are read.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

from jinja2.exceptions import SecurityError

BUDGET = 1_000_000
"""Units of work: about one for reading an entry, five for calling a filter or test. They last less than a second."""

WORK = "\0work"
"""The key in a scope for its Work, which all expressions of a request share. Nobody can type it."""

_CALL = 5
_CHARACTERS = 64
"""Characters that cost one unit."""


class Work:
    """The units that are left of the budget."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = BUDGET


class _Current(threading.local):
    def __init__(self) -> None:
        self.work = Work()


_current = _Current()


def begin(work: Work) -> Work:
    """Use this budget from now on. Returns the previous one, to be passed to `end`."""
    before, _current.work = _current.work, work
    return before


def end(before: Work) -> None:
    _current.work = before


def spend_from[R](work: Work, function: Callable[..., R], *arguments: Any) -> R:
    """Return the result of the function, whose work is charged to this budget."""
    before = begin(work)
    try:
        return function(*arguments)
    finally:
        end(before)


def spend(units: int) -> None:
    """Deduct units from the budget. Raises SecurityError if too few are left."""
    work = _current.work
    work.left -= units
    if work.left < 0:
        text = f"the expressions of one answer need more than {BUDGET} units of work"
        raise SecurityError(f"{text}; if several of them filter the same list, filter it once under let,")


ALLOWED = 100
"""Units granted for each entry of a list that is shaped. The limit applies to the sum."""


def allow(entries: int) -> None:
    """Raise the budget for shaping this many entries of data that has already been found."""
    _current.work.left += ALLOWED * entries


def charge(value: Any) -> Any:
    """Return the value after charging for its entries and characters, including nested ones."""
    if type(value) is str:
        spend(1 + len(value) // _CHARACTERS)
    elif isinstance(value, list | tuple | Mapping):
        spend(size(value, _current.work.left, 1, _CHARACTERS))
    return value


def charge_entries(value: Any) -> Any:
    """Return the value after charging for its entries, but not for their content."""
    if isinstance(value, list | tuple | Mapping):
        spend(1 + len(value))
        return value
    return charge(value)


def meter(function: Callable[..., Any], *, is_shallow: bool = False) -> Callable[..., Any]:
    """Wrap a filter or test so that each call is charged by its arguments.

    With `is_shallow` the content of the entries of its first argument is not charged.
    """
    # Jinja2 passes an environment or a context to some of them.
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
    """Count entries and characters, including nested ones, plus `each` for every value.

    The count stops above `most`. This many `characters` count as one.
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
