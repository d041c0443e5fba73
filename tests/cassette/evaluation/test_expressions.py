import time
from decimal import Decimal

import pytest

from xs2a_sandbox.cassette.evaluation.expressions import (
    RESULT_ROOTS,
    chains,
    compile_condition,
    compile_text,
    compile_value,
    mismatches,
    render,
)
from xs2a_sandbox.cassette.evaluation.id_form import make_id
from xs2a_sandbox.cassette.evaluation.work import WORK, Work
from xs2a_sandbox.errors import ExpressionError

SCOPE = {
    "request": {"method": "GET"},
    "path": {"product": "sepa"},
    "query": {},
    "headers": {"x-request-id": "42"},
    "body": {
        "amount": Decimal("12.34"),
        "long": Decimal("123456789012345678.901"),
        "list": [3, None, 1],
        "whole": 7,
        "yes": True,
        "items": "my items",
        "keys": ["k"],
        "null": None,
        "text": "abc",
        "records": [{"n": 2, "of": {"who": "b"}}, {"n": Decimal("0.5"), "of": {"who": "a"}}, {}],
    },
    "state": {"payments": {"p1": {"status": "RCVD"}}},
    "uuid": lambda: "an-id",
    "new_id": lambda form: make_id(form, lambda: "an-id", lambda alphabet, length: alphabet[:length]),
    "now": lambda: "2026-11-21T08:00:00+01:00",
    "today": lambda days=0: f"today{days:+}",
}


def value(text):
    """Return the value of an expression. Tests of values also check its cost."""
    started = time.perf_counter()
    try:
        return render(compile_text(text), SCOPE)
    finally:
        assert time.perf_counter() - started < 2


def holds(text):
    return compile_condition(text)(SCOPE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ body.amount }}", Decimal("12.34")),
        ("{{body.whole}}", 7),
        ("{{ body.yes }}", True),
        ("{{ body.null }}", None),
        ("{{ body.list }}", [3, None, 1]),
        ("{{ state.payments['p1'] }}", {"status": "RCVD"}),
        ("{{ headers['x-request-id'] }}", "42"),
        ("{{ body.list.0 }}", 3),
        ("{{ body.list[-1] }}", 1),
        ("{{ body.list | select('gt', 0) }}", None),
        ("{{ body.keys | map('upper') }}", ["K"]),
        ("{{ {'a': [1, body.whole]} }}", {"a": [1, 7]}),
    ],
)
def test_one_whole_expression_keeps_its_type(text, expected):
    result = value(text)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no. {{ body.whole }}", "no. 7"),
        (" {{ body.whole }}", " 7"),
        ("{{ body.whole }}{{ body.whole }}", "77"),
        ("a{{ body.null }}b{{ body.missing.deep }}c", "abc"),
        ("{{ body.amount }} EUR", "12.34 EUR"),
        ("{{ body.yes }}!", "true!"),
        ("{% if x %}", "{% if x %}"),
        ("{% if x %}{{ body.whole }}{% endif %}", "{% if x %}7{% endif %}"),
        ("{# no comment #}{{ body.whole }}", "{# no comment #}7"),
        ("{{ body.whole }}\n", "7\n"),
        ("}} {", "}} {"),
        ("{{ '}}' }}{{ '{{' }}", "}}{{"),
        ("{{ 'a' ~ body.null ~ body.yes ~ body.whole }}", "atrue7"),
    ],
)
def test_text_around_an_expression_makes_a_string(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ body.missing }}", None),
        ("{{ body.missing.deeper.still }}", None),
        ("{{ body.text.anything }}", None),
        ("{{ body.list[9] }}", None),
        ("{{ body.missing == null_too }}".replace("null_too", "body.null"), True),
        ("{{ body.missing == none }}", True),
        ("{{ body.missing < 1 }}", None),
        ("{{ body.missing + 1 }}", None),
        ("{{ -body.missing }}", None),
        ("{{ 1 / 0 }}", None),
        ("{{ body.missing | upper }}", None),
        ("{{ body.missing | length }}", None),
        ("{{ body.missing | default('there') }}", "there"),
        ("{{ body.null | d('there') }}", "there"),
        ("{{ body.whole | d('there') }}", 7),
        ("{{ body.missing | string }}", None),
        ("{{ body.missing | decimal }}", None),
        ("{{ 'x' | decimal }}", None),
        ("{{ 'NaN' | decimal }}", None),
        ("{{ 'Infinity' | decimal }}", None),
        ("{{ 1e999 }}", None),
        ("{{ [] | first }}", None),
        ("{{ 5 | dictsort }}", None),
        ("{{ body.list | sort }}", None),
        ("{{ 'x' if body.null }}", None),
    ],
)
def test_null_in_expressions(text, expected):
    assert value(text) is expected or value(text) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("body.missing == none", True),
        ("body.missing == body.null", True),
        ("body.missing < 1", False),
        ("body.missing >= 1", False),
        ("not body.missing", True),
        ("body.missing + 1 == 1", False),
        ("-1 < 0", True),
        ("- body.whole < 0", True),
        ("body.amount == 12.34", True),
        ("body.amount > 12.339 and body.amount < 12.341", True),
        ("state.payments | length < 5", True),
        ("'{{' in body.text or '}}' in body.text", False),
        ("body.list | select('gt', 0)", False),
        ("path.product in ['sepa', 'target2']", True),
    ],
)
def test_conditions(condition, expected):
    assert holds(condition) is expected


