"""Does this value, this request, fit? The matchers of cassettes, compiled once."""

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import re2

from xs2a_sandbox.documents.formats import FORMATS

Part = Literal["headers", "query", "where", "body"]
Test = Callable[[Sequence[Any]], bool]
"""Takes every value found at a place: none where it is absent, several where a header or query key repeats."""

STRENGTH = {"equals": 8, "in": 4, "format": 4, "regex": 2, "glob": 2, "prefix": 2, "gt": 2, "gte": 2, "lt": 2, "lte": 2}
STRENGTH |= {"schema": 2, "contains": 2, "any": 1, "all": 1, "not": 1, "exists": 1, "absent": 1}
WHEN_STRENGTH = 1
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,6})?")

_RANGE: dict[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
}


@dataclass(frozen=True, slots=True)
class RequestPart:
    """Where a constraint looks: header (lower case), query key, path parameter, or JSON Pointer into the body."""

    part: Part
    name: str

    def __str__(self) -> str:
        return f"{self.part}{self.name if self.part == 'body' else '.' + self.name}"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One place and what is asked of it. `spec` is the matcher in its long form, always a mapping."""

    place: RequestPart
    spec: Mapping[str, Any]
    fits: Test
    strength: int
    values: frozenset[Any] | None
    """The canonical values of `equals` or `in`, by which rules are found without scanning them."""


def constrain(place: RequestPart, matcher: Any, check_schema: Callable[[str], Callable[[Any], bool]]) -> Constraint:
    """Raises ValueError with a text for the author of the cassette."""
    spec = matcher if isinstance(matcher, dict) else {"equals": matcher}
    textual = place.part != "body"
    values: frozenset[Any] | None = None
    if "equals" in spec:
        values = frozenset([canonical(spec["equals"], textual)])
    elif "in" in spec:
        values = frozenset(canonical(value, textual) for value in spec["in"])
    if values and None in values:
        values = None
    strength = sum(STRENGTH[operator] for operator in spec)
    return Constraint(place, spec, compile_matcher(spec, textual, check_schema), strength, values)


def compile_matcher(spec: Any, textual: bool, check_schema: Callable[[str], Callable[[Any], bool]]) -> Test:
    """Every operator given must fit; those that look at a value must fit the same one."""
    if not isinstance(spec, dict):
        spec = {"equals": spec}
    on_value: list[Callable[[Any], bool]] = []
    on_all: list[Test] = []
    for operator, operand in spec.items():
        if operator in ("exists", "absent"):
            on_all.append(_presence(operand is (operator == "exists")))
        elif operator == "not":
            on_all.append(_negation(compile_matcher(operand, textual, check_schema)))
        elif operator in ("any", "all"):
            tests = [compile_matcher(entry, textual, check_schema) for entry in operand]
            on_all.append(_combination(operator == "any", tests))
        else:
            on_value.append(_on_value(operator, operand, textual, check_schema))
    if not on_all and len(on_value) == 1:
        only = on_value[0]
        return lambda values: any(map(only, values))
    if not on_value and len(on_all) == 1:
        return on_all[0]

    def fits(values: Sequence[Any]) -> bool:
        if on_value and not any(all(test(value) for test in on_value) for value in values):
            return False
        return all(test(values) for test in on_all)

    return fits


def canonical(value: Any, textual: bool = False) -> Any:
    """A hashable stand-in: equal exactly where the values are. None for lists and objects, which have none."""
    if textual:
        return _as_text(value)
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | Decimal):
        return ("number", Decimal(value))
    if isinstance(value, str):
        return ("text", value)
    return ("null",) if value is None else None


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: numbers by value, and true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) in _SCALARS and canonical(left) == canonical(right)


def contains(whole: Any, part: Any) -> bool:
    """Whether `part` is in `whole`: every member of an object, every entry of a list in any order, else equal."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and contains(whole[name], value) for name, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(contains(entry, wanted) for entry in whole) for wanted in part)
    return same(whole, part)


def comparable(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Both as decimals, else both as ISO dates or times, else nothing that could be ordered."""
    for read in (_as_decimal, _as_date, _as_time):
        pair = read(left), read(right)
        if None not in pair:
            return pair
    return None


_SCALARS = (str, int, Decimal, bool, type(None))


def _presence(wanted: bool) -> Test:
    return lambda values: bool(values) is wanted


def _negation(test: Test) -> Test:
    return lambda values: not test(values)


def _combination(wanted: bool, tests: Sequence[Test]) -> Test:
    """Whether any test holds where that is wanted, else whether all do; a loop, since every request comes by here."""

    def fits(values: Sequence[Any]) -> bool:
        for test in tests:
            if test(values) is wanted:
                return wanted
        return not wanted

    return fits


def _on_value(
    operator: str, operand: Any, textual: bool, check_schema: Callable[[str], Callable[[Any], bool]]
) -> Callable[[Any], bool]:
    if textual and any(isinstance(one, dict | list) for one in (operand if operator == "in" else [operand])):
        raise ValueError(f"{operator} compares with text here, not with a mapping or a list")
    if operator == "equals":
        wanted = _as_text(operand) if textual else operand
        return (lambda value: value == wanted) if textual else (lambda value: same(value, wanted))
    if operator == "in":
        if textual:
            texts = frozenset(map(_as_text, operand))
            return lambda value: value in texts
        return lambda value: any(same(value, entry) for entry in operand)
    if operator == "regex":
        pattern = _compile_regex(operand)
        return lambda value: isinstance(value, str) and pattern.search(_encodable(value)) is not None
    if operator == "glob":
        return lambda value: isinstance(value, str) and fnmatch.fnmatchcase(value, operand)
    if operator == "prefix":
        return lambda value: isinstance(value, str) and value.startswith(operand)
    if operator == "format":
        check = FORMATS[operand]
        return lambda value: isinstance(value, str) and check(value)
    if operator == "schema":
        return check_schema(operand)
    if operator == "contains":
        return lambda value: contains(value, operand)
    if comparable(operand, operand) is None:
        raise ValueError(f"{operator} compares decimals, ISO dates and times; {operand!r} is none")
    ordered = _RANGE[operator]

    def in_range(value: Any) -> bool:
        pair = comparable(value, operand)
        return pair is not None and ordered(*pair)

    return in_range


def _compile_regex(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode() if isinstance(reason, bytes) else reason
        raise ValueError(f"{text!r} is no regular expression that RE2 takes: {reason}") from None


def _encodable(text: str) -> str:
    """JSON may hold half a surrogate pair, which RE2 could not read."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _as_text(value: Any) -> str:
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
    if not isinstance(value, str) or not FORMATS["date"](value):
        return None
    return date.fromisoformat(value)


def _as_time(value: Any) -> datetime | None:
    if not isinstance(value, str) or not FORMATS["date-time"](value):
        return None
    return datetime.fromisoformat(value.upper())
