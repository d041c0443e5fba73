"""Compares JSON values: whether they are equal, contained or in order, and how far they are apart.

A distance of 0 is equal, 1 is nothing like it.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from xs2a_sandbox.documents.formats import is_date, is_date_time

LEAST = 0.01
"""The distance that keeps a value which does not fit behind those which do."""
_OTHER_CASE = 0.05
_LONGEST = 100
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,6})?")
_SCALARS = frozenset({str, int, Decimal, bool, type(None)})


def canonical(value: Any, textual: bool = False) -> Any:
    """A hashable stand-in: equal exactly where the values are. None for lists and objects, which have none."""
    if textual:
        return to_text(value)
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | Decimal):
        return ("number", Decimal(value))
    if isinstance(value, str):
        return ("text", value)
    return ("null",) if value is None else None


def is_equal(left: Any, right: Any) -> bool:
    """Equal as JSON: numbers by value, and true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return type(left) in _SCALARS and canonical(left) == canonical(right)


def contains(whole: Any, part: Any) -> bool:
    """Tells if `part` is in `whole`: every member of an object, every entry of a list in any order, else equal."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and contains(whole[name], value) for name, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(contains(entry, inner) for entry in whole) for inner in part)
    return is_equal(whole, part)


def make_comparable(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Both as decimals, else both as ISO dates or times, else nothing that could be ordered."""
    for read in (_as_decimal, _as_date, as_time):
        pair = read(left), read(right)
        if None not in pair:
            return pair
    return None


def measure_distance(expected: Any, value: Any) -> float:
    """The distance of a value from the one that is expected."""
    if is_equal(expected, value):
        return 0.0
    if isinstance(value, str) and not isinstance(expected, dict | list):
        return words_apart(str(expected), value)
    pair = make_comparable(expected, value)
    return gap(*pair)[0] if pair else 1.0


def words_apart(expected: str, word: str) -> float:
    return _words_apart(expected[:_LONGEST], word[:_LONGEST]) if expected != word else 0.0


@lru_cache(4096)
def _words_apart(expected: str, word: str) -> float:
    if expected.lower() == word.lower():
        return _OTHER_CASE
    return max(LEAST, 1 - SequenceMatcher(None, expected, word, autojunk=False).ratio())


def gap(left: Any, right: Any) -> tuple[float, str]:
    """Numbers in proportion to the greater one, times in proportion to a year; and the difference in words."""
    if isinstance(left, Decimal):
        try:
            difference, greater = abs(left - right), max(abs(left), abs(right))
            readable = not difference or -6 <= difference.adjusted() <= 14
            amount = f"{difference.normalize():f}" if readable else f"{difference:.6g}"
            return float(difference / greater) if greater else 0.0, amount
        except ArithmeticError:
            return 1.0, "far"
    difference = abs(left - right)
    whole = difference.days + (1 if difference % timedelta(days=1) and difference.days else 0)
    amount = f"{whole} day{'' if whole == 1 else 's'}" if difference.days else str(difference)
    return min(1.0, difference / timedelta(days=365)), amount


def merge_patch(value: Any, patch: Any) -> Any:
    """The value with a JSON Merge Patch applied to it."""
    if type(patch) is not dict and not isinstance(patch, Mapping):
        return patch
    result = dict(value) if type(value) is dict or isinstance(value, Mapping) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        elif type(change) in _SCALARS:
            result[name] = change
        else:
            result[name] = merge_patch(result.get(name), change)
    return result


def to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _as_decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _as_date(value: Any) -> date | None:
    return date.fromisoformat(value) if isinstance(value, str) and is_date(value) else None


def as_time(value: Any) -> datetime | None:
    """The time that a text says, with its offset; None for anything else."""
    return datetime.fromisoformat(value.upper()) if isinstance(value, str) and is_date_time(value) else None
