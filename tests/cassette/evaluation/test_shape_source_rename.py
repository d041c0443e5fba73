from typing import Any

import pytest

from xs2a_sandbox.cassette.evaluation.expressions import RESULT_ROOTS, compile_value
from xs2a_sandbox.cassette.evaluation.shapes import compile_shapes
from xs2a_sandbox.cassette.evaluation.work import WORK, Work

OF_ACCOUNT = {"rename": {"masked_pan": "maskedPan"}}
ENTRY = {
    "rename": {
        "id": "transactionId",
        "booked_on": "bookingDate",
        "account": {"creditorAccount": {"shape": "account"}},
        "order": {"structured": {"details": {"rename": {"start": "startDate"}}}},
        "kind": {"type": "{{ {'A': 'first', 'B': 'second'}[it] }}"},
        "exchange": {"currencyExchange": {"each": "{{ it }}", "shape": "account"}},
        "secret": None,
    }
}


def shape(template: Any, it: Any, **result: Any) -> Any:
    shapes = compile_shapes({"account": OF_ACCOUNT, "it": template}, RESULT_ROOTS, _mistaken)
    return shapes["it"].one({"result": result, WORK: Work()}, it)


def mistakes(template: Any) -> list[Any]:
    found: list[Any] = []
    compile_shapes({"it": template}, RESULT_ROOTS, lambda name, place, text: found.append((place, text)))
    return found


def _mistaken(*mistake: Any) -> None:
    raise AssertionError(mistake)


def test_members_are_renamed_and_keep_their_order() -> None:
    entry = {
        "booked_on": "2026-11-21",
        "own": 1,
        "id": "E-1",
        "secret": 2,
        "account": {"iban": "I", "masked_pan": "4*"},
    }
    shaped = shape(ENTRY, entry)
    assert list(shaped.items()) == [
        ("bookingDate", "2026-11-21"),
        ("own", 1),
        ("transactionId", "E-1"),
        ("creditorAccount", {"iban": "I", "maskedPan": "4*"}),
    ]


@pytest.mark.parametrize(
    ("entry", "shaped"),
    [
        (
            {"order": {"start": "2026-11-21", "day": 3}},
            {"structured": {"details": {"startDate": "2026-11-21", "day": 3}}},
        ),
        ({"kind": "B", "id": None}, {"type": "second", "transactionId": None}),
        ({"kind": "C"}, {"type": None}),
        ({"exchange": [{"masked_pan": 1}, {"x": 2}]}, {"currencyExchange": [{"maskedPan": 1}, {"x": 2}]}),
        ({"account": None}, {"creditorAccount": None}),
        ("a text", {}),
        ({}, {}),
    ],
)
def test_only_existing_values_are_rendered(entry: Any, shaped: Any) -> None:
    assert shape(ENTRY, entry) == shaped


def test_an_object_without_renamed_members_is_returned_unchanged() -> None:
    account = {"iban": "I"}
    assert shape(OF_ACCOUNT, account) is account
    assert shape({"rename": {"a": "b"}, "of": "{{ result.account }}"}, None, account=account) is account


def test_a_renaming_can_be_part_of_a_template() -> None:
    template = {"merge": [{"rename": {"id": "transactionId"}}, {"_links": {"self": "{{ result.self }}/{{ it.id }}"}}]}
    assert shape(template, {"id": "E-1", "own": 1}, self="/x") == {
        "transactionId": "E-1",
        "own": 1,
        "_links": {"self": "/x/E-1"},
    }


@pytest.mark.parametrize(
    ("rename", "place", "said"),
    [
        ({"a": 1}, "a", "rename a member with a name"),
        ({"a": {"b": 1, "c": 2}}, "a", "rename a member with a name"),
        ({"a": "x", "b": "x"}, "b", "two members have the same new name x; rename one of them"),
    ],
)
def test_mistakes_in_renamings(rename: Any, place: str, said: str) -> None:
    ((where, text),) = mistakes({"rename": rename})
    assert where == ("rename", place)
    assert said in text


def test_renaming_is_possible_only_in_shapes() -> None:
    found: list[Any] = []
    compile_value(
        {"rename": {"a": "b"}, "of": "{{ result }}"}, RESULT_ROOTS, lambda place, text: found.append((place, text))
    )
    assert found == [
        (("rename",), "members can be renamed only in a shape: define one under `shapes`, and use it here")
    ]


def test_in_a_renaming_of_another_object_it_is_the_value_of_the_member() -> None:
    template = {"rename": {"a": {"b": "{{ it }}"}, "c": {"d": {"shape": "account"}}}, "of": "{{ result.one }}"}
    shapes = compile_shapes({"account": OF_ACCOUNT, "it": template}, RESULT_ROOTS, _mistaken)
    assert shapes["it"].reads == {"result"}
    assert [use.is_given for use in shapes["it"].uses] == [True]
    result = {"one": {"a": 1, "c": {"masked_pan": "4*"}}}
    assert shapes["it"].one({"result": result, WORK: Work()}, None) == {"b": 1, "d": {"maskedPan": "4*"}}
