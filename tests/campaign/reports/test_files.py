"""Report files, and files of findings."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.campaign.results_made_up import FOLDER, GOOD, RESULTS
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.reports import files


def test_new_findings_replace_old_ones(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "old.yaml").write_text("")
    (tmp_path / "findings" / "notes.txt").write_text("by somebody")

    files.write_findings(tmp_path / "findings", RESULTS)

    names = [file.name for file in sorted((tmp_path / "findings").iterdir())]
    assert names == ["initiate-payment-1-html-after.yaml", "initiate-payment-1-reset-after.yaml", "notes.txt"]
    files.write_findings(tmp_path / "findings", replace(RESULTS, results=(GOOD,)))
    assert [file.name for file in (tmp_path / "findings").iterdir()] == ["notes.txt"]


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot write"):
        files.write(tmp_path / "no" / "report.xml", RESULTS, FOLDER)


def test_a_file_with_the_name_of_the_findings_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "findings").write_text("by somebody")
    with pytest.raises(UserMistake, match=r"cannot write .*/findings: File exists"):
        files.write_findings(tmp_path / "findings", RESULTS)
    assert (tmp_path / "findings").read_text() == "by somebody"
