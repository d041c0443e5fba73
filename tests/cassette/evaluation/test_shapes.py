from typing import Any

import pytest

from xs2a_sandbox.cassette.evaluation.expressions import RESULT_ROOTS, SHAPES, compile_value, is_plain, render
from xs2a_sandbox.cassette.evaluation.shapes import CompiledShape, compile_shapes
from xs2a_sandbox.cassette.evaluation.work import BUDGET, WORK, Work
from xs2a_sandbox.errors import ExpressionError

ENTRY = {"id": "E-1", "amount": {"value": "-5.00", "currency": "EUR"}, "parts": [{"n": 1}, None, {"n": 2}]}
TEMPLATES = {
    "amount": {"amount": "{{ it.value }}", "currency": "{{ it.currency }}"},
    "entry": {
        "transactionId": "{{ it.id }}",
        "transactionAmount": {"shape": "amount", "of": "{{ it.amount }}"},
        "balance?": {"shape": "amount", "of": "{{ it.balance }}"},
        "parts": {"each": "{{ it.parts }}", "shape": "part"},
        "_links": {"shape": "links"},
    },
    "part": "{{ it.n }}",
    "links": {"self": "{{ result.self }}{{ '/' ~ it.id if it }}"},
    "same": "{{ it }}",
    "many": {"each": "{{ it.parts }}", "when": "entry.n > 1", "shape": "part"},
}
SHAPED = {
    "transactionId": "E-1",
    "transactionAmount": {"amount": "-5.00", "currency": "EUR"},
    "parts": [1, None, 2],
    "_links": {"self": "/x/E-1"},
}


def shapes(**templates: Any) -> Any:
    return compile_shapes(templates, RESULT_ROOTS, _mistaken)


def _mistaken(*mistake: Any) -> None:
    raise AssertionError(mistake)


def value(template: Any, templates: Any = None, **result: Any) -> Any:
    """Return the result of the template with these shapes."""
    compiled = compile_value(template, RESULT_ROOTS, _mistaken)
    given = {"result": {"self": "/x", **result}, SHAPES: shapes(**(templates or TEMPLATES)), WORK: Work()}
    return render(compiled, given)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"shape": "entry", "of": "{{ result.entry }}"}, SHAPED),
        (
            {"a": {"shape": "amount", "of": {"value": "1", "currency": "{{ 'EUR' }}"}}},
            {"a": {"amount": "1", "currency": "EUR"}},
        ),
        ({"a?": {"shape": "entry", "of": "{{ result.none }}"}, "b": {"shape": "entry", "of": None}}, {"b": None}),
        ({"each": "{{ [result.entry, none] }}", "shape": "entry"}, [SHAPED, None]),
        ({"each": "{{ result.none }}", "shape": "entry"}, []),
        ({"each": "{{ result.entry.parts }}", "as": "one", "when": "one.n != 1", "shape": "part"}, [None, 2]),
        ({"shape": "links"}, {"self": "/x"}),
        ({"merge": [{"a": 1}, {"shape": "links"}]}, {"a": 1, "self": "/x"}),
        (
            {"each": [1], "give": {"shape": "amount", "of": "{{ result.entry.amount }}"}},
            [{"amount": "-5.00", "currency": "EUR"}],
        ),
        ({"shape": "many", "of": "{{ result.entry }}"}, [2]),
        ({"shape": "entry", "of": {}, "page": 1}, {"shape": "entry", "of": {}, "page": 1}),
        ({"shape": 5}, {"shape": 5}),
    ],
)
def test_a_shape_is_applied_to_an_object(template: Any, expected: Any) -> None:
    assert value(template, entry=ENTRY) == expected


def test_a_shape_that_changes_nothing_returns_the_same_object() -> None:
    entries = [ENTRY]
    assert value({"each": "{{ result.entries }}", "shape": "same"}, entries=entries) is entries
    assert value({"shape": "same", "of": "{{ result.entries }}"}, entries=entries) is entries
    assert value({"each": "{{ result.entries }}", "when": "entry.id", "shape": "same"}, entries=entries)[0] is ENTRY


