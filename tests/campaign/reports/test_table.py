"""The table of results: grouping and order."""

from dataclasses import replace

from tests.campaign.results_made_up import ALIKE, FOUND, GOOD, RESULTS
from xs2a_sandbox.features.campaign.campaign import RunExchanges
from xs2a_sandbox.features.campaign.judge import EXPECTED, ORACLES, AppFinding
from xs2a_sandbox.features.campaign.left_out import BUDGET, SkippedFault
from xs2a_sandbox.features.campaign.reports import table
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


def test_results_with_the_same_findings_at_the_same_point_are_grouped() -> None:
    elsewhere = replace(FOUND, fault=InjectedFault("reset", "initiate-payment", 2, "after"))
    worse = replace(FOUND, findings=(*FOUND.findings, AppFinding("recovery", "the next run fails")))

    made = table.groups([GOOD, FOUND, elsewhere, worse, ALIKE])
    assert [group.results for group in made] == [(FOUND, ALIKE), (elsewhere,), (worse,)]
    assert [group.title for group in made] == [
        "Pays too often: call 1 of initiate-payment",
        "Pays too often: call 2 of initiate-payment",
        "Pays too often, does not recover: call 1 of initiate-payment",
    ]


def test_a_group_says_what_should_have_happened_and_knows_its_call() -> None:
    called = replace(ALIKE, exchanges=RunExchanges("run", 1, 2, "now", 1, 2, "POST /v1/payments"))
    (group,) = table.groups([FOUND, called])

    assert group.call == "POST /v1/payments"
    (mistake,) = group.mistakes
    assert (mistake.oracle, mistake.text) == ("payments", FOUND.findings[0].text)
    assert "at most one payment" in mistake.expected
    assert "pays twice" in mistake.why
    assert set(EXPECTED) == set(ORACLES)


def test_the_rows_tell_results_with_findings_from_others() -> None:
    rows = table.rows([GOOD, FOUND, ALIKE])
    assert [(row.point, row.found, row.passed) for row in rows] == [
        ("account-list 1", [], {"exit status 1 with the fault, 0 in the run after it": [GOOD]}),
        ("initiate-payment 1", [FOUND, ALIKE], {}),
    ]


def test_the_summary_counts_tried_faults_findings_and_skipped_faults() -> None:
    assert list(table.summary(RESULTS)) == [
        "3 faults tried in 12 s, 2 with findings",
        "3 faults were left out because they would show the same as other faults",
    ]
    late = replace(RESULTS, results=(GOOD,), left_out=(SkippedFault(FOUND.fault, BUDGET),))
    assert list(table.summary(late)) == [
        "1 fault tried in 12 s, 0 with findings",
        "1 fault was not tried because the time was over or the campaign was stopped",
        "the same command with --resume continues",
    ]
    assert list(table.summary(replace(late, left_out=()))) == ["1 fault tried in 12 s, 0 with findings"]


def test_the_exit_statuses_say_whose_they_are() -> None:
    assert table.exits(GOOD) == "exit status 1 with the fault, 0 in the run after it"
    assert table.exits(replace(GOOD, statuses=(0, None))) == "exit status 0 with the fault"
