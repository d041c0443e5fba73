import pytest

from tests.support.writing import problems, rules

OK, AMBIGUOUS, UNREACHABLE = None, "ambiguous", "unreachable"


def codes(tmp_path, *layers):
    return [(problem.code, problem.text) for problem in problems(tmp_path, *layers)]


def on_list(**match):
    return {"operation": "list", **match}


def query(matcher):
    return on_list(query={"a": matcher})


def body(matcher):
    return {"operation": "make", "body": {"/a": matcher}}


CASES = [
    # ambiguous: equal rank, and the same request could match both
    (on_list(), on_list(), AMBIGUOUS),
    (query("x"), query("x"), AMBIGUOUS),
    (query("x"), on_list(query={"b": "x"}), AMBIGUOUS),
    (query({"in": ["x", "y"]}), query({"in": ["y", "z"]}), AMBIGUOUS),
    (query({"regex": "^a"}), query({"regex": "^b"}), AMBIGUOUS),
    (query({"gt": 1}), query({"lt": 5}), AMBIGUOUS),
    (query({"gte": 5}), query({"lte": 5}), AMBIGUOUS),
    (query({"gt": 1}), query({"prefix": "1"}), AMBIGUOUS),
    (query({"exists": True}), query({"not": "x"}), AMBIGUOUS),
    (on_list(when="query.a == '1'"), on_list(when="query.a == '2'"), AMBIGUOUS),
    (on_list(headers={"X-A": "1"}), on_list(headers={"X-B": "1"}), AMBIGUOUS),
    (on_list(headers={"X-A": "1"}), on_list(headers={"x-a": "1"}), AMBIGUOUS),
    (body(1), body(1), AMBIGUOUS),
    ({"path": "/x/{a}"}, {"path": "/x/{b}"}, AMBIGUOUS),
    ({"path": "/x/{a}/{b}", "where": {"a": "1"}}, {"path": "/x/{b}/{a}", "where": {"a": "2"}}, AMBIGUOUS),
    ({"path": "/x", "method": ["GET", "PUT"]}, {"path": "/x", "method": ["PUT", "POST"]}, AMBIGUOUS),
    ({"path": "/x", "method": "GET"}, {"path": "/x"}, AMBIGUOUS),
    ({"path": "/v1/things"}, on_list(), AMBIGUOUS),
    # provably disjoint
    (query("x"), query("y"), OK),
    (query({"in": ["x", "y"]}), query({"in": ["z"]}), OK),
    (query({"gt": 5}), query({"lt": 5}), OK),
    (query({"gt": 5}), query({"lte": 5}), OK),
    (query({"gte": "2026-02-01"}), query({"lt": "2026-02-01"}), OK),
    (query({"exists": True}), query({"exists": False}), OK),
    (query({"exists": True}), query({"absent": True}), OK),
    (on_list(headers={"X-A": "1"}), on_list(headers={"x-a": "2"}), OK),
    (body(1), body("1"), OK),
    (body(1), body(True), OK),
    (body(None), body(False), OK),
    (body({"gt": 1}), body({"lt": 1}), OK),
    (on_list(), {"operation": "make"}, OK),
    ({"path": "/x"}, {"path": "/y"}, OK),
    ({"path": "/x", "method": "GET"}, {"path": "/x", "method": "PUT"}, OK),
    ({"path": "/x", "method": "POST"}, {"path": "/x/{a}"}, OK),
    ({"path": "/x/{a}/{b}", "where": {"a": "1"}}, {"path": "/x/{b}/{a}", "where": {"b": "2"}}, OK),
    ({"path": "/v1/things", "method": "POST"}, on_list(), OK),
    ({"path": "/x/{a}"}, {"path": "/x/a"}, OK),
    # different rank
    (query("x"), query({"regex": "x"}), OK),
    (query("x"), on_list(), OK),
    (query({"exists": True}), on_list(), OK),
    (on_list(when="true"), on_list(), OK),
    (query({"not": True}), {"priority": 1, **query({"not": 1})}, OK),
    (body({"not": True}), {"priority": 1, **body({"not": 1})}, OK),
    # the stronger rule matches everything that the weaker one matches
    ({"priority": 1, **on_list()}, query("x"), UNREACHABLE),
    ({"priority": 1, **query("x")}, query("x"), UNREACHABLE),
    ({"priority": 1, **query({"in": ["x", "y"]})}, query("x"), UNREACHABLE),
    ({"priority": 1, **query({"in": ["x", "y"]})}, query({"in": ["y", "x"]}), UNREACHABLE),
    ({"priority": 1, **query({"in": ["x"]})}, query({"in": ["x", "y"]}), OK),
    ({"priority": 1, **query({"exists": True})}, query("x"), UNREACHABLE),
    ({"priority": 1, **query({"exists": True})}, query({"regex": "x"}), UNREACHABLE),
    ({"priority": 1, **query({"exists": True})}, query({"not": "x"}), OK),
    ({"priority": 1, **query({"regex": "^x"})}, query("xy"), UNREACHABLE),
    ({"priority": 1, **query({"regex": "^x"})}, query("y"), OK),
    ({"priority": 1, **query("x")}, on_list(query={"a": "x", "b": "y"}), UNREACHABLE),
    ({"priority": 1, **query("x")}, on_list(query={"b": "y"}), OK),
    ({"priority": 1, **on_list(when="query.a")}, on_list(when="query.a"), UNREACHABLE),
    ({"priority": 1, **on_list(when="query.a")}, on_list(when="query.b"), OK),
    ({"priority": 1, **on_list(when="query.a")}, on_list(), OK),
    ({"priority": 1, **on_list()}, on_list(when="query.a"), UNREACHABLE),
    ({"priority": 1, **body({"contains": [1]})}, body({"contains": [1]}), UNREACHABLE),
    ({"priority": 1, "path": "/v1/{rest*}"}, on_list(), UNREACHABLE),
    ({"priority": 1, "path": "/v1/{rest*}", "method": "POST"}, on_list(), OK),
    ({"priority": 1, "path": "/v1/things"}, {"path": "/v1/{x}"}, OK),
    ({"priority": 1, "path": "/{a}/{b}", "where": {"a": "1"}}, {"path": "/{b}/{a}", "where": {"a": "1"}}, OK),
    ({"priority": 1, "path": "/{a}/{b}", "where": {"a": "1"}}, {"path": "/{b}/{a}", "where": {"b": "1"}}, UNREACHABLE),
]


