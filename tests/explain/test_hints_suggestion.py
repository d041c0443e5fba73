"""A rule to paste is a cassette without problems that answers the request. More of that in test_explanation.py."""

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
def test_it_answers_and_nothing_is_wrong_with_it(tmp_path: Path, method: str, target: str) -> None:
    bank = engine(tmp_path / "before", rules(HOOK))
    suggestion = explained(bank, method, target.replace(" ", "%20").replace("#", "%23"))["suggestion"]

    mended = engine(tmp_path / "after", {**rules(HOOK), "suggested.yaml": suggestion["yaml"]})
    answer = ask(mended, target.replace(" ", "%20").replace("#", "%23"), method)

    assert (answer.status, answer.body) == (200, b"{}")
    assert suggestion["file"] == f"cassettes/cases/{rule_of(answer)}.yaml"


def test_its_name_is_free(tmp_path: Path) -> None:
    taken: list[Any] = [{"id": id, "match": {"path": f"/{id}"}} for id in ("get-x", "get-x-2")]
    bank = engine(tmp_path, rules(*taken))

    assert explained(bank, "GET", "/x")["suggestion"]["file"] == "cassettes/cases/get-x-3.yaml"


def test_none_for_an_endless_path(tmp_path: Path) -> None:
    assert explained(engine(tmp_path), "GET", "/x" * 5000)["suggestion"] is None
