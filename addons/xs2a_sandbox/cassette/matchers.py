"""Matchers: the conditions of a cassette on one place of a request, compiled once.

`OPERATORS` holds everything that the package knows about each operator.
"""

import fnmatch
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple

import re2

from xs2a_sandbox.cassette.evaluation.values import (
    LEAST,
    canonical,
    contains,
    gap,
    is_equal,
    make_comparable,
    measure_distance,
    to_text,
    words_apart,
)
from xs2a_sandbox.documents.formats import EXPECTED, FORMATS, SAMPLES

Part = Literal["headers", "query", "tls", "where", "body"]
Test = Callable[[Sequence[Any]], bool]
"""Takes all values at a place: none if it is missing, several if a header or query key is repeated."""
ValueTest = Callable[[Any], bool]
Json = dict[str, Any]

WHEN_STRENGTH = 1
TEXT = "text"
"""The sample for a string without further conditions."""


@dataclass(frozen=True, slots=True)
class RequestPart:
    """A place in a request: a header (lower case), a query key, a field of the client certificate, a path parameter, or
    a JSON Pointer into the body.
    """

    part: Part
    name: str

    def __str__(self) -> str:
        return f"{self.part}{self.name if self.part == 'body' else '.' + self.name}"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One place and its condition. `spec` is the matcher in its long form, which is always a mapping."""

    place: RequestPart
    spec: Mapping[str, Any]
    fits: Test
    strength: int
    values: frozenset[Any] | None
    """The canonical values of `equals` or `in`, which the index uses to find rules."""


class Surroundings(NamedTuple):
    """The context for compiling a matcher. `textual` is true for every place outside of bodies."""

    textual: bool
    check_schema: Callable[[str], ValueTest]


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its syntax, its test, and the messages about values that do not match.

    `schema` is the JSON Schema of its operand. An operator that `looks_at_values` never matches a missing value, and
    its test gets one value; the test of any other operator gets all values. `sample` is the simplest value that may
    match, or None if none is needed; `is_typed` says that it also has the right type for a body. `distance` is how far
    a value is from fitting, with the difference in words, which is empty if it cannot be measured.
    """

    name: str
    strength: int
    schema: Json
    test: Callable[[Any, Surroundings], Callable[[Any], bool]]
    words: Callable[[Any], str] | None = None
    looks_at_values: bool = True
    in_bodies_alone: bool = False
    sample: Callable[[Any], Any] = lambda operand: None
    is_typed: bool = False
    distance: Callable[[Any, Any], tuple[float, str]] = lambda operand, value: (0.0, "")


def constrain(place: RequestPart, matcher: Any, check_schema: Callable[[str], ValueTest]) -> Constraint:
    """Compile a condition. Raises ValueError with a message for the author of the cassette."""
    spec = long_form(matcher)
    textual = place.part != "body"
    choices = [spec["equals"]] if "equals" in spec else spec.get("in", ())
    values = frozenset(canonical(value, textual) for value in choices)
    strength = sum(OPERATORS[name].strength for name in spec)
    test = compile_matcher(spec, Surroundings(textual, check_schema))
    return Constraint(place, spec, test, strength, values if values and None not in values else None)


def long_form(matcher: Any) -> Mapping[str, Any]:
    """Return the operators with their operands. A matcher that is a plain value means `equals`."""
    return matcher if isinstance(matcher, dict) else {"equals": matcher}


def compile_matcher(matcher: Any, around: Surroundings) -> Test:
    """Compile a matcher: all operators must match, and those that look at values must match the same value."""
    on_value: list[ValueTest] = []
    on_all: list[Test] = []
    for name, operand in long_form(matcher).items():
        entry = OPERATORS[name]
        (on_value if entry.looks_at_values else on_all).append(entry.test(operand, around))
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


def in_words(matcher: Any) -> str:
    """Describe in words which values match."""
    return " and ".join(
        words(operand) if (words := OPERATORS[name].words) else f"a value that matches {name} {operand}"
        for name, operand in long_form(matcher).items()
    )


