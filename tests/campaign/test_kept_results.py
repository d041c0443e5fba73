"""The results in a file: a campaign that was interrupted goes on."""

from pathlib import Path

import pytest

from tests.campaign.results_made_up import FOUND, GOOD
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.kept_results import ResultsFile
from xs2a_sandbox.features.campaign.plan import Plan, PlannedFault

PLAN = Plan([PlannedFault(GOOD.fault, None), PlannedFault(FOUND.fault, None)])


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    begun = ResultsFile(file, {"command": ["pytest"]}, resumes=False)
    assert begun.begin(PLAN) == {}
    begun.add(GOOD)
    begun.add(FOUND)
    file.write_text(file.read_text()[:-10])  # killed while it wrote

    assert ResultsFile(file, {"command": ["pytest"]}, resumes=True).begin(PLAN) == {GOOD.fault: GOOD}


def test_another_campaign_is_not_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    with pytest.raises(UserMistake, match="there is nothing to resume"):
        ResultsFile(file, {}, resumes=True).begin(PLAN)
    ResultsFile(file, {"command": ["pytest"]}, resumes=False).begin(PLAN)
    with pytest.raises(UserMistake, match="is of another campaign"):
        ResultsFile(file, {"command": ["tox"]}, resumes=True).begin(PLAN)
    with pytest.raises(UserMistake, match="is of another campaign"):
        ResultsFile(file, {"command": ["pytest"]}, resumes=True).begin(Plan())
