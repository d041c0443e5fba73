import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xs2a_sandbox.compare.diff import MAX_DEPTH, AnswerDiff, Exact, contrast
from xs2a_sandbox.compare.identifiers import Counterparts
from xs2a_sandbox.http import Response

JSON = (("Content-Type", "application/json"),)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["O'Brien", "2026-11-21"])
)
VALUES = st.recursive(
    SCALARS,
    lambda v: (
        st.lists(v, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "id", "href", "iban", "~/"]) | st.text(max_size=3), v, max_size=5)
    ),
    max_leaves=25,
)
BODIES = (
    VALUES.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=40)
    | st.sampled_from(
        [
            b"",
            b"<html>",
            b'{"a":1,"a":2}',
            b"1e400",
            b"9" * 5000,
            b"1e99999999999999999999",
            b"NaN",
            b'"\\ud800"',
            b'["\\ud800",{"resourceId":"\\udfff"}]',
            b'{"a": "O\'Brien"}',
            b"[" * 5000 + b"]" * 5000,
            b"[" * 300 + b"1" + b"]" * 300,
            b"[" * 300 + b"2" + b"]" * 300,
        ]
    )
)


def differences(bank: Any, sandbox: Any) -> list[tuple[str, str]]:
    found = AnswerDiff(Counterparts()).values(bank, sandbox)
    return sorted((d.kind, d.where) for d in found)


@pytest.mark.parametrize(
    ("bank", "sandbox", "found"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("type", "/a")]),
        ({"a": 0}, {"a": False}, [("type", "/a")]),
        ({"a": True}, {"a": False}, [("value", "/a")]),
        ({"a": None}, {}, [("null", "/a")]),
        ({}, {"a": None}, [("null", "/a")]),
        ({"a": None}, {"a": "x"}, [("type", "/a")]),
        ({"a": "x"}, {}, [("member-missing", "/a")]),
        ({}, {"a": "x"}, [("member-extra", "/a")]),
        ({"a": "2026-01-01"}, {"a": "2026-01-02"}, [("value", "/a")]),
        ({"a": "2026-01-01"}, {"a": "01.01.2026"}, [("format", "/a")]),
        ({"a": "12.30"}, {"a": "12,30"}, [("format", "/a")]),
        ({"a": "12.30"}, {"a": "12.3"}, [("value", "/a")]),
        ({"a": "0cae8c3e-1111-4222-8333-444455556666"}, {"a": "1cae8c3e-1111-4222-8333-444455556666"}, []),
        ({"a": "0cae8c3e-1111-4222-8333-444455556666"}, {"a": "4711"}, [("format", "/a")]),
        ([1, 2], [1], [("length", "")]),
        (["a", "b"], ["b", "a"], [("order", "")]),
        (
            {"a": [{"iban": "x", "n": 1}, {"iban": "y", "n": 2}]},
            {"a": [{"iban": "y", "n": 2}]},
            [("element-missing", "/a/0")],
        ),
        (
            {"a": [{"iban": "y", "n": 2}]},
            {"a": [{"iban": "x", "n": 1}, {"iban": "y", "n": 2}]},
            [("element-extra", "/a/0")],
        ),
        (
            [{"iban": "x", "n": 1, "m": 1}, {"iban": "y", "n": 2, "m": 2}],
            [{"iban": "y", "n": 3, "m": 2}, {"iban": "x", "n": 1, "m": 1}],
            [("order", ""), ("value", "/0/n")],
        ),
        ([], {}, [("type", "")]),
        ("a", "b", [("value", "")]),
        ({"~/": 1}, {"~/": 2}, [("value", "/~0~1")]),
    ],
)
def test_each_difference_is_reported_once_at_its_place(bank: Any, sandbox: Any, found: list[tuple[str, str]]) -> None:
    assert differences(bank, sandbox) == found


def test_the_place_at_the_bank_is_known_too() -> None:
    bank = [{"iban": "x", "n": 1, "m": "x"}, {"iban": "y", "n": 2, "m": "y"}]
    (order, value) = sorted(
        AnswerDiff(Counterparts()).values(bank, [bank[1], {**bank[0], "n": 9}]), key=lambda d: d.kind
    )
    assert (order.place, value.place, value.bank_place) == ((), (1, "n"), (0, "n"))


