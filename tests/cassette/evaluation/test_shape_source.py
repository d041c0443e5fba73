"""A shape gives the same result as the same template used as an ordinary value."""

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xs2a_sandbox.cassette.evaluation.expressions import (
    IT,
    RESULT_ROOTS,
    SHAPES,
    compile_value,
    mismatches,
    render,
)
from xs2a_sandbox.cassette.evaluation.shapes import compile_shapes
from xs2a_sandbox.cassette.evaluation.work import WORK, Work
from xs2a_sandbox.errors import ExpressionError

ROOTS = RESULT_ROOTS | {"let"}
THINGS: list[Any] = [
    {
        "id": "E-1",
        "booked_on": "2026-11-21",
        "at": "2026-11-21T08:00:00+01:00",
        "amount": {"amount": "-12.34", "currency": "EUR"},
        "number": Decimal("12.30"),
        "whole": 7,
        "counterparty": {"name": "Bäckerei \"Morgenrot\" 'am Eck'", "account": None},
        "remittance": {"lines": ["Frühstück", "und\nmehr", ""], "reference": None},
        "parts": [{"n": 1, "of": {"who": "b"}}, {"n": Decimal("0.5"), "of": None}, {}, None, "x"],
        "yes": True,
        "no": False,
        "items": "the items",
        "0": "nought",
        "empty": {},
        "none": None,
    },
    {"id": 5, "amount": None, "counterparty": "a text", "remittance": [1], "parts": {}, "whole": "7", "at": "soon"},
    {},
    ["a", {"amount": "5"}, None],
    "a text",
    12,
    True,
]


def scope(**more: Any) -> dict[str, Any]:
    result = {"self": "/v1/accounts/7", "owner": {"name": "Greta"}, "listed": [1, 2, 3]}
    path = {"account": "7", "kind": "b"}
    today = {"today": lambda days=0: f"2026-11-{21 + days}"}
    return {"result": result, "path": path, "let": {"all": ["E-1"]}, "body": None, **today, **more, WORK: Work()}


def outcome(make: Any) -> tuple[Any, Any]:
    """Return the result or the error, and the notes made during evaluation."""
    with mismatches() as seen:
        try:
            return make(), seen
        except ExpressionError as error:
            return str(error), seen


