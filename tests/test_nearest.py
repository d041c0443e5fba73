import json

import pytest

from writing import ask, engine, rules
from xs2a_sandbox.nearest import nearest


@pytest.mark.parametrize(
    ("method", "path", "best"),
    [
        ("GET", "v1/thing", "list"),
        ("POST", "v1/thing", "make"),
        ("GET", "v1/tings/5", "one"),
        ("GET", "v2/things/5", "one"),
        ("PUT", "oauth/tokn", "token"),
    ],
)
def test_the_likeliest_comes_first(tmp_path, method, path, best):
    interface = engine(tmp_path, rules({"id": "token", "match": {"path": "/oauth/token"}})).interface
    found = nearest(interface, method, path.split("/"))
    assert (found[0].get("operation") or found[0].get("rule")) == best
    assert len(found) == 3


def test_each_says_what_it_is_and_where_it_is_written(tmp_path):
    interface = engine(tmp_path, rules({"id": "token", "match": {"path": "/oauth/token"}})).interface
    found = nearest(interface, "GET", ["oauth", "token"])[0]
    assert found == {"rule": "token", "method": "any", "path": "/oauth/token", "place": found["place"]}
    assert found["place"].endswith("rules.yaml:1")


@pytest.mark.parametrize("segments", [[], [""], ["x" * 100_000], ["a"] * 5_000])
def test_strange_paths(tmp_path, segments):
    assert len(nearest(engine(tmp_path).interface, "GET", segments)) == 3


def test_unmatched_requests_are_told(tmp_path):
    answer = json.loads(ask(engine(tmp_path), "/v1/thing").body)
    assert answer["sandbox"]["nearest"][0]["operation"] == "list"
