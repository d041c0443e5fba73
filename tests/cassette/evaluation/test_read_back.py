from typing import Any

import pytest

from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.evaluation.read_back import read_back
from xs2a_sandbox.cassette.evaluation.work import WORK, Work

SHAPES = layers.read([[bundled("cassettes") / "berlin-group-1.3"]], SCHEMAS, NAMED).shapes
BUNDLED = {name: shape.template for name, shape in SHAPES.items()}
BALANCE = {"type": "FWAV", "amount": {"currency": "EUR", "amount": "1.00"}, "reference_date": "2026-11-21"}
THINGS: list[tuple[str, Any]] = [
    ("balance", BALANCE),
    (
        "entry",
        {
            "id": "E-1",
            "booked_on": "2026-11-21",
            "amount": {"currency": "EUR", "amount": "-1.00"},
            "creditor_account": {"masked_pan": "4***", "currency": "EUR"},
            "exchange": [{"source": "CHF", "rate": "1.06"}, {"source": "USD", "rate": "0.92"}],
            "standing_order": {"start": "2026-11-21", "frequency": "Monthly", "day": "31"},
            "balance_after": BALANCE,
            "branch": "Linz",
        },
    ),
    ("account", {"id": "A-1", "iban": "AT1", "owner_name": "Anna", "type": "CACC", "balances": [BALANCE]}),
]


_SIGNED = {"sign": "{{ 'minus' if it.a.n[:1] == '-' else 'plus' }}", "n": "{{ it.a.n | replace('-', '') }}"}


@pytest.mark.parametrize(("name", "thing"), THINGS)
def test_results_of_bundled_shapes_are_read_back(name: str, thing: dict[str, Any]) -> None:
    said = SHAPES[name].one({WORK: Work()}, {**thing, "self": "/a", "rights": ["balances"]})
    known = read_back(BUNDLED[name], said, BUNDLED)
    assert {key: known[key] for key in thing} == thing


@pytest.mark.parametrize(
    ("template", "said", "thing"),
    [
        ("{{ it }}", 7, 7),
        ("{{ it.a.b }}", 7, {"a": {"b": 7}}),
        ("{{ {'A': 'first', 'B': 'second'}[it] }}", "second", "B"),
        ("{{ {'A': 'first'}[it] }}", "third", "third"),
        ({"x": "{{ it.a.b }}", "y?": "{{ it.a.c }}", "z": "{{ it.d }}"}, {"x": 1, "y": 2}, {"a": {"b": 1, "c": 2}}),
        ({"merge": [{"x": "{{ it.a }}"}, {"y": "{{ it.b }}"}]}, {"x": 1, "y": 2}, {"a": 1, "b": 2}),
        ({"each": "{{ it.all }}", "shape": "one"}, [{"N": 1}, {"N": 2}], {"all": [{"n": 1}, {"n": 2}]}),
        ({"x": {"shape": "one", "of": "{{ it.first }}"}}, {"x": {"N": 1}}, {"first": {"n": 1}}),
        (
            {"rename": {"a": "x", "b": None, "c": {"y": {"shape": "one"}}}},
            {"x": 1, "y": {"N": 2}, "own": 3},
            {"a": 1, "c": {"n": 2}, "own": 3},
        ),
        ({"rename": {"a": {"x": {"deeper": {"shape": "one"}}}}}, {"x": {"deeper": {"N": 2}}}, {"a": {"n": 2}}),
        ({"rename": {"a": {"x": "{{ it ~ '!' }}"}}}, {"x": None}, {"a": None}),
        ("{{ it.a ~ '!' }}", "x!", {"a": "x"}),
        ("{{ it.a or today() }}T00:00", "2026-11-21T00:00", {"a": "2026-11-21"}),
        ("{{ it.a or it.b }}", "x", {"a": "x"}),
        ("{{ it.a if let.b }}", "x", {"a": "x"}),
        (
            [{"kind": "number", "x": "{{ it.a }}"}, {"kind": "IBAN", "x": "{{ it.b }}"}],
            [{"kind": "IBAN", "x": "AT1"}, {"kind": "other", "x": "2"}],
            {"b": "AT1"},
        ),
        (_SIGNED, {"n": "7", "sign": "minus"}, {"a": {"n": "-7"}}),
        (_SIGNED, {"n": "7", "sign": "plus"}, {"a": {"n": "7"}}),
    ],
)  # fmt: skip
def test_simple_templates_are_read_back(template: Any, said: Any, thing: Any) -> None:
    assert read_back(template, said, {"one": {"rename": {"n": "N"}}}) == thing


@pytest.mark.parametrize(
    "template",
    [
        "text", "a {{ it.a }}", "{{ it.a ~ 'x' }}", "{{ result.a }}", 7, None, [1],
        {"each": "{{ it.a }}", "give": "{{ entry }}"}, {"shape": "unknown"}, {"x": "{{ it.a | upper }}"},
    ],
)  # fmt: skip
def test_templates_that_cannot_be_reversed_give_nothing(template: Any) -> None:
    assert read_back(template, {"x": 1}, {}) == {}


def test_a_string_instead_of_a_mapping_gives_nothing() -> None:
    assert read_back({"x": "{{ it.a }}"}, "text", {}) == {}
    assert read_back({"rename": {"a": "x"}}, "text", {}) == "text"
