"""Reports as files."""

import json
from pathlib import Path

import pytest

from xs2a_sandbox.compare.reports import files
from xs2a_sandbox.compare.reports.report import Report
from xs2a_sandbox.errors import ConfigError

EMPTY = Report("https://bank.example", (), (), (), (), True)


@pytest.mark.parametrize(("name", "begins"), [("a.json", "{"), ("a.xml", "<?xml"), ("a.html", "<!doctype html>")])
def test_the_name_says_in_which_form(name: str, begins: str, tmp_path: Path) -> None:
    files.write(tmp_path / name, EMPTY, "medium")
    assert (tmp_path / name).read_text().lower().startswith(begins)


def test_json_is_of_the_report(tmp_path: Path) -> None:
    files.write(tmp_path / "a.json", EMPTY, None)
    assert json.loads((tmp_path / "a.json").read_text())["bank"] == "https://bank.example"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write"):
        files.write(tmp_path / "missing" / "a.json", EMPTY, None)
