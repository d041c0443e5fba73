from pathlib import Path
from typing import Any

import pytest

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.difference import Difference
from xs2a_sandbox.compare.masking import Ignoring, read
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.features.compare.reports.suggest_ignores import as_yaml, suggest
from xs2a_sandbox.http import Response


def suggested(*pairs: tuple[Any, Any]) -> tuple[list[tuple[str | None, str]], list[tuple[str, str]]]:
    rules, refused = suggest(report(comparison(*pairs), "bank", None))
    places = [(rule.get("path") or rule.get("header"), rule["kind"]) for rule in rules]
    return places, [(r.where, r.because.partition(":")[0]) for r in refused]


@pytest.mark.parametrize(
    ("bank", "sandbox", "path"),
    [
        ({"a": "x"}, {"a": "y"}, "/a"),
        ({"l": [{"d": 1}, {"d": 2}]}, {"l": [{"d": 3}, {"d": 4}]}, "/l/*/d"),
        ({"a/b": {"~": 1}}, {"a/b": {"~": 2}}, "/a~1b/~0"),
        (Response(200, (("X-Left", "1"),)), Response(200, (("X-Left", "2"),)), "X-Left"),
    ],
)
def test_changing_values_get_a_rule(bank: Any, sandbox: Any, path: str) -> None:
    rules, refused = suggested((bank, sandbox))
    assert [place for place, _ in rules] == [path]
    assert refused == []


@pytest.mark.parametrize(
    ("bank", "sandbox", "because"),
    [
        ({"a": 1}, {}, "structural"),
        ({"a": 1}, {"a": "1"}, "structural"),
        ({"a": None}, {}, "structural"),
        ([1, 2], [1], "structural"),
        (["a", "b"], ["b", "a"], "structural"),
        (Response(200), Response(500), "structural"),
        (Response(200, (), b"one"), Response(200, (), b"two"), "the root"),
        ({"l": [{"d": 1}, {"d": 2}]}, {"l": [{"d": 1}, {"d": 3}]}, "too broad"),
        ({"*": 1}, {"*": 2}, "impossible"),
    ],
)
def test_other_differences_get_no_rule_but_a_reason(bank: Any, sandbox: Any, because: str) -> None:
    rules, refused = suggested((bank, sandbox))
    assert rules == []
    assert [reason for _, reason in refused] == [because]


def test_a_value_that_is_equal_in_another_answer_gets_no_rule() -> None:
    assert suggested(({"a": 1}, {"a": 2}), ({"a": 1}, {"a": 1}))[0] == []
    assert suggested(({"a": 1}, {"a": 2}), ({"a": 1}, {"a": 3}), ({"b": 1}, {"b": 1}))[0] == [("/a", "value")]


def test_suggestions_are_valid_rules_and_ignore_only_these_differences(tmp_path: Path) -> None:
    made = report(comparison(({"a": 1, "b": 1, "l": ['q"']}, {"a": 2, "c": 1, "l": ["x"]})), "bank", None)
    file = tmp_path / "ignore.yaml"
    file.write_text(as_yaml(*suggest(made)))
    ignoring = Ignoring(read([file]))
    assert ignoring.reason(Difference("value", ("a",), ("a",)), None)
    assert ignoring.reason(Difference("value", ("l", 0), ("l", 0)), None)
    assert not ignoring.reason(Difference("member-missing", ("b",), ("b",)), None)
    assert ignoring.unused == ()
    assert "# no rule for member-missing at /b" in file.read_text()
