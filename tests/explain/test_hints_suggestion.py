"""A suggested rule is a cassette without problems, and answers the request. See also test_explanation.py."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.explained import explained
from tests.support.writing import ask, engine, rule_of, rules

HOOK = {"id": "hook", "match": {"path": "/hook", "headers": {"X-A": "1"}}, "priority": -3}


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/hook"),
        ("GET", "/v1/thing"),
        ("PATCH", "/v1/things/x"),
        ("BREW", "/coffee"),
        ("GET", "/"),
        ("GET", "/%7Bid%7D/a%2Fb/%C3%BC/%25"),
        ("GET", "/a//b//"),
        ("GET", "/prefix/v1/thing"),
        ("GET", "/yes: no #1"),
    ],
)
def test_the_suggested_rule_answers_and_has_no_problems(tmp_path: Path, method: str, target: str) -> None:
    bank = engine(tmp_path / "before", rules(HOOK))
    suggestion = explained(bank, method, target.replace(" ", "%20").replace("#", "%23"))["suggestion"]

    mended = engine(tmp_path / "after", {**rules(HOOK), "suggested.yaml": suggestion["yaml"]})
    answer = ask(mended, target.replace(" ", "%20").replace("#", "%23"), method)

    assert (answer.status, answer.body) == (200, b"{}")
    assert suggestion["file"] == f"cassettes/cases/{rule_of(answer)}.yaml"


def test_the_suggested_name_is_unused(tmp_path: Path) -> None:
    taken: list[Any] = [{"id": id, "match": {"path": f"/{id}"}} for id in ("get-x", "get-x-2")]
    bank = engine(tmp_path, rules(*taken))

    assert explained(bank, "GET", "/x")["suggestion"]["file"] == "cassettes/cases/get-x-3.yaml"


def test_an_extremely_long_path_gets_no_suggestion(tmp_path: Path) -> None:
    assert explained(engine(tmp_path), "GET", "/x" * 5000)["suggestion"] is None
