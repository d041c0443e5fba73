"""The index of statements, the tests' marks and the page that shows both agree."""

import json
import subprocess
import sys

import pytest

from . import report


@pytest.fixture(scope="module")
def proofs() -> report.Proofs:
    """From a process of its own, so that it is complete whichever tests are being run."""
    code = "import json; from conformance import report; print(json.dumps(report.collect()))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=report.ROOT / "tests", capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr + run.stdout
    return json.loads(run.stdout.splitlines()[-1])


def test_marks_name_statements_of_the_index(proofs: report.Proofs) -> None:
    assert not report.unknown(proofs)


def test_every_statement_has_a_test(proofs: report.Proofs) -> None:
    assert not report.unproven(proofs)


def test_the_page_is_up_to_date(proofs: report.Proofs) -> None:
    assert report.PAGE.read_text() == report.page(proofs), "run python tests/conformance/report.py"


def test_ids_are_unique() -> None:
    parts = report.index().values()

    assert sum(map(len, parts)) == len({statement for part in parts for statement in part})


def test_every_section_with_something_to_check_is_there() -> None:
    """Section 6 says only that events are not shown."""
    sections = {statement.partition("-")[0].partition(".")[0] for statement in report.index()["statements"]}

    assert sections == {"1", "2", "3", "4", "5", "7", "8", "9"}


def test_all_further_operations_are_listed() -> None:
    known = report.index()

    assert len([id for part in known.values() for id in part if id.startswith("4.3-")]) == 27
