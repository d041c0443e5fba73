"""JUnit results for CI."""

from dataclasses import replace
from xml.etree import ElementTree

from tests.campaign.results_made_up import FOLDER, FOUND, RESULTS
from xs2a_sandbox.features.campaign.judge import AppFinding
from xs2a_sandbox.features.campaign.reports.junit import write


def suites(text: str) -> dict[str, ElementTree.Element]:
    return {suite.get("name", ""): suite for suite in ElementTree.fromstring(text).iter("testsuite")}


def test_a_suite_for_each_point_counts_its_faults() -> None:
    made = suites(write(RESULTS, FOLDER))

    counts = {name: (suite.get("tests"), suite.get("failures")) for name, suite in made.items()}
    assert counts == {
        "account-list 1": ("1", "0"),
        "initiate-payment 1": ("2", "2"),
        "campaign": ("1", "0"),
    }


def test_only_a_fault_with_findings_is_a_failure() -> None:
    cases = {
        f"{case.get('classname')} {case.get('name')}": case
        for suite in suites(write(RESULTS, FOLDER)).values()
        for case in suite.iter("testcase")
    }

    assert cases["account-list 1 busy, before"].find("failure") is None
    failure = cases["initiate-payment 1 reset, after"].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("payments", "The app made 2 payments of <E-1>.")


def test_all_findings_of_a_fault_are_one_failure() -> None:
    more = replace(FOUND, findings=(*FOUND.findings, AppFinding("recovery", "the next run fails")))

    (failure,) = suites(write(replace(RESULTS, results=(more,)), FOLDER))["initiate-payment 1"].iter("failure")
    assert (failure.get("type"), failure.text) == (
        "payments",
        "payments: The app made 2 payments of <E-1>.\nrecovery: the next run fails",
    )


def test_characters_that_xml_forbids_are_replaced() -> None:
    odd = replace(FOUND, findings=(AppFinding("assertion", "\x00\x1b[31mred"),))

    (failure,) = suites(write(replace(RESULTS, results=(odd,)), FOLDER))["initiate-payment 1"].iter("failure")
    assert "red" in str(failure.get("message"))


def test_exit_statuses_and_warnings_are_included() -> None:
    made = suites(write(RESULTS, FOLDER))

    assert [one.text for one in made["account-list 1"].iter("system-out")] == [
        "exit status 1 with the fault, 0 in the run after it"
    ]
    (about,) = (one.text or "" for one in made["campaign"].iter("system-out"))
    assert about.splitlines()[-1] == "mind the gap"
