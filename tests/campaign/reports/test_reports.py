"""The reports: the same verdicts for terminals, browsers and CI."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.campaign.results_made_up import RESULTS
from xs2a_sandbox.campaign.reports import files
from xs2a_sandbox.campaign.reports.text import as_text
from xs2a_sandbox.errors import UserMistake


def test_the_text() -> None:
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


def test_junit(tmp_path: Path) -> None:
    files.write(tmp_path / "report.xml", RESULTS)

    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    cases = {f"{one.get('classname')} {one.get('name')}": one for one in root.iter("testcase")}
    assert cases["account-list 1 busy, before"].find("failure") is None
    failure = cases["initiate-payment 1 reset, after"].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("payments", "2 payments of the intent <E-1>")


def test_the_page(tmp_path: Path) -> None:
    files.write(tmp_path / "report.html", RESULTS)

    page = (tmp_path / "report.html").read_text()
    assert "2 of 3 faults with findings" in page
    assert "2 payments of the intent &lt;E-1&gt;" in page
    assert '<th scope="row">initiate-payment 1</th>' in page
    assert "http" not in page.replace("http-equiv", "")


def test_findings_take_the_place_of_older_ones(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "old.yaml").write_text("")

    files.write_findings(tmp_path / "findings", RESULTS)

    names = [file.name for file in sorted((tmp_path / "findings").iterdir())]
    assert names == ["initiate-payment-1-html-after.yaml", "initiate-payment-1-reset-after.yaml"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot write"):
        files.write(tmp_path / "no" / "report.xml", RESULTS)