@pytest.mark.parametrize(
    ("bank", "sandbox", "found"),
    [
        (Response(200, JSON, b"{}"), Response(200, JSON, b"{ }"), []),
        (Response(204), Response(200), [("status", "status")]),
        # An error has nothing in common with the expected answer.
        (Response(200, JSON, b'{"accounts":[]}'), Response(403, (), b'{"tppMessages":[]}'), [("status", "status")]),
        (Response(200, JSON, b'{"a":1}'), Response(403, JSON, b'{"a":2}'), [("status", "status"), ("value", "/a")]),
        (
            Response(200, (), b'{"a":1}'),
            Response(201, (), b'{"b":1}'),
            [("member-extra", "/b"), ("member-missing", "/a"), ("status", "status")],
        ),
        (Response(200, (), b"<h1>"), Response(200, (), b"{}"), [("type", "")]),
        (Response(200, (), b""), Response(200, (), b"{}"), [("type", "")]),
        (Response(200, (), b"one"), Response(200, (), b"two"), [("value", "")]),
        (Response(200, (("location", "/x"),)), Response(200), [("header-missing", "header location")]),
        (Response(200, (("X-A", "1"),)), Response(200, (("x-a", "2"),)), [("header-changed", "header X-A")]),
        (Response(200), Response(200, (("X-B", "2"), ("Date", "x"))), [("header-extra", "header X-B")]),
    ],
)
def test_whole_answers_are_compared(bank: Response, sandbox: Response, found: list[tuple[str, str]]) -> None:
    assert sorted((d.kind, d.where) for d in contrast(bank, sandbox, Counterparts())) == found


def test_a_missing_header_that_an_operation_names_is_severe() -> None:
    bank = Response(200, (("X-Own", "1"), ("Location", "/x"), ("X-Other", "1")))
    found = contrast(bank, Response(200), Counterparts(), {"x-own"})
    assert {d.header: d.severity for d in found} == {"X-Own": "high", "Location": "high", "X-Other": "low"}


def test_deeply_nested_values_are_compared_as_a_whole() -> None:
    def nested(value: Any) -> Any:
        for _ in range(3 * MAX_DEPTH):
            value = {"in": value}
        return value

    assert differences(nested(1), nested(1)) == []
    ((kind, where),) = differences(nested(1), nested(2))
    assert (kind, where.count("/in")) == ("value", MAX_DEPTH + 1)


@given(BODIES, BODIES)
@example(b"[" * 5000 + b"]" * 5000, b"[" * 5000 + b"1" + b"]" * 5000)
def test_any_two_bodies_can_be_compared(bank: bytes, sandbox: bytes) -> None:
    for identity in (Counterparts(), Exact()):
        assert isinstance(contrast(Response(200, JSON, bank), Response(200, JSON, sandbox), identity), list)


@given(BODIES)
def test_an_answer_equals_itself(body: bytes) -> None:
    answer = Response(200, JSON, body)
    assert contrast(answer, answer, Counterparts()) == []


@given(VALUES, VALUES)
@example([None, None, 1, None, 0], [None, None, 0, 1, 0])
def test_comparison_is_symmetric(bank: Any, sandbox: Any) -> None:
    there = AnswerDiff(Exact()).values(bank, sandbox)
    back = AnswerDiff(Exact()).values(sandbox, bank)
    assert bool(there) == bool(back)


@pytest.mark.parametrize(
    ("bank", "sandbox"),
    [
        ([[n] * 3 for n in range(400)], [[n, n + 1] for n in range(401)]),
        ([{"a": n} for n in range(2000)], [{"a": n + 5} for n in range(1990)]),
        ([0] * 600, [0] * 300 + [1] + [0] * 300),
    ],
    ids=["unlike", "long", "alike"],
)
def test_long_arrays_are_compared_quickly(bank: Any, sandbox: Any) -> None:
    started = time.process_time()
    differences(bank, sandbox)
    assert time.process_time() - started < 5


def test_arrays_in_arrays_are_compared_quickly() -> None:
    bank: Any = ["x"]
    sandbox: Any = ["y", "z"]
    for _ in range(60):
        bank, sandbox = [bank, "1", bank], ["2", sandbox]
        if len(json.dumps(bank)) > 20_000:
            break
    deep: Any = ["x"]
    other: Any = ["y", "z"]
    for _ in range(60):
        deep, other = [deep, "1"], ["2", other]
    started = time.process_time()
    differences(bank, sandbox)
    differences(deep, other)
    assert time.process_time() - started < 5
