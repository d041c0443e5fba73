"""The results file, with which an interrupted campaign resumes."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.campaign.results_made_up import ALIKE, FOUND, GOOD
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.kept_results import ResultsFile, read_left_out
from xs2a_sandbox.features.campaign.left_out import BUDGET, IDLE, UNREACHED, SkippedFault
from xs2a_sandbox.features.campaign.order import PlannedFault
from xs2a_sandbox.features.campaign.plan import Plan

PLAN = Plan([PlannedFault(GOOD.fault, None), PlannedFault(FOUND.fault, None)], [SkippedFault(ALIKE.fault, IDLE)])


def test_an_interrupted_campaign_resumes(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    begun = ResultsFile(file, {"command": ["pytest"]}, resumes=False)
    assert begun.begin(PLAN) == {}
    begun.add(GOOD)
    begun.add(FOUND)
    file.write_text(file.read_text()[:-10])  # killed while writing

    assert ResultsFile(file, {"command": ["pytest"]}, resumes=True).begin(PLAN) == {GOOD.fault: GOOD}


def test_faults_left_out_by_the_plan_are_read(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    assert read_left_out(file) == []
    results = ResultsFile(file, {}, resumes=False)
    results.begin(PLAN)
    results.add(replace(GOOD, is_reached=False))
    assert read_left_out(file) == [
        SkippedFault(ALIKE.fault, IDLE),
        SkippedFault(GOOD.fault, UNREACHED),
        SkippedFault(FOUND.fault, BUDGET),
    ]
    results.add(FOUND)
    assert read_left_out(file) == [SkippedFault(ALIKE.fault, IDLE), SkippedFault(GOOD.fault, UNREACHED)]
    file.write_text("[]\n")
    assert read_left_out(file) == []


def test_results_of_another_campaign_are_not_resumed(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    with pytest.raises(UserMistake, match="there is nothing to resume"):
        ResultsFile(file, {}, resumes=True).begin(PLAN)
    ResultsFile(file, {"command": ["pytest"]}, resumes=False).begin(PLAN)
    with pytest.raises(UserMistake, match="belongs to another campaign"):
        ResultsFile(file, {"command": ["tox"]}, resumes=True).begin(PLAN)
    with pytest.raises(UserMistake, match="belongs to another campaign"):
        ResultsFile(file, {"command": ["pytest"]}, resumes=True).begin(Plan())
