import json
import time
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.generate.openapi import text_schema

from xs2a_sandbox.cassette.evaluation.values import canonical
from xs2a_sandbox.cassette.matchers import (
    OPERATORS,
    RequestPart,
    Surroundings,
    compile_matcher,
    constrain,
    in_words,
    operands,
    sample,
)
from xs2a_sandbox.cassette.reader import cassette_schema

ROOT = Path(__file__).resolve().parents[2]

JSON_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)),
    st.sampled_from(["", "1", "1.0", "true", "null", "a"]),
)


def no_schema(name):
    raise AssertionError(f"looked up the schema {name}")


def fits(matcher, *values, text=False):
    return compile_matcher(matcher, Surroundings(text, no_schema))(values)


@pytest.mark.parametrize(
    ("matcher", "text", "expected"),
    [
        ("abc", "abc", True),
        ("abc", "ABC", False),
        (5, "5", True),
        (True, "true", True),
        (Decimal("1.10"), "1.10", True),
        (Decimal("1.10"), "1.1", False),
        ({"equals": "a"}, "a", True),
        ({"in": ["a", 5]}, "5", True),
        ({"in": ["a", 5]}, "b", False),
        ({"regex": "^corp-"}, "corp-1", True),
        ({"regex": "corp"}, "my corp", True),
        ({"regex": "^corp$"}, "corp-1", False),
        ({"regex": "(?i)CORP"}, "corp", True),
        ({"glob": "corp-*"}, "corp-1", True),
        ({"glob": "corp-?"}, "corp-12", False),
        ({"glob": "Corp-*"}, "corp-1", False),
        ({"prefix": "corp"}, "corp-1", True),
        ({"prefix": "corp."}, "corp-1", False),
        ({"format": "uuid"}, "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", True),
        ({"format": "iban"}, "AT00", False),
        ({"gt": "10000"}, "10000.01", True),
        ({"gt": "10000"}, "9999", False),
        ({"gt": 10}, "10", False),
        ({"gte": 10}, "10.0", True),
        ({"lt": 10}, "9.99", True),
        ({"lte": 10}, "10.01", False),
        ({"gt": 9, "lt": 11}, "10", True),
        ({"gt": 9, "lt": 10}, "10", False),
        ({"gt": "2026-01-01"}, "2026-11-21", True),
        ({"lt": "2026-01-01"}, "2026-11-21", False),
        ({"gt": "2026-11-21T10:00:00Z"}, "2026-11-21T10:30:00+01:00", False),
        ({"gt": "2026-01-01"}, "20261121", False),
        ({"gt": "10"}, "1_000", False),
        ({"gt": "10"}, " 11", False),
        ({"gt": "10"}, "eleven", False),
        ({"lt": "10"}, "-Infinity", False),
        ({"lt": "10"}, "", False),
        ({"not": "a"}, "b", True),
        ({"not": {"prefix": "a"}}, "ab", False),
        ({"any": ["a", {"prefix": "b"}]}, "bc", True),
        ({"any": ["a", {"prefix": "b"}]}, "c", False),
        ({"all": [{"prefix": "a"}, {"regex": "z$"}]}, "abcz", True),
        ({"all": [{"prefix": "a"}, {"regex": "z$"}]}, "abc", False),
        ({"prefix": "a", "regex": "z$"}, "abc", False),
        ({"exists": True}, "", True),
        ({"exists": False}, "", False),
        ({"absent": False}, "", True),
    ],
)
def test_text_matchers_for_headers_query_and_path(matcher, text, expected):
    assert fits(matcher, text, text=True) is expected


