from tests.support.writing import engine, rules
from xs2a_sandbox.cassette.model import answers


def one_rule(tmp_path, **match):
    (rule,) = engine(tmp_path, rules({"id": "r", "match": {"operation": "one", **match}})).interface.rules
    return rule


def test_a_rule_is_as_strong_as_what_it_asks(tmp_path):
    headers = {"a": "x", "b": {"in": ["x", "y"]}, "c": {"regex": "x"}}
    assert one_rule(tmp_path, headers=headers, when="true").strength == 8 + 4 + 2 + 1


def test_an_origin_says_where(tmp_path):
    origin = one_rule(tmp_path).origin
    assert origin.place.endswith("rules.yaml:1")
    assert origin.problem("code", "text").file.name == "rules.yaml"
    assert origin.written["id"] == "r"


def test_answers_know_where_they_are_written(tmp_path):
    def places(**answer):
        said = engine(tmp_path, rules({"id": "r", "match": {"operation": "one"}, **answer})).interface.rules[0]
        return [place for place, _ in answers(said)]

    assert places(respond={"body": 1}) == [("respond",)]
    assert places(respond=[{"when": "true", "body": 1}, {"body": 2}]) == [("respond", 0), ("respond", 1)]
