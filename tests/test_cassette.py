from writing import engine, rules


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