@pytest.mark.parametrize(
    ("matcher", "value", "expected"),
    [
        (1, Decimal("1.0"), True),
        (1, True, False),
        (1, "1", False),
        ("1", 1, False),
        (True, True, True),
        (None, None, True),
        (None, False, False),
        ({"equals": None}, None, True),
        ({"equals": {"a": [1]}}, {"a": [Decimal("1.00")]}, True),
        ({"equals": [1, 2]}, [2, 1], False),
        ({"in": [None, {"a": 1}]}, {"a": 1}, True),
        ({"in": [0, 1]}, False, False),
        ({"regex": "1"}, 1, False),
        ({"prefix": "a"}, ["a"], False),
        ({"glob": "*"}, None, False),
        ({"format": "amount"}, "1.5", True),
        ({"format": "amount"}, 1, False),
        ({"gt": 10}, Decimal("10.5"), True),
        ({"gt": "10"}, 11, True),
        ({"gt": 0}, True, False),
        ({"gt": 0}, [1], False),
        ({"contains": {"a": 1}}, {"a": 1, "b": 2}, True),
        ({"contains": [2, 1]}, [1, 2, 3], True),
        ({"contains": [{"a": 1}]}, [{"b": 0}, {"a": 1, "b": 2}], True),
        ({"contains": {"a": {"b": None}}}, {"a": {}}, False),
        ({"contains": {}}, {}, True),
        ({"contains": {}}, [], False),
        ({"exists": True}, None, True),
    ],
)
def test_matchers_for_values_in_a_body(matcher, value, expected):
    assert fits(matcher, value) is expected


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        ("a", False),
        ({"in": ["a", ""]}, False),
        ({"equals": None}, False),
        ({"lt": 5}, False),
        ({"exists": True}, False),
        ({"exists": False}, True),
        ({"absent": True}, True),
        ({"absent": False}, False),
        ({"not": "a"}, True),
        ({"not": {"exists": True}}, True),
        ({"any": ["a", {"absent": True}]}, True),
        ({"all": ["a", {"absent": True}]}, False),
        ({"regex": ".*"}, False),
    ],
)
@pytest.mark.parametrize("text", [True, False])
def test_absent_values(matcher, expected, text):
    assert fits(matcher, text=text) is expected


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        ("a", True),
        ("b", True),
        ("c", False),
        ({"in": ["c", "b"]}, True),
        ({"regex": "^b"}, True),
        ({"prefix": "a", "regex": "b"}, False),
        ({"all": ["a", "b"]}, True),
        ({"not": "b"}, False),
    ],
)
def test_a_repeated_key_matches_if_any_value_matches(matcher, expected):
    assert fits(matcher, "a", "b", text=True) is expected


@pytest.mark.parametrize(
    ("matcher", "value"), [({"regex": "^(a+)+$"}, "a" * 50_000 + "b"), ({"glob": "*a" * 30 + "b"}, "a" * 3_000)]
)
def test_patterns_take_linear_time(matcher, value):
    started = time.perf_counter()
    assert fits(matcher, value) is False
    assert time.perf_counter() - started < 1


def test_a_lone_surrogate_does_not_match():
    assert fits({"regex": "x"}, "\ud800") is False


@pytest.mark.parametrize(
    "matcher",
    [{"regex": "("}, {"regex": "(?=a)"}, {"regex": "(x{1000}){1000}"}, {"gt": "soon"}, {"not": {"regex": "["}}],
)
def test_invalid_matchers(matcher):
    with pytest.raises(ValueError, match=r"."):
        constrain(RequestPart("headers", "x"), matcher, no_schema)


@pytest.mark.parametrize("matcher", [{"equals": {"a": 1}}, {"in": [["a"]]}])
def test_text_cannot_be_compared_with_a_mapping_or_a_list(matcher):
    with pytest.raises(ValueError, match="needs a string"):
        constrain(RequestPart("query", "x"), matcher, no_schema)
    constrain(RequestPart("body", "/x"), matcher, no_schema)


@pytest.mark.parametrize(
    ("matcher", "strength"),
    [
        ("a", 8),
        ({"equals": "a"}, 8),
        ({"in": ["a"]}, 4),
        ({"format": "uuid"}, 4),
        *[({operator: "5"}, 2) for operator in ("regex", "glob", "prefix", "gt", "gte", "lt", "lte", "contains")],
        *[({operator: True}, 1) for operator in ("exists", "absent")],
        ({"not": "a"}, 1),
        ({"gt": 1, "lt": 5}, 4),
        ({"in": ["a"], "exists": True}, 5),
    ],
)
def test_strength_of_matchers(matcher, strength):
    assert constrain(RequestPart("body", "/x"), matcher, no_schema).strength == strength


@given(JSON_SCALARS, st.lists(JSON_SCALARS, min_size=1, max_size=3))
def test_in_equals_any_of_equals(value, wanted):
    assert fits({"in": wanted}, value) is any(fits({"equals": one}, value) for one in wanted)
    constraint = constrain(RequestPart("body", "/x"), {"in": wanted}, no_schema)
    assert fits({"in": wanted}, value) is (canonical(value) in constraint.values)


