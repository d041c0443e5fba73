"""The report for a terminal."""

from dataclasses import replace
from pathlib import Path

from tests.campaign.results_made_up import FOUND, RESULTS
from xs2a_sandbox.features.campaign.campaign import FaultResult
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.reports.text import as_text
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


def lines(*results: FaultResult) -> list[str]:
    return as_text(replace(RESULTS, results=results), Path("findings")).splitlines()


def test_a_line_for_each_point_and_a_paragraph_for_each_group() -> None:
    assert as_text(RESULTS, Path("campaign/findings")).splitlines() == [
        "account-list 1        1 tried",
        "initiate-payment 1    2 tried  2 found",
        "",
        "initiate-payment 1: reset, after  (exit 0, then 0)",
        "  and alike: html after",
        "  payments: 2 payments of the intent <E-1>",
        "  play it again: xs2a-sandbox campaign "
        "--only campaign/findings/initiate-payment-1-reset-after.yaml -- pytest -q",
        "",
        "warning: mind the gap",
        "3 faults tried in 12 s, 2 with findings; left out: 3 alike",
    ]


def test_of_many_that_are_alike_some_are_named() -> None:
    faults = [InjectedFault(f"fault-{number}", "initiate-payment", 1, "after") for number in range(9)]
    (alike,) = [line for line in lines(*(replace(FOUND, fault=fault) for fault in faults)) if "alike:" in line]

    assert alike.startswith("  and alike: fault-1 after, fault-2 after,")
    assert alike.endswith("fault-6 after and 2 more")


def test_a_finding_is_one_line_that_ends_and_commands_no_terminal() -> None:
    text = "\x1b[31mred\n\n  and" + "x" * 300
    (line,) = [line for line in lines(replace(FOUND, findings=(AppFinding("calls", text),))) if "calls: " in line]

    assert "\x1b" not in line
    assert "red and" in line
    assert line.endswith("xxx…")
    assert len(line) < 240