def test_a_shape_knows_which_roots_it_reads_and_which_shapes_it_uses() -> None:
    compiled: CompiledShape = shapes(**TEMPLATES)["entry"]
    assert compiled.reads == {"it"}
    uses = [("amount", ("transactionAmount", "shape"), True), ("amount", ("balance?", "shape"), True)]
    assert list(compiled.uses) == [*uses, ("part", ("parts", "shape"), True), ("links", ("_links", "shape"), False)]
    assert shapes(a="{{ result.x }}")["a"].reads == {"result"}
    assert shapes(a={"each": "{{ path }}", "give": "{{ entry }}"})["a"].reads == {"path"}


def test_a_mapping_with_a_shape_is_not_plain() -> None:
    assert not is_plain([{"shape": "entry", "of": "{{ result }}"}])
    assert not is_plain({"each": [1], "shape": "entry"})
    assert is_plain({"shape": "round", "colour": "red"})


def test_data_cannot_use_shapes() -> None:
    told: list[Any] = []
    for template in ({"shape": "a"}, {"each": [1], "shape": "a"}):
        compile_value(template, frozenset(), lambda at, text: told.append((at, text)))
    assert told == [(("shape",), "test data cannot use shapes: write the value itself")] * 2


PARTS = {"each": "{{ it.tags }}", "give": "{{ entry | upper }}"}
LISTED = {"each": "{{ result.entries }}", "shape": "a"}


def test_a_list_of_a_hundred_thousand_is_rendered_within_the_limit() -> None:
    template = {"id": "{{ it.n ~ '-' }}", "sign": "{{ 'D' if it.n < 0 else 'C' }}", "parts": PARTS}
    entries = [{"n": n, "tags": ["a", "b"]} for n in range(100_000)]
    made = value(LISTED, {"a": template}, entries=entries)
    assert (len(made), made[-1]) == (100_000, {"id": "99999-", "sign": "C", "parts": ["A", "B"]})


def test_any_expression_renders_twenty_thousand_entries_within_the_limit() -> None:
    template = "{{ it.tags | map('upper') | sort | join }}"
    entries = [{"tags": ["b", "a"]} for _ in range(20_000)]
    assert value(LISTED, {"a": template}, entries=entries) == ["AB"] * 20_000


@pytest.mark.parametrize(
    "template",
    [
        "{{ result.entries | sort | first }}",
        "{{ result.entries | map('upper') | list }}",
        {"each": "{{ result.entries }}", "give": "{{ entry }}"},
        {"each": "{{ result.entries }}", "shape": "b"},
    ],
)
def test_a_shape_that_iterates_over_the_whole_list_for_each_entry_is_stopped(template: Any) -> None:
    entries = ["x" * 20] * (BUDGET // 100)
    with pytest.raises(ExpressionError, match=r"more than .* units of work.* in .\{\{ result\.entries"):
        value(LISTED, {"a": template, "b": {"c": 1}}, entries=entries)


def test_a_shape_can_read_lazy_roots() -> None:
    made = shapes(one={"a": "{{ form.a }}", "b?": "{{ token.scope }}", "c": "{{ 'x' if form.a == 'y' else 'z' }}"})
    for form, token, expected in (
        (None, None, {"a": None, "c": "z"}),
        ({"a": "y"}, {"scope": "s"}, {"a": "y", "b": "s", "c": "x"}),
    ):
        assert made["one"].one({"form": lambda form=form: form, "token": lambda token=token: token}, {}) == expected
    assert made["one"].one({}, {}) == {"a": None, "c": "z"}


@pytest.mark.parametrize(
    ("template", "is_metered"),
    [
        ("constant", False),
        ({"a": "{{ it.a or it.b.c }}", "b?": "{{ path.x == 'y' }}"}, False),
        ("{{ it.a }}/{{ it.b }}", False),
        ({"a": {"b": "{{ it.a | upper }}"}}, True),
        ("{{ it.a ~ it.b }}", True),
        ("{{ it.a + it.b }}", True),
        ("{{ it.a[0:9] }}", True),
        ("{{ it.a in it.b }}", True),
        ({"each": "{{ it.a }}", "give": "{{ entry.x }}"}, True),
        ({"shape": "other", "of": "{{ it.a }}"}, True),
        ("{{ it.a | sort }}", True),
    ],
)
def test_only_templates_that_can_work_long_need_a_budget(template: Any, is_metered: bool) -> None:
    assert shapes(it=template, other="{{ it }}")["it"].is_metered is is_metered
