"""Reports while the sandbox is running."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from xs2a_sandbox.compare.comparison import Compared, Verdict
from xs2a_sandbox.compare.difference import Difference
from xs2a_sandbox.compare.masking import IgnoreRule, Ignoring
from xs2a_sandbox.compare.reports import live as live_report
from xs2a_sandbox.compare.reports.live import SPARED, LiveReport
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.features.compare.run_comparison import RunComparison
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange

ENTRY = Exchange(
    datetime(2026, 11, 21, tzinfo=UTC),
    1.0,
    "https://bank.example",
    "GET",
    "/v1/secret",
    Headers(),
    b"",
    200,
    Headers(),
    b'{"a":1,"b":2,"c":3,"d":4,"e":"' + b"x" * 99 + b'"}',
)


def compared(*names: str, trouble: str | None = None) -> Compared:
    found = tuple(Difference("value", (name,), (name,)) for name in names)
    entry = None if trouble else ENTRY
    verdict: Verdict = "not answered" if trouble else "differs" if names else "same"
    return Compared("account-list", "account-list", verdict, entry, entry, found, trouble=trouble)


def lines(report: LiveReport, *several: Compared) -> list[str]:
    printed: list[str] = []
    report.say = printed.append
    for one in several:
        report.add(one, report.show(one))
    return printed


def a_report(ignoring: Ignoring | None = None) -> LiveReport:
    def hide(entry: Exchange) -> Exchange:
        return replace(entry, target="/v1/hidden")

    return LiveReport("https://bank.example", ignoring or Ignoring(), hide, keeps=True)


def a_run(report: LiveReport, file: Path) -> RunComparison:
    """Return the output of a run of `serve` with this report."""
    run = RunComparison(Settings(report=(file,)))
    run.begin(cast(Engine, SimpleNamespace(parts=SimpleNamespace(comparing=SimpleNamespace(report=report)))), print)
    return run


def test_each_difference_is_one_redacted_and_shortened_line() -> None:
    assert lines(a_report(), compared(), compared("a"), compared("e", "b", "a"), compared("a")) == [
        "differs: GET /v1/hidden [account-list]: medium value at /a (bank 1, sandbox 1)",
        'differs: GET /v1/hidden [account-list]: medium value at /e (bank "'
        + "x" * 58
        + '…, sandbox "'
        + "x" * 58
        + "…)",
        "differs: GET /v1/hidden [account-list]: medium value at /b (bank 2, sandbox 2)",
    ]


def test_a_schema_violation_names_the_member_and_the_rule() -> None:
    both = compared()
    lacking = Difference("drift", ("_links",), ("_links",), drift="is required")
    strange = Difference("value", ("a",), ("a",), drift="must be a string")
    assert lines(a_report(), replace(both, verdict="differs", differences=(lacking, strange))) == [
        "differs: GET /v1/hidden [account-list]: medium drift at /_links (against the schema: is required)",
        "differs: GET /v1/hidden [account-list]: medium value at /a"
        " (bank 1, sandbox 1; against the schema: must be a string)",
    ]


def test_the_same_problem_is_printed_once_and_counted() -> None:
    report = a_report()
    printed = lines(report, *[compared(trouble="down")] * 3, compared(trouble="late"))
    assert printed == [f"cannot compare: {why} (reported once, counted at the end)" for why in ("down", "late")]
    assert "compared with https://bank.example: 0 same, 0 differ, 4 not answered;" in next(report.end())


def test_skipped_writes_are_silent_and_other_skips_are_printed_once() -> None:
    report = a_report()
    printed = lines(report)
    for why, operation in ((SPARED, "create-consent"), ("too large", "a"), ("too large", "b")):
        report.skip(why, operation)
    assert printed == ["not compared: a: too large (reported once, counted at the end)"]
    assert list(report.end())[1:] == ["  skipped 2: too large", f"  skipped 1: {SPARED}"]
    assert report.report().skipped == ("create-consent",)


def test_unused_ignore_rules_are_reported() -> None:
    rules = [IgnoreRule("drifts", "a.yaml:3"), IgnoreRule("old", "a.yaml:5", until=date(2026, 1, 1))]
    report = a_report(ignoring=Ignoring(rules, date(2026, 11, 21)))
    assert list(report.end())[1:] == [
        "  a.yaml:3: ignored nothing (drifts)",
        "  a.yaml:5: this rule has expired (old)",
    ]


def test_the_number_of_stored_exchanges_is_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(live_report, "_KEPT", 2)
    report = a_report()
    printed = lines(report, compared(), compared("a"), compared("b"), compared("c"), *[compared()] * 3)
    assert len(printed) == 3
    assert [exchange.number for exchange in report.report().exchanges] == [1, 2, 3, 5]
    last = list(a_run(report, tmp_path / "a.json").end())
    (summary,) = [line for line in last if line.startswith("compared with")]
    assert summary.startswith("compared with https://bank.example: 4 same, 3 differ; differences: 0 high, 3 medium")
    assert last[-1] == "  the reports contain the first 2 exchanges with differences, and the first 2 without"
    assert "secret" not in (tmp_path / "a.json").read_text()


def test_a_report_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    assert "cannot write" in list(a_run(a_report(), tmp_path / "missing" / "a.json").end())[-1]


def test_equal_differences_are_printed_once_and_counted() -> None:
    report = a_report()
    assert len(lines(report, *[compared("a")] * 20, *[compared()] * 4)) == 1
    assert (
        "  in 20 of 24 exchanges of account-list: medium value at /a (bank 1, sandbox 1), first in GET /v1/hidden"
        in [*report.end()]
    )


def test_the_differing_part_of_long_values_is_visible() -> None:
    texts = ["x" * 300 + end + "y" * 300 for end in ("ONE", "TWO")]
    bank, sandbox = (replace(ENTRY, answer_body=f'{{"e":"{text}"}}'.encode()) for text in texts)
    (line,) = lines(a_report(), replace(compared("e"), bank=bank, sandbox=sandbox))
    assert "xONEy" in line
    assert "xTWOy" in line
    assert len(line) < 250


def differing(*names: str, worst: str = "") -> Compared:
    """Return an exchange with a difference at each of these members."""
    found = tuple(Difference("type" if name == worst else "value", (name,), (name,)) for name in names)
    entry = replace(ENTRY, answer_body=json.dumps(dict.fromkeys(names, 1)).encode())
    return replace(compared("a"), sandbox=entry, bank=entry, differences=found)


def test_an_exchange_prints_the_ten_worst_differences_and_counts_the_rest() -> None:
    printed = lines(a_report(), differing(*"abcdefghijkl", worst="l"))
    assert len(printed) == 11
    assert "[account-list]: high type at /l" in printed[0]
    assert ["medium value at" in line for line in printed[1:]] == [True] * 9 + [False]
    assert printed[10] == "differs: GET /v1/hidden [account-list]: 2 more"


def test_ten_differences_of_an_exchange_are_all_printed() -> None:
    printed = lines(a_report(), differing(*"abcdefghij"))
    assert len(printed) == 10
    assert "value at /j" in printed[-1]