OPERAND_FITTING_OTHER = {
    "equals": ("gold", "gold", "golden"),
    "in": (["gold", "silver"], "silver", "silber"),
    "format": ("uuid", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "99391c7e"),
    "prefix": ("corp-", "corp-1", "cor-1"),
    "gte": ("10", "10", "9"),
    "lte": ("2026-11-21", "2026-11-21", "2026-11-22"),
    "gt": ("10", "11", "10"),
    "lt": ("10", "9", "12"),
    "contains": ({"a": 1}, {"a": 1, "b": 2}, {"b": 2}),
    "any": (["gold", {"prefix": "s"}], "silver", "copper"),
    "all": ([{"prefix": "a"}, {"regex": "z$"}], "a-z", "a-y"),
    "regex": ("^a+$", "aa", "b"),
    "glob": ("*.at", "tpp.at", "tpp.de"),
    "schema": ("known", "accepted", "refused"),
    "exists": (False, ..., "there"),
    "absent": (True, ..., "there"),
    "not": ("gold", "silver", "gold"),
}
"""By operator: an operand, a matching value (`...` means that none is sent), and another value."""


def test_every_operator_is_tested() -> None:
    assert OPERAND_FITTING_OTHER.keys() == OPERATORS.keys()


def check_schema(name):
    assert name == "known"
    return lambda value: value == "accepted"


@pytest.mark.parametrize("name", OPERATORS)
class TestEveryOperator:
    def test_operators_match_and_reject(self, name):
        operand, fitting, other = OPERAND_FITTING_OTHER[name]
        operator = OPERATORS[name]
        for part in ("body",) if operator.in_bodies_alone else ("body", "headers"):
            constraint = constrain(RequestPart(part, "x"), {name: operand}, check_schema)
            assert constraint.fits(() if fitting is ... else (fitting,))
            assert not constraint.fits((other,))
            assert constraint.strength == operator.strength > 0
            assert not (operator.looks_at_values and constraint.fits(()))

    def test_a_sample_matches_if_the_operator_has_one(self, name):
        operand, *_ = OPERAND_FITTING_OTHER[name]
        value = sample({name: operand})
        assert value is not None or name in ("absent", "all", "exists", "not", "schema")
        if OPERATORS[name].is_typed:
            assert constrain(RequestPart("body", "/x"), {name: operand}, check_schema).fits((value,))

    def test_distance_is_at_most_1_for_other_values_and_0_for_matching_values(self, name):
        operand, fitting, other = OPERAND_FITTING_OTHER[name]
        distance = OPERATORS[name].distance
        measured = name in ("equals", "in", "prefix", "gt", "gte", "lt", "lte")
        assert (0 < distance(operand, other)[0] <= 1) is measured
        assert distance(operand, fitting) == (0, "")
        assert bool(distance(operand, other)[1]) is name.startswith(("gt", "lt"))

    def test_the_cassette_schema_accepts_each_operand(self, name):
        operand, *_ = OPERAND_FITTING_OTHER[name]
        for kind in ("matcher",) if OPERATORS[name].in_bodies_alone else ("matcher", "textMatcher"):
            validator = jsonschema.Draft202012Validator(
                {"$ref": f"#/$defs/{kind}", "$defs": cassette_schema().document["$defs"]}
            )
            assert validator.is_valid({name: operand})
            assert validator.is_valid({name: {"no": "operator"}}) is (name in ("equals", "contains"))

    def test_every_operator_has_a_description(self, name):
        operand, *_ = OPERAND_FITTING_OTHER[name]
        assert in_words({name: operand})

    def test_matching_text_is_valid_for_the_schema_of_the_matcher(self, name):
        operand, fitting, other = OPERAND_FITTING_OTHER[name]
        if OPERATORS[name].in_bodies_alone or fitting is ...:
            return
        described = jsonschema.Draft202012Validator(
            text_schema({name: operand}), format_checker=jsonschema.FormatChecker()
        )
        assert described.is_valid(fitting)
        assert described.is_valid(other) is (name not in ("equals", "in", "regex", "format"))


@pytest.mark.parametrize(("definition", "textual"), [("matcher", False), ("textMatcher", True)])
def test_the_schema_for_editors_has_the_same_operators(definition: str, textual: bool) -> None:
    file = json.loads((ROOT / "schemas" / "cassette.schema.json").read_text())
    assert file["$defs"][definition]["then"]["properties"] == operands(textual=textual)


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        ("a", "a"),
        ({"in": ["a", "b"]}, "one of a, b"),
        ({"any": [{"absent": True}, {"gt": 1, "lt": 5}]}, "absent or greater than 1 and less than 5"),
        ({"all": [{"gte": 1}, {"lte": 5}]}, "at least 1 and at most 5"),
        ({"not": {"in": ["a"]}}, "not one of a"),
        ({"exists": True, "prefix": "a"}, "there and a value that matches prefix a"),
    ],
)
def test_descriptions_of_matchers(matcher, words):
    assert in_words(matcher) == words