def differences(template: Any, things: list[Any]) -> list[Any]:
    told: list[Any] = []
    shapes = compile_shapes({"a": template}, ROOTS, lambda name, at, text: told.append((at, text)))
    ordinary = compile_value(template, ROOTS | {IT}, lambda at, text: told.append((at, text)))
    if told:
        assert len(told) % 2 == 0, told
        assert told[: len(told) // 2] == told[len(told) // 2 :]
        return []
    found = []
    for thing in things:
        shaped = outcome(lambda thing=thing: shapes["a"].one(scope(), thing))
        usual = outcome(lambda thing=thing: render(ordinary, scope(it=thing)))
        if repr(shaped) != repr(usual):
            found.append((template, thing, shaped, usual))
    return found


EXPRESSIONS = """
it
it.id
it.amount.amount
it.amount
it.counterparty.account.value
it.parts[0].n
it.parts.0.of.who
it.parts[-1]
it.parts[2].n.m
it['0']
it.items
it[0]
it[1].amount
it[none]
it[1.5]
it[true]
result.self
result.owner.name
path.kind
let.all
body
body.x
result
path
none
true
5
1.50
'a'
-5
1e999
'{{'
"it's"
it.id or 'none'
it.none or it.no or 'x'
it.id and it.whole
not it.none
not it.yes
it.none or (it.id if it.none)
(it.id if it.none) or 'z'
(it.id if it.none) and 'z'
not (it.id if it.no)
'a' if it.yes else 'b'
it.id if it.yes
it.id if it.none
it.id if it.whole == 7 else it.amount
('a' if it.none) == none
('a' if it.none) is none
('a' if it.none) | default('b')
it.none | d('b')
it.no | default('b', true)
it.no | default('b', boolean=true)
it.id | default
it.id == 'E-1'
it.id != 'E-1'
it.id == 5
it.number == 12.3
it.whole == 7
it.yes == 1
it.none == none
it.none != none
it.amount == it.amount
it.id in ['E-1', 'E-2']
it.id not in ['E-1']
it.id in let.all
it.id in it.none
'E' in it.id
1 in it.id
it.parts == it.none
it.whole > 5
it.number >= 12.30
it.none < 5
it.id < 5
1 < it.whole <= 7
it.booked_on >= '2026-01-01'
it.at <= '2026-11-21T08:30:00+01:30'
it.at == '2026-11-21T08:00:00+01:00'
it.id == it.id == 'E-1'
it.id < it.at
5 < 'a'
it.yes < 3
it.id is none
it.none is not none
it.id is string
it.whole is number
it.parts is mapping
it.id is defined
it.nothing is undefined
it.parts is sequence
it.whole is odd
it.id is eq 'E-1'
it.number * 2
it.whole + 1
it.whole / 2
it.whole // 2
it.whole % 2
it.whole ** 2
-it.whole
it.id + 'x'
it.id * 3
it.none + 1
it.id + 1
1 / 0
it.whole - it.number
2 ** -1
'%s' % it.id
'a' * 200000
it.parts + it.parts
(it.id if it.none) + 1
1 + 2 * it.whole
it.id ~ '/' ~ it.whole
it.none ~ 'x'
it.yes ~ it.amount
(it.id if it.none) ~ 'x'
it.number ~ ''
it.none ~ it.none
it.id | lower
it.id | upper | lower
it.none | upper
it.whole | string
it.id | replace('E', 'F')
it.amount.amount | decimal
(it.amount.amount | decimal) * -1
it.amount.amount | replace('-', '')
it.number | round(1)
it.whole | int
it.id | int(3)
it.whole | abs
it.none | abs
it.id | abs
it.remittance.lines | join(' ')
it.remittance.lines | join
it.parts | join(', ', attribute='n')
it.none | join
it.parts | length
it.none | length
it.id | count
it.id | trim('E')
it.id | split('-')
(it.id | split('-'))[1] | trim if it.id else it.none
(it.none | split('-'))[7]
it.parts | split('-')
it.id | split('')
it.id | title
it.remittance.lines | first
(it.parts | first).n
it.id | last
it.empty | first
(it.empty | first) or 'x'
it.none | first
(it.empty | first) == none
{'BOOK': {'a': 1}}['BOOK']
{'a': 1.5}
['a', 'b'][it.whole]
it.items | urlencode
it.parts | map(attribute='n')
it.parts | select('mapping') | list
it.parts | last
it.parts | sum(attribute='n')
it.remittance.lines | sort
it.amount | dictsort
it.id | urlencode
it.id[:1]
it.id[-2:]
it.id[1:-1]
it.parts[:2]
it.none[:2]
it.id[::-1]
it.id[it.whole:]
it[:1]
(it.id or 'x')[:1]
(it.amount or {}).amount
(it.amount or {})['amount']
it[it.id]
it.parts[it.whole]
{'a': 'A', 'b': 'B'}[path.kind]
{'a': it.id, 'b': [it.none, 1]}
[it.id, (it.id if it.none)]
[]
{}
{it.id: 1}
(1, it.id)
{'href': result.self} if it.id
today()
today(-3)
today(it.whole)
it.parts[0].n if it.parts else it.remittance.lines[0]
(it.parts or [])[0]
result.listed[1]
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_gives_the_same_result_in_a_shape(expression: str) -> None:
    whole, inside = "{{ " + expression + " }}", "<{{ " + expression + " }}>"
    template = {"a": whole, "b?": whole, "c": inside, "d": [whole, {"e?": whole}], "f?": inside, "g": {"h": whole}}
    assert differences(template, THINGS) == []


TEMPLATES = [
    "plain",
    5,
    None,
    True,
    Decimal("1.50"),
    {},
    [],
    {"a": None, "b": [1, {"c": 2}]},
    {"a?": None, "b?": 1, "c?": {}},
    {"a": "{{ it.id }}", "a?": "{{ it.none }}"},
    {"a?": "{{ it.id }}", "a": "{{ it.none }}"},
    {"a?": {"b?": "{{ it.none }}"}, "c": "{{ it.id }}"},
    ["{{ it.id }}", None, "x"],
    "{{ it.id }} of {{ it.none }}{{ it.yes }}",
    {"merge": ["{{ it }}", {"id": "new", "amount": {"currency": None, "added": "{{ it.whole }}"}}]},
    {f"m{number}": "{{ it.id }}" if number % 3 else number for number in range(20)},
    {f"m{number}": ["{{ it.id }}", number] for number in range(16)} | {"a?": "{{ it.none }}", "b": "{{ it.yes }}"},
    {"merge": []},
    {"merge": ["{{ it.none }}"]},
    {"merge": ["{{ it.none }}", {"a": 1}]},
    {"merge": "{{ it.parts }}", "x": 1},
    {"merge": [{"a": 1}, {"b?": "{{ it.none }}", "c?": "{{ it.id }}"}]},
    {"each": "{{ it.parts }}", "give": {"n": "{{ entry.n }}", "id": "{{ it.id }}", "of?": "{{ entry.of.who }}"}},
    {"each": "{{ it.parts }}", "as": "part", "when": "part.n", "give": "{{ part.n }}"},
    {"each": "{{ it.parts }}", "when": "entry.n > 0.7 or it.whole == 5", "give": "{{ entry.n ~ it.id }}"},
    {
        "each": "{{ it.parts }}",
        "give": {"each": "{{ result.listed }}", "as": "other", "give": ["{{ entry.n }}", "{{ other * it.whole }}"]},
    },
    {
        "each": [1, "{{ it.id }}"],
        "give": {"each": "{{ it.remittance.lines }}", "when": "entry", "give": "{{ entry }}{{ it.whole }}"},
    },
    {"each": [1, 2], "give": 3},
    {"each": "{{ it.parts }}", "when": "entry.n", "key": "{{ entry.n }}", "give": {"id": "{{ it.id }}"}},
    {"each": [1, 2, "{{ it.none }}"], "as": "one", "key": "{{ one }}", "give": "{{ one }}"},
    {"each": "{{ it.id }}", "key": "{{ entry }}", "give": 1},
    {"each": [1], "key": "{{ entry }}", "shape": "round"},
    {"each": "{{ it.id }}", "give": 1},
    {"each": "{{ it.none }}", "give": "{{ entry }}"},
    {"each": "{{ it.parts }}"},
    {"each": [1], "give": 2, "page": "{{ it.id }}"},
    {"shape": 5},
    {"shape": "round", "x": "{{ it.id }}"},
    {"each": "{{ it.parts }}", "when": "entry | select('string') | list", "give": "{{ entry | map('upper') | first }}"},
    {"each": "{{ it.parts }}", "give": {"merge": ["{{ entry }}", {"a?": "{{ entry.n }}"}]}},
]


@pytest.mark.parametrize("template", TEMPLATES, ids=repr)
def test_a_template_gives_the_same_result_in_a_shape(template: Any) -> None:
    assert differences(template, THINGS) == []


MISTAKES = [
    ({"a": "{{ nobody }}"}, ("a",)),
    ({"a": [1, {"b?": "{{ it | tojson }}"}]}, ("a", 1, "b?")),
    ({"each": "{{ it.parts }}", "as": "state", "give": 1}, ("as",)),
    ({"each": "{{ it.parts }}", "as": "it", "give": 1}, ("as",)),
    ({"each": "{{ it.parts }}", "when": "entri", "give": 1}, ("when",)),
    ({"each": "{{ it.parts }}", "when": "entry }} {{ it", "give": 1}, ("when",)),
    ({"merge": [{"a": "{{ it( }}"}]}, ("merge", 0, "a")),
    ("{{ state }}", ()),
    ("{{ it.a() }}", ()),
    ("{{ uuid }}", ()),
]


@pytest.mark.parametrize(("template", "place"), MISTAKES)
def test_a_mistake_is_reported_in_the_same_way_in_a_shape(template: Any, place: tuple[str | int, ...]) -> None:
    told: list[Any] = []
    compile_shapes({"a": template}, ROOTS, lambda name, at, text: told.append((at, text)))
    assert [at for at, _ in told] == [place]
    ordinary: list[Any] = []
    compile_value(template, ROOTS | {IT}, lambda at, text: ordinary.append((at, text)))
    assert told == ordinary


def expressions() -> st.SearchStrategy[str]:
    chains = [
        "it",
        "it.id",
        "it.none",
        "it.whole",
        "it.number",
        "it.amount.amount",
        "it.parts",
        "it.parts[0].n",
        "it.at",
    ]
    leaves = st.sampled_from(
        [*chains, "result.self", "path.kind", "none", "'E-1'", "2", "1.5", "''", "true", "[1, 'x']"]
    )

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        operators = st.sampled_from("+ - * ~ == != < >= in or and".split())
        filters = st.sampled_from(
            ["upper", "string", "default('d')", "length", "decimal", "join('-')", "first", "list", "replace('1', '2')"]
        )
        return st.one_of(
            st.builds("({} {} {})".format, inner, operators, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("({} if {})".format, inner, inner),
            st.builds("({} | {})".format, inner, filters),
            st.builds("(not {})".format, inner),
            st.builds("(-{})".format, inner),
            st.builds("({} is none)".format, inner),
            st.builds("{}.amount".format, inner.map("({})".format)),
            st.builds("({})[{}]".format, inner, inner),
            st.builds("({})[1:]".format, inner),
            st.builds("[{}, {}]".format, inner, inner),
        )

    return st.recursive(leaves, grow, max_leaves=6)


def templates() -> st.SearchStrategy[Any]:
    texts = st.one_of(
        expressions().map(lambda expression: "{{ " + expression + " }}"),
        st.builds("a{{{{ {} }}}}b{{{{ {} }}}}".format, expressions(), expressions()),
        st.sampled_from([None, 1, "text", Decimal("1.0")]),
    )
    names = st.sampled_from(["a", "b", "c", "a?", "b?", "c?", "merge", "each"])

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.sampled_from(["{{ it.parts }}", "{{ result.listed }}", "{{ it }}", [1, {"n": 2}]])
        return st.one_of(
            st.dictionaries(names, inner, max_size=3),
            st.lists(inner, max_size=2),
            st.builds(lambda parts: {"merge": parts}, st.lists(inner, max_size=3)),
            st.builds(lambda listed, give: {"each": listed, "give": give}, lists, inner),
            st.builds(lambda listed, key, give: {"each": listed, "key": key, "give": give}, lists, texts, inner),
            st.builds(
                lambda listed, when, give: {"each": listed, "when": when, "give": give}, lists, expressions(), inner
            ),
        )

    return st.recursive(texts, grow, max_leaves=5)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(templates())
@settings(max_examples=250, deadline=None)
def test_any_template_gives_the_same_result_in_a_shape(template: Any) -> None:
    before = copy.deepcopy(THINGS)
    assert differences(template, THINGS) == []
    assert before == THINGS


def test_a_value_that_is_used_twice_is_looked_up_once() -> None:
    class Counted(dict[str, Any]):
        looks = 0

        def get(self, key: str, default: Any = None) -> Any:
            type(self).looks += 1
            return super().get(key, default)

    template = {"a": "{{ it.deep.a }}", "b": "{{ it.deep.b }} {{ it.deep.a }}", "c": "{{ it.deep.a or it.deep.b }}"}
    shapes = compile_shapes({"a": template}, ROOTS, lambda *_: None)
    thing = Counted(deep={"a": 1, "b": 2})
    assert shapes["a"].one({SHAPES: shapes}, thing) == {"a": 1, "b": "2 1", "c": 1}
    assert Counted.looks == 1
