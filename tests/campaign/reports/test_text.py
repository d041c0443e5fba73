"""The terminal report."""

from dataclasses import replace
from pathlib import Path

from tests.campaign.results_made_up import FOUND, RESULTS
from xs2a_sandbox.features.campaign.campaign import FaultResult
from xs2a_sandbox.features.campaign.judge import EXPECTED, AppFinding
from xs2a_sandbox.features.campaign.reports.text import as_text
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


def lines(*results: FaultResult) -> list[str]:
    return as_text(replace(RESULTS, results=results), Path("findings")).splitlines()


def test_a_line_for_each_point_and_a_paragraph_for_each_group() -> None:
    assert as_text(RESULTS, Path("campaign/findings")).splitlines() == [
        "account-list 1        1 tried",
        "initiate-payment 1    2 tried, 2 with findings",
        "",
        "initiate-payment 1: reset, after  (exit status 0 with the fault, 0 in the run after it)",
        "  at the bank: The connection is reset, after the bank has acted on the request.",
        "  the same with 1 other fault: html after",
        "  payments: The app made 2 payments of <E-1>.",
        f"  expected: {EXPECTED['payments'].does}",
        f"  why: {EXPECTED['payments'].why}",
        "  replay: xs2a-sandbox campaign --only campaign/findings/initiate-payment-1-reset-after.yaml -- pytest -q",
        "",
        "warning: mind the gap",
        "3 faults tried in 12 s, 2 with findings",
        "3 faults were left out because they would show the same as other faults",
    ]


def test_only_some_of_many_similar_results_are_named() -> None:
    faults = [InjectedFault(f"fault-{number}", "initiate-payment", 1, "after") for number in range(9)]
    (alike,) = [line for line in lines(*(replace(FOUND, fault=fault) for fault in faults)) if "the same with" in line]

    assert alike.startswith("  the same with 8 other faults: fault-1 after, fault-2 after,")
    assert alike.endswith("fault-6 after and 2 more")


def test_a_finding_is_one_shortened_line_without_control_characters() -> None:
    text = "\x1b[31mred\n\n  and" + "x" * 300
    (line,) = [line for line in lines(replace(FOUND, findings=(AppFinding("calls", text),))) if "calls: " in line]

    assert "\x1b" not in line
    assert "red and" in line
    assert line.endswith("xxx…")
    assert len(line) < 240
