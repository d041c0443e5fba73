from io import StringIO
from typing import Any

from rich.console import Console

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.features.compare.reports import text as report_text


def text(*pairs: tuple[Any, Any]) -> str:
    stream = StringIO()
    report_text.write(report(comparison(*pairs), "bank", None), Console(file=stream, width=160))
    return stream.getvalue()


def test_the_summary_counts_by_operation() -> None:
    row = next(line for line in text(({"a": 1, "b": "1"}, {"a": 2, "b": 1}), ({}, {})).splitlines() if "(none)" in line)
    assert row.split() == ["(none)", "1", "1", "1", "1", "0", "0"]


def test_both_sides_are_next_to_each_other() -> None:
    (row,) = [line for line in text(({"a": "one"}, {"a": "two"})).splitlines() if "/a" in line]
    assert row.split() == ["medium", "value", "/a", '"one"', '"two"']


def test_a_difference_in_all_elements_is_one_row() -> None:
    printed = text(({"l": [{"n": 1}, {"n": 2}, {"n": 3}]}, {"l": [{"n": 4}, {"n": 5}, {"n": 6}]}))
    assert "/l/*/n" in printed
    assert "(none), in 1 of 1 exchange, 3 times" in printed
    assert printed.count("  value ") == 1


def test_control_characters_in_an_answer_are_escaped() -> None:
    assert "\x1b" not in text(({"a": "\x1b[31m"}, {"a": "[bold]x"}))
    assert "[bold]x" in text(({"a": "\x1b[31m"}, {"a": "[bold]x"}))


def test_the_20_worst_differences_are_shown_and_the_rest_is_counted() -> None:
    members = [f"m{number:02}" for number in range(24)]
    bank, sandbox = ({**dict.fromkeys(members, value), "z": other} for value, other in ((1, "1"), (2, 1)))
    rows = text((bank, sandbox), ({"m23": 1}, {"m23": 2})).splitlines()
    shown = [(row.split()[0], row.split()[2]) for row in rows if row.startswith(("high", "medium"))]
    # Within a severity, the difference in most exchanges comes first.
    assert shown == [("high", "/z"), ("medium", "/m23"), *(("medium", f"/m{number:02}") for number in range(18))]
    assert "and 5 more: --report FILE.html shows all of them" in rows


def test_20_differences_are_all_shown() -> None:
    bank, sandbox = (dict.fromkeys([f"m{number:02}" for number in range(20)], value) for value in (1, 2))
    printed = text((bank, sandbox))
    assert "/m19" in printed
    assert "more: --report" not in printed
