"""Compares JSON values: whether they are equal, contained or ordered, and how far apart they are.

A distance of 0 means equal, 1 means completely different.
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
"""The least distance of a value that does not match. Such values sort after the matching ones."""
_OTHER_CASE = 0.05
_LONGEST = 100
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,6})?")
_SCALARS = frozenset({str, int, Decimal, bool, type(None)})


def canonical(value: Any, textual: bool = False) -> Any:
    """Return a hashable value that is equal exactly if the JSON values are equal, or None for lists and objects."""
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
    """Return whether two values are equal as JSON: numbers by value, and true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return type(left) in _SCALARS and canonical(left) == canonical(right)


def contains(whole: Any, part: Any) -> bool:
    """Return whether `whole` contains `part`.

    Objects need every member of `part`, lists need every entry in any order, other values must be equal.
    """
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and contains(whole[name], value) for name, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(contains(entry, inner) for entry in whole) for inner in part)
    return is_equal(whole, part)


def make_comparable(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Return both as decimals, as ISO dates or as times, or None if they cannot be ordered."""
    for read in (_as_decimal, _as_date, as_time):
        pair = read(left), read(right)
        if None not in pair:
            return pair
    return None


def measure_distance(expected: Any, value: Any) -> float:
    """Return the distance of a value from the expected one."""
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
    """Return the distance and the difference in words.

    The distance is relative to the greater number, or to a year for times.
    """
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
    """Return the value with a JSON Merge Patch (RFC 7396) applied."""
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
    """Return the time in a string with a UTC offset, or None for anything else."""
    return datetime.fromisoformat(value.upper()) if isinstance(value, str) and is_date_time(value) else None
