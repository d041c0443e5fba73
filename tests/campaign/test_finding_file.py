"""Findings as files that can be replayed."""

from pathlib import Path

import pytest

from tests.campaign.results_made_up import FOLDER, FOUND, ORDER, RESULTS
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.finding_file import name_of, read, write
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault


def test_a_finding_is_a_short_file_and_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / name_of(FOUND)
    file.write_text(write(FOUND, RESULTS, FOLDER))

    assert file.name == "initiate-payment-1-reset-after.yaml"
    assert len(file.read_text().splitlines()) <= 20
    assert read(file) == (FOUND.fault, ORDER)


def test_a_file_without_a_fault_is_about_a_quirk(tmp_path: Path) -> None:
    (tmp_path / "ids.yaml").write_text("campaign: 1\nname: ids-zero\n")

    assert read(tmp_path / "ids.yaml") == (InjectedFault("ids-zero"), {"quirks": ["ids-zero"]})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("campaign: 2\nname: reset\n", "is not a finding of a campaign"),
        ("[1]\n", "is not a finding of a campaign"),
        ("campaign: 1\nname: reset\nfault: reset\n", "fault must be an object"),
        ("campaign: 1\nname: reset\noperation: account-list\ncall: 1\n", "fault must be an object"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "other.yaml").write_text(text)
    with pytest.raises(UserMistake, match=told):
        read(tmp_path / "other.yaml")
