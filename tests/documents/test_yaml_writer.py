from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.documents.yaml_reader import parse
from xs2a_sandbox.documents.yaml_writer import survives, write_exactly, yaml_line, yaml_text

ODD = [
    "", " ", "1", "1.10", "-0", "1e5", "1e99999", "0x1", "0123", "null", "~", "true", "NO", "2026-11-21", "12:30",
    "a: b", "a #b", "a:", "- a", "-", "?", "<<", "*a", "&b", "!c", "|", ">", "%", "@", "`", "{{ x }}", "{a}", "[",
    "a,b", "'", '"', "x\ny",
    "x\ny\n", "x\n\n y\n\n", "\nfoo", "a\n", "  a\nb", "a \nb ", "a\tb\n\tc", "\ufeffx", "a\u2028b\nc",
    "\x85", "---", "...", "# no comment", "x\n# y\n", "a\r\nb", "\x00", "\U0001f600", "=", "é",
]  # fmt: skip
TEXTS = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers() | st.decimals("-1e30", "1e30", allow_nan=False).filter(lambda d: bool({*str(d)} & {*".E"}))
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_every_value_is_read_back(value: Any) -> None:
    assert survives(value), yaml_text({"value": value})


@given(VALUES)
def test_a_value_on_one_line_is_read_back(value: Any) -> None:
    line = yaml_line({"value": value})
    assert "\n" not in line
    assert write_exactly(parse(line, Path("line.yaml")).value) == write_exactly({"value": value})


@pytest.mark.parametrize(
    "value", ["\ud800", Decimal("10"), Decimal("1E+9999"), 10**1000, {"x" * 2000: 1}, {"a": {"\udfff": 1}}]
)
def test_values_without_a_yaml_form_do_not_survive(value: Any) -> None:
    assert not survives(value)


def test_values_nested_too_deep_do_not_survive() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    assert not survives(value)


def test_the_output_is_readable() -> None:
    value = {
        "id": "a",
        "amount": {"amount": "12.50", "rate": Decimal("1.10"), "currency": "EUR"},
        "links": {"self": {"href": "/v1/a"}, "none": {}},
        "tags": ["a", 1, None],
        "text": "one\n  two\n",
        "list": [{"a": "x" * 120, "b": []}, [["y"], [{"c": 1}]]],
    }
    assert yaml_text(value) == (
        "id: a\n"
        'amount: {amount: "12.50", rate: 1.10, currency: EUR}\n'
        "links:\n"
        "  self: {href: /v1/a}\n"
        "  none: {}\n"
        "tags: [a, 1, null]\n"
        "text: |\n"
        "  one\n"
        "    two\n"
        "list:\n"
        f"  - a: {'x' * 120}\n"
        "    b: []\n"
        "  - - [y]\n"
        "    - - {c: 1}\n"
    )


def test_equal_values_have_the_same_text() -> None:
    assert write_exactly({"a": 1, "b": Decimal("1.10")}) == write_exactly({"b": Decimal("1.10"), "a": 1})
    assert len({write_exactly(value) for value in (Decimal("1.10"), Decimal("1.1"), "1.10", 1, True, "1", None)}) == 7