@pytest.mark.parametrize("text", ["{{ body.whole }}", "", " ", "a }} {{ b", "1 }}", "body.text -", "{{ x", "1 +"])
def test_conditions_are_bare_expressions(text):
    with pytest.raises(ExpressionError):
        compile_condition(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ body.items }}", "my items"),
        ("{{ body.keys }}", ["k"]),
        ("{{ body.values }}", None),
        ("{{ body.get }}", None),
    ],
)
def test_members_take_precedence_over_methods(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ 0.1 + 0.2 }}", "0.3"),
        ("{{ 1.10 }}", "1.1"),
        ("{{ body.amount * 1.1 }}", "13.574"),
        ("{{ body.long + 0.001 }}", "123456789012345678.902"),
        ("{{ 10 / 4 }}", "2.5"),
        ("{{ 2 ** -1 }}", "0.5"),
        ("{{ ['0.1', '0.2'] | sum }}", "0.3"),
        ("{{ body.records | sum(attribute='n') }}", "2.5"),
        ("{{ body.amount | round(1) }}", "12.3"),
        ("{{ '1.10' | decimal }}", "1.10"),
        ("{{ 123.4 | round(-1) }}", "120"),
        ("{{ 1.21 | round(1, 'ceil') }}", "1.3"),
        ("{{ 1.29 | round(1, 'floor') }}", "1.2"),
    ],
)
def test_decimals_stay_exact(text, expected):
    result = value(text)
    assert isinstance(result, Decimal)
    assert str(result) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ [1, none, 'a', true] | join('-') }}", "1--a-true"),
        ("{{ body.records | join(',', attribute='n') }}", "2,0.5,"),
        ("{{ 'aaa' | replace('a', 'b') }}", "bbb"),
        ("{{ 'aaa' | replace('a', 'b', 1) }}", "baa"),
        ("{{ 5 | replace('5', 'five') }}", "five"),
        ("{{ body.records | map(attribute='of.who') | list }}", ["b", "a", None]),
        ("{{ '12.7' | int }}", 12),
        ("{{ 'x' | int(-1) }}", -1),
        ("{{ 'ff' | int(0, 16) }}", 255),
        ("{{ 'a b/ä' | urlencode }}", "a%20b%2F%C3%A4"),
        ("{{ body.text[:2] }}", "ab"),
        ("{{ body.text | upper | lower | title }}", "Abc"),
        ("{{ uuid() }} {{ now() }} {{ today() }} {{ today(-3) }}", "an-id 2026-11-21T08:00:00+01:00 today+0 today-3"),
        ("{{ today(3) }} {{ today(-1 - 2) }} {{ today(days=2) }} {{ today(*[1]) }}", "today+3 today-3 today+2 today+1"),
        ("{{ today('soon') }}", None),
        (
            "{{ new_id('{uuid}') }} {{ new_id('PAY-{digits:4}') }} {{ new_id('X' ~ '-{hex:12}') }}",
            "an-id PAY-0123 X-0123456789ab",
        ),
        ("{{ new_id('{dig' ~ 'its:2}') }}", None),
        ("{{ today(1, 2) }}", None),
        ("{{ today(1, *[2]) }}", None),
    ],
)
def test_filters_and_functions(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ '2026-10-25T02:30:00+02:00' < '2026-10-25T02:10:00+01:00' }}", True),
        ("{{ '2026-10-25T02:30:00.5+02:00' <= '2026-10-25T00:30:00Z' }}", False),
        ("{{ '2026-10-25T02:30:00+02:00' >= '2026-10-25T00:30:00Z' }}", True),
        ("{{ '2026-10-25T00:00:00Z' < '2026-10-25T02:30:00+02:00' < '2026-10-25T02:10:00+01:00' }}", True),
        ("{{ '2026-10-25T00:00:00Z' < '2026-10-25T02:30:00+02:00' > '2026-10-25T02:10:00+01:00' }}", False),
        ("{{ '2026-11-21' < now() }}", True),
        ("{{ '2026-11-21T07:30:00Z' > now() }}", True),
        ("{{ '2026-11-21T08:00:00+01:00' == '2026-11-21T07:00:00Z' }}", False),
        ("{{ '2026-11-21T08:00' < '2026-11-21T09:00' }}", True),
        ("{{ 'a' < 'b' in 'bcd' }}", True),
        ("{{ 1 < 2 <= 2 != 3 }}", True),
        ("{{ 1 < 2 not in [2] }}", False),
        ("{{ 3 > body.missing }}", None),
        ("{{ 3 > now() }}", None),
    ],
)
def test_the_earlier_of_two_times_is_less(text, expected):
    """This also holds in the repeated hour of the clock change."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{{ nope }}", "nope"),
        ("{{ result.x }}", "result"),
        ("{{ body.x + nope.y }}", "nope"),
        ("{{ range(3) }}", "range"),
        ("{{ self }}", "self"),
        ("{{ loop.index }}", "loop"),
        ("{{ lipsum() }}", "lipsum"),
        ("{{ body | tojson }}", "tojson"),
        ("{{ body | attr('x') }}", "attr"),
        ("{{ 'x' | format(1) }}", "format"),
        ("{{ body.list | map('nope') }}", "map"),
        ("{{ body.list | select('nope') }}", "select"),
        ("{{ body.list | selectattr('x', 'nope') }}", "selectattr"),
        ("{{ body.list | map(body.text) }}", "map"),
        ("{{ body.list is nope }}", "nope"),
        ("{{ body.text.upper() }}", "called"),
        ("{{ body.items() }}", "called"),
        ("{{ uuid()() }}", "called"),
        ("{{ uuid }}", "uuid()"),
        ("{{ new_id() }}", "needs a form"),
        ("{{ new_id('{digits:3}') }}", "'{digits:12}'"),
        ("{{ new_id('PAY') }}", "'{digits:12}'"),
        ("{{ new_id(form='{uuid}') }}", "needs a form"),
        ("{{ today ~ '' }}", "today()"),
        ("{{ jwt }}", "write jwt()"),
        ("{{ jwt() }}", "call jwt as jwt(text)"),
        ("{{ jwt(body.a, body.b) }}", "call jwt as jwt(text)"),
        ("{{ verifies(body.a) }}", "call verifies as verifies(text, keys)"),
        ("{{ verifies(text=body.a, keys=body.b) }}", "call verifies as verifies(text, keys)"),
        ("{{ }}", ""),
        ("{{ body.x", ""),
        ("{{ body. }}", ""),
        ("{{ 1 +* 2 }}", ""),
        ("{{ " + "(" * 300 + "1" + ")" * 300 + " }}", "nested"),
        ("{{ " + "+".join(["1"] * 5000) + " }}", "long"),
        ("{{ " + "9" * 5000 + " }}", "digits"),
    ],
)
def test_mistakes_are_reported_when_the_file_is_read(text, named):
    with pytest.raises(ExpressionError) as caught:
        compile_text(text)
    assert named in str(caught.value)


def test_the_root_result_is_available_only_with_a_handler():
    assert render(compile_text("{{ result.id }}", RESULT_ROOTS), {"result": {"id": 5}}) == 5


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ ''['__class__'] }}",
        "{{ body.__class__.__mro__ }}",
        "{{ body.list.mro }}",
        "{{ request.__init__.__globals__ }}",
        "{{ body.text.format }}",
        "{{ (uuid()).__class__ }}",
        "{{ body.list | map(attribute='__class__') | first }}",
        "{{ [body] | map(attribute='__class__.__mro__') | first }}",
        "{{ ([body] | selectattr('__class__') | first).__class__ }}",
        "{{ [''] | sum(attribute='__class__') or none }}",
    ],
)
def test_attributes_of_python_objects_cannot_be_accessed(text):
    assert value(text) in (None, Decimal(0))


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x' * 1000000000 }}",
        "{{ 1000000000 * 'x' }}",
        "{{ [0] * 1000000000 }}",
        "{{ [[0] * 1000] * 1000 }}",
        "{{ [['x' * 1000] * 50] * 50 }}",
        "{{ 'x' * 1000 * 1000 }}",
        "{{ (9 ** 64) ** 64 }}",
        "{{ 9 ** 64 ** 64 }}",
        "{{ 2 ** 1000000 }}",
        "{{ (2 ** 64) * (2 ** 64)" + " * (2 ** 64)" * 100 + " }}",
        "{{ (['x' * 1000] * 99) | join('y' * 100000) }}",
        "{{ ('a' * 1000) | replace('a', 'b' * 1000) }}",
        "{{ '' | replace('', 'b' * 100000) | replace('b', 'c' * 100000) }}",
        "{{ 'a'" + " | list | string" * 20 + " }}",
        "{{ (['a'] * 1000) | map('replace', 'a', 'b' * 10000) | list }}",
        "{{ 1.5 | round(1000000000, 'ceil') }}",
        "{{ '1e999999' | decimal | int }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ ('x' * 90000) ~ ('y' * 90000) }}",
    ],
)
def test_results_that_become_too_large_are_refused_quickly(text):
    with pytest.raises(ExpressionError):
        value(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ body.list[0:99999999999999] }}", [3, None, 1]),
        ("{{ body.list[::0] }}", None),
        ("{{ '1e999999' | decimal * 10 > 1 }}", None),
        ("{{ 1 ** 1 ** 1 }}", 1),
        ("{{ 0 * 10 ** 30 }}", 0),
    ],
)
def test_expressions_that_only_look_expensive_are_allowed(text, expected):
    assert value(text) == expected


def test_expressions_in_trees_are_rendered_and_other_values_kept():
    tree = {"a": ["{{ body.whole }}", {"b": "x{{ body.null }}"}], "c": None, "{{ d }}": 1}
    reported = []
    compiled = compile_value(tree, RESULT_ROOTS, lambda *problem: reported.append(problem))
    assert render(compiled, SCOPE) == {"a": [7, {"b": "x"}], "c": None, "{{ d }}": 1}
    assert not reported


def test_every_mistake_in_a_tree_is_reported_with_its_place():
    reported = []
    compile_value({"a": ["{{ nope }}"], "b": {"c": "{{"}}, RESULT_ROOTS, lambda at, text: reported.append(at))
    assert reported == [("a", 0), ("b", "c")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ query.n + 1 }}", True),
        ("{{ query.n > 1 }}", True),
        ("{{ query.nobody + 1 }}", False),
        ("{{ query.nobody > 1 }}", False),
        ("{{ query.nobody.name }}", False),
        ("{{ 1 / 0 }}", False),
    ],
)
def test_type_errors_of_existing_values_are_reported(text, told):
    scope = {"query": {"n": "5"}}
    with mismatches() as found:
        assert compile_text(text)(scope) is None
    assert [source for source, _ in found] == ([text] if told else [])
    assert compile_text(text)(scope) is None


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"each": "{{ body.list }}", "give": {"n": "{{ entry }}"}}, [{"n": 3}, {"n": None}, {"n": 1}]),
        ({"each": "{{ body.list }}", "as": "one", "when": "one", "give": "{{ one + 1 }}"}, [4, 2]),
        ({"each": "{{ body.text }}", "give": "{{ entry }}"}, []),
        ({"each": "{{ body.list }}", "key": "{{ entry }}", "give": "{{ index }}"}, {"3": 0, "1": 2}),
        ({"each": "{{ body.text }}", "key": "{{ entry }}", "give": 1}, {}),
        ({"each": "{{ body.nothing }}", "give": "{{ entry }}"}, []),
        ({"each": [[1, 2], [3]], "as": "row", "give": {"each": "{{ row }}", "give": "{{ entry * 2 }}"}}, [[2, 4], [6]]),
        (
            {"each": [1], "give": {"n?": "{{ body.null }}", "m?": "{{ entry }}", "o?": None, "p?": 1}},
            [{"m": 1, "p": 1}],
        ),
        ({"merge": [{"a": 1, "b": {"c": 2}}, "{{ body.nothing }}", {"b": {"d": 3}}]}, {"a": 1, "b": {"c": 2, "d": 3}}),
        ({"merge": [{"a": 1, "b": 2}, {"a": None, "b": "{{ body.null }}"}]}, {}),
        ({"merge": []}, None),
        ({"each": "{{ body.list }}"}, {"each": [3, None, 1]}),
        ({"merge": "{{ body.list }}", "other": 1}, {"merge": [3, None, 1], "other": 1}),
        ({"each": [1], "give": 2, "page": 3}, {"each": [1], "give": 2, "page": 3}),
    ],
)
def test_lists_and_mappings_can_be_transformed(template, expected):
    reported = []
    compiled = compile_value(template, RESULT_ROOTS, lambda at, text: reported.append((at, text)))
    assert (render(compiled, SCOPE), reported) == (expected, [])


@pytest.mark.parametrize(
    ("template", "place", "part"),
    [
        ({"a": {"each": "{{ x }}", "give": 1}}, ("a", "each"), "unknown name 'x'"),
        ({"each": [1], "give": {"b": "{{ entri }}"}}, ("give", "b"), "unknown name 'entri'"),
        ({"each": [1], "when": "entri", "give": 1}, ("when",), "unknown name 'entri'"),
        ({"each": [1], "key": "{{ entri }}", "give": 1}, ("key",), "unknown name 'entri'"),
        ({"each": [1], "as": "state", "give": 1}, ("as",), "'state' cannot be the name of an entry"),
        ({"each": [1], "as": "a b", "give": 1}, ("as",), "'a b' cannot be the name of an entry"),
        ({"merge": [{"a": "{{ x }}"}]}, ("merge", 0, "a"), "unknown name 'x'"),
        ({"a?": "{{ x }}"}, ("a?",), "unknown name 'x'"),
        ({"each": ["{{ entry }}"], "give": 1}, ("each", 0), "unknown name 'entry'"),
    ],
)
def test_a_mistake_in_a_transformation_has_its_place(template, place, part):
    reported = []
    compile_value(template, RESULT_ROOTS, lambda at, text: reported.append((at, text)))
    assert [at for at, text in reported if part in text] == [place]


def test_the_size_of_lists_of_lists_is_limited():
    rows = {"each": "{{ [1] * 90000 }}", "give": {"each": "{{ [1] * 90000 }}", "give": 1}}
    with pytest.raises(ExpressionError, match="units of work"):
        render(compile_value(rows, RESULT_ROOTS, lambda at, text: None), {**SCOPE, WORK: Work()})


@pytest.mark.parametrize("text", ["{{ state }}", "all: {{ state }}"])
def test_the_whole_state_is_not_a_value(text: str) -> None:
    with pytest.raises(ExpressionError, match="name a collection and an id"):
        compile_text(text)


@pytest.mark.parametrize("text", ["{{ headers['Consent-ID'] }}", "{{ headers.WHO ~ 'x' }}", "{{ headers['A'].B }}"])
def test_names_of_headers_are_case_insensitive(text):
    (root, keys), *_ = chains(text)
    assert (root, keys[0]) == ("headers", keys[0].lower())
    headers = {"consent-id": "c", "who": "w", "a": {"B": 1}}
    assert render(compile_text(text), {"headers": headers}) in ("c", "wx", 1)


@pytest.mark.parametrize("text", ["{{ token.scope }}", "{{ token.scope ~ '' }}", "{{ 'ais' if token }}"])
def test_lazy_roots_are_computed_when_they_are_read(text):
    looks = []

    def token():
        looks.append(1)
        return {"scope": "ais"}

    assert render(compile_text(text), {"token": token}) == "ais"
    assert looks == [1]
    assert render(compile_text(text), {"token": lambda: None}) in (None, "")
    assert render(compile_text(text), {}) in (None, "")
    assert render(compile_text("{{ path.a }}"), {"token": token, "path": {"a": 1}}) == 1
    assert looks == [1]


def test_a_sum_that_starts_with_a_list_concatenates_lists() -> None:
    assert value("{{ [{'n': [1, 2]}, {'n': none}, {}, {'n': [3]}] | sum(start=[], attribute='n') }}") == [1, 2, 3]