def sample(matcher: Any) -> Any:
    """Return the simplest value that may match, or None if no value is needed."""
    spec = long_form(matcher)
    samples = (entry.sample(spec[name]) for name, entry in OPERATORS.items() if name in spec)
    return next((value for value in samples if value is not None), None)


def _equals(operand: Any, around: Surroundings) -> ValueTest:
    if around.textual:
        text = _text("equals", operand)
        return lambda value: bool(value == text)
    return lambda value: is_equal(value, operand)


def _one_of(operand: Any, around: Surroundings) -> ValueTest:
    if around.textual:
        texts = frozenset(_text("in", item) for item in operand)
        return lambda value: value in texts
    return lambda value: any(is_equal(value, entry) for entry in operand)


def _text(name: str, operand: Any) -> str:
    if isinstance(operand, dict | list):
        raise ValueError(f"{name} needs a string here, not a mapping or a list")
    return to_text(operand)


def _regex(operand: str, around: Surroundings) -> ValueTest:
    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(operand, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode() if isinstance(reason, bytes) else reason
        raise ValueError(f"{operand!r} is not a regular expression of RE2: {reason}") from None
    return lambda value: isinstance(value, str) and pattern.search(_make_encodable(value)) is not None


def _make_encodable(text: str) -> str:
    """Replace lone surrogates, which JSON may contain and RE2 cannot read."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _on_text(fits: Callable[[str, str], bool]) -> Callable[[str, Surroundings], ValueTest]:
    """Make the test of an operator on text from a function of text and operand."""
    return lambda operand, around: lambda value: isinstance(value, str) and fits(value, operand)


def _format(operand: str, around: Surroundings) -> ValueTest:
    check = FORMATS[operand]
    return lambda value: isinstance(value, str) and check(value)


def _presence(is_there: bool) -> Test:
    return lambda values: bool(values) is is_there


def _negation(operand: Any, around: Surroundings) -> Test:
    test = compile_matcher(operand, around)
    return lambda values: not test(values)


def _combination(of_any: bool) -> Callable[[Any, Surroundings], Test]:
    """Make the test for `any` or `all` of a list of matchers."""

    def compile_operand(operand: Any, around: Surroundings) -> Test:
        tests = [compile_matcher(item, around) for item in operand]

        def fits(values: Sequence[Any]) -> bool:
            # A loop is fastest, and every request runs it.
            for test in tests:
                if test(values) is of_any:
                    return of_any
            return not of_any

        return fits

    return compile_operand


def _sample_of_any(operand: Sequence[Any]) -> Any:
    return None if any(long_form(item).get("absent") for item in operand) else sample(operand[0])


def _range(name: str, strength: int, fits: Callable[[Any, Any], bool], words: str, description: str) -> Operator:
    """Return an operator that compares with a bound."""
    is_floor = name.startswith("gt")

    def test(operand: Any, around: Surroundings) -> ValueTest:
        if make_comparable(operand, operand) is None:
            raise ValueError(f"{name} needs a decimal, an ISO date or a time, not {operand!r}")

        def in_range(value: Any) -> bool:
            pair = make_comparable(value, operand)
            return pair is not None and fits(*pair)

        return in_range

    def distance(operand: Any, value: Any) -> tuple[float, str]:
        pair = make_comparable(value, operand)
        if pair is None:
            return 1.0, ""
        if fits(*pair):
            return 0.0, ""
        if pair[0] == pair[1]:
            return LEAST, "just not"
        cost, amount = gap(*pair)
        words = ("early", "late") if isinstance(pair[0], date) else ("little", "much")
        return cost, f"{amount} too {words[not is_floor]}"

    return Operator(
        name,
        strength,
        {"description": f"{description}: as decimals, otherwise as ISO dates.", "type": ["string", "number"]},
        test,
        lambda operand: f"{words} {operand}",
        sample=lambda operand: operand,
        distance=distance,
    )


_MATCHER = {"$ref": "#/$defs/matcher"}
_MATCHERS = {"type": "array", "minItems": 1, "items": _MATCHER}

OPERATORS = {
    entry.name: entry
    for entry in (
        Operator(
            "equals",
            8,
            {"description": "The same value. Numbers are compared by value, and true is not 1."},
            _equals,
            str,
            sample=lambda operand: operand,
            is_typed=True,
            distance=lambda operand, value: (measure_distance(operand, value), ""),
        ),
        Operator(
            "in",
            4,
            {"description": "One of these values.", "type": "array", "minItems": 1},
            _one_of,
            lambda operand: f"one of {', '.join(map(str, operand))}",
            sample=operator.itemgetter(0),
            is_typed=True,
            distance=lambda operand, value: (min(measure_distance(item, value) for item in operand), ""),
        ),
        Operator(
            "format",
            4,
            {"description": "A known format.", "enum": sorted(FORMATS)},
            _format,
            EXPECTED.__getitem__,
            sample=SAMPLES.__getitem__,
            is_typed=True,
        ),
        Operator(
            "prefix",
            2,
            {"description": "The start of the text.", "type": "string"},
            _on_text(str.startswith),
            sample=lambda operand: operand,
            is_typed=True,
            distance=lambda operand, value: (
                words_apart(operand, value[: len(operand)]) if isinstance(value, str) else 1.0,
                "",
            ),
        ),
        _range("gte", 2, operator.ge, "at least", "Greater than or equal"),
        _range("lte", 2, operator.le, "at most", "Less than or equal"),
        _range("gt", 2, operator.gt, "greater than", "Greater than"),
        _range("lt", 2, operator.lt, "less than", "Less than"),
        Operator(
            "contains",
            2,
            {"description": "A part of the value: members of an object, entries of a list in any order."},
            lambda operand, around: lambda value: contains(value, operand),
            in_bodies_alone=True,
            sample=lambda operand: operand,
            is_typed=True,
        ),
        Operator(
            "any",
            1,
            {"description": "At least one of these must match.", **_MATCHERS},
            _combination(True),
            lambda operand: " or ".join(map(in_words, operand)),
            looks_at_values=False,
            sample=_sample_of_any,
        ),
        Operator(
            "all",
            1,
            {"description": "All of these must match.", **_MATCHERS},
            _combination(False),
            lambda operand: " and ".join(map(in_words, operand)),
            looks_at_values=False,
        ),
        Operator(
            "regex",
            2,
            {
                "description": "A regular expression (RE2) found anywhere in the text; anchor it with ^ and $.",
                "type": "string",
            },
            _regex,
            sample=lambda operand: TEXT,
        ),
        Operator(
            "glob",
            2,
            {"description": "Shell wildcards (*, ?, [abc]) that match the whole text.", "type": "string"},
            _on_text(fnmatch.fnmatchcase),
            sample=lambda operand: TEXT,
        ),
        Operator(
            "schema",
            2,
            {"description": "The name of a JSON Schema that the value must satisfy.", "type": "string"},
            lambda operand, around: around.check_schema(operand),
            in_bodies_alone=True,
        ),
        Operator(
            "exists",
            1,
            {"description": "Whether the value exists.", "type": "boolean"},
            lambda operand, around: _presence(operand is True),
            lambda operand: "there" if operand is True else "absent",
            looks_at_values=False,
            sample=lambda operand: TEXT if operand is True else None,
        ),
        Operator(
            "absent",
            1,
            {"description": "Whether the value is absent.", "type": "boolean"},
            lambda operand, around: _presence(operand is False),
            lambda operand: "absent" if operand is True else "there",
            looks_at_values=False,
        ),
        Operator(
            "not",
            1,
            {"description": "Must not match; also true if the value is absent.", **_MATCHER},
            _negation,
            lambda operand: f"not {in_words(operand)}",
            looks_at_values=False,
        ),
    )
}
"""The operators by name. If a matcher has several, its sample comes from the first of them in this order."""


def operands(*, textual: bool) -> Json:
    """Return the JSON Schema of a matcher's members for the schema of cassettes.

    `textual` is for places outside of bodies.
    """
    members = {name: entry.schema for name, entry in OPERATORS.items() if not (textual and entry.in_bodies_alone)}
    described: Json = json.loads(json.dumps(members).replace("/matcher", "/textMatcher" if textual else "/matcher"))
    return described