def rule(id, match):
    match = dict(match)
    return {"id": id, "priority": match.pop("priority", 0), "match": match}


@pytest.mark.parametrize(("left", "right", "code"), CASES)
@pytest.mark.parametrize("turned", [False, True])
def test_overlap_of_two_rules(tmp_path, left, right, code, turned):
    pair = [rule("left", left), rule("right", right)]
    found = codes(tmp_path, rules(*(reversed(pair) if turned else pair)))
    assert [one for one, _ in found] == ([code] if code else [])
    assert all("left" in text and "right" in text for _, text in found)
    if code == UNREACHABLE:
        assert found[0][1].startswith("'left'")


@pytest.mark.parametrize(("left", "right"), [(left, right) for left, right, code in CASES if code][::4])
def test_rules_in_different_layers_never_conflict(tmp_path, left, right):
    assert codes(tmp_path, rules(rule("left", left)), rules(rule("right", right))) == []


def test_a_rule_without_requirements_is_reached_if_requirements_fail(tmp_path):
    bad = {**rule("bad", on_list(query={"a": "x"})), "require": "none"}
    assert codes(tmp_path, rules(rule("all", {"priority": 1, **on_list()}), bad)) == []


def test_the_places_of_both_rules_are_reported(tmp_path):
    first = {"one.yaml": "cassette: 1\nrules:\n  - id: a\n    match: {operation: list}\n    respond: {body: 1}\n"}
    second = {"two.yaml": "cassette: 1\nrules:\n  - match: {operation: list}\n    id: b\n    respond: {body: 1}\n"}
    (problem,) = problems(tmp_path, {**first, **second})
    assert (problem.file.name, problem.line, problem.column) == ("two.yaml", 4, 9)
    assert "one.yaml:3" in problem.text


def operation(id, path="/v1/x/{p}", method="GET", **more):
    return {"id": id, "method": method, "path": path, "respond": {"body": id}, **more}


@pytest.mark.parametrize(
    ("left", "right", "codes"),
    [
        (operation("a"), operation("b"), ["ambiguous"]),
        (operation("a"), operation("b", "/v1/x/{q}"), ["ambiguous"]),
        (operation("a"), operation("b", method="PUT"), []),
        (operation("a"), operation("b", "/v1/x/y"), []),
        (operation("a", where={"p": ["1", "2"]}), operation("b", "/v1/x/{q}", where={"q": "3"}), []),
        (operation("a", where={"p": ["1", "2"]}), operation("b", where=[{"p": "3"}, {"p": "2"}]), ["ambiguous"]),
    ],
)
def test_overlap_of_two_operations(tmp_path, left, right, codes):
    mistakes = problems(tmp_path, {"o.yaml": {"cassette": 1, "operations": [left, right]}})
    assert [problem.code for problem in mistakes] == codes
