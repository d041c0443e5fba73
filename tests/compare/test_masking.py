from datetime import date
from pathlib import Path
from textwrap import dedent

import pytest

from xs2a_sandbox.compare.difference import Difference
from xs2a_sandbox.compare.masking import IgnoreRule, Ignoring, read
from xs2a_sandbox.errors import Unreadable

TODAY = date(2026, 11, 21)


def rules(directory: Path, text: str) -> list[IgnoreRule]:
    file = directory / "ignore.yaml"
    file.write_text("ignore: 1\n" + dedent(text))
    return read([file])


def value(*place: str | int) -> Difference:
    return Difference("value", place, place)


@pytest.mark.parametrize(
    ("path", "place", "fits"),
    [
        ("/a/*/b", ("a", 3, "b"), True),
        ("/a/*/b", ("a", "any", "b"), True),
        ("/a/*/b", ("a", 3, "bc"), False),
        ("/a/*/b", ("a", 3, "b", "c"), False),
        ("/a/*", ("a",), False),
        ("/items/id", ("items", "idempotency"), False),
        ("/a~1b/~0", ("a/b", "~"), True),
        ("/0", (0,), True),
    ],
)
def test_a_path_matches_step_by_step(tmp_path: Path, path: str, place: tuple[str | int, ...], fits: bool) -> None:
    (rule,) = rules(tmp_path, f"rules: [{{path: '{path}', why: moves}}]\n")
    assert rule.fits(value(*place), None) is fits


def test_a_rule_can_have_kinds_and_an_operation(tmp_path: Path) -> None:
    (rule,) = rules(tmp_path, "rules: [{path: /a, kind: [value, format], operation: list, why: moves}]\n")
    assert rule.fits(value("a"), "list")
    assert not rule.fits(value("a"), "other")
    assert not rule.fits(Difference("type", ("a",), ("a",)), "list")
    assert rule.place.endswith("ignore.yaml:2")


def test_headers_are_case_insensitive_and_have_no_path(tmp_path: Path) -> None:
    (rule,) = rules(tmp_path, "rules: [{header: x-LEFT, why: counts}]\n")
    assert rule.fits(Difference("header-changed", header="X-Left"), None)
    assert not rule.fits(Difference("header-changed", header="X-Left-Over"), None)
    assert not rule.fits(value("x-LEFT"), None)


def test_a_path_can_be_the_place_at_the_bank(tmp_path: Path) -> None:
    (rule,) = rules(tmp_path, "rules: [{path: /a/7, why: known}]\n")
    assert rule.fits(Difference("value", ("a", 1), ("a", 7)), None)


def test_a_rule_expires_after_its_last_day_and_unused_rules_are_known(tmp_path: Path) -> None:
    written = """\
        rules:
          - {path: /a, why: until yesterday, until: 2026-11-20}
          - {path: /a, why: until today, until: 2026-11-21}
          - {path: /b, why: of no use}
    """
    ignoring = Ignoring(rules(tmp_path, written), TODAY)
    assert [rule.why for rule in ignoring.lapsed] == ["until yesterday"]
    assert ignoring.reason(value("a"), None) == "until today"
    assert ignoring.reason(value("c"), None) is None
    assert [rule.why for rule in ignoring.unused] == ["of no use"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("rules: [{path: /a/**, why: all}]", 2, "a whole step"),
        ("rules: [{path: /a/b*, why: all}]", 2, "a whole step"),
        ("rules: [{path: a, why: relative}]", 2, "must be a JSON Pointer"),
        ("rules: [{path: /a~b, why: escape}]", 2, "must be a JSON Pointer"),
        ("rules: [{path: /a}]", 2, "why"),
        ("rules:\n  - {path: /a, why: x y z, kinds: value}", 3, "kind"),
        ("rules: [{path: /a, why: x y z, kind: valu}]", 2, "valu"),
        ("rules: [{why: everything}]", 2, ""),
        ("rules: [{path: /a, header: B, why: both}]", 2, ""),
        ("rules: [{path: /a, why: x y z, until: tomorrow}]", 2, "date"),
    ],
)
def test_mistakes_have_a_place(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(Unreadable) as caught:
        rules(tmp_path, text + "\n")
    problem = caught.value.problems[0]
    assert problem.line == line
    assert says in problem.text


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("cassette: 1\n")
    with pytest.raises(Unreadable):
        read([tmp_path / "case.yaml", tmp_path / "missing.yaml"])


def test_a_rule_can_set_a_severity(tmp_path: Path) -> None:
    file = tmp_path / "ignore.yaml"
    file.write_text(
        "ignore: 1\nrules:\n  - {consequence: [null-or-absent, more], severity: low, why: our apps do not mind}\n"
    )
    (rule,) = read([file])
    assert (rule.severity, rule.consequences) == ("low", {"null-or-absent", "more"})


@pytest.mark.parametrize("wrong", ["severity: none, kind: value", "consequence: nothing", "severity: low"])
def test_a_wrong_severity_is_refused_with_its_place(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "ignore.yaml"
    file.write_text(f"ignore: 1\nrules:\n  - {{{wrong}, why: because}}\n")
    with pytest.raises(Unreadable) as refused:
        read([file])
    assert [problem.line for problem in refused.value.problems] == [3]
