"""The table: which results stand together, and in which order."""

from dataclasses import replace

from tests.campaign.results_made_up import ALIKE, FOUND, GOOD, RESULTS
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.reports import table
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


def test_only_the_same_findings_of_one_point_are_one_group() -> None:
    elsewhere = replace(FOUND, fault=InjectedFault("reset", "initiate-payment", 2, "after"))
    worse = replace(FOUND, findings=(*FOUND.findings, AppFinding("recovery", "the next run fails")))

    assert table.groups([GOOD, FOUND, elsewhere, worse, ALIKE]) == [[FOUND, ALIKE], [elsewhere], [worse]]


def test_the_summary_counts_what_was_tried_found_and_left_out() -> None:
    assert table.summary(RESULTS) == "3 faults tried in 12 s, 2 with findings; left out: 3 alike"
    one = replace(RESULTS, results=(GOOD,), left_out={"not reached": 1, "alike": 2})
    assert table.summary(one) == "1 fault tried in 12 s, 0 with findings; left out: 2 alike, 1 not reached"
    late = replace(one, left_out={"no time left": 145, "alike": 2})
    assert table.summary(late) == (
        "1 fault tried in 12 s, 0 with findings; 145 NOT TRIED, as --budget was over: --resume goes on with them; "
        "left out: 2 alike"
    )
    assert table.summary(replace(one, left_out={})) == "1 fault tried in 12 s, 0 with findings"
